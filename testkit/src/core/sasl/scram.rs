//! SCRAM from the broker's side (RFC 5802): the client proves that it knows its password, and the broker that it does too.

use ackflow_protocol::text::scram::{ClientFinal, ClientFirst, server_final, server_first};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use pbkdf2::pbkdf2_hmac_array;
use sha2::{Digest, Sha256, Sha512};

use super::{Step, Users};

/// How often passwords are hashed: Kafka's default.
const ITERATIONS: u32 = 4096;

/// The hash of a mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha256,
    Sha512,
}

/// One authentication.
#[derive(Debug)]
pub(super) struct ScramServer {
    hash: Hash,
    /// What this side adds to the client's nonce; it salts the password too.
    nonce: String,
    /// What was said, once anything was.
    said: Option<Said>,
}

#[derive(Debug)]
struct Said {
    user: String,
    nonce: String,
    /// Both first messages, as proofs have them.
    messages: String,
}

impl ScramServer {
    /// With a nonce that was never used before.
    pub(super) fn new(hash: Hash, nonce: String) -> Self {
        Self { hash, nonce, said: None }
    }

    pub(super) fn hash(&self) -> Hash {
        self.hash
    }

    /// Takes what the client says. `None` where that proves nothing.
    pub(super) fn next(&mut self, users: &Users, message: &[u8]) -> Option<Step> {
        let message = str::from_utf8(message).ok()?;
        match self.said.take() {
            None => self.first(users, message),
            Some(said) => self.last(users, said, message),
        }
    }

    fn first(&mut self, users: &Users, message: &str) -> Option<Step> {
        let first = ClientFirst::parse(message)?;
        let is_for_itself = first.authzid.is_none_or(|authzid| authzid == first.user);
        if !is_for_itself || users.password(&first.user).is_none() {
            return None;
        }
        let nonce = format!("{}{}", first.nonce, self.nonce);
        let answer = server_first(&nonce, &BASE64.encode(&self.nonce), ITERATIONS);
        let messages = format!("{},{answer}", first.bare);
        self.said = Some(Said { user: first.user, nonce, messages });
        Some(Step::Challenge(answer.into()))
    }

    fn last(&self, users: &Users, said: Said, message: &str) -> Option<Step> {
        let last = ClientFinal::parse(message).filter(|last| last.nonce == said.nonce)?;
        let proof = BASE64.decode(last.proof).ok()?;
        let hash = self.hash;
        let salted = hash.salted(users.password(&said.user)?, self.nonce.as_bytes());
        let messages = format!("{},{}", said.messages, last.without_proof);
        let client_key = hash.mac(&salted, b"Client Key");
        let client_signature = hash.mac(&hash.digest(&client_key), messages.as_bytes());
        if !client_key.iter().zip(&client_signature).map(|(key, signature)| key ^ signature).eq(proof) {
            return None;
        }
        let signature = hash.mac(&hash.mac(&salted, b"Server Key"), messages.as_bytes());
        Some(Step::Done(said.user, Bytes::from(server_final(&BASE64.encode(signature)))))
    }
}

impl Hash {
    fn salted(self, password: &str, salt: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => pbkdf2_hmac_array::<Sha256, 32>(password.as_bytes(), salt, ITERATIONS).to_vec(),
            Self::Sha512 => pbkdf2_hmac_array::<Sha512, 64>(password.as_bytes(), salt, ITERATIONS).to_vec(),
        }
    }

    fn digest(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(data).to_vec(),
            Self::Sha512 => Sha512::digest(data).to_vec(),
        }
    }

    fn mac(self, key: &[u8], data: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => mac::<Hmac<Sha256>>(key, data),
            Self::Sha512 => mac::<Hmac<Sha512>>(key, data),
        }
    }
}

fn mac<M: Mac + KeyInit>(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of every length");
    mac.chain_update(data).finalize().into_bytes().to_vec()
}
