//! What can be done about what brokers answer, where the code tells.

use ackflow_protocol::wire::ErrorCode;

/// The remedy; empty where there is none to give.
pub(super) fn remedy(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::SECURITY_DISABLED => "set authorizer.class.name on the brokers and controllers",
        ErrorCode::NON_EMPTY_GROUP => "stop the members of the group first",
        ErrorCode::UNKNOWN_MEMBER_ID => "stop the members of the group first",
        ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC => "stop the members of the group that subscribe to the topic first",
        ErrorCode::TOPIC_AUTHORIZATION_FAILED
        | ErrorCode::GROUP_AUTHORIZATION_FAILED
        | ErrorCode::CLUSTER_AUTHORIZATION_FAILED
        | ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => "have an ACL allow it to this principal",
        ErrorCode::OFFSET_OUT_OF_RANGE => "list_offsets tells where the partition begins and ends",
        ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::TRANSACTION_COORDINATOR_FENCED => {
            "describe_producers tells the epochs of the transaction"
        }
        ErrorCode::UNACCEPTABLE_CREDENTIAL => "hash the password 4096 to 16384 times",
        ErrorCode::FEATURE_UPDATE_FAILED => "describe_features tells what the brokers support",
        _ => "",
    }
}
