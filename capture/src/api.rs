//! The API and the version that somebody names.

use ackflow_protocol::messages::dynamic::{Codec, UnknownMessage};
use ackflow_protocol::nearest::nearest;
use ackflow_protocol::wire::ApiKey;

use crate::kafka::message::{Direction, find};

/// A name that is no API, or a version that it does not have; with what may be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NameError(String);

/// The API that `text` names: by its key, or by its name in letters of any case.
///
/// # Errors
/// [`NameError`] with the name that is nearest.
pub fn api(text: &str) -> Result<ApiKey, NameError> {
    let Some(key) = ApiKey::named(text) else {
        let remedy = near(text)
            .map_or("names are those of Kafka's protocol, such as Metadata or ShareFetch".to_owned(), |near| {
                format!("did you mean {near}?")
            });
        return Err(NameError(format!("api {text:?} is not one of Kafka 4.4.0's; {remedy}")));
    };
    match key.name() {
        Some(_) => Ok(key),
        None => Err(NameError(format!("api key {} is not one of Kafka 4.4.0's", key.0))),
    }
}

/// The name that `text` may mean. `MetadataResponse` is a message of the API `Metadata`.
fn near(text: &str) -> Option<&'static str> {
    let text = text.to_ascii_lowercase();
    let stem = ["request", "response"].iter().find_map(|kind| text.strip_suffix(kind)).unwrap_or(&text);
    let names = ApiKey::ALL.iter().filter_map(|key| key.name());
    let lower: Vec<(String, &'static str)> = names.map(|name| (name.to_ascii_lowercase(), name)).collect();
    let found = nearest(stem, lower.iter().map(|(lower, _)| &**lower))?;
    lower.iter().find(|(lower, _)| lower == found).map(|(_, name)| *name)
}

/// The codec of a message.
///
/// # Errors
/// [`NameError`] with the versions that there are, or that the API is not read here.
pub fn codec(key: ApiKey, direction: Direction, version: i16) -> Result<Codec, NameError> {
    find(key, direction, version).map_err(|fault| NameError(fault.message))
}

/// The versions of a message, in words; nothing where it is not read here.
pub(crate) fn versions(key: ApiKey, direction: Direction) -> String {
    match key.name().map(|name| Codec::find(name, direction.kind(), -1)) {
        Some(Err(UnknownMessage::Version { name, first, last, .. })) => format!("; {name} has {first} to {last}"),
        _ => String::new(),
    }
}
