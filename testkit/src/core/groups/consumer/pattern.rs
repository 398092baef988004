//! Subscriptions by regular expression.

use ackflow_protocol::wire::ErrorCode;
use regex_lite::{Regex, RegexBuilder};

use crate::core::groups::GroupError;

/// How large a compiled expression may be, in bytes.
const SIZE_LIMIT: usize = 1 << 18;

/// A regular expression on the whole names of topics. Those that Kafka takes (RE2/J) and those taken here differ in rare things,
/// such as classes of Unicode.
#[derive(Debug, Clone)]
pub(crate) struct TopicPattern {
    /// As the member wrote it.
    pub(crate) text: String,
    regex: Regex,
}

impl TopicPattern {
    /// Reads an expression.
    ///
    /// # Errors
    /// INVALID_REGULAR_EXPRESSION.
    pub(crate) fn new(text: &str) -> Result<Self, GroupError> {
        let build = |text: &str| RegexBuilder::new(text).size_limit(SIZE_LIMIT).build();
        // What closes the parentheses that are put around it is no expression by itself.
        let regex = build(text).and_then(|_| build(&format!("^(?:{text})$"))).map_err(|error| {
            let message = format!("SubscribedTopicRegex `{text}` is not a valid regular expression: {error}.");
            (ErrorCode::INVALID_REGULAR_EXPRESSION, message)
        })?;
        Ok(Self { text: text.to_owned(), regex })
    }

    /// Whether a topic's whole name matches.
    pub(crate) fn matches(&self, topic: &str) -> bool {
        self.regex.is_match(topic)
    }
}
