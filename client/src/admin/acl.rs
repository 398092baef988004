//! Rules of who may do what, and filters on them.

use std::fmt;

/// A rule: whether somebody may do something with a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AclBinding {
    /// What kind of resource.
    pub resource_type: AclResourceType,
    /// The resource's name; `*` for all, and [`AclBinding::CLUSTER_NAME`] for the cluster.
    pub resource_name: String,
    /// Whether it is the name itself or a beginning of names.
    pub pattern_type: AclPatternType,
    /// Who, such as `User:alice`; `User:*` for everybody.
    pub principal: String,
    /// From where; `*` for everywhere.
    pub host: String,
    /// What.
    pub operation: AclOperation,
    /// Whether it is allowed or denied.
    pub permission: AclPermission,
}

impl AclBinding {
    /// The name of the cluster, of which there is one alone.
    pub const CLUSTER_NAME: &'static str = "kafka-cluster";

    /// Lets a principal such as `User:alice` do something with the resource of this name, from everywhere.
    pub fn allow(
        principal: impl Into<String>,
        operation: AclOperation,
        resource_type: AclResourceType,
        resource_name: impl Into<String>,
    ) -> Self {
        Self {
            resource_type,
            resource_name: resource_name.into(),
            pattern_type: AclPatternType::LITERAL,
            principal: principal.into(),
            host: "*".into(),
            operation,
            permission: AclPermission::ALLOW,
        }
    }

    /// The filter that this rule alone matches.
    pub fn to_filter(&self) -> AclBindingFilter {
        AclBindingFilter {
            resource_type: self.resource_type,
            resource_name: Some(self.resource_name.clone()),
            pattern_type: self.pattern_type,
            principal: Some(self.principal.clone()),
            host: Some(self.host.clone()),
            operation: self.operation,
            permission: self.permission,
        }
    }
}

impl fmt::Display for AclBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource_type, resource_name, pattern_type, principal, host, operation, permission } = self;
        write!(
            f,
            "{permission} {operation} on {resource_type} {resource_name} ({pattern_type}) for {principal} from {host}"
        )
    }
}

/// A filter on rules: what is `None` or `ANY` matches everything. The default matches all rules.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AclBindingFilter {
    /// What kind of resource.
    pub resource_type: AclResourceType,
    /// The resource's name.
    pub resource_name: Option<String>,
    /// How rules name the resource; [`AclPatternType::MATCH`] finds all rules that concern a resource of the name.
    pub pattern_type: AclPatternType,
    /// Who.
    pub principal: Option<String>,
    /// From where.
    pub host: Option<String>,
    /// What.
    pub operation: AclOperation,
    /// Whether it is allowed or denied.
    pub permission: AclPermission,
}

impl Default for AclBindingFilter {
    fn default() -> Self {
        Self {
            resource_type: AclResourceType::ANY,
            resource_name: None,
            pattern_type: AclPatternType::ANY,
            principal: None,
            host: None,
            operation: AclOperation::ANY,
            permission: AclPermission::ANY,
        }
    }
}

impl AclBindingFilter {
    /// All rules that concern the resource of this name.
    pub fn about(resource_type: AclResourceType, resource_name: impl Into<String>) -> Self {
        let resource_name = Some(resource_name.into());
        Self { resource_type, resource_name, pattern_type: AclPatternType::MATCH, ..Self::default() }
    }
}

impl fmt::Display for AclBindingFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_any = |text: &Option<String>| text.clone().unwrap_or_else(|| "any".into());
        let Self { resource_type, pattern_type, operation, permission, .. } = self;
        let (name, principal, host) = (or_any(&self.resource_name), or_any(&self.principal), or_any(&self.host));
        write!(f, "{permission} {operation} on {resource_type} {name} ({pattern_type}) for {principal} from {host}")
    }
}

/// Makes an open set of codes with names.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$constant_doc:meta])* $constant:ident = $code:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i8);

        impl $name {
            $($(#[$constant_doc])* pub const $constant: Self = Self($code);)*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    $($code => f.write_str(stringify!($constant)),)*
                    other => write!(f, "code {other}"),
                }
            }
        }
    };
}

codes! {
    /// What kind of resource a rule is about. Open: a kind that Kafka adds later is a value too.
    AclResourceType {
        /// All kinds; in filters only.
        ANY = 1,
        /// A topic.
        TOPIC = 2,
        /// A group of any kind.
        GROUP = 3,
        /// The cluster.
        CLUSTER = 4,
        /// A transactional id.
        TRANSACTIONAL_ID = 5,
        /// A delegation token.
        DELEGATION_TOKEN = 6,
        /// A user, whose tokens are meant.
        USER = 7,
    }
}

codes! {
    /// How a rule names its resource. Open: a way that Kafka adds later is a value too.
    AclPatternType {
        /// In any way; in filters only.
        ANY = 1,
        /// In any way that concerns a resource of this name; in filters only.
        MATCH = 2,
        /// By its name; `*` is all.
        LITERAL = 3,
        /// By what its name begins with.
        PREFIXED = 4,
    }
}

codes! {
    /// What a rule is about doing. Open: an operation that Kafka adds later is a value too.
    AclOperation {
        /// Any operation; in filters only.
        ANY = 1,
        /// All operations.
        ALL = 2,
        /// Reading.
        READ = 3,
        /// Writing.
        WRITE = 4,
        /// Creating.
        CREATE = 5,
        /// Deleting.
        DELETE = 6,
        /// Changing.
        ALTER = 7,
        /// Looking at.
        DESCRIBE = 8,
        /// What brokers do among themselves.
        CLUSTER_ACTION = 9,
        /// Looking at the configuration.
        DESCRIBE_CONFIGS = 10,
        /// Changing the configuration.
        ALTER_CONFIGS = 11,
        /// Producing idempotently.
        IDEMPOTENT_WRITE = 12,
        /// Creating delegation tokens.
        CREATE_TOKENS = 13,
        /// Looking at delegation tokens.
        DESCRIBE_TOKENS = 14,
        /// Taking part in a two-phase commit.
        TWO_PHASE_COMMIT = 15,
    }
}

codes! {
    /// Whether a rule allows or denies. Open: what Kafka adds later is a value too.
    AclPermission {
        /// Either; in filters only.
        ANY = 1,
        /// It denies, whatever allows it.
        DENY = 2,
        /// It allows.
        ALLOW = 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_reads_as_a_sentence_and_so_does_its_filter() {
        let rule = AclBinding::allow("User:alice", AclOperation::READ, AclResourceType::TOPIC, "t");
        assert_eq!(rule.to_string(), "ALLOW READ on TOPIC t (LITERAL) for User:alice from *");
        assert_eq!(rule.to_filter().to_string(), rule.to_string());
        let filter = AclBindingFilter { operation: AclOperation(99), ..AclBindingFilter::default() };
        assert_eq!(filter.to_string(), "ANY code 99 on ANY any (ANY) for any from any");
    }
}
