//! One direction of a TCP connection, put together from its segments.
//!
//! No reassembly crate is used: those that the registry has are bound to libpcap or to a parser of their own, are under the
//! GPL, or have not been touched for years, and all keep what they wait for without a bound. What a capture needs is small:
//! there is no window to manage and nothing to acknowledge, but there are segments that the capture lost for good.

use std::collections::BTreeMap;

/// What a flow of a capture may hold back behind holes: more than the window of a TCP connection usually is. Beyond it the
/// first hole is given up.
pub(crate) const MOST_PENDING: usize = 16 << 20;
/// What a piece that is held back costs on top of its bytes.
const PIECE_COST: usize = 128;
/// Positions begin here, so that those before the first byte seen are numbers too.
const FIRST: u64 = 1 << 32;

/// What comes out of a flow, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// The next bytes.
    Data(&'a [u8]),
    /// So many bytes are not in the capture.
    Missing(u64),
}

/// Puts one direction together. Of bytes that come twice the first ones count.
pub(crate) struct Flow {
    /// The position of the next byte to hand out, whose lowest 32 bits are its sequence number; `None` before the first
    /// segment.
    next: Option<u64>,
    /// The position behind the last byte, once the sender has said so.
    end: Option<u64>,
    /// What came too early, by position. Pieces do not overlap, and all begin behind `next`.
    pending: BTreeMap<u64, Box<[u8]>>,
    /// What `pending` takes, about.
    cost: usize,
    most_pending: usize,
}

impl Flow {
    /// Of which so many bytes may be held back behind holes.
    pub(crate) fn new(most_pending: usize) -> Self {
        Self { next: None, end: None, pending: BTreeMap::new(), cost: 0, most_pending }
    }

    /// Whether a segment has been seen.
    pub(crate) fn is_started(&self) -> bool {
        self.next.is_some()
    }

    /// Whether everything up to the sender's end has been handed out.
    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some_and(|end| self.next >= Some(end))
    }

    /// Bytes held back, about.
    pub(crate) fn held(&self) -> usize {
        self.cost
    }

    /// The first byte will have this sequence number, unless a segment has been seen.
    pub(crate) fn start(&mut self, sequence: u32) {
        self.next.get_or_insert(FIRST | u64::from(sequence));
    }

    /// Takes data that begins at `sequence`.
    pub(crate) fn segment(&mut self, sequence: u32, payload: &[u8], out: &mut dyn FnMut(Piece<'_>)) {
        self.start(sequence);
        let Some(next) = self.next else { return };
        let at = position(next, sequence);
        let old = next.saturating_sub(at).min(payload.len() as u64) as usize;
        let (at, payload) = (at + old as u64, &payload[old..]);
        if payload.is_empty() {
            return;
        }
        if at == next && self.pending.is_empty() {
            self.next = Some(next + payload.len() as u64);
            return out(Piece::Data(payload));
        }
        self.hold(at, payload);
        self.hand_out(out);
        while self.cost > self.most_pending {
            self.give_up_first(out);
        }
    }

    /// The sender ends its half with the byte before `sequence`.
    pub(crate) fn fin(&mut self, sequence: u32) {
        self.start(sequence);
        self.end = self.next.map(|next| position(next, sequence));
    }

    /// Whether the other side, which waits for `sequence`, has the sender's end: the end takes a number of its own.
    pub(crate) fn is_end_acknowledged(&self, sequence: u32) -> bool {
        self.end.is_some_and(|end| position(end, sequence) > end)
    }

    /// The other side waits for `sequence`: what is missing before it reached that side, and will not come again.
    pub(crate) fn acknowledged(&mut self, sequence: u32, out: &mut dyn FnMut(Piece<'_>)) {
        let Some(next) = self.next else { return };
        let acknowledged = position(next, sequence);
        while self.pending.first_key_value().is_some_and(|(at, _)| *at <= acknowledged) {
            self.give_up_first(out);
        }
        // What is missing before the end has nothing behind it that could be held back.
        if let (Some(next), Some(end)) = (self.next, self.end)
            && next < end
            && self.pending.is_empty()
            && end < acknowledged
        {
            out(Piece::Missing(end - next));
            self.next = Some(end);
        }
    }

    /// Hands out everything that is held back, whatever is missing in between.
    pub(crate) fn give_up(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        while !self.pending.is_empty() {
            self.give_up_first(out);
        }
    }

    fn give_up_first(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        if let (Some(next), Some((at, _))) = (self.next, self.pending.first_key_value()) {
            let at = *at;
            out(Piece::Missing(at - next));
            self.next = Some(at);
            self.hand_out(out);
        }
    }

    fn hand_out(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        while let Some(first) = self.pending.first_entry().filter(|first| Some(*first.key()) == self.next) {
            let data = first.remove();
            self.cost -= data.len() + PIECE_COST;
            self.next = self.next.map(|next| next + data.len() as u64);
            out(Piece::Data(&data));
        }
    }

    /// Keeps what no earlier piece has.
    fn hold(&mut self, mut at: u64, mut data: &[u8]) {
        while !data.is_empty() {
            let before = self.pending.range(..=at).next_back();
            let covered = before.map_or(0, |(start, piece)| (start + piece.len() as u64).saturating_sub(at));
            let after = self.pending.range(at + 1..).next().map_or(u64::MAX, |(start, _)| *start);
            let skip = covered.min(data.len() as u64) as usize;
            let room = (after - at).min(data.len() as u64) as usize;
            if skip == 0 {
                self.cost += room + PIECE_COST;
                self.pending.insert(at, data[..room].into());
            }
            let step = if skip == 0 { room } else { skip };
            at += step as u64;
            data = &data[step..];
        }
    }
}

/// The position of a sequence number: that of the two neighbours of `next` which is nearer, 2 GiB to either side.
fn position(next: u64, sequence: u32) -> u64 {
    let distance = sequence.wrapping_sub(next as u32) as i32;
    next.saturating_add_signed(distance.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What comes out, with a dot for each byte that is missing.
    fn collect(text: &mut String) -> impl FnMut(Piece<'_>) + '_ {
        |piece| match piece {
            Piece::Data(data) => text.push_str(str::from_utf8(data).unwrap()),
            Piece::Missing(count) => text.push_str(&".".repeat(count as usize)),
        }
    }

    fn put_together(flow: &mut Flow, segments: &[(u32, &str)]) -> String {
        let mut text = String::new();
        for (sequence, data) in segments {
            flow.segment(*sequence, data.as_bytes(), &mut collect(&mut text));
        }
        text
    }

    #[test]
    fn segments_come_out_in_order_once() {
        let segments = [(100, "ab"), (104, "ef"), (100, "ab"), (102, "cd"), (104, "ef"), (103, "defgh")];
        assert_eq!(put_together(&mut Flow::new(MOST_PENDING), &segments), "abcdefgh");
    }

    #[test]
    fn of_bytes_that_come_twice_the_first_count() {
        let segments = [(0, "ab"), (6, "gh"), (4, "EFGHIJ"), (2, "cd??????")];
        assert_eq!(put_together(&mut Flow::new(MOST_PENDING), &segments), "abcdEFghIJ");
        let segments = [(0, "a"), (3, "d"), (5, "f"), (1, "bcDeFg")];
        assert_eq!(put_together(&mut Flow::new(MOST_PENDING), &segments), "abcdefg");
    }

    #[test]
    fn sequence_numbers_begin_again_after_the_largest() {
        let start = u32::MAX - 2;
        let mut flow = Flow::new(MOST_PENDING);
        flow.start(start);
        let segments = [(1, "ef"), (start, "abc"), (start.wrapping_add(1), "bcd"), (0, "d"), (start, "a")];
        assert_eq!(put_together(&mut flow, &segments), "abcdef");
    }

    #[test]
    fn hole_is_given_up_once_the_other_side_has_what_was_in_it() {
        let mut flow = Flow::new(MOST_PENDING);
        let mut text = put_together(&mut flow, &[(0, "ab"), (4, "ef"), (8, "ij")]);
        flow.acknowledged(2, &mut collect(&mut text));
        assert_eq!(text, "ab");
        flow.acknowledged(6, &mut collect(&mut text));
        assert_eq!(text, "ab..ef");
        flow.segment(2, b"cd", &mut collect(&mut text));
        flow.give_up(&mut collect(&mut text));
        assert_eq!(text, "ab..ef..ij");
        assert_eq!(flow.held(), 0);
    }

    #[test]
    fn end_counts_when_everything_before_it_is_out() {
        let mut flow = Flow::new(MOST_PENDING);
        put_together(&mut flow, &[(0, "ab")]);
        flow.fin(4);
        assert!(!flow.has_ended());
        put_together(&mut flow, &[(2, "cd")]);
        assert!(flow.has_ended());
    }

    #[test]
    fn hole_before_the_end_is_given_up_once_the_other_side_has_the_end() {
        for held_back in [&[][..], &[(4, "ef")]] {
            let mut flow = Flow::new(MOST_PENDING);
            let mut text = put_together(&mut flow, &[&[(0, "ab")], held_back].concat());
            flow.fin(6);
            assert!(!flow.is_end_acknowledged(6) && !flow.has_ended());
            assert!(flow.is_end_acknowledged(7));
            flow.acknowledged(7, &mut collect(&mut text));
            assert_eq!(text, if held_back.is_empty() { "ab...." } else { "ab..ef" });
            assert!(flow.has_ended());
        }
    }

    #[test]
    fn what_is_held_back_is_bounded() {
        let mut flow = Flow::new(MOST_PENDING);
        flow.start(0);
        let mut missing = 0;
        for i in 1..200_000u32 {
            flow.segment(i * 2, b"x", &mut |piece| {
                if let Piece::Missing(count) = piece {
                    missing += count;
                }
            });
            assert!(flow.held() <= MOST_PENDING);
        }
        assert!(missing > 0);
    }

    proptest! {
        #[test]
        fn any_cuts_in_any_order_give_the_same_bytes(
            start in any::<u32>(),
            length in 1usize..400,
            cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..60),
        ) {
            let data: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let mut flow = Flow::new(MOST_PENDING);
            flow.start(start);
            let mut read = Vec::new();
            let mut out = |piece: Piece<'_>| match piece {
                Piece::Data(data) => read.extend_from_slice(data),
                Piece::Missing(_) => unreachable!("nothing is lost"),
            };
            let mut send = |at: usize, end: usize| {
                flow.segment(start.wrapping_add(at as u32), &data[at..end], &mut out);
            };
            for (a, b) in cuts {
                let (a, b) = (a.index(length), b.index(length));
                send(a.min(b), a.max(b));
            }
            // What no segment had is sent again.
            for at in 0..length {
                send(at, at + 1);
            }
            prop_assert_eq!(read, data);
            prop_assert_eq!(flow.held(), 0);
        }
    }
}
