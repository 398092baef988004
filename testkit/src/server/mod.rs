//! The TCP shell: a listener, a task a connection, and one task that owns the core.

mod connection;
pub(crate) mod owner;
mod reader;
pub(crate) mod security_protocol;
pub(crate) mod tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::core::ConnectionId;
use connection::Connection;
use owner::Command;
use tls::Acceptor;

/// How long the listener rests after it could not accept, for lack of file descriptors for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What the listeners of all nodes share.
#[derive(Debug, Clone)]
pub(crate) struct Shell {
    /// `socket.request.max.bytes`.
    pub(crate) max_frame: usize,
    /// The largest frame of a client that has not proved who it is: `sasl.server.max.receive.size` where it has to.
    pub(crate) max_first_frame: usize,
    /// TLS, where clients speak it.
    pub(crate) tls: Option<Acceptor>,
    /// To the owner of the core.
    pub(crate) commands: UnboundedSender<Command>,
    /// Everything that runs.
    pub(crate) tasks: TaskTracker,
    /// Ends everything.
    pub(crate) stop: CancellationToken,
    /// Names connections.
    pub(crate) next_connection: Arc<AtomicU64>,
}

/// Accepts connections to a node until `stop` is cancelled.
pub(crate) async fn listen(listener: TcpListener, node: i32, shell: Shell, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!(%error, "cannot accept");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let id = ConnectionId(shell.next_connection.fetch_add(1, Ordering::Relaxed));
        let (sender, replies) = unbounded_channel();
        if shell.commands.send(Command::Connected { id, node, peer: peer.ip(), replies: sender }).is_err() {
            return;
        }
        let (max_frame, max_first_frame) = (shell.max_frame, shell.max_first_frame);
        let connection = Connection { id, max_frame, max_first_frame, commands: shell.commands.clone(), replies };
        shell.tasks.spawn(connection.run(stream, shell.tls.clone(), shell.stop.clone()));
    }
}
