//! What goes wrong at an embedded broker because a test says so, and what only a test can see.

use ackflow_protocol::wire::ApiKey;

use super::{BrokerError, EmbeddedBroker};
use crate::core::{FaultId, FaultRule, ReceivedRequest, ShareRecords};

impl EmbeddedBroker {
    /// Lets requests go wrong as a rule says, from now on. Cancel-safe: the rule is added all the same.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use ackflow_protocol::wire::{ApiKey, ErrorCode};
    /// use ackflow_testkit::EmbeddedBroker;
    /// use ackflow_testkit::core::{FaultAction, FaultRule};
    ///
    /// let broker = EmbeddedBroker::start().await?;
    /// // The second acknowledgement is done, but its answer is lost with the connection.
    /// let lost = FaultRule::new(FaultAction::CutAfter).api(ApiKey::SHARE_ACKNOWLEDGE).after(1).times(1);
    /// let lost = broker.add_fault(lost).await?;
    /// // A coordinator that is loading for ever.
    /// let loading = FaultAction::Refuse(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    /// broker.add_fault(FaultRule::new(loading).api(ApiKey::SHARE_GROUP_HEARTBEAT)).await?;
    ///
    /// // Run a client. Whether the fault was met at all:
    /// assert_eq!(broker.fault_hits(lost).await?, 0);
    /// broker.clear_faults().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn add_fault(&self, rule: FaultRule) -> Result<FaultId, BrokerError> {
        self.call(|cluster, _| cluster.add_fault(rule)).await
    }

    /// Takes all rules away. Cancel-safe: they are taken away all the same.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn clear_faults(&self) -> Result<(), BrokerError> {
        self.call(|cluster, _| cluster.clear_faults()).await
    }

    /// How many requests a rule has met so far. Cancel-safe.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn fault_hits(&self, id: FaultId) -> Result<u32, BrokerError> {
        self.call(move |cluster, _| cluster.fault_hits(id)).await
    }

    /// Keeps each request that a client sends from now on, for [`take_requests`](Self::take_requests). Memory grows meanwhile. Cancel-safe: they are kept all
    /// the same.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn keep_requests(&self) -> Result<(), BrokerError> {
        self.call(|cluster, _| cluster.keep_requests()).await
    }

    /// The requests that came since they are kept or were last taken, in the order in which they came. Not cancel-safe: they may be lost.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn take_requests(&self) -> Result<Vec<ReceivedRequest>, BrokerError> {
        self.call(|cluster, _| cluster.take_requests()).await
    }

    /// Deletes now what `retention.ms` and `retention.bytes` of each topic do not keep, and compacts the topics whose `cleanup.policy` contains
    /// `compact`, without waiting for `log.retention.check.interval.ms`. Cancel-safe: it is done all the same.
    ///
    /// Compaction leaves the last record of each key, and gaps in the offsets before it. It never touches the last batch of a partition, what lies
    /// at or above the last stable offset, and what is younger than `min.compaction.lag.ms`: a test produces one batch more than it wants compacted.
    /// Tombstones go `delete.retention.ms` after a compaction first left them, in the next one.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn clean_logs(&self) -> Result<(), BrokerError> {
        self.call(|cluster, now| cluster.clean_logs(now)).await
    }

    /// How many requests of an API came too early: after an answer on their connection had said that the client is throttled
    /// ([`FaultAction::Throttle`](crate::core::FaultAction::Throttle)), and before that was over. A client that obeys sends none, but for those
    /// that were on their way already. Cancel-safe.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn early_requests(&self, api: ApiKey) -> Result<u32, BrokerError> {
        self.call(move |cluster, _| cluster.early_requests(api)).await
    }

    /// Ends the locks of all records that members of a group hold, as if their time was over: each has used up a delivery attempt. Cancel-safe:
    /// they end all the same.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn expire_locks(&self, group: &str) -> Result<(), BrokerError> {
        let group = group.to_owned();
        self.call(move |cluster, now| cluster.expire_group_locks(now, &group)).await
    }

    /// The records of a partition that are in flight for a group, with their states: from its start offset on, below which all are done. None where
    /// the group has never fetched from there. Cancel-safe.
    ///
    /// # Errors
    /// [`BrokerError::Stopped`].
    pub async fn share_records(
        &self,
        group: &str,
        topic: &str,
        partition: i32,
    ) -> Result<Vec<ShareRecords>, BrokerError> {
        let (group, topic) = (group.to_owned(), topic.to_owned());
        self.call(move |cluster, _| cluster.share_records(&group, &topic, partition)).await
    }

    /// Deletes a topic with all its records. One that is created under its name later is another topic. Cancel-safe: it is deleted all the
    /// same.
    ///
    /// # Errors
    /// [`BrokerError`].
    pub async fn delete_topic(&self, name: &str) -> Result<(), BrokerError> {
        let name = name.to_owned();
        self.call(move |cluster, now| cluster.delete_topic(now, &name)).await?.map_err(Into::into)
    }

    /// Adds partitions to a topic until it has `count`. Cancel-safe: they are added all the same.
    ///
    /// # Errors
    /// [`BrokerError`].
    pub async fn create_partitions(&self, topic: &str, count: i32) -> Result<(), BrokerError> {
        let topic = topic.to_owned();
        self.call(move |cluster, _| cluster.create_partitions(&topic, count)).await?.map_err(Into::into)
    }
}
