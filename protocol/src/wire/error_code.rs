//! Kafka's error codes.

use std::fmt;

/// An error code of a response. Open: a code that Kafka adds later is a value too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ErrorCode(pub i16);

macro_rules! error_codes {
    ($($constant:ident $code:literal $retriable:ident $text:literal;)*) => {
        impl ErrorCode {
            $(
                #[doc = $text]
                pub const $constant: Self = Self($code);
            )*

            /// Kafka's name, such as `NOT_LEADER_OR_FOLLOWER`; `None` for a code unknown to Kafka 4.4.0.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(stringify!($constant)),)*
                    _ => None,
                }
            }

            /// What the code means, in one sentence; empty where it is unknown.
            pub fn meaning(self) -> &'static str {
                match self.0 {
                    $($code => $text,)*
                    _ => "",
                }
            }

            /// Whether Kafka's own clients take the error as passing: the same request may succeed later.
            pub fn is_retriable(self) -> bool {
                match self.0 {
                    $($code => error_codes!(@$retriable),)*
                    _ => false,
                }
            }
        }
    };
    (@retriable) => { true };
    (@final) => { false };
}

error_codes! {
    NONE 0 final "No error.";
    UNKNOWN_SERVER_ERROR -1 final "The broker met an error that it has no code for.";
    OFFSET_OUT_OF_RANGE 1 final "The offset is outside what the log holds.";
    CORRUPT_MESSAGE 2 retriable "A record failed its CRC, is too large, or lacks the key that a compacted topic wants.";
    UNKNOWN_TOPIC_OR_PARTITION 3 retriable "The broker does not host this topic partition.";
    INVALID_FETCH_SIZE 4 final "The fetch size is invalid.";
    LEADER_NOT_AVAILABLE 5 retriable "The partition has no leader just now.";
    NOT_LEADER_OR_FOLLOWER 6 retriable "The broker is not the leader (or replica) that the request needs.";
    REQUEST_TIMED_OUT 7 retriable "The request ran out of time on the broker.";
    BROKER_NOT_AVAILABLE 8 final "The broker is not available.";
    REPLICA_NOT_AVAILABLE 9 retriable "The replica is not available on this broker.";
    MESSAGE_TOO_LARGE 10 final "A record is larger than the broker takes (max.message.bytes).";
    STALE_CONTROLLER_EPOCH 11 final "The controller has moved on.";
    OFFSET_METADATA_TOO_LARGE 12 final "The metadata of an offset commit is too long.";
    NETWORK_EXCEPTION 13 retriable "The connection ended before the answer came.";
    COORDINATOR_LOAD_IN_PROGRESS 14 retriable "The coordinator is loading its state.";
    COORDINATOR_NOT_AVAILABLE 15 retriable "The coordinator is not available.";
    NOT_COORDINATOR 16 retriable "The broker is not the coordinator.";
    INVALID_TOPIC_EXCEPTION 17 final "The topic name is not allowed.";
    RECORD_LIST_TOO_LARGE 18 final "The record batch is larger than a segment.";
    NOT_ENOUGH_REPLICAS 19 retriable "Fewer replicas are in sync than min.insync.replicas wants.";
    NOT_ENOUGH_REPLICAS_AFTER_APPEND 20 retriable "The records were written, to fewer replicas than min.insync.replicas wants.";
    INVALID_REQUIRED_ACKS 21 final "acks has a value that is not allowed.";
    ILLEGAL_GENERATION 22 final "The group has a newer generation.";
    INCONSISTENT_GROUP_PROTOCOL 23 final "The member speaks a protocol that the group does not.";
    INVALID_GROUP_ID 24 final "The group id is not allowed.";
    UNKNOWN_MEMBER_ID 25 final "The group does not know this member.";
    INVALID_SESSION_TIMEOUT 26 final "The session timeout is outside what the broker allows.";
    REBALANCE_IN_PROGRESS 27 final "The group is rebalancing.";
    INVALID_COMMIT_OFFSET_SIZE 28 final "The offset commit is too large.";
    TOPIC_AUTHORIZATION_FAILED 29 final "Not authorized for this topic.";
    GROUP_AUTHORIZATION_FAILED 30 final "Not authorized for this group.";
    CLUSTER_AUTHORIZATION_FAILED 31 final "Not authorized for the cluster.";
    INVALID_TIMESTAMP 32 final "The timestamp is outside what the topic allows.";
    UNSUPPORTED_SASL_MECHANISM 33 final "The broker does not offer this SASL mechanism.";
    ILLEGAL_SASL_STATE 34 final "The request does not fit the state of the SASL exchange.";
    UNSUPPORTED_VERSION 35 final "The broker does not offer this version of the API.";
    TOPIC_ALREADY_EXISTS 36 final "A topic of this name exists.";
    INVALID_PARTITIONS 37 final "The number of partitions is not allowed.";
    INVALID_REPLICATION_FACTOR 38 final "The replication factor is not allowed or exceeds the number of brokers.";
    INVALID_REPLICA_ASSIGNMENT 39 final "The replica assignment is not allowed.";
    INVALID_CONFIG 40 final "The configuration is not allowed.";
    NOT_CONTROLLER 41 retriable "The broker is not the controller.";
    INVALID_REQUEST 42 final "The request does not make sense to the broker.";
    UNSUPPORTED_FOR_MESSAGE_FORMAT 43 final "The message format on the broker does not support the request.";
    POLICY_VIOLATION 44 final "A policy on the broker refuses the request.";
    OUT_OF_ORDER_SEQUENCE_NUMBER 45 final "A producer batch came out of sequence.";
    DUPLICATE_SEQUENCE_NUMBER 46 final "A producer batch came twice.";
    INVALID_PRODUCER_EPOCH 47 final "A producer with a newer epoch exists.";
    INVALID_TXN_STATE 48 final "The transaction is in a state that does not allow the request.";
    INVALID_PRODUCER_ID_MAPPING 49 final "The producer id does not belong to the transactional id.";
    INVALID_TRANSACTION_TIMEOUT 50 final "The transaction timeout exceeds the maximum of the broker (transaction.max.timeout.ms).";
    CONCURRENT_TRANSACTIONS 51 retriable "Another operation on the same transaction is under way.";
    TRANSACTION_COORDINATOR_FENCED 52 final "The transaction coordinator has moved.";
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED 53 final "Not authorized for this transactional id.";
    SECURITY_DISABLED 54 final "Security features are disabled on the broker.";
    OPERATION_NOT_ATTEMPTED 55 final "The operation was not tried, because another one in the request failed.";
    KAFKA_STORAGE_ERROR 56 retriable "The disk of the broker failed.";
    LOG_DIR_NOT_FOUND 57 final "The log directory does not exist.";
    SASL_AUTHENTICATION_FAILED 58 final "SASL authentication failed.";
    UNKNOWN_PRODUCER_ID 59 final "The broker has forgotten this producer id.";
    REASSIGNMENT_IN_PROGRESS 60 final "The partition is being reassigned.";
    DELEGATION_TOKEN_AUTH_DISABLED 61 final "Delegation tokens are disabled.";
    DELEGATION_TOKEN_NOT_FOUND 62 final "The delegation token does not exist.";
    DELEGATION_TOKEN_OWNER_MISMATCH 63 final "The delegation token belongs to somebody else.";
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED 64 final "Delegation tokens are not allowed on this connection.";
    DELEGATION_TOKEN_AUTHORIZATION_FAILED 65 final "Not authorized for this delegation token.";
    DELEGATION_TOKEN_EXPIRED 66 final "The delegation token has expired.";
    INVALID_PRINCIPAL_TYPE 67 final "The principal type is not supported.";
    NON_EMPTY_GROUP 68 final "The group still has members.";
    GROUP_ID_NOT_FOUND 69 final "The group does not exist.";
    FETCH_SESSION_ID_NOT_FOUND 70 retriable "The broker does not know the fetch session.";
    INVALID_FETCH_SESSION_EPOCH 71 retriable "The fetch session has another epoch.";
    LISTENER_NOT_FOUND 72 retriable "The leader has no listener of the name that the client used.";
    TOPIC_DELETION_DISABLED 73 final "Topic deletion is disabled.";
    FENCED_LEADER_EPOCH 74 retriable "The leader epoch is older than the one of the broker.";
    UNKNOWN_LEADER_EPOCH 75 retriable "The leader epoch is newer than the one of the broker.";
    UNSUPPORTED_COMPRESSION_TYPE 76 final "The broker does not support the compression.";
    STALE_BROKER_EPOCH 77 final "The broker epoch has changed.";
    OFFSET_NOT_AVAILABLE 78 retriable "The leader has not caught up with the high watermark yet.";
    MEMBER_ID_REQUIRED 79 final "The member has to join with the id that it was given.";
    PREFERRED_LEADER_NOT_AVAILABLE 80 retriable "The preferred leader is not available.";
    GROUP_MAX_SIZE_REACHED 81 final "The group has its maximum number of members.";
    FENCED_INSTANCE_ID 82 final "Another member has taken over this group.instance.id.";
    ELIGIBLE_LEADERS_NOT_AVAILABLE 83 retriable "No eligible leader is available.";
    ELECTION_NOT_NEEDED 84 retriable "The partition needs no election.";
    NO_REASSIGNMENT_IN_PROGRESS 85 final "The partition is not being reassigned.";
    GROUP_SUBSCRIBED_TO_TOPIC 86 final "The group is subscribed to the topic.";
    INVALID_RECORD 87 final "The broker refuses a record.";
    UNSTABLE_OFFSET_COMMIT 88 retriable "A transaction has not committed its offsets yet.";
    THROTTLING_QUOTA_EXCEEDED 89 retriable "A quota is exceeded.";
    PRODUCER_FENCED 90 final "A newer producer of the same transactional id has taken over.";
    RESOURCE_NOT_FOUND 91 final "The resource does not exist.";
    DUPLICATE_RESOURCE 92 final "The resource exists already.";
    UNACCEPTABLE_CREDENTIAL 93 final "The credential does not meet the rules.";
    INCONSISTENT_VOTER_SET 94 final "The voter set does not match.";
    INVALID_UPDATE_VERSION 95 final "The update version is not allowed.";
    FEATURE_UPDATE_FAILED 96 final "The feature update failed.";
    PRINCIPAL_DESERIALIZATION_FAILURE 97 final "A forwarded principal cannot be read.";
    SNAPSHOT_NOT_FOUND 98 final "The snapshot does not exist.";
    POSITION_OUT_OF_RANGE 99 final "The position is outside the snapshot.";
    UNKNOWN_TOPIC_ID 100 retriable "The broker does not host a topic of this id.";
    DUPLICATE_BROKER_REGISTRATION 101 final "The broker id is registered already.";
    BROKER_ID_NOT_REGISTERED 102 final "The broker id is not registered.";
    INCONSISTENT_TOPIC_ID 103 retriable "The topic id does not match the one in the log.";
    INCONSISTENT_CLUSTER_ID 104 final "The cluster id does not match.";
    TRANSACTIONAL_ID_NOT_FOUND 105 final "The transactional id does not exist.";
    FETCH_SESSION_TOPIC_ID_ERROR 106 retriable "The fetch session mixes topic ids and names.";
    INELIGIBLE_REPLICA 107 final "The replica may not be in the ISR.";
    NEW_LEADER_ELECTED 108 final "The change elected a new leader.";
    OFFSET_MOVED_TO_TIERED_STORAGE 109 final "The offset has moved to tiered storage.";
    FENCED_MEMBER_EPOCH 110 final "The member epoch is fenced: the member has to join again.";
    UNRELEASED_INSTANCE_ID 111 final "Another member still holds this group.instance.id.";
    UNSUPPORTED_ASSIGNOR 112 final "The assignor is not supported.";
    STALE_MEMBER_EPOCH 113 final "The member epoch is old: the member has to heartbeat first.";
    MISMATCHED_ENDPOINT_TYPE 114 final "The request came to the wrong kind of endpoint.";
    UNSUPPORTED_ENDPOINT_TYPE 115 final "The endpoint type is not supported.";
    UNKNOWN_CONTROLLER_ID 116 final "The controller id is unknown.";
    UNKNOWN_SUBSCRIPTION_ID 117 final "The telemetry subscription is unknown.";
    TELEMETRY_TOO_LARGE 118 final "The telemetry push is too large.";
    INVALID_REGISTRATION 119 final "The registration is invalid.";
    TRANSACTION_ABORTABLE 120 final "The transaction has to be aborted; the producer may go on afterwards.";
    INVALID_RECORD_STATE 121 final "The record is not acquired by this member: its lock is lost.";
    SHARE_SESSION_NOT_FOUND 122 retriable "The broker does not know the share session.";
    INVALID_SHARE_SESSION_EPOCH 123 retriable "The share session has another epoch.";
    FENCED_STATE_EPOCH 124 final "The share partition state has a newer epoch.";
    INVALID_VOTER_KEY 125 final "The voter key does not match.";
    DUPLICATE_VOTER 126 final "The voter is in the set already.";
    VOTER_NOT_FOUND 127 final "The voter is not in the set.";
    INVALID_REGULAR_EXPRESSION 128 final "The regular expression is invalid.";
    REBOOTSTRAP_REQUIRED 129 final "The client has to start again from its bootstrap servers.";
    STREAMS_INVALID_TOPOLOGY 130 final "The streams topology is invalid.";
    STREAMS_INVALID_TOPOLOGY_EPOCH 131 final "The streams topology epoch is invalid.";
    STREAMS_TOPOLOGY_FENCED 132 final "The streams topology epoch is fenced.";
    SHARE_SESSION_LIMIT_REACHED 133 retriable "The broker has its maximum number of share sessions.";
    GROUP_DELETION_FAILED 134 final "The group could not be deleted; the message of the group says why.";
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED 135 final "The broker could not process the topology description.";
    CONTROLLER_ID_NOT_REGISTERED 136 final "The controller id is not registered.";
}

impl ErrorCode {
    /// True for code 0.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// `Ok` for code 0, else the code as an error.
    ///
    /// # Errors
    /// The code itself.
    pub fn ok(self) -> Result<(), Self> {
        if self.is_none() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({}): {}", self.0, self.meaning()),
            None => write!(f, "error code {}", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name().unwrap_or("UNKNOWN"), self.0)
    }
}

impl std::error::Error for ErrorCode {}
