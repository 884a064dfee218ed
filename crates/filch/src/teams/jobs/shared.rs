//! The state that the workers of a run share: its root, and whether it continues.
//!
//! Invariant: once a job has panicked, or the run is stopped, every worker that asks learns of it.

use filch_memory::{Atomic, Memory, Native, Ordering};

use super::blocks::{Kin, Spare};
use crate::loops::stop::Stop;
use crate::unwind::{FirstPanic, Payload};

/// How a job system counts the unfinished parts of a job: itself, and its children.
///
/// ```
/// use filch::jobs::{Jobs, Parts};
/// use filch_queue::Wsq;
///
/// let as_with_parents_in_the_source = Jobs::new(2).queue::<Wsq>(Default::default()).parts(Parts::OneByOne);
/// assert!(as_with_parents_in_the_source.run(|w| w.spawn(|_| ())).is_complete);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parts {
    /// With fewer atomic updates: one for many children that are spawned together, and none if a worker has all
    /// remaining parts. The default.
    #[default]
    Together,
    /// Each by an atomic update of its own, as in the source of WSQ if jobs have parents.
    OneByOne,
}

/// The state that the workers of a run share.
pub(super) struct Shared<'j> {
    /// The run itself: a job without parent, in no block.
    pub(super) root: Kin,
    pub(super) root_life: u32,
    pub(super) parts: Parts,
    pub(super) stop: &'j Stop,
    pub(super) spare: &'j Spare,
    /// Whether a job has panicked.
    is_broken: <Native as Memory>::AtomicBool,
    pub(super) panic: FirstPanic,
}

/// The payload of a wait that ends because another job has panicked.
pub(super) struct Abandoned;

impl<'j> Shared<'j> {
    pub(super) fn new(stop: &'j Stop, spare: &'j Spare, parts: Parts) -> Self {
        let root = Kin::default();
        let root_life = root.begin(None, true);
        Self { root, root_life, parts, stop, spare, is_broken: Atomic::new(false), panic: FirstPanic::default() }
    }

    pub(super) fn is_broken(&self) -> bool {
        // Relaxed: it publishes nothing.
        self.is_broken.load(Ordering::Relaxed)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_broken() || self.stop.is_stopped()
    }

    #[cold]
    pub(super) fn keep_panic(&self, payload: Payload) {
        if !payload.is::<Abandoned>() {
            self.panic.keep(payload);
        }
        // Relaxed: it publishes nothing; the payload is under a lock.
        self.is_broken.store(true, Ordering::Relaxed);
    }
}
