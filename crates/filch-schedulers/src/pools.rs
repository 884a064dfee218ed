//! The table of pools: a new one is a row here, and a runner.

use filch::pool::{Clock, HeartbeatSettings, QueueSettings, Request, WoolSettings};
use filch::{Interrupts, Wait};
use filch_catalogue::{Knob, Lists, PoolSpec as Described};
use filch_queue::{Capacity, ChaseLev, MemoryModel, Promises, Queue, Stealable};

use crate::queues::described_queues;
use crate::tunable::Tunable;
use crate::tuning::Common;
use crate::words;

/// What is set of the pool on [`BwosL`](filch_queue::BwosL) unless somebody sets something else: blocks so short that fork–join, which seldom
/// has many tasks in one queue, fills them; and, since each block has lines of its own, not so many.
pub const SHORT_BLOCKS: &str = "block=4:capacity=8192";

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
    /// What is set of it unless somebody sets something else, each as `NAME=VALUE`, between colons.
    pub defaults: &'static str,
    own: fn() -> Vec<Knob>,
    /// Whether it has the queue's thieves.
    is_on_queue: bool,
}

impl PoolSpec {
    /// The pool on a queue, which promises what the queue does.
    const fn on<Q: Queue<Params: Tunable>>(summary: &'static str, progress: &'static str) -> Self {
        let Promises { name, paper, capacity, stealable, memory_model, .. } = Q::PROMISES;
        let capacity = match capacity {
            Capacity::Grows => "grows",
            Capacity::Ring | Capacity::Array => "fixed, then inline",
        };
        let own = <QueueSettings<Q> as Tunable>::knobs;
        let is_on_queue = true;
        Self { name, summary, paper, progress, capacity, stealable, memory_model, defaults: "", own, is_on_queue }
    }

    /// As this one, with parameters of its own, whose thieves take one task at a time.
    const fn with<S: Tunable>(self) -> Self {
        Self { own: S::knobs, is_on_queue: false, ..self }
    }

    /// In the words of a catalogue.
    ///
    /// ```
    /// let wool = filch_schedulers::POOLS.iter().find(|pool| pool.name == "wool").unwrap();
    /// assert!(wool.described().knobs().iter().any(|knob| knob.name == "chunk"));
    /// ```
    pub fn described(&self) -> Described {
        let &Self { name, summary, paper, progress, capacity, stealable, memory_model, defaults, own, is_on_queue } =
            self;
        let is_many = |name| described_queues().iter().any(|queue| queue.name == name && queue.lists == Lists::Many);
        Described {
            name,
            summary,
            paper,
            progress,
            capacity,
            stealable: words::stealable(stealable),
            memory: words::memory(memory_model),
            defaults,
            many: is_on_queue && is_many(name),
            own: own(),
        }
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
    /// What queues for worklists have too.
    pub common: Common,
}

impl Settings {
    /// So many workers, all else as by default.
    pub fn of(workers: usize) -> Self {
        Self { workers, wait: Wait::default(), pin: false, interrupts: None, common: Common::default() }
    }
}

/// All pools; the first is the default.
pub const POOLS: &[PoolSpec] = &[
    PoolSpec {
        name: "split",
        summary: "direct task stack on the split deque; thieves ask, the owner shares",
        paper: "Lace (van Dijk, van de Pol, 2014)",
        progress: "owner wait-free, steal lock-free",
        capacity: "reserved stack, then inline",
        stealable: Stealable::Shared,
        ..PoolSpec::on::<ChaseLev>("", "").with::<()>()
    },
    PoolSpec {
        name: "wool",
        summary: "direct task stack whose oldest tasks are public, each with a word of its own to swap",
        paper: "Faxén (ICPP 2010)",
        progress: "owner wait-free until it meets a thief, steal lock-free",
        capacity: "reserved stack, then inline",
        stealable: Stealable::Shared,
        ..PoolSpec::on::<ChaseLev>("", "").with::<WoolSettings>()
    },
    PoolSpec {
        paper: "Chase, Lev (SPAA 2005); Lê et al. (PPoPP 2013)",
        ..PoolSpec::on::<ChaseLev>("the deque most libraries use", "lock-free")
    },
    PoolSpec {
        name: "heartbeat",
        paper: "Acar, Charguéraud, Guatto, Rainey, Sieczkowski (PLDI 2018)",
        stealable: Stealable::Shared,
        ..PoolSpec::on::<ChaseLev>(
            "private forks; every 100 µs each owner promotes its oldest to a Chase–Lev deque",
            "owner wait-free between beats, steal lock-free",
        )
        .with::<HeartbeatSettings<ChaseLev, Clock>>()
    },
    PoolSpec {
        name: "heartbeat-on-request",
        paper: "after Acar, Charguéraud, Guatto, Rainey, Sieczkowski (PLDI 2018)",
        stealable: Stealable::Shared,
        ..PoolSpec::on::<ChaseLev>(
            "private forks; an owner promotes its oldest to a Chase–Lev deque when a thief has found nothing",
            "owner wait-free between requests, steal lock-free",
        )
        .with::<HeartbeatSettings<ChaseLev, Request>>()
    },
    PoolSpec {
        paper: "Chase, Lev (SPAA 2005); Lê et al. (PPoPP 2013)",
        ..PoolSpec::on::<filch_queue::ChaseLevFixed>(
            "Chase–Lev on one ring, which does not grow",
            "owner wait-free, steal lock-free",
        )
    },
    PoolSpec::on::<filch_queue::ChaseLevAsym>(
        "Chase–Lev whose thieves make the owner fence when they come, where the system can",
        "owner wait-free, steal lock-free, by a system call",
    ),
    PoolSpec::on::<filch_queue::Abp>(
        "the first non-blocking deque, in an array that starts again when it is found empty",
        "owner wait-free, steal lock-free",
    ),
    PoolSpec::on::<filch_queue::OneExposed>(
        "a private deque whose oldest task thieves can take",
        "owner wait-free, steal lock-free",
    ),
    PoolSpec::on::<filch_queue::The>(
        "Cilk-5's deque: thieves lock, the owner only where it meets one",
        "owner wait-free until it meets a thief, steal blocking",
    ),
    #[cfg(target_arch = "x86_64")]
    PoolSpec::on::<filch_queue::FfThe>(
        "THE without the owner's fence, for at most 128 pending stores; thieves keep away from it",
        "owner wait-free until it meets a thief, steal blocking or refused",
    ),
    #[cfg(target_arch = "x86_64")]
    PoolSpec::on::<filch_queue::FfCl>(
        "Chase–Lev without the owner's fence, for at most 128 pending stores; thieves keep away from it",
        "owner wait-free, steal lock-free or refused",
    ),
    #[cfg(target_arch = "x86_64")]
    PoolSpec::on::<filch_queue::Thep>(
        "ff-the whose thieves, close to the owner, wait a while for its echo",
        "owner wait-free until it meets a thief, steal blocking or refused",
    ),
    PoolSpec::on::<filch_queue::Lace>("the split deque holding words", "owner wait-free, steal lock-free"),
    PoolSpec {
        defaults: SHORT_BLOCKS,
        ..PoolSpec::on::<filch_queue::BwosL>(
            "blocks, by default of four tasks, of which the owner has one to itself",
            "owner wait-free, steal lock-free",
        )
    },
    PoolSpec::on::<filch_queue::PadWs>(
        "blocks, and the owner serves thieves from its own when they ask",
        "owner wait-free, steal lock-free or by request",
    ),
    PoolSpec::on::<filch_queue::Adws>(
        "a private ring; thieves ask, the owner names a position",
        "owner wait-free, steal by request",
    ),
    PoolSpec::on::<filch_queue::PdqR>(
        "a private deque; thieves ask, the owner hands over its oldest task",
        "owner wait-free, steal by request",
    ),
    PoolSpec::on::<filch_queue::PdqR2>(
        "pdq-r, and nobody asks an owner that has nothing",
        "owner wait-free, steal by request",
    ),
    PoolSpec::on::<filch_queue::PdqS>(
        "a private deque; every 30 µs or so the owner deals to an idle thief",
        "owner wait-free, steal by the owner's clock",
    ),
    PoolSpec::on::<filch_queue::Dsq>(
        "split queue: thieves lock, and the owner when it takes shared tasks back",
        "owner wait-free while it has private tasks, steal blocking",
    ),
    PoolSpec::on::<filch_queue::HendlerShavit>(
        "the older half is public, in one word",
        "owner wait-free, steal lock-free",
    ),
    PoolSpec::on::<filch_queue::Wsq>(
        "every operation is one swap of one word, and slots are handed over one by one",
        "blocking for as long as a slot is handed over",
    ),
    PoolSpec::on::<filch_queue::Locked>("one lock around a double-ended queue: the floor for comparison", "blocking"),
];
