//! How a consumer ends: what is to be committed is, the group is left, and the driver ends.

use std::time::Duration;

use ackflow_protocol::machine::consumer::Offsets;
use tokio::task::JoinHandle;

use super::{Handle, deadline};
use crate::consumer::link::Command;
use crate::error::ClientError;

const CLOSING: &str = "closing a consumer";

impl Handle {
    /// Closes the consumer. Cancel-safe: closing goes on without the caller.
    pub(in crate::consumer) async fn close(&mut self, timeout: Duration) -> Result<(), ClientError> {
        self.absorb();
        let offsets = self.give_up_all();
        self.errors.clear();
        let Some(driver) = self.begin_close(timeout, offsets, true) else { return Ok(()) };
        let last_push = async {
            if let Some(reporter) = &self.reporter {
                reporter.close().await;
            }
        };
        let (ended, ()) = tokio::join!(driver, last_push);
        self.absorb();
        self.run_callbacks();
        let ended = ended.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and with it the connections end.
            Err(_) => Ok(()),
        });
        // What could not be committed at last.
        let failed = self.errors.pop_front().map_or(Ok(()), |error| Err(error.while_doing(CLOSING)));
        ended.and(failed)
    }

    fn begin_close(
        &mut self,
        timeout: Duration,
        offsets: Offsets,
        commits: bool,
    ) -> Option<JoinHandle<Result<(), ClientError>>> {
        let driver = self.driver.take()?;
        self.link.send(Command::Close { deadline: deadline(timeout), offsets, commits });
        Some(driver)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.begin_close(self.close_timeout, Offsets::new(), false);
    }
}
