//! `sasl.jaas.config`: one login module with its options, as Kafka's `JaasConfig` reads it.

use std::collections::BTreeMap;
use std::fmt;

use nom::branch::alt;
use nom::bytes::complete::{is_not, tag, take_until, take_while1};
use nom::character::complete::{anychar, char, multispace1};
use nom::combinator::{opt, recognize, verify};
use nom::multi::{fold, many0_count};
use nom::sequence::{delimited, preceded, separated_pair};
use nom::{IResult, Parser};

/// A login module: `org.example.Module required name="value" ..;`. Options may be secrets, so `Debug` shows their names alone.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginModule {
    /// The Java class, which stands for a mechanism.
    pub class: String,
    /// `required`, `requisite`, `sufficient` or `optional`.
    pub flag: String,
    /// The options by name.
    pub options: BTreeMap<String, String>,
}

impl fmt::Debug for LoginModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.options.keys().collect();
        f.debug_struct("LoginModule").field("class", &self.class).field("options", &names).finish_non_exhaustive()
    }
}

/// Why a text is no login module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("at byte {at}: {expected} is expected")]
pub struct JaasError {
    /// Where, in bytes from the start.
    pub at: usize,
    /// What should stand there.
    pub expected: &'static str,
}

impl LoginModule {
    /// Reads a login module. Comments (`//`, `/* */`) and line ends may stand between words; values stand in double or single quotes, with `\` before what would end
    /// them, or are words.
    ///
    /// # Errors
    /// Where there is none, or more than one.
    pub fn parse(text: &str) -> Result<Self, JaasError> {
        let at = |rest: &str, expected| JaasError { at: text.len() - rest.len(), expected };
        let read = |rest, expected| word(rest).map_err(|_: nom::Err<_>| at(rest, expected));
        let rest = skip(text);
        let (rest, class) = read(rest, "the class of a login module")?;
        let (rest, flag) = read(rest, "required, requisite, sufficient or optional")?;
        if !FLAGS.iter().any(|known| known.eq_ignore_ascii_case(&flag)) {
            let flag_starts = text.len() - rest.len() - flag.len();
            return Err(JaasError {
                at: flag_starts.min(text.len()),
                expected: "required, requisite, sufficient or optional",
            });
        }
        let mut options = BTreeMap::new();
        let mut rest = rest;
        while let Ok((next, (name, value))) = option(rest) {
            options.insert(name, value);
            rest = next;
        }
        let end: IResult<_, _> = char(';').parse(rest);
        let (rest, _) = end.map_err(|_| at(rest, "name=\"value\", or the ; at the end"))?;
        match skip(rest) {
            "" => Ok(Self { class, flag, options }),
            more => Err(at(more, "the end, since one login module is read,")),
        }
    }

    /// The class without its package.
    pub fn name(&self) -> &str {
        self.class.rsplit('.').next().unwrap_or_default()
    }
}

const FLAGS: [&str; 4] = ["required", "requisite", "sufficient", "optional"];

/// What follows white space and comments.
fn skip(text: &str) -> &str {
    let comment =
        alt((recognize((tag("//"), opt(is_not("\r\n")))), recognize((tag("/*"), take_until("*/"), tag("*/")))));
    let blank: IResult<_, _> = many0_count(alt((multispace1, comment))).parse(text);
    blank.map_or(text, |(rest, _)| rest)
}

/// Reads with `parser`, and then what means nothing.
fn token<'a, T>(
    mut parser: impl Parser<&'a str, Output = T, Error = nom::error::Error<&'a str>>,
) -> impl FnMut(&'a str) -> IResult<&'a str, T> {
    move |text| parser.parse(text).map(|(rest, value)| (skip(rest), value))
}

fn word(text: &str) -> IResult<&str, String> {
    let bare = take_while1(|c: char| c.is_alphanumeric() || "._-$".contains(c)).map(str::to_owned);
    token(alt((quoted('"'), quoted('\''), bare))).parse(text)
}

fn option(text: &str) -> IResult<&str, (String, String)> {
    separated_pair(word, token(char('=')), word).parse(text)
}

/// Text in quotes of one kind, on one line.
fn quoted<'a>(quote: char) -> impl Parser<&'a str, Output = String, Error = nom::error::Error<&'a str>> {
    let escaped = preceded(char('\\'), anychar).map(|c| match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        other => other,
    });
    let plain = verify(anychar, move |c| *c != quote && !"\\\r\n".contains(*c));
    let text = fold(0.., alt((escaped, plain)), String::new, |mut text, c| {
        text.push(c);
        text
    });
    delimited(char(quote), text, char(quote))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(module: &LoginModule) -> Vec<(&str, &str)> {
        module.options.iter().map(|(name, value)| (&**name, &**value)).collect()
    }

    #[test]
    fn a_module_is_read_as_kafka_reads_it() {
        let text = "org.apache.kafka.common.security.plain.PlainLoginModule required\n  // who\n  username=\"bob\" /* and */ \
                    password='a=\"b\";' token=true;\n";
        let module = LoginModule::parse(text).unwrap();
        assert_eq!((module.name(), &*module.flag), ("PlainLoginModule", "required"));
        assert_eq!(options(&module), [("password", "a=\"b\";"), ("token", "true"), ("username", "bob")]);
        let escapes = LoginModule::parse(r#"A Required p="a\"b\\c";"#).unwrap();
        assert_eq!(options(&escapes), [("p", r#"a"b\c"#)]);
    }

    #[test]
    fn an_error_says_where_and_not_what() {
        for (text, at, expected) in [
            ("", 0, "the class"),
            ("A", 1, "required"),
            ("A needed;", 2, "required"),
            ("A required password=\"hunter2\"", 29, "; at the end"),
            ("A required password=hunter2 x;", 28, "; at the end"),
            ("A required password=\"hunter2;", 11, "; at the end"),
            ("A required; B required;", 12, "the end"),
        ] {
            let error = LoginModule::parse(text).unwrap_err();
            assert_eq!(error.at, at, "{text}: {error}");
            assert!(error.to_string().contains(expected) && !error.to_string().contains("hunter2"), "{error}");
        }
        let module = LoginModule::parse("A required password=hunter2;").unwrap();
        assert!(!format!("{module:?}").contains("hunter2"));
    }
}
