//! A broker played by a test: it reads and writes frames as its script says.

use ackflow_protocol::for_each_api;
use ackflow_protocol::messages::api_versions::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey,
};
use ackflow_protocol::wire::frame::{DEFAULT_MAX_FRAME, frame_size};
use ackflow_protocol::wire::{
    ApiKey, Message, Request, RequestHeader, Response, decode_request_header, encode_response,
};
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A listener on a free port of the loopback address.
pub(crate) struct Peer(TcpListener);

impl Peer {
    pub(crate) async fn bind() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    /// The next connection, which has said nothing yet.
    pub(crate) async fn accept_raw(&self) -> Wire {
        let (stream, _) = self.0.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        Wire(stream)
    }

    /// The next connection, after the exchange of versions.
    pub(crate) async fn accept(&self) -> Wire {
        let mut wire = self.accept_raw().await;
        wire.exchange_versions(&all_versions()).await;
        wire
    }
}

/// One connection, seen from the broker.
pub(crate) struct Wire(pub(crate) TcpStream);

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) header: RequestHeader,
    pub(crate) body: Bytes,
}

impl Received {
    pub(crate) fn decode<R: Request>(&self) -> R {
        assert_eq!(self.header.request_api_key, R::KEY);
        R::from_bytes(self.body.clone(), self.header.request_api_version).unwrap()
    }
}

impl Wire {
    /// The next request; `None` where the client has closed the connection.
    pub(crate) async fn try_request(&mut self) -> Option<Received> {
        let mut prefix = [0; 4];
        self.0.read_exact(&mut prefix).await.ok()?;
        let mut frame = vec![0; frame_size(prefix, DEFAULT_MAX_FRAME).unwrap()];
        self.0.read_exact(&mut frame).await.ok()?;
        let (header, body) = decode_request_header(frame.into(), ApiKey::request_is_flexible).unwrap();
        Some(Received { header, body })
    }

    pub(crate) async fn request(&mut self) -> Received {
        self.try_request().await.expect("a request, not the end of the connection")
    }

    pub(crate) async fn answer<R: Response>(&mut self, to: &Received, response: &R) {
        let RequestHeader { request_api_version, correlation_id, .. } = to.header;
        self.write(&encode_response(response, request_api_version, correlation_id).unwrap()).await;
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        // The client may have gone, which is no fault of the script.
        let _ = self.0.write_all(bytes).await;
    }

    pub(crate) async fn exchange_versions(&mut self, versions: &ApiVersionsResponse) {
        let asked = self.request().await;
        asked.decode::<ApiVersionsRequest>();
        self.answer(&asked, versions).await;
    }
}

/// What a broker says that has everything the client knows.
pub(crate) fn all_versions() -> ApiVersionsResponse {
    macro_rules! apis {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => {
            vec![$(ApiVersion {
                api_key: <$request>::KEY.0,
                min_version: *<$request>::VERSIONS.start(),
                max_version: *<$request>::VERSIONS.end(),
            }),*]
        };
    }
    ApiVersionsResponse {
        api_keys: for_each_api!(apis),
        finalized_features_epoch: 1,
        finalized_features: vec![FinalizedFeatureKey {
            name: "share.version".into(),
            max_version_level: 2,
            min_version_level: 0,
        }],
        ..Default::default()
    }
}

/// What this thread tells the log, warnings and errors, as long as this is there.
pub(crate) struct Log {
    text: Text,
    _listens: tracing::subscriber::DefaultGuard,
}

#[derive(Clone, Default)]
struct Text(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    pub(crate) fn listen() -> Self {
        let text = Text::default();
        let writer = text.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing::Level::WARN)
            .with_writer(move || writer.clone())
            .finish();
        Self { text, _listens: tracing::subscriber::set_default(subscriber) }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.text.0.lock().unwrap()).lines().map(str::to_owned).collect()
    }
}
