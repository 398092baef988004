//! The id of a member.

use ackflow_protocol::wire::Uuid;

use crate::net::random;

/// A member id as Kafka's client makes it: a random uuid of version 4.
pub(crate) fn member_id() -> String {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random().to_be_bytes());
    bytes[8..].copy_from_slice(&random().to_be_bytes());
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Uuid(bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_ids_differ_and_fit_what_brokers_accept() {
        let (a, b) = (member_id(), member_id());
        assert_ne!(a, b);
        assert!((1..=36).contains(&a.len()));
    }
}
