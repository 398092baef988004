//! Where tokens of OAUTHBEARER come from, by Kafka's keys.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::jaas::OAUTHBEARER as MODULE;
use super::{JAAS, Properties, Security};
use crate::config::Secret;
use crate::error::ClientError;
use crate::net::sasl::oauth::{Client, Endpoint, Keeper, Refresh, Source, Target, Unsecured};
use crate::net::{Backoff, Sasl, Tokens};

const URL: &str = "sasl.oauthbearer.token.endpoint.url";
const ID: &str = "sasl.oauthbearer.client.credentials.client.id";
const SECRET: &str = "sasl.oauthbearer.client.credentials.client.secret";

/// Keys of Kafka's that have the client prove itself by an assertion (RFC 7523) instead of its secret.
const ASSERTION: [&str; 4] = [
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.template.file",
];
const RETRIEVER: &str = "sasl.oauthbearer.jwt.retriever.class";
/// The classes that do what is done here.
const RETRIEVERS: [&str; 3] = ["DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "FileJwtRetriever"];

const HANDLER: &str = "sasl.login.callback.handler.class";
/// The classes that fetch tokens as is done here, by their name since Kafka 3.4 and the one before.
const HANDLERS: [&str; 2] = [
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
];

/// Kafka's client waits for ever by default.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time that Kafka's settings of type int can say.
const INT_MILLIS: u64 = i32::MAX as u64;

/// The keys of the endpoint.
#[derive(Default)]
pub(super) struct Settings {
    url: Option<String>,
    id: Option<String>,
    secret: Option<Secret>,
    scope: Option<String>,
    is_urlencoded: bool,
    connect_timeout: Duration,
    read_timeout: Duration,
    backoff: (Duration, Duration),
    refresh: Refresh,
}

impl Settings {
    /// Reads them; what they say is checked where it is `wanted`.
    pub(super) fn read(p: &mut Properties<'_>, wanted: bool) -> Result<Self, ClientError> {
        let mut it = Self {
            connect_timeout: CONNECT_TIMEOUT,
            read_timeout: READ_TIMEOUT,
            backoff: (Duration::from_millis(100), Duration::from_secs(10)),
            ..Self::default()
        };
        match it.fill(p) {
            Err(error) if wanted => Err(error),
            _ => Ok(it),
        }
    }

    fn fill(&mut self, p: &mut Properties<'_>) -> Result<(), ClientError> {
        p.take_own(HANDLER, &HANDLERS);
        let mut text = |key| p.get(key).filter(|value| !value.is_empty()).map(str::to_owned);
        self.url = text(URL);
        self.id = text(ID);
        self.secret = text(SECRET).map(Secret::new);
        self.scope = text("sasl.oauthbearer.scope");
        let refresh = &mut self.refresh;
        let mut results = vec![
            p.boolean("sasl.oauthbearer.header.urlencode", &mut self.is_urlencoded),
            p.millis("sasl.login.connect.timeout.ms", 1..=INT_MILLIS, &mut self.connect_timeout),
            p.millis("sasl.login.read.timeout.ms", 1..=INT_MILLIS, &mut self.read_timeout),
            p.millis("sasl.login.retry.backoff.ms", 0..=INT_MILLIS, &mut self.backoff.0),
            p.millis("sasl.login.retry.backoff.max.ms", 0..=INT_MILLIS, &mut self.backoff.1),
            p.number("sasl.login.refresh.window.factor", 0.5..=1.0, &mut refresh.factor),
            p.number("sasl.login.refresh.window.jitter", 0.0..=0.25, &mut refresh.jitter),
        ];
        let (mut least, mut buffer) = (refresh.min_period.as_secs(), refresh.buffer.as_secs());
        results.push(p.number("sasl.login.refresh.min.period.seconds", 0..=900, &mut least));
        results.push(p.number("sasl.login.refresh.buffer.seconds", 0..=3600, &mut buffer));
        (refresh.min_period, refresh.buffer) = (Duration::from_secs(least), Duration::from_secs(buffer));
        results.push(no_other_way(p));
        // All are asked for, so that none counts as unknown.
        results.into_iter().collect()
    }

    /// The mechanism with these settings and those of `sasl.jaas.config`.
    pub(super) fn sasl(self, p: &mut Properties<'_>, jaas: &str, security: &Security) -> Result<Sasl, ClientError> {
        // Kafka wants a login module also where all is said by other keys.
        let options = match jaas {
            "" if self.url.is_none() => return Err(p.missing(JAAS, MODULE.example())),
            "" => BTreeMap::new(),
            text => MODULE.read(super::OAUTHBEARER, text)?.options,
        };
        let (refresh, backoff) = (self.refresh.clone(), Backoff::new(self.backoff.0, self.backoff.1));
        let source = match self.url.clone() {
            Some(url) => self.source(p, &url, &options, security)?,
            None => match Unsecured::read(&options).map_err(|reason| MODULE.unusable(&reason))? {
                Some(unsecured) => Source::Unsecured(unsecured),
                None => return Err(p.required_for(URL, "it is not said where tokens come from", MODULE.example())),
            },
        };
        Ok(Sasl::OAuthBearer(Tokens(std::sync::Arc::new(Keeper::new(source, refresh, backoff)))))
    }

    fn source(
        self,
        p: &mut Properties<'_>,
        url: &str,
        options: &BTreeMap<String, String>,
        security: &Security,
    ) -> Result<Source, ClientError> {
        let extensions = extensions(options);
        if let Some(path) = url.strip_prefix("file:") {
            let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
            return Ok(Source::File { path, extensions });
        }
        // It may hold a password, so it is not shown.
        let target = Target::parse(url).map_err(|reason| {
            ClientError::config(
                URL,
                "...",
                reason,
                "give the token endpoint's address: https://HOST/PATH, or file:///PATH",
            )
        })?;
        let given = |own: Option<String>, option: &str| own.or_else(|| options.get(option).cloned());
        let missing = |key: &'static str, option: &str| {
            let reason = format!("a value is required, here or as {option} in {JAAS}");
            p.required_for(key, &reason, MODULE.example())
        };
        let secret = self.secret.or_else(|| options.get("clientSecret").map(|secret| Secret::new(&**secret)));
        let client = Client {
            id: given(self.id, "clientId").ok_or_else(|| missing(ID, "clientId"))?,
            secret: secret.ok_or_else(|| missing(SECRET, "clientSecret"))?,
            scope: given(self.scope, "scope"),
            is_urlencoded: self.is_urlencoded,
        };
        let security = if target.is_https { secure(p, options, security)? } else { Security::default() };
        let (connect_timeout, read_timeout) = (self.connect_timeout, self.read_timeout);
        let endpoint = Endpoint { target, client, extensions, security, connect_timeout, read_timeout };
        Ok(Source::Endpoint(Box::new(endpoint)))
    }
}

/// Refuses what asks for tokens in a way that is not here: to ignore it would send other credentials than those that are meant.
fn no_other_way(p: &mut Properties<'_>) -> Result<(), ClientError> {
    let mut given = |key| p.get(key).filter(|value| !value.is_empty());
    let assertion = ASSERTION.map(|key| (key, given(key)));
    let retriever = given(RETRIEVER);
    if let Some((key, _)) = assertion.into_iter().find(|(_, value)| value.is_some()) {
        let remedy = "have the client prove itself by its secret (sasl.oauthbearer.client.credentials.client.secret), or give it a function that \
                      provides tokens (Sasl::OAuthBearer)";
        return Err(ClientError::config(key, "...", "this client makes and sends no assertions", remedy));
    }
    match retriever {
        Some(class) if !RETRIEVERS.contains(&class.rsplit('.').next().unwrap_or_default()) => {
            let remedy = "remove it, where client credentials or a file give the token; or give the client a function that provides tokens \
                          (Sasl::OAuthBearer)";
            Err(ClientError::config(RETRIEVER, class, "classes of Java are not run here", remedy))
        }
        _ => Ok(()),
    }
}

/// Extensions of tokens (KIP-342): the options `extension_NAME`.
fn extensions(options: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let named = options.iter().filter_map(|(name, value)| Some((name.strip_prefix("extension_")?, value)));
    named.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// How the endpoint is connected to: as brokers are, unless the login module has `ssl.*` of its own, which is where Kafka reads them.
#[cfg(feature = "tls")]
fn secure(
    p: &mut Properties<'_>,
    options: &BTreeMap<String, String>,
    security: &Security,
) -> Result<Security, ClientError> {
    let config = if options.keys().any(|name| name.starts_with("ssl.")) {
        super::tls::read(&mut Properties::new(options), true)?
    } else if let Some(tls) = &security.tls {
        return Ok(Security { tls: Some(tls.clone()), sasl: None });
    } else {
        super::tls::read(p, true)?
    };
    Ok(Security { tls: Some(crate::net::Tls::new(config)?), sasl: None })
}

#[cfg(not(feature = "tls"))]
fn secure(_: &mut Properties<'_>, _: &BTreeMap<String, String>, _: &Security) -> Result<Security, ClientError> {
    let remedy = "build ackflow-client with a provider of TLS: the feature graviola, ring or aws-lc-rs";
    Err(ClientError::config(URL, "https://..", "this build has no TLS", remedy))
}
