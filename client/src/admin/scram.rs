//! SCRAM credentials of users: what `SCRAM-SHA-256` and `SCRAM-SHA-512` check passwords against.

use std::collections::BTreeMap;

use ackflow_protocol::messages::alter_user_scram_credentials::{
    AlterUserScramCredentialsRequest, ScramCredentialDeletion, ScramCredentialUpsertion,
};
use ackflow_protocol::messages::describe_user_scram_credentials::{
    CredentialInfo, DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResult, UserName,
};

use super::scram_password::{salt, salted};
use super::{Admin, Results, result};
use crate::config::Secret;
use crate::error::{ClientError, ErrorKind};

/// Which SCRAM. Open: a mechanism that Kafka adds later is a value too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScramMechanism(pub i8);

impl ScramMechanism {
    /// `SCRAM-SHA-256`.
    pub const SHA_256: Self = Self(1);
    /// `SCRAM-SHA-512`.
    pub const SHA_512: Self = Self(2);
}

/// A change of a user's credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScramCredentialChange {
    user: String,
    mechanism: ScramMechanism,
    /// `None` to delete.
    password: Option<(Secret, u32)>,
}

/// How often a password is hashed unless it is said otherwise: the least that Kafka takes.
const ITERATIONS: u32 = 4096;

impl ScramCredentialChange {
    /// Gives a user a password under a mechanism, in the place of one that is there. It is hashed 4096 times.
    pub fn upsert(user: impl Into<String>, mechanism: ScramMechanism, password: impl Into<Secret>) -> Self {
        Self { user: user.into(), mechanism, password: Some((password.into(), ITERATIONS)) }
    }

    /// Hashes the password so many times, 4096 to 16384: what makes guessing slower, and logging in too.
    #[must_use]
    pub fn iterations(mut self, iterations: u32) -> Self {
        if let Some((_, of_password)) = &mut self.password {
            *of_password = iterations;
        }
        self
    }

    /// Takes a user's password under a mechanism away.
    pub fn delete(user: impl Into<String>, mechanism: ScramMechanism) -> Self {
        Self { user: user.into(), mechanism, password: None }
    }
}

impl Admin {
    /// The SCRAM credentials of users (DescribeUserScramCredentials), of all users where none is named: by mechanism, how often the password is hashed.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer or the broker refuses.
    pub async fn describe_user_scram_credentials<S: Into<String>>(
        &self,
        users: impl IntoIterator<Item = S>,
    ) -> Result<Results<String, BTreeMap<ScramMechanism, u32>>, ClientError> {
        let users: Vec<_> = users.into_iter().map(|user| UserName { name: user.into() }).collect();
        let request = DescribeUserScramCredentialsRequest { users: (!users.is_empty()).then_some(users) };
        let (response, connection) = self.ask_any(&request).await?;
        let doing = || "describing SCRAM credentials".to_owned();
        result((), doing, &connection, response.error_code, response.error_message.as_deref())?;
        let credential = |info: &CredentialInfo| {
            (ScramMechanism(info.mechanism), u32::try_from(info.iterations).unwrap_or_default())
        };
        let outcome = |found: DescribeUserScramCredentialsResult| {
            let doing = || format!("describing the SCRAM credentials of user {}", found.user);
            let credentials = found.credential_infos.iter().map(credential).collect();
            let message = found.error_message.as_deref();
            let outcome = result(credentials, doing, &connection, found.error_code, message);
            (found.user, outcome)
        };
        Ok(response.results.into_iter().map(outcome).collect())
    }

    /// Changes SCRAM credentials (AlterUserScramCredentials). Passwords are salted and hashed here, and do not leave this process. A request of Kafka's
    /// takes one change of a user: several of one user are made one after the other, up to the first that fails.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer, a mechanism is not known here, or there is no randomness for the salt. Credentials may have been
    /// changed nevertheless.
    pub async fn alter_user_scram_credentials(
        &self,
        changes: impl IntoIterator<Item = ScramCredentialChange>,
    ) -> Result<Results<String, ()>, ClientError> {
        let mut results = Results::new();
        for mut changes in one_of_each_user(changes) {
            let has_failed = |user: &String| matches!(results.get(user), Some(Err(_)));
            changes.retain(|change| !has_failed(&change.user));
            if changes.is_empty() {
                break;
            }
            let (response, connection) = self.ask_any(&altered(changes)?).await?;
            for answer in response.results {
                let doing = || format!("changing the SCRAM credentials of user {}", answer.user);
                let changed = result((), doing, &connection, answer.error_code, answer.error_message.as_deref());
                results.insert(answer.user, changed);
            }
        }
        Ok(results)
    }
}

/// Changes that one request may hold, in the order of requests: of each user the first, then the second, and so on.
fn one_of_each_user(changes: impl IntoIterator<Item = ScramCredentialChange>) -> Vec<Vec<ScramCredentialChange>> {
    let mut requests: Vec<Vec<_>> = Vec::new();
    let mut so_far: BTreeMap<String, usize> = BTreeMap::new();
    for change in changes {
        let number = so_far.entry(change.user.clone()).or_default();
        if requests.len() == *number {
            requests.push(Vec::new());
        }
        requests[*number].push(change);
        *number += 1;
    }
    requests
}

fn altered(
    changes: impl IntoIterator<Item = ScramCredentialChange>,
) -> Result<AlterUserScramCredentialsRequest, ClientError> {
    let mut request = AlterUserScramCredentialsRequest::default();
    for ScramCredentialChange { user, mechanism, password } in changes {
        let Some((password, iterations)) = password else {
            request.deletions.push(ScramCredentialDeletion { name: user, mechanism: mechanism.0 });
            continue;
        };
        let doing = || format!("changing the SCRAM credentials of user {user}");
        let salt = salt().map_err(|reason| ClientError::new(ErrorKind::Invalid, doing(), reason))?;
        let salted_password = salted(mechanism, &password, &salt, iterations).ok_or_else(|| {
            let reason = format!("there is no mechanism {}", mechanism.0);
            ClientError::new(ErrorKind::Invalid, doing(), reason).remedy("use SCRAM-SHA-256 or SCRAM-SHA-512")
        })?;
        request.upsertions.push(ScramCredentialUpsertion {
            name: user,
            mechanism: mechanism.0,
            iterations: i32::try_from(iterations).unwrap_or(i32::MAX),
            salt,
            salted_password,
        });
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_sent_salted_and_never_shown() {
        let changes = [
            ScramCredentialChange::upsert("alice", ScramMechanism::SHA_256, "secret-of-the-test"),
            ScramCredentialChange::upsert("alice", ScramMechanism::SHA_512, "secret-of-the-test").iterations(8192),
            ScramCredentialChange::delete("bob", ScramMechanism::SHA_256),
        ];
        assert!(!format!("{changes:?}").contains("secret-of-the-test"), "{changes:?}");
        let request = altered(changes).unwrap();
        let [first, second] = &request.upsertions[..] else { panic!("{request:?}") };
        assert_eq!((first.iterations, first.salted_password.len()), (4096, 32));
        assert_eq!((second.iterations, second.salted_password.len()), (8192, 64));
        assert!(first.salt.len() >= 16 && first.salt != second.salt);
        assert_eq!(request.deletions.len(), 1);
    }

    #[test]
    fn a_request_holds_one_change_of_a_user() {
        let delete = |user: &str, mechanism| ScramCredentialChange::delete(user, mechanism);
        let (a, b) = (ScramMechanism::SHA_256, ScramMechanism::SHA_512);
        let requests = one_of_each_user([delete("x", a), delete("x", b), delete("y", a)]);
        assert_eq!(requests, [vec![delete("x", a), delete("y", a)], vec![delete("x", b)]]);
    }

    #[test]
    fn a_mechanism_that_is_not_known_is_refused_by_its_number() {
        let error = altered([ScramCredentialChange::upsert("alice", ScramMechanism(9), "p")]).unwrap_err();
        assert!(error.to_string().contains("user alice: there is no mechanism 9"), "{error}");
    }
}
