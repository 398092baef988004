//! Who does the cryptography.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;

use crate::error::ClientError;

/// The cryptography of TLS connections: any provider of rustls.
#[derive(Clone)]
pub struct Provider(Arc<CryptoProvider>);

impl Provider {
    /// This provider.
    pub fn new(provider: Arc<CryptoProvider>) -> Self {
        Self(provider)
    }

    /// The one that the process has installed ([`CryptoProvider::install_default`]); else the one that this crate was built with: `aws-lc-rs` or
    /// `ring`, where they were chosen, or `graviola`.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where there is none, or the processor cannot do what it takes.
    pub fn find() -> Result<Self, ClientError> {
        match CryptoProvider::get_default() {
            Some(installed) => Ok(Self(Arc::clone(installed))),
            None => built_in().map(|provider| Self(Arc::new(provider))),
        }
    }

    pub(super) fn get(&self) -> &Arc<CryptoProvider> {
        &self.0
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Provider")
    }
}

/// The same provider, not one that does the same.
impl PartialEq for Provider {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Provider {}

#[cfg(feature = "aws-lc-rs")]
fn built_in() -> Result<CryptoProvider, ClientError> {
    Ok(rustls::crypto::aws_lc_rs::default_provider())
}

#[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
fn built_in() -> Result<CryptoProvider, ClientError> {
    Ok(rustls::crypto::ring::default_provider())
}

#[cfg(all(
    feature = "graviola",
    not(any(feature = "ring", feature = "aws-lc-rs")),
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn built_in() -> Result<CryptoProvider, ClientError> {
    match lacking(&abilities()) {
        lacking if lacking.is_empty() => Ok(rustls_graviola::default_provider()),
        lacking => {
            Err(unusable(&format!("this processor lacks {}, which the provider graviola needs", lacking.join(", "))))
        }
    }
}

#[cfg(not(any(
    feature = "ring",
    feature = "aws-lc-rs",
    all(feature = "graviola", any(target_arch = "x86_64", target_arch = "aarch64"))
)))]
fn built_in() -> Result<CryptoProvider, ClientError> {
    Err(unusable("this build has no provider of cryptography for this processor"))
}

/// What graviola looks for before each of its functions, which panic where it is missing.
#[cfg(target_arch = "x86_64")]
fn abilities() -> [(&'static str, bool); 8] {
    [
        ("aes", is_x86_feature_detected!("aes")),
        ("pclmulqdq", is_x86_feature_detected!("pclmulqdq")),
        ("ssse3", is_x86_feature_detected!("ssse3")),
        ("bmi1", is_x86_feature_detected!("bmi1")),
        ("bmi2", is_x86_feature_detected!("bmi2")),
        ("adx", is_x86_feature_detected!("adx")),
        ("avx", is_x86_feature_detected!("avx")),
        ("avx2", is_x86_feature_detected!("avx2")),
    ]
}

#[cfg(target_arch = "aarch64")]
fn abilities() -> [(&'static str, bool); 4] {
    [
        ("neon", std::arch::is_aarch64_feature_detected!("neon")),
        ("aes", std::arch::is_aarch64_feature_detected!("aes")),
        ("pmull", std::arch::is_aarch64_feature_detected!("pmull")),
        ("sha2", std::arch::is_aarch64_feature_detected!("sha2")),
    ]
}

fn lacking<'a>(abilities: &[(&'a str, bool)]) -> Vec<&'a str> {
    abilities.iter().filter(|(_, has)| !has).map(|(name, _)| *name).collect()
}

fn unusable(reason: &str) -> ClientError {
    let remedy = "build ackflow-client with the feature ring or aws-lc-rs, or install a provider with \
                  rustls::crypto::CryptoProvider::install_default before the client is made";
    ClientError::config("security.protocol", "SSL", reason, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_processor_lacks_is_named_with_the_way_out() {
        assert_eq!(lacking(&[("aes", true), ("adx", false), ("avx2", false)]), ["adx", "avx2"]);
        let error = unusable("this processor lacks adx").to_string();
        assert!(error.contains("lacks adx") && error.contains("feature ring or aws-lc-rs"), "{error}");
    }
}
