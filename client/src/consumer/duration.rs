//! Durations as Kafka's configuration says them (`auto.offset.reset=by_duration:P1DT2H`): ISO 8601, in days and below.

use std::time::Duration;

use nom::Parser;
use nom::bytes::complete::tag_no_case;
use nom::character::complete::{digit1, u64 as number};
use nom::combinator::{all_consuming, map_opt, opt};
use nom::error::Error;
use nom::sequence::{preceded, terminated};

const NANOS_PER_SECOND_DIGITS: usize = 9;

/// The duration, as Java's `Duration.parse` reads it; `None` where it is none, or is below nothing.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let time = (opt(unit("H")), opt(unit("M")), opt(seconds)).map_opt(|(hours, minutes, seconds)| {
        (hours.is_some() || minutes.is_some() || seconds.is_some())
            .then(|| (hours.unwrap_or(0), minutes.unwrap_or(0), seconds.unwrap_or_default()))
    });
    let whole = preceded(tag_no_case("P"), (opt(unit("D")), opt(preceded(tag_no_case("T"), time))));
    let (_, (days, time)) = all_consuming(whole).parse(text).ok()?;
    if days.is_none() && time.is_none() {
        return None;
    }
    let (hours, minutes, seconds) = time.unwrap_or_default();
    let whole = days.unwrap_or(0).checked_mul(86_400)?.checked_add(hours.checked_mul(3_600)?)?;
    Duration::from_secs(whole.checked_add(minutes.checked_mul(60)?)?).checked_add(seconds)
}

/// A number before its unit.
fn unit<'a>(unit: &'static str) -> impl Parser<&'a str, Output = u64, Error = Error<&'a str>> {
    terminated(number, tag_no_case(unit))
}

/// Seconds, which may have a fraction.
fn seconds(input: &str) -> nom::IResult<&str, Duration> {
    let fraction = map_opt(preceded(nom::character::complete::one_of(".,"), digit1), |digits: &str| {
        let nanos = format!("{digits:0<NANOS_PER_SECOND_DIGITS$}");
        (nanos.len() == NANOS_PER_SECOND_DIGITS).then(|| nanos.parse::<u32>().ok())?
    });
    terminated((number, opt(fraction)), tag_no_case("S"))
        .map(|(whole, nanos)| Duration::new(whole, nanos.unwrap_or(0)))
        .parse(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_java_reads_them() {
        for (text, millis) in [
            ("PT0S", Some(0)),
            ("P1D", Some(86_400_000)),
            ("pt1h", Some(3_600_000)),
            ("P2DT3H4M5.25S", Some(((2 * 24 + 3) * 60 + 4) * 60_000 + 5_250)),
            ("PT90M", Some(5_400_000)),
            ("PT1.123456789S", Some(1_123)),
            ("P", None),
            ("PT", None),
            ("P1DT", None),
            ("1D", None),
            ("P1Y", None),
            ("PT-1S", None),
            ("PT1S ", None),
            ("P999999999999999999D", None),
        ] {
            let read = parse(text).map(|duration| duration.as_millis());
            assert_eq!(read, millis, "{text}");
        }
    }
}
