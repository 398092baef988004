//! A way to a listener that counts who comes by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// It ends when it is dropped.
pub(crate) struct Proxy {
    port: u16,
    count: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// One that leads to `target`.
    pub(crate) async fn start(target: String) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        let task = tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::Relaxed);
                let target = target.clone();
                tokio::spawn(async move {
                    if let Ok(mut far) = TcpStream::connect(target).await {
                        // Either side may end it in any way.
                        let _ = copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        });
        Ok(Self { port, count, task })
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// How many connections there were.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}
