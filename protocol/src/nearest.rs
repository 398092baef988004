//! What somebody may have meant who wrote a name that does not exist.

/// The known name that takes the fewest changes of a letter to reach, if it takes no more than a third of the letters.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let (changes, nearest) = known.into_iter().map(|known| (distance(name, known), known)).min()?;
    (changes * 3 <= name.chars().count()).then_some(nearest)
}

/// Levenshtein's distance, in characters.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_told_and_none_that_is_far() {
        let known = ["topics", "topicId", "partitions"];
        assert_eq!(nearest("topicz", known), Some("topics"));
        assert_eq!(nearest("partition", known), Some("partitions"));
        assert_eq!(nearest("offset", known), None);
        assert_eq!(nearest("offset", []), None);
    }

    #[test]
    fn distances_are_those_of_levenshtein() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
