//! The topics that are produced to, their partitions, and who leads those.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ackflow_protocol::messages::metadata::MetadataResponseTopic;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::queue::{Leader, Limits, Queue};
use crate::error::{ClientError, ErrorKind};
use crate::net::random;

/// A partition and what is on its way there.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) topic: Arc<str>,
    pub(super) index: i32,
    queue: Mutex<Queue>,
}

impl Partition {
    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        // A panic with the lock held is a bug that a test would show; what is left is as good as any state.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A topic whose partitions are known.
#[derive(Debug)]
pub(super) struct Topic {
    pub(super) partitions: Vec<Arc<Partition>>,
    /// Where records without a key go just now.
    chosen: AtomicUsize,
}

impl Topic {
    /// Whether it has the partition that a record names, if it names one.
    pub(super) fn has(&self, partition: Option<i32>) -> bool {
        partition.is_none_or(|partition| usize::try_from(partition).is_ok_and(|at| at < self.partitions.len()))
    }

    /// The partition that records without a key go to just now.
    pub(super) fn chosen(&self) -> usize {
        self.chosen.load(Ordering::Relaxed)
    }

    /// Chooses another one, at random among those that have a leader; where that may adapt, of two of them the one that has less to send, so that
    /// a slow broker gets less. Kafka's own client has that aim too (KIP-794), and looks at all partitions for it.
    pub(super) fn choose_another(&self, may_adapt: bool) -> usize {
        let count = self.partitions.len();
        let candidate = |other_than: Option<usize>| {
            let first = random() as usize % count;
            let all = (0..count).map(|i| (first + i) % count);
            let mut others = all.filter(|at| count == 1 || (*at != self.chosen() && Some(*at) != other_than));
            others.find_map(|at| self.partitions[at].lock().waiting().map(|waiting| (waiting, at)))
        };
        let one = candidate(None);
        let two = one.filter(|_| may_adapt).and_then(|(_, at)| candidate(Some(at)));
        // Of equals the first one, which is any.
        let with_least = [one, two].into_iter().flatten().min_by_key(|(waiting, _)| *waiting);
        let chosen = with_least.map_or_else(|| random() as usize % count, |(_, at)| at);
        self.chosen.store(chosen, Ordering::Relaxed);
        chosen
    }
}

/// All topics that anyone has asked for.
#[derive(Debug)]
pub(super) struct Topics {
    limits: Arc<Limits>,
    known: RwLock<Known>,
    /// Counts the answers, good or bad, to requests for metadata.
    answers: watch::Sender<u64>,
    /// Asks for metadata.
    pub(super) wanted: Notify,
}

#[derive(Debug, Default)]
struct Known {
    topics: HashMap<Arc<str>, Entry, BuildHasherDefault<NameHasher>>,
    closed: Option<ClientError>,
}

/// Hashes names, eight bytes at a time. They come from the application, which has no reason to make them collide.
#[derive(Debug, Default)]
struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, tail) = bytes.as_chunks();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        self.add(tail.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    }

    fn finish(&self) -> u64 {
        // The product's lowest bits, which choose the place, depend on those of the last word alone.
        self.0 ^ self.0 >> 32
    }
}

impl NameHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[derive(Debug)]
enum Entry {
    Found(Arc<Topic>),
    /// Not yet, or not any more; and what the cluster says of it.
    Missing(Option<ClientError>),
}

impl Topics {
    pub(super) fn new(limits: Arc<Limits>) -> Self {
        let (answers, _) = watch::channel(0);
        Self { limits, known: RwLock::default(), answers, wanted: Notify::new() }
    }

    /// What `look` makes of the topic, if its partitions are known. Nothing may be asked of topics meanwhile.
    pub(super) fn with<T>(&self, name: &str, look: impl FnOnce(&Topic) -> T) -> Option<T> {
        match self.read().topics.get(name)? {
            Entry::Found(topic) => Some(look(topic)),
            Entry::Missing(_) => None,
        }
    }

    /// Waits until the topic is known or refused. Cancel-safe.
    ///
    /// # Errors
    /// What the cluster says where it will not pass, and where the producer is closed.
    pub(super) async fn wait_for(&self, name: &Arc<str>) -> Result<Arc<Topic>, ClientError> {
        let mut answers = self.answers.subscribe();
        if let Some(Entry::Missing(error)) = self.write().topics.get_mut(name) {
            // It is from an earlier question.
            *error = None;
        }
        loop {
            {
                let mut known = self.write();
                if let Some(closed) = &known.closed {
                    return Err(closed.clone());
                }
                match known.topics.entry(name.clone()).or_insert(Entry::Missing(None)) {
                    Entry::Found(topic) => return Ok(topic.clone()),
                    Entry::Missing(Some(error)) if !error.is_retriable() => return Err(error.clone()),
                    Entry::Missing(_) => {}
                }
            }
            self.wanted.notify_one();
            // The sender lives as long as `self`.
            let _ = answers.changed().await;
        }
    }

    /// Waits for the next answer to a request for metadata. Cancel-safe.
    pub(super) async fn refreshed(&self) {
        let mut answers = self.answers.subscribe();
        self.wanted.notify_one();
        // The sender lives as long as `self`.
        let _ = answers.changed().await;
    }

    /// Stops asking for a topic that was not found, and gives what the cluster said of it.
    pub(super) fn give_up(&self, name: &str) -> Option<ClientError> {
        let mut known = self.write();
        match known.topics.get(name) {
            Some(Entry::Missing(_)) => match known.topics.remove(name) {
                Some(Entry::Missing(error)) => error,
                _ => None,
            },
            _ => None,
        }
    }

    /// The names of all topics that metadata is wanted for: not of those that were refused, before somebody asks anew.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        let known = self.read();
        let wanted =
            known.topics.iter().filter(|(_, entry)| !matches!(entry, Entry::Missing(Some(e)) if !e.is_retriable()));
        wanted.map(|(name, _)| name.clone()).collect()
    }

    /// The partitions of all topics.
    pub(super) fn partitions(&self) -> Vec<Arc<Partition>> {
        let known = self.read();
        let found = known.topics.values().filter_map(|entry| match entry {
            Entry::Found(topic) => Some(&topic.partitions),
            Entry::Missing(_) => None,
        });
        found.flatten().cloned().collect()
    }

    /// Takes over what the cluster says of topics.
    pub(super) fn update(&self, topics: Vec<MetadataResponseTopic>) {
        {
            let mut known = self.write();
            if known.closed.is_some() {
                return;
            }
            for topic in topics {
                let Some((name, entry)) = topic.name.as_deref().and_then(|name| known.topics.get_key_value(name))
                else {
                    continue;
                };
                let name = name.clone();
                let old = match entry {
                    Entry::Found(old) => Some(old.clone()),
                    Entry::Missing(_) => None,
                };
                let entry = self.entry(&name, topic, old);
                known.topics.insert(name, entry);
            }
        }
        self.answers.send_modify(|count| *count += 1);
    }

    fn entry(&self, name: &Arc<str>, topic: MetadataResponseTopic, old: Option<Arc<Topic>>) -> Entry {
        if let Err(code) = topic.error_code.ok() {
            let error = ClientError::broker(format!("producing to topic {name}"), code, None);
            return match old {
                None => Entry::Missing(Some(error)),
                Some(old) => {
                    for partition in &old.partitions {
                        let mut queue = partition.lock();
                        queue.lose_leader();
                        queue.block(error.clone());
                    }
                    Entry::Found(old)
                }
            };
        }
        let mut partitions = old.as_ref().map_or_else(Vec::new, |old| old.partitions.clone());
        let mut found = topic.partitions;
        // A topic that was created anew may have fewer of them.
        for gone in partitions.drain(found.len().min(partitions.len())..) {
            let mut queue = gone.lock();
            queue.lose_leader();
            let reason = format!("the topic was created anew and has {} partitions", found.len());
            queue.block(ClientError::new(ErrorKind::Invalid, format!("producing to {name}-{}", gone.index), reason));
        }
        found.sort_unstable_by_key(|partition| partition.partition_index);
        for partition in found {
            let leader = Leader { node: partition.leader_id, epoch: partition.leader_epoch, topic_id: topic.topic_id };
            match usize::try_from(partition.partition_index) {
                Ok(index) if index < partitions.len() => partitions[index].lock().lead(leader),
                // Partitions are numbered without gaps.
                Ok(index) if index == partitions.len() => {
                    let (index, limits) = (partition.partition_index, self.limits.clone());
                    let queue = Mutex::new(Queue::new(name.clone(), index, limits, leader, random()));
                    partitions.push(Arc::new(Partition { topic: name.clone(), index, queue }));
                }
                _ => tracing::warn!(topic = &**name, index = partition.partition_index, "partition out of order"),
            }
        }
        match old {
            Some(old) if old.partitions.len() == partitions.len() || partitions.is_empty() => Entry::Found(old),
            _ if partitions.is_empty() => Entry::Missing(None),
            _ => {
                let topic = Topic { partitions, chosen: AtomicUsize::new(0) };
                topic.choose_another(false);
                Entry::Found(Arc::new(topic))
            }
        }
    }

    /// Tells those who wait that metadata could not be had.
    pub(super) fn update_failed(&self, error: &ClientError) {
        for entry in self.write().topics.values_mut() {
            if let Entry::Missing(missing) = entry {
                *missing = Some(error.clone());
            }
        }
        self.answers.send_modify(|count| *count += 1);
    }

    /// Takes no more records, and fails those that wait.
    pub(super) fn close(&self, error: &ClientError) {
        self.write().closed = Some(error.clone());
        for partition in self.partitions() {
            partition.lock().close(Instant::now(), error);
        }
        self.answers.send_modify(|count| *count += 1);
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}
