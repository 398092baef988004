//! What one kind of machine says to brokers and hears from them.

use std::fmt;
use std::time::Duration;

use ackflow_protocol::messages::metadata::MetadataResponse;
use ackflow_protocol::wire::ApiKey;
use bytes::Bytes;

use crate::error::ClientError;
use crate::net::{Connection, Inbox};

/// The requests of a machine, and their answers. [`dialogue!`] makes one.
pub(crate) trait Dialogue: fmt::Debug {
    /// A request.
    type Request: fmt::Debug;
    /// An answer.
    type Response: fmt::Debug + Send + 'static;
    /// The finalized feature of a cluster that has what the machine needs.
    const FEATURE: &'static str;

    /// Whether it is a question for metadata.
    fn asks_metadata(request: &Self::Request) -> bool;

    /// The metadata in an answer.
    fn metadata(response: &Self::Response) -> Option<&MetadataResponse>;

    /// Queues a request as [`Connection::post`] does, and gives the version that it is sent in and how its answer is read.
    fn post(
        request: &Self::Request,
        connection: &Connection,
        least: i16,
        inbox: &Inbox,
        tag: u64,
    ) -> (Result<i16, ClientError>, Reader<Self::Response>);
}

/// How the answer to a request of one kind is read, and what it means that there is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<R> {
    pub(crate) key: ApiKey,
    pub(crate) read: fn(&Connection, Bytes, i16) -> Result<R, ClientError>,
    pub(crate) give_up: fn(&Connection, Duration) -> ClientError,
}

/// Makes a [`Dialogue`] of two enums whose variants have the same names, `Metadata` among them.
macro_rules! dialogue {
    ($(#[$doc:meta])* $name:ident($feature:literal): $request:ident -> $response:ident { $($variant:ident: $message:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $name;

        impl $crate::cluster::Dialogue for $name {
            type Request = $request;
            type Response = $response;
            const FEATURE: &'static str = $feature;

            fn asks_metadata(request: &$request) -> bool {
                matches!(request, $request::Metadata(_))
            }

            fn metadata(response: &$response) -> Option<&ackflow_protocol::messages::metadata::MetadataResponse> {
                match response {
                    $response::Metadata(metadata) => Some(metadata),
                    _ => None,
                }
            }

            fn post(
                request: &$request,
                connection: &$crate::net::Connection,
                least: i16,
                inbox: &$crate::net::Inbox,
                tag: u64,
            ) -> (Result<i16, $crate::error::ClientError>, $crate::cluster::Reader<$response>) {
                match request {
                    $($request::$variant(request) => {
                        let reader = $crate::cluster::Reader {
                            key: <$message as ackflow_protocol::wire::Message>::KEY,
                            read: |from, frame, version| from.decode::<$message>(frame, version).map($response::$variant),
                            give_up: $crate::net::Connection::timed_out::<$message>,
                        };
                        (connection.post(request, least, inbox, tag), reader)
                    })*
                }
            }
        }
    };
}

pub(crate) use dialogue;
