//! The private key of a client, encrypted or not.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pkcs8::EncryptedPrivateKeyInfoRef;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::config::Secret;

/// Why there is no key: what is wrong, and what to do. It holds no secret.
#[derive(Debug)]
pub(super) struct Unusable {
    /// Whether it is the password that is wrong or missing.
    pub(super) is_password: bool,
    pub(super) reason: String,
    pub(super) remedy: &'static str,
}

impl Unusable {
    fn new(reason: impl Into<String>, remedy: &'static str) -> Self {
        Self { is_password: false, reason: reason.into(), remedy }
    }

    fn password(reason: &str, remedy: &'static str) -> Self {
        Self { is_password: true, ..Self::new(reason, remedy) }
    }
}

const BEGIN: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
const END: &str = "-----END ENCRYPTED PRIVATE KEY-----";
/// How OpenSSL wrote encrypted keys long ago.
const OLD: &str = "Proc-Type: 4,ENCRYPTED";

const GIVE_PEM: &str = super::load::PEM_REMEDY;
const ENCRYPT_ANEW: &str = "encrypt it anew, as PKCS#8 with PBES2: openssl pkcs8 -topk8 -in KEY -out NEW_KEY";

/// The first private key of a PEM text. The password counts where that key is encrypted.
pub(super) fn read(text: &[u8], password: Option<&Secret>) -> Result<PrivateKeyDer<'static>, Unusable> {
    let error = match PrivateKeyDer::from_pem_slice(text) {
        Ok(key) => return Ok(key),
        Err(error) => error,
    };
    let text = str::from_utf8(text).map_err(|_| Unusable::new("it is no text", GIVE_PEM))?;
    match (error, encrypted(text)) {
        (_, Some(body)) => decrypt(body, password),
        _ if text.contains(OLD) => {
            Err(Unusable::new("the private key is encrypted in a form that is not read", ENCRYPT_ANEW))
        }
        (PemError::NoItemsFound, _) => Err(Unusable::new("there is no private key in it", GIVE_PEM)),
        (error, _) => Err(Unusable::new(format!("the private key cannot be read: {}", damage(&error)), GIVE_PEM)),
    }
}

/// What is wrong with a PEM text, without anything of what it holds, which may be a key.
pub(super) fn damage(error: &PemError) -> Cow<'static, str> {
    match error {
        PemError::MissingSectionEnd { end_marker } => {
            let what = String::from_utf8_lossy(end_marker);
            // The library gives the whole line or what it names.
            let what = what.trim_matches('-').trim_start_matches("END ");
            format!("its last line, -----END {what}-----, is missing, as while it is being written").into()
        }
        PemError::IllegalSectionStart { .. } => "a line that begins with -----BEGIN does not end with -----".into(),
        other => other.to_string().into(),
    }
}

/// What stands between the lines around an encrypted key.
fn encrypted(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(BEGIN)?;
    Some(rest.split_once(END).map_or(rest, |(body, _)| body))
}

fn decrypt(body: &str, password: Option<&Secret>) -> Result<PrivateKeyDer<'static>, Unusable> {
    let Some(password) = password else {
        let remedy = "give its password, or decrypt it: openssl pkcs8 -in KEY -out PLAIN_KEY";
        return Err(Unusable::password("the private key is encrypted", remedy));
    };
    let body: String = body.split_whitespace().collect();
    let der = BASE64.decode(body).map_err(|_| Unusable::new("the encrypted private key is no base64", GIVE_PEM))?;
    let info = EncryptedPrivateKeyInfoRef::try_from(&*der).map_err(|_| {
        Unusable::new("the private key is damaged, or encrypted in a form that is not read", ENCRYPT_ANEW)
    })?;
    let key = info.decrypt(password.reveal()).map_err(|error| match error {
        pkcs8::Error::EncryptedPrivateKey(error) if error != pkcs8::pkcs5::Error::DecryptFailed => {
            Unusable::new(format!("the private key is encrypted in a form that is not read: {error}"), ENCRYPT_ANEW)
        }
        // A wrong password gives bytes that are no key.
        _ => Unusable::password("it does not decrypt the private key", "give the key's own password"),
    })?;
    Ok(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One key of P-256 as openssl encrypts it, by default and with scrypt, PBES1 and the old way; the password is hunter2.
    const PBKDF2: &str = "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjrNXBVvDIVRwICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEECtKXobLPf7TqSzMd+2VE20EgZDb
FMJA4escj+IehsAl2eMr/KvERtxK/RZt0UpfOgYs+9FTi2niyGLQjd5L1J/l530y
fccmpFQObe5GJ4DIhBzae9G4z2z6XhjdBVlBlenUq50vU9mKnB7hLfv95AXx8qI3
O3cKbfgKv9Kc3Q76rxaG4pmDhM4T4mAL79m5O8l3jMFXR1F4si+oQvHkUhcwpF8=";
    const SCRYPT: &str = "MIHkME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAgYATc7jPUKcQICQAAC
AQgCAQEwHQYJYIZIAWUDBAEqBBANXazOE/+5XYdOwPm/sRcwBIGQgKN5YhbvAG51
vBewjFKub09bKqWKomgPtwGFZLTp2BQAs4fVHpdwCCm/YPfbNJtwWAQeUM3Xi9dV
unYYgJE7RTiPCeS9HH9MWAT9I/swysC4ELfI8Aq3iJaSzONQnpNxYZatobRV1gF8
B8Ps40MhC2KoSW1y8Ntf+JLZxQnOgw9gfvH73K7T8DRF9Q+V4rIJ";
    const PBES1: &str = "MIGxMBwGCiqGSIb3DQEMAQMwDgQIIM4PiClbMTACAggABIGQM3EExV+cTcFqeRc0
RHFvP2gknMZm9NL59Vxdf3Fo22o/fy58eOzaBmEevYZytMsSz+UtLFJm9qiK6Ud/
VoZrkhvhn7NOhpuWpjBAIJjPOwIUAMW51mwsQDHT/ezUGk8dTccOwNHodqQijWTZ
uNp3Olnlbdrenn5RI4/qzUVUoW3isOsrGo6TozFI3B7hqdiL";

    fn pem(body: &str) -> String {
        format!("# a key\n{BEGIN}\n{body}\n{END}\n")
    }

    fn read_with(text: &str, password: &str) -> Result<PrivateKeyDer<'static>, Unusable> {
        read(text.as_bytes(), Some(&Secret::new(password)))
    }

    #[test]
    fn a_key_is_decrypted_with_its_password() {
        let first = read_with(&pem(PBKDF2), "hunter2").unwrap();
        let second = read_with(&pem(SCRYPT), "hunter2").unwrap();
        let both = (first.secret_der(), second.secret_der());
        assert!(both.0 == both.1 && both.0.len() > 100, "they are one key");
        assert!(matches!(first, PrivateKeyDer::Pkcs8(_)));
    }

    #[test]
    fn what_cannot_be_decrypted_says_why_and_not_with_what() {
        let old = format!(
            "-----BEGIN EC PRIVATE KEY-----\n{OLD}\nDEK-Info: AES-256-CBC,A9\n\nXDRt\n-----END EC PRIVATE KEY-----\n"
        );
        for (text, password, is_password, expected) in [
            (pem(PBKDF2), "hunter3", true, "it does not decrypt the private key"),
            (pem(SCRYPT), "", true, "it does not decrypt the private key"),
            (pem(PBES1), "hunter2", false, "in a form that is not read"),
            (old, "hunter2", false, "in a form that is not read"),
            (pem("?"), "hunter2", false, "is no base64"),
            (pem("QUJD"), "hunter2", false, "is damaged"),
            (pem(&PBKDF2[..64]), "hunter2", false, "is damaged"),
            (String::new(), "hunter2", false, "there is no private key in it"),
        ] {
            let error = read_with(&text, password).expect_err(expected);
            assert!(error.reason.contains(expected) && error.is_password == is_password, "{expected}: {error:?}");
            assert!(!format!("{error:?}").contains("hunter"));
        }
        let error = read(pem(PBKDF2).as_bytes(), None).expect_err("no password");
        assert!(error.is_password && error.reason.contains("is encrypted"), "{error:?}");
        assert!(read(b"\xff\xfe", None).is_err());
    }

    #[test]
    fn a_text_that_is_cut_or_torn_says_so_without_what_it_holds() {
        for (text, expected) in [
            ("-----BEGIN PRIVATE KEY-----\nQUJD\n", "its last line, -----END PRIVATE KEY-----, is missing"),
            ("-----BEGIN PRIVATE KEYQUJD\n", "a line that begins with -----BEGIN does not end with -----"),
        ] {
            let error = read(text.as_bytes(), None).expect_err(expected);
            assert!(error.reason.contains(expected) && !error.is_password, "{expected}: {error:?}");
            assert!(!error.reason.contains("QUJD") && !error.reason.contains('['), "{error:?}");
        }
    }
}
