//! The TCP shell: a listener, a task a connection, and one task that owns the core.

mod connection;
pub(crate) mod owner;
mod reader;

use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::core::ConnectionId;
use connection::Connection;
use owner::Command;

/// How long the listener rests after it could not accept, for lack of file descriptors for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections until `stop` is cancelled.
pub(crate) async fn listen(
    listener: TcpListener,
    max_frame: usize,
    commands: UnboundedSender<Command>,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    let mut next = 0;
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
        let id = ConnectionId(next);
        next += 1;
        let (sender, replies) = unbounded_channel();
        if commands.send(Command::Connected { id, peer: peer.ip(), replies: sender }).is_err() {
            return;
        }
        let connection = Connection { id, stream, max_frame, commands: commands.clone(), replies };
        tasks.spawn(connection.run(stop.clone()));
    }
}
