//! Passwords for SCRAM: salted and hashed as RFC 5802 says.

use bytes::Bytes;

use super::ScramMechanism;
use crate::config::Secret;
use crate::net::sasl::Hash;

/// As many bytes as Kafka's own tools take.
const SALT_BYTES: usize = 20;

/// A salt that nobody can guess.
pub(super) fn salt() -> Result<Bytes, String> {
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).map_err(|error| format!("the system gives no random bytes for the salt: {error}"))?;
    Ok(Bytes::copy_from_slice(&salt))
}

/// What the broker keeps for a password: `Hi(password, salt, iterations)`. `None` for a mechanism that is not known here.
pub(super) fn salted(mechanism: ScramMechanism, password: &Secret, salt: &[u8], iterations: u32) -> Option<Bytes> {
    let hash = match mechanism {
        ScramMechanism::SHA_256 => Hash::Sha256,
        ScramMechanism::SHA_512 => Hash::Sha512,
        _ => return None,
    };
    Some(hash.salted(password, salt, iterations).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn a_password_is_salted_as_others_do_it() {
        let salted = |mechanism| hex(&salted(mechanism, &Secret::new("password"), b"salt", 4096).unwrap());
        // `hashlib.pbkdf2_hmac` of Python.
        assert_eq!(salted(ScramMechanism::SHA_256), "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a");
        assert_eq!(
            salted(ScramMechanism::SHA_512),
            "d197b1b33db0143e018b12f3d1d1479e6cdebdcc97c5c0f87f6902e072f457b5143f30602641b3d55cd335988cb36b84376060ecd532e039b742a239434af2d5"
        );
    }
}
