//! What each command on groups and topics begins with.

use ackflow_client::Admin;

use crate::connection::Connection;
use crate::report::{Report, Style};

/// Where the cluster is, and how results are shown.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    connection: Connection,

    #[command(flatten)]
    style: Style,
}

impl Common {
    /// Whether results are shown as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        self.style.json
    }

    /// The cluster's administration, and an empty report.
    ///
    /// # Errors
    /// Where properties cannot be read or cannot work.
    pub(crate) fn open(&self) -> anyhow::Result<(Admin, Report)> {
        Ok((self.connection.admin()?, Report::new(self.style)))
    }
}
