//! The one table in which names become types: a new algorithm is a row here.

use filch::pool::{Pool, Queued, Split};
use filch::{ThreadPool, Wait};
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
    ($($name:literal: $type:ty, $summary:literal, $paper:literal, $progress:literal, $capacity:literal;)+) => {
        /// All pools; the first is the default.
        pub(crate) const POOLS: &[PoolSpec] = &[$(PoolSpec {
            name: $name,
            summary: $summary,
            paper: $paper,
            progress: $progress,
            capacity: $capacity,
        }),+];

        /// Starts the pool of this name, which must be in the table, and lets `user` have it.
        pub(crate) fn with_pool<U: PoolUser>(name: &str, settings: Settings, user: U) -> Result<U::Output, String> {
            match name {
                $($name => start::<$type>(settings).map(|pool| user.with(&pool)),)+
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
    "lace": Queued<filch_queue::Lace>,
        "the split deque holding words", "Lace (van Dijk, van de Pol, 2014)",
        "owner wait-free, steal lock-free", "fixed, then inline";
    "locked": Queued<filch_queue::Locked>,
        "one lock around a double-ended queue: the floor for comparison", "none",
        "blocking", "grows";
}

fn start<P: Pool>(settings: Settings) -> Result<ThreadPool<P>, String> {
    filch::Builder::<P>::new()
        .workers(settings.workers)
        .wait(settings.wait)
        .pin(settings.pin)
        .build()
        .map_err(|error| error.to_string())
}
