//! What brokers and issuers say, as errors may show it.

use std::borrow::Cow;

/// Longer texts are cut, in characters.
const LONGEST: usize = 200;
/// What a broker says to a request that it refuses may be longer, since it names what it would take.
const LONGEST_OF_BROKER: usize = 2000;
/// What follows is not looked at: a reason is shorter.
const LOOKED_AT: usize = 64 * 1024;

/// Text of somebody else: without the secrets that they were told and may repeat, on one line, and short.
pub(crate) fn heard(text: &str, secrets: &[&str]) -> String {
    let mut secrets: Vec<_> = secrets.iter().filter(|secret| !secret.is_empty()).collect();
    // One may be part of another.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    // A secret that is cut could not be found.
    let mut text = Cow::Borrowed(&text[..text.floor_char_boundary(LOOKED_AT)]);
    for secret in secrets {
        if text.contains(*secret) {
            text = Cow::Owned(text.replace(*secret, "[hidden]"));
        }
    }
    shown(&text, LONGEST)
}

/// Text of a broker that was told no secret: on one line, and not too long for an error.
pub(crate) fn said(text: &str) -> String {
    shown(text, LONGEST_OF_BROKER)
}

fn shown(text: &str, longest: usize) -> String {
    text.chars().take(longest).map(|c| if is_shown(c) { c } else { ' ' }).collect()
}

/// Neither obeyed by a terminal, nor there to turn or hide what stands beside it.
fn is_shown(c: char) -> bool {
    let turns = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !c.is_control() && !turns
}

#[cfg(test)]
mod tests {
    use super::*;

    // Mutation: client/src/heard.rs
    // - secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    // + secrets.sort_by_key(|secret| secret.len());
    #[test]
    fn what_is_shown_is_short_plain_and_without_secrets() {
        assert_eq!(
            heard("no hunter2-and-more, no hunter2", &["hunter2", "", "hunter2-and-more"]),
            "no [hidden], no [hidden]"
        );
        assert_eq!(heard("a\u{1b}[2J\r\nb\u{202e}c", &[]), "a [2J  b c");
        let long = heard(&format!("{}hunter2{}", "é".repeat(196), "x".repeat(100_000)), &["hunter2"]);
        assert_eq!(long, format!("{}[hid", "é".repeat(196)));
        assert_eq!(said(&format!("{}\u{1b}x", "é".repeat(1998))), format!("{} x", "é".repeat(1998)));
        assert_eq!(said(&"x".repeat(3000)).len(), 2000);
    }
}
