//! Which topics an application wants.

use ackflow_protocol::machine::TopicFilter;
use regex_lite::Regex;

use crate::error::{ClientError, ErrorKind};

/// Topics by name, or by a pattern.
#[derive(Debug, Clone)]
pub(super) enum Subscription {
    Names(Vec<String>),
    Pattern(TopicFilter),
}

impl Default for Subscription {
    fn default() -> Self {
        Self::Names(Vec::new())
    }
}

impl Subscription {
    /// # Errors
    /// [`ErrorKind::Invalid`] for what is no name of a topic.
    pub(super) fn names(names: Vec<String>) -> Result<Self, ClientError> {
        let mut distinct = Vec::with_capacity(names.len());
        for name in names {
            check_topic(&name)?;
            if !distinct.contains(&name) {
                distinct.push(name);
            }
        }
        Ok(Self::Names(distinct))
    }

    /// The topics whose whole name matches, as in Kafka's client.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for what is no regular expression.
    pub(super) fn pattern(pattern: &str) -> Result<Self, ClientError> {
        let whole = Regex::new(pattern).and_then(|_| {
            let whole = Regex::new(&format!(r"\A(?:{pattern})\z"));
            // A comment at its end, which the flag x allows, would go on to the end of the line.
            whole.or_else(|_| Regex::new(&format!("\\A(?:{pattern}\n)\\z")))
        });
        let regex = whole.map_err(|error| {
            ClientError::new(ErrorKind::Invalid, SUBSCRIBING, format!("the pattern `{pattern}` cannot be used: {error}"))
                .remedy("use the syntax of the crate regex-lite: Perl's, without look-around, back-references and classes like \\p{L}")
        })?;
        Ok(Self::Pattern(TopicFilter::new(move |topic| regex.is_match(topic))))
    }

    /// Whether it is no subscription.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Names(names) if names.is_empty())
    }

    /// Whether records of the topic are wanted.
    pub(super) fn wants(&self, topic: &str) -> bool {
        match self {
            Self::Names(names) => names.iter().any(|name| name == topic),
            Self::Pattern(filter) => filter.matches(topic),
        }
    }

    /// The names; none of a pattern.
    pub(super) fn as_names(&self) -> &[String] {
        match self {
            Self::Names(names) => names,
            Self::Pattern(_) => &[],
        }
    }
}

/// Refuses what is no name of a topic.
pub(crate) fn check_topic(name: &str) -> Result<(), ClientError> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let reason = match name.chars().count() {
        0 => "a topic name is empty".to_owned(),
        length @ 250.. => {
            let start: String = name.chars().take(20).collect();
            format!("the topic name `{start}...` has {length} characters")
        }
        _ if name.chars().all(is_legal) && !matches!(name, "." | "..") => return Ok(()),
        _ => format!("no topic has the name `{}`", name.escape_debug()),
    };
    let remedy = "use 1 to 249 characters of a-z, A-Z, 0-9, `.`, `_` and `-`, as Kafka does, and neither `.` nor `..`";
    Err(ClientError::new(ErrorKind::Invalid, SUBSCRIBING, reason).remedy(remedy))
}

pub(super) const SUBSCRIBING: &str = "subscribing a share consumer";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_names() {
        let orders = Subscription::pattern("orders|bills-[0-9]+").unwrap();
        let wanted: Vec<_> = ["orders", "orders-1", "my-orders", "bills-", "bills-17", "bills-17\n"]
            .into_iter()
            .filter(|t| orders.wants(t))
            .collect();
        assert_eq!(wanted, ["orders", "bills-17"]);
        assert!(!orders.is_empty() && orders.as_names().is_empty());
        let commented = Subscription::pattern("(?x) o r d e r s # all of them").unwrap();
        assert!(commented.wants("orders") && !commented.wants("orders2"));
    }

    #[test]
    fn what_is_no_pattern_is_an_error_that_says_so() {
        for pattern in ["(", "a)(b", r"\p{L}"] {
            let error = Subscription::pattern(pattern).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(pattern), "{error}");
        }
        let twice = Subscription::names(["b", "a", "b"].map(str::to_owned).to_vec()).unwrap();
        assert_eq!(twice.as_names(), ["b", "a"]);
    }

    // Mutation: client/src/share/subscription.rs
    // - length @ 250.. => {
    // + length @ 250_000.. => {
    #[test]
    fn what_is_no_name_of_a_topic_is_an_error_that_says_so() {
        for (name, said) in [
            (String::new(), "empty"),
            ("x".repeat(250), "`xxxxxxxxxxxxxxxxxxxx...` has 250 characters"),
            ("x".repeat(40_000), "has 40000 characters"),
            ("a b".to_owned(), "`a b`"),
            ("..".to_owned(), "`..`"),
            ("a\n".to_owned(), r"`a\n`"),
        ] {
            let error = Subscription::names(vec!["good".to_owned(), name]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(said), "{error}");
        }
        assert!(Subscription::names(vec!["A.b_c-9".to_owned(), "x".repeat(249)]).is_ok());
    }
}
