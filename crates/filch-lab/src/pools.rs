//! The one table in which names become types: a new algorithm is a row here.

#[cfg(target_arch = "x86_64")]
use std::marker::PhantomData;

use filch::pool::{Pool, Queued, Split};
use filch::{ThreadPool, Wait};
#[cfg(target_arch = "x86_64")]
use filch_queue::{Delta, Promises, Queue};
use filch_workloads::Executor;

/// What there is to say of a pool before it is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolSpec {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) paper: &'static str,
    pub(crate) progress: &'static str,
    pub(crate) capacity: &'static str,
}

/// How a pool is to be started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) workers: usize,
    pub(crate) wait: Wait,
    pub(crate) pin: bool,
}

/// Code that works with a pool whatever its type.
pub(crate) trait PoolUser {
    type Output;

    fn with<P: Pool>(self, pool: &ThreadPool<P>) -> Self::Output
    where
        ThreadPool<P>: Executor;
}

macro_rules! pools {
    ($(
        $(#[$cfg:meta])*
        $name:literal: $type:ty, $summary:literal, $paper:literal, $progress:literal, $capacity:literal;
    )+) => {
        /// All pools; the first is the default.
        pub(crate) const POOLS: &[PoolSpec] = &[$($(#[$cfg])* PoolSpec {
            name: $name,
            summary: $summary,
            paper: $paper,
            progress: $progress,
            capacity: $capacity,
        }),+];

        /// Starts the pool of this name, which must be in the table, and lets `user` have it.
        pub(crate) fn with_pool<U: PoolUser>(name: &str, settings: Settings, user: U) -> Result<U::Output, String> {
            match name {
                $($(#[$cfg])* $name => start::<$type>(settings).map(|pool| user.with(&pool)),)+
                _ => Err(format!("there is no pool `{name}`")),
            }
        }
    };
}

pools! {
    "split": Split,
        "direct task stack on the split deque; thieves ask, the owner shares", "Lace (van Dijk, van de Pol, 2014)",
        "owner wait-free, steal lock-free", "reserved stack, then inline";
    "chase-lev": Queued<filch_queue::ChaseLev>,
        "the deque most libraries use", "Chase, Lev (SPAA 2005); Lê et al. (PPoPP 2013)",
        "lock-free", "grows";
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
    "locked": Queued<filch_queue::Locked>,
        "one lock around a double-ended queue: the floor for comparison", "none",
        "blocking", "grows";
}

/// The fence-free queue `Q` with δ for the store buffer that is assumed of every processor.
#[cfg(target_arch = "x86_64")]
struct Bounded<Q>(PhantomData<fn() -> Q>);

#[cfg(target_arch = "x86_64")]
impl<Q: Queue<Params = Delta>> Queue for Bounded<Q> {
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

fn start<P: Pool>(settings: Settings) -> Result<ThreadPool<P>, String> {
    filch::Builder::<P>::new()
        .workers(settings.workers)
        .wait(settings.wait)
        .pin(settings.pin)
        .build()
        .map_err(|error| error.to_string())
}
