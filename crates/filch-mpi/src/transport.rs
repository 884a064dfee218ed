//! What carries messages between ranks.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use filch_memory::{Atomic, Memory, Native, Ordering};

/// A way to send bytes to other ranks. Each message arrives once; the order is free.
pub trait Transport: Send {
    /// This rank's number.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// The other ranks on the same node, which are asked for work first.
    fn near(&self) -> &[usize] {
        &[]
    }

    /// Sends bytes, without waiting for their receiver.
    fn send(&mut self, to: usize, tag: u32, bytes: Vec<u8>);

    /// Returns the next message with this tag, and its sender, if one has arrived.
    fn receive(&mut self, tag: u32) -> Option<(usize, Vec<u8>)>;

    /// Returns a rank that has died, each once. Rank 0 hears of every death, the others of rank 0's. For
    /// [`Cluster::run_idempotent`](crate::Cluster::run_idempotent).
    fn lost(&mut self) -> Option<usize> {
        None
    }
}

/// Ranks that are threads of one process: for tests, and to try a program.
///
/// ```
/// use filch_mpi::{Threads, Transport};
///
/// let mut ranks = Threads::world(2);
/// ranks[0].send(1, 7, vec![42]);
/// assert_eq!(ranks[1].receive(6), None);
/// assert_eq!(ranks[1].receive(7), Some((0, vec![42])));
/// ```
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    near: Vec<usize>,
    to: Vec<Sender<Parcel>>,
    /// Which ranks are gone, and of which this one has told.
    gone: Arc<[<Native as Memory>::AtomicBool]>,
    told: Vec<bool>,
    from: Receiver<Parcel>,
    /// Received before their tag was asked for.
    early: Vec<Parcel>,
}

/// The other ranks on the same node as `rank`.
pub(crate) fn near<N: PartialEq>(nodes: &[N], rank: usize) -> Vec<usize> {
    (0..nodes.len()).filter(|&other| other != rank && nodes[other] == nodes[rank]).collect()
}

type Parcel = (u32, usize, Vec<u8>);

impl Threads {
    /// Creates all ranks, on one node.
    pub fn world(size: usize) -> Vec<Self> {
        Self::on_nodes(&vec![0; size])
    }

    /// Creates ranks on these nodes, a number for each rank.
    pub fn on_nodes(nodes: &[usize]) -> Vec<Self> {
        let (to, from): (Vec<_>, Vec<_>) = nodes.iter().map(|_| channel()).unzip();
        let gone: Arc<[_]> = nodes.iter().map(|_| Atomic::new(false)).collect();
        let rank = |(rank, from)| Self {
            rank,
            near: near(nodes, rank),
            to: to.clone(),
            gone: Arc::clone(&gone),
            told: vec![false; nodes.len()],
            from,
            early: Vec::new(),
        };
        from.into_iter().enumerate().map(rank).collect()
    }
}

impl Transport for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn near(&self) -> &[usize] {
        &self.near
    }

    fn send(&mut self, to: usize, tag: u32, bytes: Vec<u8>) {
        // A rank that is gone after a panic receives nothing.
        let _ = self.to[to].send((tag, self.rank, bytes));
    }

    fn receive(&mut self, tag: u32) -> Option<(usize, Vec<u8>)> {
        self.early.extend(self.from.try_iter());
        let at = self.early.iter().position(|parcel| parcel.0 == tag)?;
        let (_, from, bytes) = self.early.remove(at);
        Some((from, bytes))
    }

    fn lost(&mut self) -> Option<usize> {
        // Acquire: pairs with the store in `drop`, before which it has sent its last.
        let is_lost = |&rank: &usize| !self.told[rank] && self.gone[rank].load(Ordering::Acquire);
        let rank = (0..self.to.len()).find(is_lost)?;
        self.told[rank] = true;
        Some(rank)
    }
}

/// A rank that is dropped is dead to the others.
impl Drop for Threads {
    fn drop(&mut self) {
        // Release: pairs with the load in `lost`.
        self.gone[self.rank].store(true, Ordering::Release);
    }
}
