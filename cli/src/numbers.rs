//! Numbers on the command line. One that is out of range is told with the range, and so is a negative one, which clap takes for a flag unless the flag before
//! it says `allow_negative_numbers`.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Reads a whole number of `range`.
pub(crate) fn within<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("give a whole number from {} to {}", range.start(), range.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_told_with_the_range() {
        let percent = within(1..=100u8);
        assert_eq!((percent("1"), percent("100")), (Ok(1), Ok(100)));
        for wrong in ["", "0", "101", "-1", "1.5", "many", "999"] {
            assert_eq!(percent(wrong), Err("give a whole number from 1 to 100".to_owned()), "{wrong}");
        }
    }
}
