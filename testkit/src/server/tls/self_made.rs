//! A certificate for a broker that was given none: signed by itself, for names of this machine.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use made::{check_processor, identity};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod made {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use graviola::hashing::Sha256;
    use graviola::signing::ecdsa::{P256, SigningKey};
    use rcgen::{CertificateParams, DistinguishedName, DnType, PublicKeyData, SerialNumber, SignatureAlgorithm};

    /// Whom clients on this machine connect to.
    const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

    /// A key for one certificate.
    struct Key {
        key: SigningKey<P256>,
        /// The point, uncompressed.
        public: Vec<u8>,
    }

    impl PublicKeyData for Key {
        fn der_bytes(&self) -> &[u8] {
            &self.public
        }

        fn algorithm(&self) -> &'static SignatureAlgorithm {
            &rcgen::PKCS_ECDSA_P256_SHA256
        }
    }

    impl rcgen::SigningKey for Key {
        fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
            let mut room = [0; 128];
            let signature = self.key.sign_asn1::<Sha256>(&[message], &mut room);
            signature.map(<[u8]>::to_vec).map_err(|_| rcgen::Error::RemoteKeyError)
        }
    }

    /// Certificate and private key in PEM.
    ///
    /// # Errors
    /// The reason.
    pub(in crate::server::tls) fn identity() -> Result<String, String> {
        check_processor()?;
        let wrong = |error: &dyn std::fmt::Debug| format!("cannot make a certificate: {error:?}");
        let key = SigningKey::<P256>::generate().map_err(|error| wrong(&error))?;
        let (mut private, mut spki) = ([0; 256], [0; 256]);
        let private = key.to_pkcs8_der(&mut private).map_err(|error| wrong(&error))?.to_vec();
        let spki = key.to_spki_der(&mut spki).map_err(|error| wrong(&error))?;
        // The point stands at the end: a byte for its form, and two coordinates.
        let public = spki.last_chunk::<65>().ok_or_else(|| wrong(&"no public key"))?.to_vec();

        let mut params = CertificateParams::new(NAMES.map(str::to_owned)).map_err(|error| wrong(&error))?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "ackflow embedded broker");
        params.serial_number = Some(SerialNumber::from(1));
        let certificate = params.self_signed(&Key { key, public }).map_err(|error| wrong(&error))?;
        Ok(format!("{}{}", certificate.pem(), pem("PRIVATE KEY", &private)))
    }

    /// Sees that this processor can do what graviola takes, which panics where it cannot.
    ///
    /// # Errors
    /// The remedy.
    pub(in crate::server::tls) fn check_processor() -> Result<(), String> {
        if graviola::util::is_cpu_supported() {
            return Ok(());
        }
        Err("this processor is too old for the built-in cryptography: install another provider of rustls before the broker starts, and name a \
             certificate"
            .to_owned())
    }

    fn pem(label: &str, der: &[u8]) -> String {
        let text = BASE64.encode(der);
        let lines: Vec<&str> =
            text.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap_or_default()).collect();
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
    }
}

/// No processor else makes one.
///
/// # Errors
/// The remedy.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn identity() -> Result<String, String> {
    Err("this build makes no certificate on this processor: name one by ssl.keystore.location".to_owned())
}
