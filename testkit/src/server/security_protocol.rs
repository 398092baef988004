//! How clients speak to a listener.

/// `security.protocol` of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SecurityProtocol {
    #[default]
    Plaintext,
    /// TLS.
    Ssl,
    SaslPlaintext,
    /// SASL within TLS.
    SaslSsl,
}

impl SecurityProtocol {
    const ALL: [Self; 4] = [Self::Plaintext, Self::Ssl, Self::SaslPlaintext, Self::SaslSsl];

    fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "PLAINTEXT",
            Self::Ssl => "SSL",
            Self::SaslPlaintext => "SASL_PLAINTEXT",
            Self::SaslSsl => "SASL_SSL",
        }
    }

    pub(crate) fn has_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    pub(crate) fn has_sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }

    /// The protocol of `[PROTOCOL://]HOST:PORT`, as Kafka's `listeners` has it, and the address. `None` where there is no such protocol.
    pub(crate) fn split(listener: &str) -> Option<(Self, &str)> {
        let Some((name, address)) = listener.split_once("://") else { return Some((Self::default(), listener)) };
        let protocol = Self::ALL.into_iter().find(|protocol| protocol.name().eq_ignore_ascii_case(name))?;
        Some((protocol, address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_written_as_kafka_writes_it() {
        assert_eq!(SecurityProtocol::split("127.0.0.1:0"), Some((SecurityProtocol::Plaintext, "127.0.0.1:0")));
        assert_eq!(SecurityProtocol::split("SASL_SSL://[::1]:9093"), Some((SecurityProtocol::SaslSsl, "[::1]:9093")));
        assert_eq!(SecurityProtocol::split("ssl://a:1"), Some((SecurityProtocol::Ssl, "a:1")));
        assert_eq!(SecurityProtocol::split("TLS://a:1"), None);
    }
}
