//! The table of pools: a new algorithm is a row here.

#[cfg(target_arch = "x86_64")]
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::str::FromStr;

use filch::pool::{Beat, Heartbeat, Queued, Request, Split, Wool};
use filch::{Interrupts, Wait};
#[cfg(target_arch = "x86_64")]
use filch_queue::Delta;
use filch_queue::{BlockSize, MemoryModel, Promises, Queue, Stealable};

use crate::unknown;

/// What there is to say of a pool before it is started.
///
/// ```
/// use filch_queue::Stealable;
/// use filch_schedulers::POOLS;
///
/// assert_eq!(POOLS[0].name, "split");
/// let private: Vec<_> = POOLS.iter().filter(|pool| pool.stealable == Stealable::OnRequest).map(|pool| pool.name).collect();
/// assert!(private.contains(&"pdq-r"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PoolSpec {
    /// What it is asked for by.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// Who waits for whom.
    pub progress: &'static str,
    /// What becomes of a task for which there is no room.
    pub capacity: &'static str,
    /// What thieves can take.
    pub stealable: Stealable,
    /// What it assumes of the processor.
    pub memory_model: MemoryModel,
}

/// What a pool promises as a queue does.
trait Promising {
    const STEALABLE: Stealable;
    const MEMORY_MODEL: MemoryModel;
}

impl Promising for Split {
    const STEALABLE: Stealable = Stealable::Shared;
    const MEMORY_MODEL: MemoryModel = MemoryModel::Rust;
}

impl Promising for Wool {
    const STEALABLE: Stealable = Stealable::Shared;
    const MEMORY_MODEL: MemoryModel = MemoryModel::Rust;
}

impl<Q: Queue> Promising for Queued<Q> {
    const STEALABLE: Stealable = Q::PROMISES.stealable;
    const MEMORY_MODEL: MemoryModel = Q::PROMISES.memory_model;
}

impl<Q: Queue, B: Beat> Promising for Heartbeat<Q, B> {
    const STEALABLE: Stealable = Stealable::Shared;
    const MEMORY_MODEL: MemoryModel = Q::PROMISES.memory_model;
}

/// How a program's forks reach the pool.
///
/// ```
/// assert_eq!(filch_schedulers::Style::Handles.name(), "handles");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Style {
    /// Each task receives a worker handle.
    Handles,
    /// Handles whose types tell levels of the recursion apart, so that the compiler inlines it: see
    /// [`InLevels`](filch_workloads::InLevels).
    Levels,
    /// Plain closures; the worker is found in thread-local storage.
    Closures,
}

impl Style {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Handles => "handles",
            Self::Levels => "levels",
            Self::Closures => "closures",
        }
    }
}

impl FromStr for Style {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Self::Handles, Self::Levels, Self::Closures];
        let names = all.map(Self::name);
        all.into_iter().find(|style| style.name() == name).ok_or_else(|| unknown("style", name, &names))
    }
}

/// How a pool is to be started.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How many workers.
    pub workers: usize,
    /// What a worker does while a task that it needs is with a thief.
    pub wait: Wait,
    /// Whether workers are bound to processors.
    pub pin: bool,
    /// What interrupts long tasks.
    pub interrupts: Option<Interrupts>,
}

impl Settings {
    /// So many workers, all else as by default.
    pub fn of(workers: usize) -> Self {
        Self { workers, wait: Wait::default(), pin: false, interrupts: None }
    }
}

macro_rules! pools {
    ($(
        $(#[$cfg:meta])*
        $name:literal: $type:ty, $summary:literal, $paper:literal, $progress:literal, $capacity:literal;
    )+) => {
        /// All pools; the first is the default.
        pub const POOLS: &[PoolSpec] = &[$($(#[$cfg])* PoolSpec {
            name: $name,
            summary: $summary,
            paper: $paper,
            progress: $progress,
            capacity: $capacity,
            stealable: <$type as Promising>::STEALABLE,
            memory_model: <$type as Promising>::MEMORY_MODEL,
        }),+];
    };
}

pools! {
    "split": Split,
        "direct task stack on the split deque; thieves ask, the owner shares", "Lace (van Dijk, van de Pol, 2014)",
        "owner wait-free, steal lock-free", "reserved stack, then inline";
    "wool": Wool,
        "direct task stack whose oldest tasks are public, each with a word of its own to swap", "Faxén (ICPP 2010)",
        "owner wait-free until it meets a thief, steal lock-free", "reserved stack, then inline";
    "chase-lev": Queued<filch_queue::ChaseLev>,
        "the deque most libraries use", "Chase, Lev (SPAA 2005); Lê et al. (PPoPP 2013)",
        "lock-free", "grows";
    "heartbeat": Heartbeat<filch_queue::ChaseLev>,
        "private forks; every 100 µs each owner promotes its oldest to a Chase–Lev deque",
        "Acar, Charguéraud, Guatto, Rainey, Sieczkowski (PLDI 2018)",
        "owner wait-free between beats, steal lock-free", "grows";
    "heartbeat-on-request": Heartbeat<filch_queue::ChaseLev, Request>,
        "private forks; an owner promotes its oldest to a Chase–Lev deque when a thief has found nothing",
        "after Acar, Charguéraud, Guatto, Rainey, Sieczkowski (PLDI 2018)",
        "owner wait-free between requests, steal lock-free", "grows";
    "chase-lev-asym": Queued<filch_queue::ChaseLevAsym>,
        "Chase–Lev whose thieves make the owner fence when they come, where the system can",
        "Chase, Lev (SPAA 2005); Goldblatt (P1202)",
        "owner wait-free, steal lock-free, by a system call", "grows";
    "abp": Queued<filch_queue::Abp>,
        "the first non-blocking deque, in an array that starts again when it is found empty",
        "Arora, Blumofe, Plaxton (SPAA 1998)",
        "owner wait-free, steal lock-free", "fixed, then inline";
    "one-exposed": Queued<filch_queue::OneExposed>,
        "a private deque whose oldest task thieves can take", "Tzannes, in Acar, Charguéraud, Rainey (PPoPP 2013)",
        "owner wait-free, steal lock-free", "grows";
    "the": Queued<filch_queue::The>,
        "Cilk-5's deque: thieves lock, the owner only where it meets one",
        "Frigo, Leiserson, Randall (PLDI 1998)",
        "owner wait-free until it meets a thief, steal blocking", "fixed, then inline";
    #[cfg(target_arch = "x86_64")]
    "ff-the": Queued<Bounded<filch_queue::FfThe>>,
        "THE without the owner's fence, for at most 128 pending stores; thieves keep away from it",
        "Morrison, Afek (ASPLOS 2014)",
        "owner wait-free until it meets a thief, steal blocking or refused", "fixed, then inline";
    #[cfg(target_arch = "x86_64")]
    "ff-cl": Queued<Bounded<filch_queue::FfCl>>,
        "Chase–Lev without the owner's fence, for at most 128 pending stores; thieves keep away from it",
        "Morrison, Afek (ASPLOS 2014)",
        "owner wait-free, steal lock-free or refused", "grows";
    #[cfg(target_arch = "x86_64")]
    "thep": Queued<Bounded<filch_queue::Thep>>,
        "ff-the whose thieves, close to the owner, wait a while for its echo", "Morrison, Afek (ASPLOS 2014)",
        "owner wait-free until it meets a thief, steal blocking or refused", "fixed, then inline";
    "lace": Queued<filch_queue::Lace>,
        "the split deque holding words", "Lace (van Dijk, van de Pol, 2014)",
        "owner wait-free, steal lock-free", "fixed, then inline";
    "bwos-l": Queued<ShortBlocks>,
        "blocks of four tasks, of which the owner has one to itself", "Wang et al. (OSDI 2023)",
        "owner wait-free, steal lock-free", "fixed, then inline";
    "padws": Queued<filch_queue::PadWs>,
        "blocks, and the owner serves thieves from its own when they ask", "Wang et al. (SPAA 2024)",
        "owner wait-free, steal lock-free or by request", "fixed, then inline";
    "adws": Queued<filch_queue::Adws>,
        "a private ring; thieves ask, the owner names a position", "Wang et al. (SPAA 2024)",
        "owner wait-free, steal by request", "fixed, then inline";
    "pdq-r": Queued<filch_queue::PdqR>,
        "a private deque; thieves ask, the owner hands over its oldest task",
        "Acar, Charguéraud, Rainey (PPoPP 2013)",
        "owner wait-free, steal by request", "grows";
    "pdq-r2": Queued<filch_queue::PdqR2>,
        "pdq-r, and nobody asks an owner that has nothing", "Acar, Charguéraud, Rainey (PPoPP 2013)",
        "owner wait-free, steal by request", "grows";
    "pdq-s": Queued<filch_queue::PdqS>,
        "a private deque; every 30 µs or so the owner deals to an idle thief",
        "Acar, Charguéraud, Rainey (PPoPP 2013)",
        "owner wait-free, steal by the owner's clock", "grows";
    "dsq": Queued<filch_queue::Dsq>,
        "split queue: thieves lock, and the owner when it takes shared tasks back",
        "Dinan, Larkins, Sadayappan, Krishnamoorthy, Nieplocha (SC 2009)",
        "owner wait-free while it has private tasks, steal blocking", "fixed, then inline";
    "hendler-shavit": Queued<filch_queue::HendlerShavit>,
        "the older half is public, in one word", "Hendler, Shavit (PODC 2002)",
        "owner wait-free, steal lock-free", "fixed, then inline";
    "wsq": Queued<filch_queue::Wsq>,
        "every operation is one swap of one word, and slots are handed over one by one", "none: injinj/WSQ",
        "blocking for as long as a slot is handed over", "fixed, then inline";
    "locked": Queued<filch_queue::Locked>,
        "one lock around a double-ended queue: the floor for comparison", "none",
        "blocking", "grows";
}

/// The fence-free queue `Q` with δ for the store buffer that is assumed of every processor.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub struct Bounded<Q>(PhantomData<fn() -> Q>);

#[cfg(target_arch = "x86_64")]
// SAFETY: the other queue's promise.
unsafe impl<Q: Queue<Params = Delta>> Queue for Bounded<Q> {
    type Owner = Q::Owner;
    type Thief = Q::Thief;
    type Params = ();

    const PROMISES: Promises = Q::PROMISES;

    fn make(capacity: usize, thieves: usize, (): &()) -> (Q::Owner, Vec<Q::Thief>) {
        // SAFETY: an assumption about the processor, which the table states: no x86-64 one is documented to hold that
        // many pending stores.
        let delta = unsafe { Delta::from_bound(Delta::ASSUMED_BOUND) };
        Q::make(capacity, thieves, &delta)
    }
}

/// BWoS with blocks so short that fork–join, which seldom has many tasks in one queue, fills them.
#[derive(Debug)]
pub struct ShortBlocks;

// SAFETY: the other queue's promise.
unsafe impl Queue for ShortBlocks {
    type Owner = filch_queue::bwos_l::Owner;
    type Thief = filch_queue::bwos_l::Thief;
    type Params = ();

    const PROMISES: Promises = <filch_queue::BwosL as Queue>::PROMISES;

    fn make(capacity: usize, thieves: usize, (): &()) -> (Self::Owner, Vec<Self::Thief>) {
        const ENTRIES: NonZeroUsize = NonZeroUsize::new(4).unwrap();
        // Each block has lines of its own.
        const MOST: usize = 1 << 13;
        <filch_queue::BwosL as Queue>::make(capacity.min(MOST), thieves, &BlockSize::Entries(ENTRIES))
    }
}
