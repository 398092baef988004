//! Kafka's API keys.

use std::fmt;

/// Which API a request belongs to. Open: a key that Kafka adds later is a value too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ApiKey(pub i16);

macro_rules! api_keys {
    ($($(#[$only:meta])? $constant:ident $key:literal $name:literal flexible from $flexible:expr;)*) => {
        impl ApiKey {
            $(
                $(#[$only])?
                #[doc = concat!("`", $name, "`, key ", $key, ".")]
                pub const $constant: Self = Self($key);
            )*

            /// All APIs that Kafka 4.4.0 has a name for.
            pub const ALL: &[Self] = &[$($(#[$only])? Self($key)),*];

            /// The schema's name without `Request`, such as `ShareFetch`; `None` for a key unknown to Kafka 4.4.0.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($(#[$only])? $key => Some($name),)*
                    _ => None,
                }
            }

            /// The first version whose requests are flexible (and have header version 2); `None` for an API that is
            /// unknown or has no such version.
            pub fn flexible_from(self) -> Option<i16> {
                match self.0 {
                    $($(#[$only])? $key => $flexible,)*
                    _ => None,
                }
            }
        }
    };
}

// Every API of Kafka 4.4.0 and of the drafts that are switched on, so that an answer about one that is not served can still name it.
api_keys! {
    PRODUCE 0 "Produce" flexible from Some(9);
    FETCH 1 "Fetch" flexible from Some(12);
    LIST_OFFSETS 2 "ListOffsets" flexible from Some(6);
    METADATA 3 "Metadata" flexible from Some(9);
    OFFSET_COMMIT 8 "OffsetCommit" flexible from Some(8);
    OFFSET_FETCH 9 "OffsetFetch" flexible from Some(6);
    FIND_COORDINATOR 10 "FindCoordinator" flexible from Some(3);
    JOIN_GROUP 11 "JoinGroup" flexible from Some(6);
    HEARTBEAT 12 "Heartbeat" flexible from Some(4);
    LEAVE_GROUP 13 "LeaveGroup" flexible from Some(4);
    SYNC_GROUP 14 "SyncGroup" flexible from Some(4);
    DESCRIBE_GROUPS 15 "DescribeGroups" flexible from Some(5);
    LIST_GROUPS 16 "ListGroups" flexible from Some(3);
    SASL_HANDSHAKE 17 "SaslHandshake" flexible from None;
    API_VERSIONS 18 "ApiVersions" flexible from Some(3);
    CREATE_TOPICS 19 "CreateTopics" flexible from Some(5);
    DELETE_TOPICS 20 "DeleteTopics" flexible from Some(4);
    DELETE_RECORDS 21 "DeleteRecords" flexible from Some(2);
    INIT_PRODUCER_ID 22 "InitProducerId" flexible from Some(2);
    OFFSET_FOR_LEADER_EPOCH 23 "OffsetForLeaderEpoch" flexible from Some(4);
    ADD_PARTITIONS_TO_TXN 24 "AddPartitionsToTxn" flexible from Some(3);
    ADD_OFFSETS_TO_TXN 25 "AddOffsetsToTxn" flexible from Some(3);
    END_TXN 26 "EndTxn" flexible from Some(3);
    WRITE_TXN_MARKERS 27 "WriteTxnMarkers" flexible from Some(1);
    TXN_OFFSET_COMMIT 28 "TxnOffsetCommit" flexible from Some(3);
    DESCRIBE_ACLS 29 "DescribeAcls" flexible from Some(2);
    CREATE_ACLS 30 "CreateAcls" flexible from Some(2);
    DELETE_ACLS 31 "DeleteAcls" flexible from Some(2);
    DESCRIBE_CONFIGS 32 "DescribeConfigs" flexible from Some(4);
    ALTER_CONFIGS 33 "AlterConfigs" flexible from Some(2);
    ALTER_REPLICA_LOG_DIRS 34 "AlterReplicaLogDirs" flexible from Some(2);
    DESCRIBE_LOG_DIRS 35 "DescribeLogDirs" flexible from Some(2);
    SASL_AUTHENTICATE 36 "SaslAuthenticate" flexible from Some(2);
    CREATE_PARTITIONS 37 "CreatePartitions" flexible from Some(2);
    CREATE_DELEGATION_TOKEN 38 "CreateDelegationToken" flexible from Some(2);
    RENEW_DELEGATION_TOKEN 39 "RenewDelegationToken" flexible from Some(2);
    EXPIRE_DELEGATION_TOKEN 40 "ExpireDelegationToken" flexible from Some(2);
    DESCRIBE_DELEGATION_TOKEN 41 "DescribeDelegationToken" flexible from Some(2);
    DELETE_GROUPS 42 "DeleteGroups" flexible from Some(2);
    ELECT_LEADERS 43 "ElectLeaders" flexible from Some(2);
    INCREMENTAL_ALTER_CONFIGS 44 "IncrementalAlterConfigs" flexible from Some(1);
    ALTER_PARTITION_REASSIGNMENTS 45 "AlterPartitionReassignments" flexible from Some(0);
    LIST_PARTITION_REASSIGNMENTS 46 "ListPartitionReassignments" flexible from Some(0);
    OFFSET_DELETE 47 "OffsetDelete" flexible from None;
    DESCRIBE_CLIENT_QUOTAS 48 "DescribeClientQuotas" flexible from Some(1);
    ALTER_CLIENT_QUOTAS 49 "AlterClientQuotas" flexible from Some(1);
    DESCRIBE_USER_SCRAM_CREDENTIALS 50 "DescribeUserScramCredentials" flexible from Some(0);
    ALTER_USER_SCRAM_CREDENTIALS 51 "AlterUserScramCredentials" flexible from Some(0);
    VOTE 52 "Vote" flexible from Some(0);
    BEGIN_QUORUM_EPOCH 53 "BeginQuorumEpoch" flexible from Some(1);
    END_QUORUM_EPOCH 54 "EndQuorumEpoch" flexible from Some(1);
    DESCRIBE_QUORUM 55 "DescribeQuorum" flexible from Some(0);
    ALTER_PARTITION 56 "AlterPartition" flexible from Some(2);
    UPDATE_FEATURES 57 "UpdateFeatures" flexible from Some(0);
    ENVELOPE 58 "Envelope" flexible from Some(0);
    FETCH_SNAPSHOT 59 "FetchSnapshot" flexible from Some(0);
    DESCRIBE_CLUSTER 60 "DescribeCluster" flexible from Some(0);
    DESCRIBE_PRODUCERS 61 "DescribeProducers" flexible from Some(0);
    BROKER_REGISTRATION 62 "BrokerRegistration" flexible from Some(0);
    BROKER_HEARTBEAT 63 "BrokerHeartbeat" flexible from Some(0);
    UNREGISTER_BROKER 64 "UnregisterBroker" flexible from Some(0);
    DESCRIBE_TRANSACTIONS 65 "DescribeTransactions" flexible from Some(0);
    LIST_TRANSACTIONS 66 "ListTransactions" flexible from Some(0);
    ALLOCATE_PRODUCER_IDS 67 "AllocateProducerIds" flexible from Some(0);
    CONSUMER_GROUP_HEARTBEAT 68 "ConsumerGroupHeartbeat" flexible from Some(0);
    CONSUMER_GROUP_DESCRIBE 69 "ConsumerGroupDescribe" flexible from Some(0);
    CONTROLLER_REGISTRATION 70 "ControllerRegistration" flexible from Some(0);
    GET_TELEMETRY_SUBSCRIPTIONS 71 "GetTelemetrySubscriptions" flexible from Some(0);
    PUSH_TELEMETRY 72 "PushTelemetry" flexible from Some(0);
    ASSIGN_REPLICAS_TO_DIRS 73 "AssignReplicasToDirs" flexible from Some(0);
    LIST_CONFIG_RESOURCES 74 "ListConfigResources" flexible from Some(0);
    DESCRIBE_TOPIC_PARTITIONS 75 "DescribeTopicPartitions" flexible from Some(0);
    SHARE_GROUP_HEARTBEAT 76 "ShareGroupHeartbeat" flexible from Some(1);
    SHARE_GROUP_DESCRIBE 77 "ShareGroupDescribe" flexible from Some(1);
    SHARE_FETCH 78 "ShareFetch" flexible from Some(1);
    SHARE_ACKNOWLEDGE 79 "ShareAcknowledge" flexible from Some(1);
    ADD_RAFT_VOTER 80 "AddRaftVoter" flexible from Some(0);
    REMOVE_RAFT_VOTER 81 "RemoveRaftVoter" flexible from Some(0);
    UPDATE_RAFT_VOTER 82 "UpdateRaftVoter" flexible from Some(0);
    INITIALIZE_SHARE_GROUP_STATE 83 "InitializeShareGroupState" flexible from Some(0);
    READ_SHARE_GROUP_STATE 84 "ReadShareGroupState" flexible from Some(0);
    WRITE_SHARE_GROUP_STATE 85 "WriteShareGroupState" flexible from Some(0);
    DELETE_SHARE_GROUP_STATE 86 "DeleteShareGroupState" flexible from Some(0);
    READ_SHARE_GROUP_STATE_SUMMARY 87 "ReadShareGroupStateSummary" flexible from Some(0);
    STREAMS_GROUP_HEARTBEAT 88 "StreamsGroupHeartbeat" flexible from Some(0);
    STREAMS_GROUP_DESCRIBE 89 "StreamsGroupDescribe" flexible from Some(0);
    DESCRIBE_SHARE_GROUP_OFFSETS 90 "DescribeShareGroupOffsets" flexible from Some(0);
    ALTER_SHARE_GROUP_OFFSETS 91 "AlterShareGroupOffsets" flexible from Some(0);
    DELETE_SHARE_GROUP_OFFSETS 92 "DeleteShareGroupOffsets" flexible from Some(0);
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE 93 "StreamsGroupTopologyDescriptionUpdate" flexible from Some(0);
    UNREGISTER_CONTROLLER 94 "UnregisterController" flexible from Some(0);
    #[cfg(feature = "unstable-kip-1289")]
    TXN_SHARE_ACKNOWLEDGE 95 "TxnShareAcknowledge" flexible from Some(0);
}

impl ApiKey {
    /// The API that people name: by its key, or by its name in letters of any case; `None` for a name that is unknown to
    /// Kafka 4.4.0.
    pub fn named(text: &str) -> Option<Self> {
        let by_name = || {
            let is_it = |key: &Self| key.name().is_some_and(|name| name.eq_ignore_ascii_case(text));
            Self::ALL.iter().copied().find(is_it)
        };
        text.parse().ok().map(Self).or_else(by_name)
    }

    /// True where a request of this API and version has the flexible form.
    pub fn request_is_flexible(self, version: i16) -> bool {
        self.flexible_from().is_some_and(|from| version >= from)
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "api key {}", self.0),
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}({})", self.0)
    }
}
