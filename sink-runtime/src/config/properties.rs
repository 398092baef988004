//! Java's .properties files.

use std::{collections::BTreeMap, iter::Peekable, str::Chars};

/// Why a .properties file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct PropertiesError {
    /// Line where the entry starts, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}

/// Reads the format of `java.util.Properties`: `key=value`, `key: value` or `key value`; comments with `#` and `!`; a backslash at the end
/// of a line continues it; `\t \n \r \f \\ \uXXXX` and any other escaped character. A key that stands twice has its last value. The text
/// is UTF-8, before which a byte order mark may stand.
///
/// # Errors
/// A `\u` that is not followed by four hexadecimal digits, or half of a surrogate pair.
pub fn parse_properties(text: &str) -> Result<BTreeMap<String, String>, PropertiesError> {
    let mut entries = BTreeMap::new();
    for (line, entry) in logical_lines(text) {
        let error = |problem| PropertiesError { line, problem };
        let (key, value) = split(&entry);
        entries.insert(unescape(key).map_err(error)?, unescape(value).map_err(error)?);
    }
    Ok(entries)
}

/// The line, from 1, at which the entry of each key starts: the last one, which counts. Keys that cannot be read are not there.
pub fn property_lines(text: &str) -> BTreeMap<String, usize> {
    let lines = logical_lines(text).into_iter();
    lines.filter_map(|(line, entry)| Some((unescape(split(&entry).0).ok()?, line))).collect()
}

/// The entries of a file, each with the number of its first line: no blanks before it, no comments, continued lines joined.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start_matches(BLANKS);
        if open.is_none() && (line.is_empty() || line.starts_with(['#', '!'])) {
            continue;
        }
        let (number, mut entry) = open.take().unwrap_or((index + 1, String::new()));
        match line.strip_suffix('\\') {
            // An even number of backslashes escapes itself.
            Some(start) if trailing_backslashes(line) % 2 == 1 => {
                entry.push_str(start);
                open = Some((number, entry));
            }
            _ => {
                entry.push_str(line);
                lines.push((number, entry));
            }
        }
    }
    lines.extend(open);
    lines
}

const BLANKS: [char; 3] = [' ', '\t', '\u{c}'];

fn trailing_backslashes(line: &str) -> usize {
    line.bytes().rev().take_while(|&byte| byte == b'\\').count()
}

/// Splits at the first separator that is not escaped.
fn split(entry: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = entry
        .find(|c: char| {
            let ends = !escaped && (BLANKS.contains(&c) || c == '=' || c == ':');
            escaped = !escaped && c == '\\';
            ends
        })
        .unwrap_or(entry.len());
    let (key, rest) = entry.split_at(end);
    let rest = rest.trim_start_matches(BLANKS);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, rest.trim_start_matches(BLANKS))
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('f') => out.push('\u{c}'),
            Some('u') => out.push(unicode_escape(&mut chars)?),
            Some(other) => out.push(other),
            None => {}
        }
    }
    Ok(out)
}

/// What follows a `\u`, with the second half of a surrogate pair if it is the first.
fn unicode_escape(chars: &mut Peekable<Chars<'_>>) -> Result<char, String> {
    let unit = code_unit(chars)?;
    let mut units = vec![unit];
    if (0xd800..0xdc00).contains(&unit) && chars.next_if_eq(&'\\').is_some() && chars.next_if_eq(&'u').is_some() {
        units.push(code_unit(chars)?);
    }
    match char::decode_utf16(units.iter().copied()).next() {
        Some(Ok(c)) if units.len() == c.len_utf16() => Ok(c),
        _ => Err(format!("\\u{unit:04x} is half of a surrogate pair; write the character itself")),
    }
}

fn code_unit(chars: &mut Peekable<Chars<'_>>) -> Result<u16, String> {
    let digits: String = chars.by_ref().take(4).collect();
    let hexadecimal = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    match u16::from_str_radix(&digits, 16) {
        Ok(unit) if hexadecimal => Ok(unit),
        _ => Err(format!("\\u{digits} is no character; write \\u and four hexadecimal digits")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, String)> {
        parse_properties(text).unwrap().into_iter().collect()
    }

    fn entry(key: &str, value: &str) -> Vec<(String, String)> {
        vec![(key.to_owned(), value.to_owned())]
    }

    #[test]
    fn separators_are_equals_colon_and_blanks() {
        for text in ["a=b c", "a = b c", "a:b c", "a  :  b c", "a b c", "  a\tb c", "a=b c\r\n"] {
            assert_eq!(parsed(text), entry("a", "b c"), "{text:?}");
        }
        assert_eq!(parsed("a==b"), entry("a", "=b"));
        assert_eq!(parsed("a"), entry("a", ""));
        assert_eq!(parsed(r"a\=b\ c=d"), entry("a=b c", "d"));
        assert_eq!(parsed("a=b "), entry("a", "b "), "blanks at the end belong to the value");
    }

    #[test]
    fn comments_and_empty_lines_are_passed_over() {
        assert_eq!(parsed("# x=1\n! y=2\n\n   \n  # z=3\na=#b"), entry("a", "#b"));
    }

    // Mutation: sink-runtime/src/config/properties.rs
    // - let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // + let text = text.strip_prefix('\u{fffe}').unwrap_or(text);
    #[test]
    fn a_byte_order_mark_before_the_text_is_passed_over() {
        assert_eq!(parsed("\u{feff}a=b"), entry("a", "b"));
        assert_eq!(parsed("\u{feff}# x\na=b"), entry("a", "b"));
        assert_eq!(parsed("a=b\n\u{feff}c=d").len(), 2, "further down it is a character");
    }

    #[test]
    fn the_line_of_a_key_is_that_of_its_last_entry() {
        let lines = property_lines("\u{feff}a=1\n# c\nb\\\n =2\na\\u0041 x\na:3\n\\u12=4");
        assert_eq!(lines, BTreeMap::from([("a".to_owned(), 6), ("aA".to_owned(), 5), ("b".to_owned(), 3)]));
    }

    #[test]
    fn a_backslash_at_the_end_continues_the_line() {
        assert_eq!(parsed("topics=a,\\\n    b,\\\n\tc"), entry("topics", "a,b,c"));
        assert_eq!(parsed("a=b\\\\\nc=d").len(), 2, "an escaped backslash continues nothing");
        assert_eq!(parsed("a=b\\\n# c"), entry("a", "b# c"), "a continuation is no comment");
        assert_eq!(parsed("a=b\\"), entry("a", "b"));
    }

    #[test]
    fn escapes_are_those_of_java() {
        assert_eq!(parsed(r"a=\t\n\r\f\\\u0041\q"), entry("a", "\t\n\r\u{c}\\Aq"));
        assert_eq!(parsed(r"a=\ud83d\ude00"), entry("a", "😀"));
        assert_eq!(parsed("a=grün"), entry("a", "grün"));
    }

    #[test]
    fn a_bad_escape_names_its_line() {
        for text in [r"a=\u12", r"a=\u+123", r"a=\uzzzz", r"a=\ud83d", r"a=\ud83dx", r"a=\ude00", r"a=\ud83d\u0041"] {
            let error = parse_properties(&format!("# first\n{text}")).unwrap_err();
            assert_eq!(error.line, 2, "{text}");
        }
    }

    #[test]
    fn the_last_value_of_a_key_counts() {
        assert_eq!(parsed("a=1\na=2"), entry("a", "2"));
    }
}
