//! Where each leader epoch of a partition begins.

/// The leader epochs that have written, or may write, to a log: each with the offset of its first record. Ascending in both.
#[derive(Debug)]
pub(crate) struct LeaderEpochs {
    starts: Vec<(i32, i64)>,
}

impl Default for LeaderEpochs {
    /// The first leader, of a log that begins at 0.
    fn default() -> Self {
        Self { starts: vec![(0, 0)] }
    }
}

impl LeaderEpochs {
    /// A leader of `epoch` takes over a log that ends at `end`. Epochs in which nothing was written are forgotten.
    pub(crate) fn begin(&mut self, epoch: i32, end: i64) {
        self.starts.retain(|(before, start)| *before < epoch && *start < end);
        self.starts.push((epoch, end));
    }

    /// The log begins at `start` from now on.
    pub(crate) fn truncate_before(&mut self, start: i64) {
        let floor = self.starts.partition_point(|(_, begin)| *begin <= start);
        self.starts.drain(..floor.saturating_sub(1));
        if let Some((_, begin)) = self.starts.first_mut() {
            *begin = start.max(*begin);
        }
    }

    /// The newest epoch.
    pub(crate) fn latest(&self) -> Option<i32> {
        self.starts.last().map(|(epoch, _)| *epoch)
    }

    /// The epoch in which the record at `offset` was written.
    pub(crate) fn of_offset(&self, offset: i64) -> Option<i32> {
        let behind = self.starts.partition_point(|(_, start)| *start <= offset);
        self.starts[..behind].last().map(|(epoch, _)| *epoch)
    }

    /// The largest epoch that is not after `asked`, and the offset after its last record, in a log that ends at `end`. `None` where
    /// `asked` is newer than all that is known.
    pub(crate) fn end_of(&self, asked: i32, end: i64) -> Option<(i32, i64)> {
        let latest = self.latest()?;
        if asked < 0 || asked > latest {
            return None;
        }
        if asked == latest {
            return Some((latest, end));
        }
        let behind = self.starts.partition_point(|(epoch, _)| *epoch <= asked);
        let next = self.starts.get(behind).map_or(end, |(_, start)| *start);
        // What was before the log begins is taken for an epoch that ends there.
        Some((self.starts[..behind].last().map_or(asked, |(epoch, _)| *epoch), next))
    }
}
