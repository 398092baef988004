//! Which versions a connection speaks: ApiVersions, the first request on each.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::for_each_api;
use ackflow_protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ackflow_protocol::wire::frame::MAX_UNAUTHENTICATED_FRAME;
use ackflow_protocol::wire::{ApiKey, DecodeError, ErrorCode, Message, Request, encode_request};
use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::frames::FrameReader;
use super::owner::{reading_failed, writing_failed};
use super::request::{self, ANY_VERSION};
use super::sasl::Transport;
use crate::error::{ClientError, ErrorKind};

/// The correlation id of the first request; the second one, where there is one, has the next.
const FIRST_CORRELATION_ID: i32 = 0;
/// The first correlation id that negotiation does not use.
pub(super) const NEXT_CORRELATION_ID: i32 = 2;

/// Whom a connection is meant for, by what metadata has said. Brokers since Kafka 4.4 refuse a connection that was meant for another one, with
/// REBOOTSTRAP_REQUIRED (KIP-1242).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) cluster_id: Arc<str>,
    pub(crate) node: i32,
}

/// What both sides speak.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Versions {
    /// By API, where both sides have a version in common: the newest that is stable.
    agreed: HashMap<ApiKey, i16>,
    /// By API, what the broker offers.
    offered: HashMap<ApiKey, (i16, i16)>,
    /// Finalized features of the cluster and their levels.
    features: HashMap<String, i16>,
    /// For how long the broker wants nothing more.
    pub(super) throttle: Duration,
}

impl Versions {
    /// The version of an API that is spoken here.
    pub(super) fn agreed(&self, key: ApiKey) -> Option<i16> {
        self.agreed.get(&key).copied()
    }

    /// The version of an API that is spoken here where those after `newest` will not do.
    pub(super) fn agreed_until(&self, key: ApiKey, newest: i16) -> Option<i16> {
        let version = self.agreed(key)?.min(newest);
        self.offered.get(&key).is_some_and(|(from, _)| *from <= version).then_some(version)
    }

    /// Whether the broker offers this version of an API, stable or not.
    #[cfg(feature = "unstable-kip-1289")]
    pub(super) fn offers(&self, key: ApiKey, version: i16) -> bool {
        self.offered.get(&key).is_some_and(|(from, to)| (*from..=*to).contains(&version))
    }

    /// The level of a finalized feature.
    pub(super) fn feature(&self, name: &str) -> Option<i16> {
        self.features.get(name).copied()
    }

    /// All finalized features and their levels.
    pub(super) fn features(&self) -> impl Iterator<Item = (&str, i16)> {
        self.features.iter().map(|(name, level)| (name.as_str(), *level))
    }

    /// Says why there is no version of `R` in common that is `least` or newer.
    pub(super) fn unsupported<R: Request>(&self, least: i16) -> ClientError {
        let (ours_from, ours_to) = (least.max(*R::VERSIONS.start()), R::NEWEST_STABLE);
        let reason = match self.offered.get(&R::KEY) {
            None => format!("the broker does not offer {}", R::KEY),
            Some((from, to)) => {
                format!("the broker offers {} {from} to {to}, this request takes {ours_from} to {ours_to}", R::KEY)
            }
        };
        ClientError::new(ErrorKind::UnsupportedVersion, format!("sending {}", R::NAME), reason)
            .remedy("use a broker that offers this API, such as Apache Kafka 4.2 or newer")
    }

    fn new(response: ApiVersionsResponse) -> Self {
        let offered: HashMap<_, _> =
            response.api_keys.iter().map(|api| (ApiKey(api.api_key), (api.min_version, api.max_version))).collect();
        let mut agreed = HashMap::new();
        macro_rules! agree {
            ($($name:ident($request:ty, $response:ty)),* $(,)?) => {
                $(if let Some(version) = offered.get(&<$request>::KEY).and_then(|range| common::<$request>(*range)) {
                    agreed.insert(<$request>::KEY, version);
                })*
            };
        }
        for_each_api!(agree);
        // With an epoch of -1 the broker does not know the levels yet.
        let features = match response.finalized_features_epoch {
            0.. => response.finalized_features.into_iter().map(|f| (f.name, f.max_version_level)).collect(),
            _ => HashMap::new(),
        };
        let throttle = Duration::from_millis(u64::try_from(response.throttle_time_ms).unwrap_or_default());
        Self { agreed, offered, features, throttle }
    }
}

/// The newest stable version within `from` to `to`, if there is one.
fn common<R: Request>((from, to): (i16, i16)) -> Option<i16> {
    let newest = to.min(R::NEWEST_STABLE);
    (newest >= from && newest >= *R::VERSIONS.start()).then_some(newest)
}

/// Asks the broker for its versions. A broker that does not know the version of the request itself answers in version 0
/// and says what it knows; then it is asked once more, on the same connection.
pub(super) async fn negotiate<R, W>(
    reader: &mut FrameReader<R>,
    writer: &mut W,
    client_id: &str,
    meant: Option<&Identity>,
) -> Result<Versions, ClientError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    reader.set_limit(MAX_UNAUTHENTICATED_FRAME);
    let newest = ApiVersionsRequest::NEWEST_STABLE;
    let mut response = ask(reader, writer, client_id, meant, (FIRST_CORRELATION_ID, newest)).await?;
    if response.error_code == ErrorCode::UNSUPPORTED_VERSION {
        let own = response.api_keys.iter().find(|api| api.api_key == ApiKey::API_VERSIONS.0);
        let version = match own {
            Some(own) => common::<ApiVersionsRequest>((own.min_version, own.max_version)).unwrap_or(0),
            None => 0,
        };
        response = ask(reader, writer, client_id, meant, (FIRST_CORRELATION_ID + 1, version)).await?;
    }
    match response.error_code.ok() {
        Ok(()) => Ok(Versions::new(response)),
        Err(code) => Err(ClientError::broker("asking for the broker's versions", code, None)),
    }
}

/// The question for versions, to the broker that is meant where one is.
pub(crate) fn versions_request(meant: Option<&Identity>) -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: "ackflow".into(),
        client_software_version: env!("CARGO_PKG_VERSION").into(),
        cluster_id: meant.map(|meant| meant.cluster_id.to_string()),
        node_id: meant.map_or(-1, |meant| meant.node),
    }
}

async fn ask<R, W>(
    reader: &mut FrameReader<R>,
    writer: &mut W,
    client_id: &str,
    meant: Option<&Identity>,
    (correlation_id, version): (i32, i16),
) -> Result<ApiVersionsResponse, ClientError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    const DOING: &str = "asking for the broker's versions";
    let frame = encode_request(&versions_request(meant), version, correlation_id, Some(client_id))
        .map_err(|error| ClientError::new(ErrorKind::Invalid, DOING, error.to_string()))?;
    let mut answer = round_trip(reader, writer, &frame, DOING).await?;
    let malformed = |reason: String| ClientError::new(ErrorKind::Malformed, DOING, reason);
    match answer.try_get_i32() {
        Ok(id) if id == correlation_id => {}
        Ok(id) => return Err(malformed(format!("the answer has correlation id {id}, not {correlation_id}"))),
        Err(_) => return Err(malformed("the answer has no correlation id".into())),
    }
    let decoded = ApiVersionsResponse::decode_any(answer, version);
    decoded.map(|(response, _)| response).map_err(|error: DecodeError| malformed(error.to_string()))
}

/// Writes a frame and reads the next one.
pub(super) async fn round_trip<R, W>(
    reader: &mut FrameReader<R>,
    writer: &mut W,
    frame: &[u8],
    doing: &'static str,
) -> Result<Bytes, ClientError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let written = async {
        writer.write_all(frame).await?;
        writer.flush().await
    };
    written.await.map_err(|error| writing_failed(&error).while_doing(doing))?;
    reader.next().await.map_err(|error| reading_failed(error).while_doing(doing))
}

/// Requests on a connection that has no owner yet, one after the other.
pub(super) struct Setup<'a, R, W> {
    reader: &'a mut FrameReader<R>,
    writer: &'a mut W,
    versions: &'a Versions,
    client_id: &'a str,
    next_correlation_id: i32,
}

impl<'a, R, W> Setup<'a, R, W> {
    pub(super) fn new(
        reader: &'a mut FrameReader<R>,
        writer: &'a mut W,
        versions: &'a Versions,
        client_id: &'a str,
    ) -> Self {
        Self { reader, writer, versions, client_id, next_correlation_id: NEXT_CORRELATION_ID }
    }
}

impl<R, W> Transport for Setup<'_, R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    async fn call<Q: Request + Sync>(&mut self, request: &Q) -> Result<Q::Response, ClientError> {
        const DOING: &str = "authenticating";
        let version = request::agreed::<Q>(self.versions, &ANY_VERSION)?;
        let id = self.next_correlation_id;
        self.next_correlation_id += 1;
        let frame = request::write(request, version, id, self.client_id)?.frame.concat();
        let answer = round_trip(self.reader, self.writer, &frame, DOING).await?;
        let (header, response) = request::read::<Q>(answer, version)?;
        if header.correlation_id != id {
            let reason = format!("the answer has correlation id {}, not {id}", header.correlation_id);
            return Err(ClientError::new(ErrorKind::Malformed, DOING, reason));
        }
        Ok(response)
    }
}
