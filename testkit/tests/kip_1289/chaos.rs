//! What goes wrong.

use std::time::Duration;

use crate::trace;
use crate::worker::Worker;
use crate::world::{GROUP, IN, OUT, What, World};

/// Something that goes wrong, or is right again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chaos {
    Next,
    Over,
    CutLink,
    KillNode,
    StartNode(i32),
    MoveLeader,
    MoveCoordinator,
    ExpireLocks,
    CrashWorker,
    StartWorker(usize),
}

impl Chaos {
    /// What a plan chooses from.
    pub(crate) const ALL: [Self; 6] =
        [Self::CutLink, Self::KillNode, Self::MoveLeader, Self::MoveCoordinator, Self::ExpireLocks, Self::CrashWorker];
}

impl World {
    pub(crate) fn chaos(&mut self, what: Chaos) {
        match what {
            Chaos::Next if !self.is_active() => {}
            Chaos::Next => {
                let chosen = self.random.pick(&self.plan.chaos.clone());
                trace!(self, "-- {chosen:?}");
                self.chaos(chosen);
                let gap = self.random.micros(0, 2 * self.plan.gap.as_micros() as u64);
                self.after(gap, What::Chaos(Chaos::Next));
            }
            Chaos::Over => self.over(),
            Chaos::CutLink => {
                let links: Vec<u64> = self.net.open().collect();
                if let Some(link) = self.random.pick_any(links) {
                    self.count("cuts");
                    self.cut(link);
                }
            }
            Chaos::KillNode => {
                let node = self.any_node();
                if self.cluster.is_running(node) {
                    self.count("node_kills");
                    let noticed_after = self.random.millis(0, 500);
                    self.cluster.kill_node(self.now, node, noticed_after).expect("it is a node");
                    let down = self.random.millis(10, 1_500);
                    self.after(down, What::Chaos(Chaos::StartNode(node)));
                }
            }
            Chaos::StartNode(node) => self.cluster.start_node(self.now, node).expect("it is a node"),
            Chaos::MoveLeader => {
                let (topic, partitions) =
                    if self.random.percent(60) { (IN, self.plan.partitions) } else { (OUT, self.plan.outputs) };
                let (partition, node) = (self.random.below(partitions as u64) as i32, self.any_node());
                if self.cluster.move_leader(self.now, topic, partition, node).is_ok() {
                    self.count("leader_moves");
                }
            }
            Chaos::MoveCoordinator => {
                let node = self.any_node();
                if self.cluster.move_coordinator(self.now, GROUP, node).is_ok() {
                    self.count("coordinator_moves");
                }
            }
            Chaos::ExpireLocks => self.cluster.expire_group_locks(self.now, GROUP),
            Chaos::CrashWorker => {
                let worker = self.random.below(self.workers.len() as u64) as usize;
                if let Some(worker) = self.workers[worker].take() {
                    self.crashed(worker);
                }
            }
            Chaos::StartWorker(worker) => self.start_worker(worker),
        }
    }

    fn any_node(&mut self) -> i32 {
        let nodes = self.cluster.node_ids();
        self.random.pick(&nodes)
    }

    /// A worker is gone with all that it knew. Another one comes in its place, with the same transactional id.
    pub(crate) fn crashed(&mut self, worker: Worker) {
        trace!(self, "w{} crashes", worker.index);
        self.count("crashes");
        for link in worker.links() {
            self.closed_by_worker(link);
        }
        let away = self.random.millis(10, 1_000);
        self.after(away, What::Chaos(Chaos::StartWorker(worker.index)));
        self.net.lives.insert(worker.index, worker.life);
    }

    pub(crate) fn start_worker(&mut self, index: usize) {
        let life = self.net.lives.get(&index).map_or(0, |life| life + 1);
        let mut worker = Worker::new(self, index, life);
        worker.begin(self);
        worker.drain(self);
        self.workers[index] = Some(worker);
        self.after(Duration::from_millis(200), What::Worker { worker: index, life, step: crate::worker::Step::Poll });
    }
}
