//! Frames that no client sends.

use super::{Lab, Link, Outcome};

/// Where the version of a request stands in its frame: behind size and API.
const VERSION: usize = 6;
/// Where the client's id stands: behind size, API, version and correlation id.
const CLIENT_ID: usize = 12;

/// The same request, in a version that its bytes are not of.
pub(crate) fn with_version(mut frame: Vec<u8>, version: i16) -> Vec<u8> {
    frame[VERSION..VERSION + 2].copy_from_slice(&version.to_be_bytes());
    frame
}

/// The same bytes behind the size that they have.
pub(crate) fn sized(mut frame: Vec<u8>) -> Vec<u8> {
    let size = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
    frame[..4].copy_from_slice(&size.to_be_bytes());
    frame
}

/// Where the tagged fields of a flexible header stand: the body begins one byte later, since the header has none.
pub(crate) fn header_tags(frame: &[u8]) -> usize {
    let length = i16::from_be_bytes([frame[CLIENT_ID], frame[CLIENT_ID + 1]]);
    CLIENT_ID + 2 + usize::try_from(length).unwrap_or_default()
}

impl Lab {
    /// Checks that the broker closes a connection, and answers nothing before.
    pub(crate) async fn closes(&self, link: &mut Link, what: &str) -> Outcome {
        let frame = link.next_frame().await?;
        self.check_that(what, frame.is_none(), "the connection is closed without an answer", &frame)
    }
}
