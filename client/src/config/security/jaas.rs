//! The login modules of `sasl.jaas.config` that are known here, and their options.

use ackflow_protocol::text::jaas::LoginModule;

use super::JAAS;
use crate::config::nearest;
use crate::error::ClientError;

/// A login module of Kafka's.
pub(super) struct Known {
    /// The class without its package.
    name: &'static str,
    /// What it is shown with where something is wrong.
    example: &'static str,
    /// The options that Kafka has for it, on clients and brokers. One that ends in `_` stands for all that begin with it.
    options: &'static [&'static str],
}

pub(super) const PLAIN: Known = Known {
    name: "PlainLoginModule",
    example: "for example org.apache.kafka.common.security.plain.PlainLoginModule required username=\"me\" password=\"..\"; with sasl.mechanism=PLAIN",
    options: &["password", "user_", "username"],
};

pub(super) const SCRAM_SHA_256: Known = Known {
    example: "for example org.apache.kafka.common.security.scram.ScramLoginModule required username=\"me\" password=\"..\"; with \
              sasl.mechanism=SCRAM-SHA-256",
    ..SCRAM_SHA_512
};

pub(super) const SCRAM_SHA_512: Known = Known {
    name: "ScramLoginModule",
    example: "for example org.apache.kafka.common.security.scram.ScramLoginModule required username=\"me\" password=\"..\"; with \
              sasl.mechanism=SCRAM-SHA-512",
    options: &["password", "tokenauth", "username"],
};

#[cfg(feature = "oidc")]
pub(super) const OAUTHBEARER: Known = Known {
    name: "OAuthBearerLoginModule",
    example: "for example org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId=\"me\" clientSecret=\"..\"; \
              with sasl.oauthbearer.token.endpoint.url, or, for brokers in tests, with unsecuredLoginStringClaim_sub=\"me\" and without a URL; \
              or give the client a function that provides tokens (Sasl::OAuthBearer)",
    options: &[
        "clientId",
        "clientSecret",
        "extension_",
        "scope",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keymanager.algorithm",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "unsecuredLoginExtension_",
        "unsecuredLoginLifetimeSeconds",
        "unsecuredLoginListClaim_",
        "unsecuredLoginNumberClaim_",
        "unsecuredLoginPrincipalClaimName",
        "unsecuredLoginScopeClaimName",
        "unsecuredLoginStringClaim_",
        "unsecuredValidatorAllowableClockSkewMs",
        "unsecuredValidatorPrincipalClaimName",
        "unsecuredValidatorRequiredScope",
        "unsecuredValidatorScopeClaimName",
    ],
};

impl Known {
    /// Reads the module out of the value of `sasl.jaas.config`, which is not empty.
    pub(super) fn read(&self, mechanism: &str, jaas: &str) -> Result<LoginModule, ClientError> {
        let module = LoginModule::parse(jaas).map_err(|error| self.unusable(&error.to_string()))?;
        if module.name() != self.name {
            let reason = format!("{} is no login module of sasl.mechanism={mechanism}", module.class);
            return Err(refused(&reason, format!("use a {}, or the mechanism of this one", self.name)));
        }
        match module.options.keys().find(|name| !self.has(name)) {
            Some(name) => Err(refused(&format!("{} has no option {name}", self.name), self.remedy(name))),
            None => Ok(module),
        }
    }

    /// Something is wrong with the module, and an example is what helps.
    pub(super) fn unusable(&self, reason: &str) -> ClientError {
        refused(reason, self.example.to_owned())
    }

    pub(super) fn example(&self) -> &'static str {
        self.example
    }

    fn has(&self, name: &str) -> bool {
        self.options.iter().any(|known| name == *known || known.ends_with('_') && name.starts_with(known))
    }

    fn remedy(&self, name: &str) -> String {
        // What follows a `_` is the user's own.
        let up_to_own = name.find('_').map_or(name, |at| &name[..=at]);
        match nearest(up_to_own, self.options.iter().copied()) {
            Some(family) if family.ends_with('_') => format!("did you mean {family}{}?", &name[up_to_own.len()..]),
            Some(known) => format!("did you mean {known}?"),
            None => format!("remove it; {}", self.example),
        }
    }
}

/// An error that does not show the value, which holds passwords.
fn refused(reason: &str, remedy: String) -> ClientError {
    ClientError::config(JAAS, "[hidden]", reason, remedy)
}
