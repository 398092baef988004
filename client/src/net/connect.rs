//! Making a connection: resolve, connect, secure, ask for versions, authenticate.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use ackflow_protocol::wire::frame::MAX_UNAUTHENTICATED_FRAME;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use super::address::Address;
use super::config::NetConfig;
use super::frames::FrameReader;
use super::negotiate::{Identity, Setup, Versions, negotiate};
use super::sasl::{Renewal, authenticate};
use super::stream::{self, ReadHalf, WriteHalf};
use crate::error::{ClientError, ErrorKind};

/// A connection that is ready for requests and has no owner yet.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) reader: FrameReader<ReadHalf>,
    pub(super) writer: WriteHalf,
    pub(super) versions: Arc<Versions>,
    /// What keeps it authenticated.
    pub(super) renewal: Option<Renewal>,
}

/// Tries every address that the host's name stands for, until one is a broker.
pub(super) async fn open(
    broker: &Arc<str>,
    (host, port): (&str, u16),
    config: &NetConfig,
    meant: Option<&Identity>,
) -> Result<Opened, ClientError> {
    let addresses = match timeout(config.connect_timeout, lookup_host((host, port))).await {
        Ok(Ok(addresses)) => addresses,
        Ok(Err(error)) => return Err(unreachable(broker, format!("the name cannot be resolved: {error}"))),
        Err(_) => return Err(unreachable(broker, timed_out(config, "resolving the name"))),
    };
    let mut last = unreachable(broker, "the name stands for no address".into());
    for address in addresses {
        match timeout(config.connect_timeout, open_one(broker, (host, address), config, meant)).await {
            Ok(Ok(opened)) => return Ok(opened),
            Ok(Err(error)) => last = error,
            Err(_) => {
                last = unreachable(broker, timed_out(config, "connecting, asking for versions and authenticating"))
            }
        }
    }
    Err(last)
}

async fn open_one(
    broker: &Arc<str>,
    (host, address): (&str, SocketAddr),
    config: &NetConfig,
    meant: Option<&Identity>,
) -> Result<Opened, ClientError> {
    let stream = tcp(address).await.map_err(|error| unreachable(broker, format!("{address}: {error}")))?;
    let stream =
        stream::secure(stream, host, &config.security).await.map_err(|error| match stream::explain(&error) {
            Some((reason, remedy)) => {
                ClientError::new(ErrorKind::Authentication, "connecting", reason).at(broker.to_string()).remedy(remedy)
            }
            None => unreachable(broker, format!("{address}: the handshake of TLS failed: {error}"))
                .remedy("check that the port is one of an SSL or SASL_SSL listener"),
        })?;
    let (reader, mut writer) = stream::split(stream);
    let mut reader = FrameReader::new(reader, MAX_UNAUTHENTICATED_FRAME);
    let at_broker = |error: ClientError| error.at(broker.to_string());
    let sasl = config.security.sasl.as_ref();
    // Before it knows who asks, a broker does not look whom the connection is meant for.
    let asked = negotiate(&mut reader, &mut writer, &config.client_id, meant.filter(|_| sasl.is_none())).await;
    let mut versions = asked.map_err(|error| {
        // Nothing but the question for versions was sent, so a connection that ends now is one that was never made.
        at_broker(match error.kind() {
            ErrorKind::Disconnected => error
                .of_kind(ErrorKind::Unreachable)
                .remedy("check that the port is one of a Kafka listener with this client's security.protocol"),
            _ => error,
        })
    })?;
    let mut session = None;
    if let Some(sasl) = sasl {
        let began = Instant::now();
        let mut setup = Setup::new(&mut reader, &mut writer, &versions, &config.client_id);
        let lasts = authenticate(&mut setup, sasl).await.map_err(at_broker)?;
        versions = negotiate(&mut reader, &mut writer, &config.client_id, meant).await.map_err(at_broker)?;
        session = Some((sasl, (began, lasts)));
    }
    reader.set_limit(config.max_frame);
    let versions = Arc::new(versions);
    let renewal = session.map(|(sasl, session)| Renewal {
        sasl: sasl.clone(),
        client_id: Arc::clone(&config.client_id),
        versions: Arc::clone(&versions),
        within: config.request_timeout,
        session,
    });
    Ok(Opened { reader, writer, versions, renewal })
}

async fn tcp(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn timed_out(config: &NetConfig, doing: &str) -> String {
    format!("{doing} took longer than socket.connection.setup.timeout.ms={}", config.connect_timeout.as_millis())
}

fn unreachable(broker: &Arc<str>, reason: String) -> ClientError {
    ClientError::new(ErrorKind::Unreachable, "connecting", reason).at(broker.to_string()).remedy(
        "check that a broker listens there and can be reached from here; the address comes from bootstrap.servers or \
         from the broker's advertised.listeners",
    )
}

/// Names a broker in errors and logs.
pub(super) fn broker_name(host: &str, port: u16) -> Arc<str> {
    Address { host: host.into(), port }.to_string().into()
}
