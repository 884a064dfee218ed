//! The table of pools: a new one is a row here, and a runner.

use filch::pool::{Clock, HeartbeatSettings, QueueSettings, Request, WoolSettings};
use filch::{Interrupts, Wait};
use filch_catalogue::{Lists, PoolSpec};
use filch_queue::{Capacity, ChaseLev, Promises, Queue, Stealable};

use crate::queues::lists;
use crate::tunable::Tunable;
use crate::tuning::Common;
use crate::words;

/// What is set of the pool on [`BwosL`](filch_queue::BwosL) unless somebody sets something else: blocks so short that fork–join, which seldom
/// has many tasks in one queue, fills them; and, since each block has lines of its own, not so many.
pub const SHORT_BLOCKS: &str = "block=4:capacity=8192";

/// The pool on a queue, which promises what the queue does.
fn on<Q: Queue<Params: Tunable>>(summary: &'static str, progress: &'static str) -> PoolSpec {
    let Promises { name, paper, capacity, stealable, memory_model, .. } = Q::PROMISES;
    PoolSpec {
        name,
        summary,
        paper,
        progress,
        capacity: match capacity {
            Capacity::Grows => "grows",
            Capacity::Ring | Capacity::Array => "fixed, then inline",
        },
        stealable: words::stealable(stealable),
        memory: words::memory(memory_model),
        defaults: "",
        many: lists(name) == Some(Lists::Many),
        own: QueueSettings::<Q>::knobs(),
    }
}

/// A pool with such settings, whose thieves take one task at a time.
fn with<S: Tunable>(name: &'static str, stealable: Stealable) -> PoolSpec {
    PoolSpec { name, stealable: words::stealable(stealable), many: false, own: S::knobs(), ..on::<ChaseLev>("", "") }
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
    /// What queues for worklists have too.
    pub common: Common,
}

impl Settings {
    /// So many workers, all else as by default.
    pub fn of(workers: usize) -> Self {
        Self { workers, wait: Wait::default(), pin: false, interrupts: None, common: Common::default() }
    }
}

/// The name of the default pool.
pub const DEFAULT_POOL: &str = "split";

/// All pools in the words of a catalogue; the first is the default.
///
/// ```
/// use filch_schedulers::{DEFAULT_POOL, described_pools};
///
/// let pools = described_pools();
/// assert_eq!(pools[0].name, DEFAULT_POOL);
/// assert!(pools.iter().any(|pool| pool.name == "wool" && pool.own[0].name == "chunk"));
/// ```
pub fn described_pools() -> Vec<PoolSpec> {
    Vec::from([
        PoolSpec {
            summary: "direct task stack on the split deque; thieves ask, the owner shares",
            paper: "Lace (van Dijk, van de Pol, 2014)",
            progress: "owner wait-free, steal lock-free",
            capacity: "reserved stack, then inline",
            ..with::<()>(DEFAULT_POOL, Stealable::Shared)
        },
        PoolSpec {
            summary: "direct task stack whose oldest tasks are public, each with a word of its own to swap",
            paper: "Faxén (ICPP 2010)",
            progress: "owner wait-free until it meets a thief, steal lock-free",
            capacity: "reserved stack, then inline",
            ..with::<WoolSettings>("wool", Stealable::Shared)
        },
        PoolSpec {
            paper: "Chase, Lev (SPAA 2005); Lê et al. (PPoPP 2013)",
            ..on::<ChaseLev>("the deque most libraries use", "lock-free")
        },
        PoolSpec {
            summary: "private forks; every 100 µs each owner promotes its oldest to a Chase–Lev deque",
            paper: "Acar, Charguéraud, Guatto, Rainey, Sieczkowski (PLDI 2018)",
            progress: "owner wait-free between beats, steal lock-free",
            ..with::<HeartbeatSettings<ChaseLev, Clock>>("heartbeat", Stealable::Shared)
        },
        PoolSpec {
            summary: "private forks; an owner promotes its oldest to a Chase–Lev deque when a thief has found nothing",
            paper: "after Acar, Charguéraud, Guatto, Rainey, Sieczkowski (PLDI 2018)",
            progress: "owner wait-free between requests, steal lock-free",
            ..with::<HeartbeatSettings<ChaseLev, Request>>("heartbeat-on-request", Stealable::Shared)
        },
        PoolSpec {
            paper: "Chase, Lev (SPAA 2005); Lê et al. (PPoPP 2013)",
            ..on::<filch_queue::ChaseLevFixed>(
                "Chase–Lev on one ring, which does not grow",
                "owner wait-free, steal lock-free",
            )
        },
        on::<filch_queue::ChaseLevAsym>(
            "Chase–Lev whose thieves make the owner fence when they come, where the system can",
            "owner wait-free, steal lock-free, by a system call",
        ),
        on::<filch_queue::Abp>(
            "the first non-blocking deque, in an array that starts again when it is found empty",
            "owner wait-free, steal lock-free",
        ),
        on::<filch_queue::OneExposed>(
            "a private deque whose oldest task thieves can take",
            "owner wait-free, steal lock-free",
        ),
        on::<filch_queue::The>(
            "Cilk-5's deque: thieves lock, the owner only where it meets one",
            "owner wait-free until it meets a thief, steal blocking",
        ),
        #[cfg(target_arch = "x86_64")]
        on::<filch_queue::FfThe>(
            "THE without the owner's fence, for at most 128 pending stores; thieves keep away from it",
            "owner wait-free until it meets a thief, steal blocking or refused",
        ),
        #[cfg(target_arch = "x86_64")]
        on::<filch_queue::FfCl>(
            "Chase–Lev without the owner's fence, for at most 128 pending stores; thieves keep away from it",
            "owner wait-free, steal lock-free or refused",
        ),
        #[cfg(target_arch = "x86_64")]
        on::<filch_queue::Thep>(
            "ff-the whose thieves, close to the owner, wait a while for its echo",
            "owner wait-free until it meets a thief, steal blocking or refused",
        ),
        on::<filch_queue::Lace>("the split deque holding words", "owner wait-free, steal lock-free"),
        PoolSpec {
            defaults: SHORT_BLOCKS,
            ..on::<filch_queue::BwosL>(
                "blocks, by default of four tasks, of which the owner has one to itself",
                "owner wait-free, steal lock-free",
            )
        },
        on::<filch_queue::PadWs>(
            "blocks, and the owner serves thieves from its own when they ask",
            "owner wait-free, steal lock-free or by request",
        ),
        on::<filch_queue::Adws>(
            "a private ring; thieves ask, the owner names a position",
            "owner wait-free, steal by request",
        ),
        on::<filch_queue::PdqR>(
            "a private deque; thieves ask, the owner hands over its oldest task",
            "owner wait-free, steal by request",
        ),
        on::<filch_queue::PdqR2>(
            "pdq-r, and nobody asks an owner that has nothing",
            "owner wait-free, steal by request",
        ),
        on::<filch_queue::PdqS>(
            "a private deque; every 30 µs or so the owner deals to an idle thief",
            "owner wait-free, steal by the owner's clock",
        ),
        on::<filch_queue::Dsq>(
            "split queue: thieves lock, and the owner when it takes shared tasks back",
            "owner wait-free while it has private tasks, steal blocking",
        ),
        on::<filch_queue::HendlerShavit>("the older half is public, in one word", "owner wait-free, steal lock-free"),
        on::<filch_queue::Wsq>(
            "every operation is one swap of one word, and slots are handed over one by one",
            "blocking for as long as a slot is handed over",
        ),
        on::<filch_queue::Locked>("one lock around a double-ended queue: the floor for comparison", "blocking"),
    ])
}
