//! One question by HTTP/1.1, on a connection of its own, within bounds of time and size.

use std::io;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::endpoint::Endpoint;
use super::failure::Failure;
use super::source::LONGEST_TOKEN;
use crate::net::stream;

/// An answer.
pub(super) struct Response {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

/// The longest answer that is taken.
const MAX_BODY: usize = LONGEST_TOKEN as usize;
/// The longest head of an answer, and what is read at a time.
const MAX_HEAD: usize = 64 * 1024;

const REACH: &str = "check that sasl.oauthbearer.token.endpoint.url can be reached from here";
const SPEAKS: &str =
    "check that sasl.oauthbearer.token.endpoint.url is an address of HTTP, with https where that is spoken";
const TRUST: &str = "check the endpoint's certificate: its authority in ssl.truststore.location (without that, those of the system count), its name \
                     and its dates";

/// Sends a form. Cancel-safe: dropping it closes the connection.
pub(super) async fn post(endpoint: &Endpoint, authorization: &str, form: String) -> Result<Response, Failure> {
    let late = |key: &str, within: std::time::Duration| {
        let reason = format!("{endpoint}: it took longer than {key}={}", within.as_millis());
        Failure::passing(reason, REACH)
    };
    let stream = timeout(endpoint.connect_timeout, connect(endpoint)).await;
    let stream = stream.map_err(|_| late("sasl.login.connect.timeout.ms", endpoint.connect_timeout))??;
    let asked = timeout(endpoint.read_timeout, ask(endpoint, stream, authorization, form)).await;
    asked.map_err(|_| late("sasl.login.read.timeout.ms", endpoint.read_timeout))?
}

async fn connect(endpoint: &Endpoint) -> Result<stream::Stream, Failure> {
    let target = &endpoint.target;
    let unreachable =
        |error: io::Error| Failure::passing(format!("{endpoint}: it cannot be connected to: {error}"), REACH);
    let stream = TcpStream::connect((&*target.host, target.port)).await.map_err(unreachable)?;
    stream::secure(stream, &target.host, &endpoint.security).await.map_err(|error| match stream::explain(&error) {
        Some((reason, _)) => Failure::lasting(format!("{endpoint}: {reason}"), TRUST),
        None => Failure::passing(format!("{endpoint}: the handshake of TLS failed: {error}"), SPEAKS),
    })
}

async fn ask(
    endpoint: &Endpoint,
    stream: stream::Stream,
    authorization: &str,
    form: String,
) -> Result<Response, Failure> {
    let broken = |error: hyper::Error| Failure::passing(format!("{endpoint}: {}", chain(&error)), SPEAKS);
    let mut builder = http1::Builder::new();
    let (mut sender, connection) =
        builder.max_buf_size(MAX_HEAD).handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // What goes wrong on the connection is told to who waits for the answer.
    let _connection = AbortOnDropHandle::new(tokio::spawn(async move { drop(connection.await) }));
    let unsendable = |_| Failure::lasting(format!("{endpoint}: it cannot be asked"), SPEAKS);
    let mut authorization = HeaderValue::from_str(authorization)
        .map_err(|_| Failure::lasting(format!("{endpoint}: it cannot be asked"), SPEAKS))?;
    authorization.set_sensitive(true);
    let request = Request::post(&*endpoint.target.path)
        .header(HOST, &*endpoint.target.authority)
        .header(AUTHORIZATION, authorization)
        .header(ACCEPT, "application/json")
        .header(CACHE_CONTROL, "no-cache")
        .header(CONNECTION, "close")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Full::new(Bytes::from(form)))
        .map_err(unsendable)?;
    let response = sender.send_request(request).await.map_err(broken)?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_BODY).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() {
            return Failure::lasting(format!("{endpoint}: its answer is longer than {MAX_BODY} bytes"), SPEAKS);
        }
        Failure::passing(format!("{endpoint}: its answer broke off: {error}"), REACH)
    })?;
    Ok(Response { status, body: body.to_bytes() })
}

/// An error with what is behind it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    text
}
