//! Asking each broker about what is its own: the leader about partitions, the coordinator about groups and transactions.
//!
//! Who that is gets looked up, and looked up again for what a broker refuses because it is not the one, until each thing has its result or
//! `default.api.timeout.ms` is over.

use std::collections::BTreeMap;
use std::fmt;

use ackflow_protocol::wire::Request;

use super::{Admin, Results};
use crate::error::{ClientError, ErrorKind};
use crate::net::Connection;

/// Finds out which broker has to be asked about things of the kind `K`.
pub(super) trait Lookup<K>: Sync {
    /// By broker, what it has to be asked about. What has no broker goes into `failed`, with the reason: no key is left out.
    fn find(
        &self,
        admin: &Admin,
        keys: &[K],
        failed: &mut Vec<(K, ClientError)>,
    ) -> impl Future<Output = Result<BTreeMap<i32, Vec<K>>, ClientError>> + Send;

    /// Whether what failed with this error is to be asked again. No error that is not retriable is.
    fn passes(&self, error: &ClientError) -> bool {
        error.is_retriable()
    }
}

/// The broker that was asked.
pub(super) struct Asked<'a> {
    /// Its id.
    pub(super) node: i32,
    /// The connection to it.
    pub(super) connection: &'a Connection,
}

/// What is still to be asked and what came of the rest.
struct Course<K, I, T> {
    pending: BTreeMap<K, I>,
    /// Why what is pending is so.
    failures: BTreeMap<K, ClientError>,
    results: Results<K, T>,
}

impl<K: Ord + Clone, I, T> Course<K, I, T> {
    /// Takes in what came of a key, unless it passes: then the key is asked about again.
    fn take(&mut self, key: K, outcome: Result<T, ClientError>, passes: impl Fn(&ClientError) -> bool) {
        match outcome {
            Err(error) if passes(&error) => {
                self.failures.insert(key, error);
            }
            outcome => {
                self.pending.remove(&key);
                self.results.insert(key, outcome);
            }
        }
    }

    /// Gives up what is pending, each for its own reason where it has one.
    fn give_up(mut self, error: &ClientError) -> Results<K, T> {
        for key in self.pending.into_keys() {
            let error = self.failures.remove(&key).unwrap_or_else(|| error.clone());
            self.results.insert(key, Err(error));
        }
        self.results
    }
}

impl Admin {
    /// Asks the broker of each of `items` about it. `request` makes the request for those of one broker, `read` gives what an answer says about each
    /// of them; what it leaves out is an error.
    ///
    /// `newest` is the last version of the API that will do.
    pub(super) async fn routed<K, I, R, T>(
        &self,
        lookup: &impl Lookup<K>,
        items: BTreeMap<K, I>,
        newest: i16,
        request: impl Fn(&Asked<'_>, &[(&K, &I)]) -> R + Sync,
        read: impl Fn(&Asked<'_>, R::Response) -> Vec<(K, Result<T, ClientError>)> + Sync,
    ) -> Results<K, T>
    where
        K: Ord + Clone + fmt::Display + Send + Sync,
        I: Send + Sync,
        R: Request,
        T: Send,
    {
        let mut course = Course { pending: items, failures: BTreeMap::new(), results: Results::new() };
        let mut retries = self.retries();
        while !course.pending.is_empty() {
            let round = self.round(lookup, &mut course, newest, &request, &read);
            if let Err(error) = retries.attempt(round).await {
                return course.give_up(&error);
            }
        }
        course.results
    }

    /// Asks about what is pending, once. An error where something still is.
    async fn round<K, I, R, T>(
        &self,
        lookup: &impl Lookup<K>,
        course: &mut Course<K, I, T>,
        newest: i16,
        request: &(impl Fn(&Asked<'_>, &[(&K, &I)]) -> R + Sync),
        read: &(impl Fn(&Asked<'_>, R::Response) -> Vec<(K, Result<T, ClientError>)> + Sync),
    ) -> Result<(), ClientError>
    where
        K: Ord + Clone + fmt::Display + Send + Sync,
        I: Send + Sync,
        R: Request,
        T: Send,
    {
        let passes = |error: &ClientError| lookup.passes(error);
        let keys: Vec<K> = course.pending.keys().cloned().collect();
        let mut failed = Vec::new();
        let brokers = lookup.find(self, &keys, &mut failed).await?;
        for (key, error) in failed {
            course.take(key, Err(error), passes);
        }
        for (node, keys) in brokers {
            let items: Vec<_> = keys.iter().filter_map(|key| course.pending.get_key_value(key)).collect();
            let mut answered = self.ask_about(node, &items, newest, request, read).await;
            for key in keys {
                let outcome = match &mut answered {
                    Ok((outcomes, connection)) => {
                        outcomes.remove(&key).unwrap_or_else(|| Err(left_out::<R>(&key, connection)))
                    }
                    Err(error) => Err(error.clone()),
                };
                course.take(key, outcome, passes);
            }
        }
        match course.pending.keys().find_map(|key| course.failures.get(key)) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Asks one broker about its items.
    async fn ask_about<K, I, R, T>(
        &self,
        node: i32,
        items: &[(&K, &I)],
        newest: i16,
        request: &(impl Fn(&Asked<'_>, &[(&K, &I)]) -> R + Sync),
        read: &(impl Fn(&Asked<'_>, R::Response) -> Vec<(K, Result<T, ClientError>)> + Sync),
    ) -> Result<(Results<K, T>, Connection), ClientError>
    where
        K: Ord + Sync,
        I: Sync,
        R: Request,
    {
        let connection = self.pool.node(node).await?;
        let asked = Asked { node, connection: &connection };
        let request = request(&asked, items);
        let response = connection.call_in(&request, 0..=newest, self.request_timeout()).await?;
        let outcomes = read(&asked, response).into_iter().collect();
        Ok((outcomes, connection))
    }
}

fn left_out<R: Request>(key: &impl fmt::Display, connection: &Connection) -> ClientError {
    let reason = format!("the answer to {} leaves it out", R::NAME);
    ClientError::new(ErrorKind::Malformed, format!("asking about {key}"), reason).at(connection.broker().to_owned())
}
