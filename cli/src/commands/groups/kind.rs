//! The kinds of groups whose offsets are known here.

use ackflow_client::Admin;
use ackflow_client::admin::GroupListing;
use clap::ValueEnum;

/// What a group is, which decides where its offsets are and what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// A share group: records are settled one by one from a start offset on
    Share,
    /// A consumer group of either protocol: offsets are committed
    Consumer,
}

impl Kind {
    /// The kind of a listed group.
    ///
    /// # Errors
    /// Where it is none of these.
    pub(crate) fn of(group: &GroupListing) -> Result<Self, String> {
        let GroupListing { group_id, group_type, protocol, .. } = group;
        match (group_type.to_ascii_lowercase().as_str(), protocol.as_str()) {
            ("share", _) => Ok(Self::Share),
            ("consumer", _) => Ok(Self::Consumer),
            // A classic group that holds nothing but offsets has no protocol. Before Kafka 3.8 brokers do not say the type.
            ("classic" | "", "consumer" | "") => Ok(Self::Consumer),
            ("streams", _) => Err(format!(
                "group {group_id} is a streams group, whose offsets and members are not known here: use kafka-streams-groups.sh"
            )),
            (group_type, protocol) => Err(format!(
                "group {group_id} is a {group_type} group whose members speak the protocol {protocol}: name a share or consumer group"
            )),
        }
    }

    /// The kind of the group of this name, where there is one.
    pub(crate) async fn find(admin: &Admin, group: &str) -> anyhow::Result<Option<Self>> {
        let listed = admin.list_groups(&[]).await?;
        match listed.iter().find(|listed| listed.group_id == group) {
            Some(listed) => Self::of(listed).map(Some).map_err(anyhow::Error::msg),
            None => Ok(Self::unlisted(admin, group).await),
        }
    }

    /// The kind of a group that is not listed, as its coordinator knows it. While that moves to another broker, nobody lists its groups.
    pub(crate) async fn unlisted(admin: &Admin, group: &str) -> Option<Self> {
        if matches!(admin.describe_share_groups([group]).await.remove(group), Some(Ok(_))) {
            return Some(Self::Share);
        }
        let described = admin.describe_consumer_groups([group]).await.remove(group);
        matches!(described, Some(Ok(_))).then_some(Self::Consumer)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Consumer => "consumer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(group_type: &str, protocol: &str) -> Result<Kind, String> {
        let (group_type, protocol) = (group_type.to_owned(), protocol.to_owned());
        Kind::of(&GroupListing { group_id: "g".to_owned(), group_type, state: "Empty".to_owned(), protocol })
    }

    #[test]
    fn kinds_are_told_by_type_and_protocol() {
        assert_eq!(kind("share", "share"), Ok(Kind::Share));
        assert_eq!(kind("Share", "share"), Ok(Kind::Share));
        for (group_type, protocol) in
            [("consumer", "consumer"), ("classic", "consumer"), ("classic", ""), ("", "consumer")]
        {
            assert_eq!(kind(group_type, protocol), Ok(Kind::Consumer));
        }
    }

    #[test]
    fn groups_whose_offsets_are_elsewhere_are_refused_with_what_helps() {
        assert!(kind("streams", "streams").unwrap_err().contains("kafka-streams-groups.sh"));
        let error = kind("classic", "connect").unwrap_err();
        assert!(error.contains("group g is a classic group") && error.contains("connect"), "{error}");
    }
}
