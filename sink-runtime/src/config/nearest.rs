//! The known key that a misspelt one was probably meant to be.

use ackflow_protocol::nearest::distance;

/// The candidate that is nearest to `key`, if any is near enough to be worth naming.
pub(super) fn nearest<'a>(key: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (key.chars().count() / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| (distance(key, candidate), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_its_key_and_a_stranger_finds_none() {
        let known = ["share.group.id", "share.last.delivery", "tasks.max"];
        assert_eq!(nearest("share.group", known), Some("share.group.id"));
        assert_eq!(nearest("share.lastdelivery", known), Some("share.last.delivery"));
        assert_eq!(nearest("task.max", known), Some("tasks.max"));
        assert_eq!(nearest("database.url", known), None);
    }
}
