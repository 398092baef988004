//! An endpoint of OAuth that gives tokens, for tests of clients that come by OAUTHBEARER.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

/// An HTTP endpoint on loopback that answers as its function says. It ends when it is dropped.
#[derive(Debug)]
pub struct TokenEndpoint {
    port: u16,
    asked: Arc<Mutex<Vec<TokenRequest>>>,
    _task: AbortOnDropHandle<()>,
}

/// What it was asked.
#[derive(Debug, Clone)]
pub struct TokenRequest {
    /// Request line and headers.
    pub head: String,
    /// The form.
    pub body: String,
    /// When.
    pub at: Instant,
}

/// What it answers.
#[derive(Debug, Clone)]
pub struct TokenAnswer {
    /// The status of HTTP.
    pub status: u16,
    /// The body, JSON as a rule.
    pub body: String,
    /// How long the answer takes.
    pub delay: Duration,
}

impl TokenAnswer {
    /// A token that is valid for so many seconds.
    pub fn token(token: &str, expires_in: u64) -> Self {
        Self::new(200, format!(r#"{{"access_token":"{token}","token_type":"Bearer","expires_in":{expires_in}}}"#))
    }

    /// Something else.
    pub fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, body: body.into(), delay: Duration::ZERO }
    }
}

impl TokenEndpoint {
    /// Starts one. `answer` is given the number of requests before.
    ///
    /// # Errors
    /// Where no port can be opened.
    pub async fn start(answer: impl FnMut(usize) -> TokenAnswer + Send + 'static) -> io::Result<Self> {
        Self::start_on(answer, |stream| async { Ok(stream) }).await
    }

    /// Starts one whose connections are first made ready by `wrap`, such as by TLS. One that cannot be is dropped.
    ///
    /// # Errors
    /// Where no port can be opened.
    pub async fn start_on<S, W>(
        answer: impl FnMut(usize) -> TokenAnswer + Send + 'static,
        wrap: impl Fn(TcpStream) -> W + Send + 'static,
    ) -> io::Result<Self>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        W: Future<Output = io::Result<S>> + Send + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answer = Arc::new(Mutex::new(answer));
        let log = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (wrapping, log, answer) = (wrap(stream), Arc::clone(&log), Arc::clone(&answer));
                tokio::spawn(async move {
                    let Ok(mut stream) = wrapping.await else { return };
                    let Ok(request) = read(&mut stream).await else { return };
                    let before = {
                        let mut log = lock(&log);
                        log.push(request);
                        log.len() - 1
                    };
                    let answer = lock(&answer)(before);
                    sleep(answer.delay).await;
                    // Who has gone needs no answer.
                    let _ = write(&mut stream, &answer).await;
                });
            }
        });
        Ok(Self { port, asked, _task: AbortOnDropHandle::new(task) })
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address, without TLS.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/token", self.port)
    }

    /// All that it was asked so far.
    pub fn asked(&self) -> Vec<TokenRequest> {
        lock(&self.asked).clone()
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The longest request that is read.
const MAX_REQUEST: usize = 64 * 1024;

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<TokenRequest> {
    let (mut text, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(end) = text.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&text[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            let body = &text[end + 4..];
            if body.len() >= length.unwrap_or_default() {
                return Ok(TokenRequest { head, body: String::from_utf8_lossy(body).into_owned(), at: Instant::now() });
            }
        }
        let count = stream.read(&mut chunk).await?;
        if count == 0 || text.len() > MAX_REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        text.extend_from_slice(&chunk[..count]);
    }
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), answer: &TokenAnswer) -> io::Result<()> {
    let TokenAnswer { status, body, .. } = answer;
    let head = format!(
        "HTTP/1.1 {status} Answer\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
