//! SCRAM from the client's side (RFC 5802): the password is proved and never sent, and the broker proves that it knows it too.

use ackflow_protocol::text::scram::{
    ServerFinal, ServerFirst, client_final, client_final_without_proof, client_first, client_first_bare,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use pbkdf2::pbkdf2_hmac_array;
use sha2::{Digest, Sha256, Sha512};

use super::config::Credentials;
use super::exchange::Refusal;
use crate::config::Secret;

/// Fewer iterations protect no password (RFC 5802 §5.1, and Kafka's minimum).
const MIN_ITERATIONS: u32 = 4096;
/// More would keep a processor busy for a second. Kafka makes no credentials with more than 16,384.
const MAX_ITERATIONS: u32 = 1_000_000;
/// No message is longer: a nonce and a salt are some dozens of bytes.
const MAX_MESSAGE: usize = 16 << 10;

/// The hash of a mechanism.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hash {
    Sha256,
    Sha512,
}

impl Hash {
    /// `Hi(password, salt, iterations)` of RFC 5802, of the password as it is: Kafka leaves out the SASLprep of the RFC.
    pub(crate) fn salted(self, password: &Secret, salt: &[u8], iterations: u32) -> Vec<u8> {
        let password = password.reveal().as_bytes();
        match self {
            Self::Sha256 => pbkdf2_hmac_array::<Sha256, 32>(password, salt, iterations).to_vec(),
            Self::Sha512 => pbkdf2_hmac_array::<Sha512, 64>(password, salt, iterations).to_vec(),
        }
    }
}

/// One authentication.
pub(super) struct Scram {
    hash: Hash,
    credentials: Credentials,
    nonce: String,
    state: State,
}

enum State {
    Start,
    AwaitsFirst { bare: String },
    AwaitsFinal { signature: Vec<u8> },
    Done,
}

impl Scram {
    /// With a nonce that nobody can foresee.
    pub(super) fn new(hash: Hash, credentials: Credentials, nonce: String) -> Self {
        Self { hash, credentials, nonce, state: State::Start }
    }

    /// The first message.
    pub(super) fn first(&mut self) -> Vec<u8> {
        let bare = client_first_bare(&self.credentials.username, &self.nonce);
        let message = client_first(&bare).into_bytes();
        self.state = State::AwaitsFirst { bare };
        message
    }

    /// Takes what the broker says. `None` at the end, when the broker has proved itself. Hashes the password as often as the broker asks, which
    /// takes milliseconds: not for a task that others wait for.
    pub(super) fn next(&mut self, message: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
        let message = str::from_utf8(message).ok().filter(|message| message.len() <= MAX_MESSAGE);
        let message = message.ok_or_else(|| Refusal::malformed("a message that is no text of SCRAM"))?;
        match std::mem::replace(&mut self.state, State::Done) {
            State::AwaitsFirst { bare } => {
                let answer = match self.hash {
                    Hash::Sha256 => self.prove::<Sha256Kit>(&bare, message),
                    Hash::Sha512 => self.prove::<Sha512Kit>(&bare, message),
                };
                let (answer, signature) = answer?;
                self.state = State::AwaitsFinal { signature };
                Ok(Some(answer.into_bytes()))
            }
            State::AwaitsFinal { signature } => verify(&signature, message).map(|()| None),
            State::Start | State::Done => Err(Refusal::malformed("a message out of turn")),
        }
    }

    /// The client's last message, and the signature that the broker has to know.
    fn prove<K: Kit>(&self, bare: &str, message: &str) -> Result<(String, Vec<u8>), Refusal> {
        if let Some(ServerFinal::Error(error)) = ServerFinal::parse(message) {
            return Err(Refusal::refused(error));
        }
        let first = ServerFirst::parse(message)
            .ok_or_else(|| Refusal::malformed("a first message that SCRAM does not have"))?;
        if !first.nonce.starts_with(&self.nonce) || first.nonce.len() == self.nonce.len() {
            return Err(Refusal::malformed("a nonce that does not go on where this client's ends"));
        }
        if !(MIN_ITERATIONS..=MAX_ITERATIONS).contains(&first.iterations) {
            return Err(Refusal::malformed(format!(
                "{} iterations of SCRAM, which takes {MIN_ITERATIONS} to {MAX_ITERATIONS}",
                first.iterations
            )));
        }
        let salt = BASE64.decode(first.salt).ok().filter(|salt| !salt.is_empty());
        let salt = salt.ok_or_else(|| Refusal::malformed("a salt that is no base64"))?;

        let salted = self.hash.salted(&self.credentials.password, &salt, first.iterations);
        let without_proof = client_final_without_proof(first.nonce);
        let messages = format!("{bare},{message},{without_proof}");
        let client_key = K::hmac(&salted, b"Client Key");
        let signature = K::hmac(&K::hash(&client_key), messages.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(key, signature)| key ^ signature).collect();
        let server_signature = K::hmac(&K::hmac(&salted, b"Server Key"), messages.as_bytes());
        Ok((client_final(&without_proof, &BASE64.encode(proof)), server_signature))
    }
}

fn verify(expected: &[u8], message: &str) -> Result<(), Refusal> {
    use subtle::ConstantTimeEq;
    match ServerFinal::parse(message) {
        Some(ServerFinal::Error(error)) => Err(Refusal::refused(error)),
        Some(ServerFinal::Signature(signature)) => match BASE64.decode(signature) {
            Ok(signature) if bool::from(signature.ct_eq(expected)) => Ok(()),
            _ => Err(Refusal::imposter()),
        },
        None => Err(Refusal::malformed("a last message that SCRAM does not have")),
    }
}

/// The functions of a hash.
trait Kit {
    fn hash(data: &[u8]) -> Vec<u8>;
    fn hmac(key: &[u8], data: &[u8]) -> Vec<u8>;
}

macro_rules! kit {
    ($name:ident, $hash:ty) => {
        struct $name;

        impl Kit for $name {
            fn hash(data: &[u8]) -> Vec<u8> {
                <$hash>::digest(data).to_vec()
            }

            fn hmac(key: &[u8], data: &[u8]) -> Vec<u8> {
                let mac = Hmac::<$hash>::new_from_slice(key).expect("HMAC takes keys of every length");
                mac.chain_update(data).finalize().into_bytes().to_vec()
            }
        }
    };
}
kit!(Sha256Kit, Sha256);
kit!(Sha512Kit, Sha512);

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    /// The exchange of RFC 7677 §3.
    const FIRST: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    const FINAL: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

    fn scram() -> Scram {
        let credentials = Credentials { username: "user".into(), password: Secret::new("pencil") };
        let mut scram = Scram::new(Hash::Sha256, credentials, NONCE.into());
        assert_eq!(scram.first(), b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        scram
    }

    #[test]
    fn the_exchange_is_that_of_the_rfc() {
        let mut scram = scram();
        let answer = scram.next(FIRST.as_bytes()).unwrap().unwrap();
        let expected = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(str::from_utf8(&answer).unwrap(), expected);
        assert!(scram.next(FINAL.as_bytes()).unwrap().is_none());
        assert!(scram.next(FINAL.as_bytes()).is_err(), "it is over");
    }

    #[test]
    fn a_broker_that_does_not_know_the_password_is_noticed() {
        for last in ["v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", "v=", "v=6rriTRBi", "x", "", "e=other-error"] {
            let mut scram = scram();
            scram.next(FIRST.as_bytes()).unwrap();
            assert!(scram.next(last.as_bytes()).is_err(), "{last}");
        }
    }
}
