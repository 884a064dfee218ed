//! The table of pools: a new pool is a row here, and a runner.

use filch::pool::{Clock, HeartbeatSettings, QueueSettings, Request, SplitSettings, WoolSettings};
use filch::{Interrupts, Leaps, Wait};
use filch_catalogue::{Lists, PoolSpec};
use filch_queue::{Capacity, ChaseLev, Promises, Queue, Stealable};

use super::queues::lists;
use super::tunable::Tunable;
use super::tuning::Common;
use super::words;

/// The default settings of the pool on [`BwosL`](filch_queue::BwosL). Fork–join seldom has many tasks in one queue, so
/// the blocks are short enough to fill; and they are few, since each block has cache lines of its own.
pub const SHORT_BLOCKS: &str = "block=4:capacity=8192";

/// What is set of the pools on [`PdqR`](filch_queue::PdqR) and [`PdqR2`](filch_queue::PdqR2) unless somebody sets
/// something else: their thieves pick a victim anew each time.
pub const ONE_VICTIM: &str = "victims=one";

/// The default settings of the pool on [`PadWs`](filch_queue::PadWs): as much room as on `BwosL`, in blocks of the
/// length that its paper gives for that.
pub const SAME_CAPACITY: &str = "capacity=8192";

/// The default settings of the pool on [`Wsq`](filch_queue::Wsq): the capacity of its source.
pub const AS_IN_SOURCE: &str = "capacity=65472";

/// Returns the row of the pool on a queue, which has the queue's guarantees.
fn on<Q: Queue<Params: Tunable>>(summary: &'static str, progress: &'static str) -> PoolSpec {
    let Promises { name, paper, follows, departures, capacity, stealable, memory_model, .. } = Q::PROMISES;
    PoolSpec {
        name,
        summary,
        paper,
        follows,
        departures: departures.to_vec(),
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

/// Returns the row of a pool with these settings, whose thieves steal one task at a time.
fn with<S: Tunable>(name: &'static str, stealable: Stealable) -> PoolSpec {
    PoolSpec { name, stealable: words::stealable(stealable), many: false, own: S::knobs(), ..on::<ChaseLev>("", "") }
}

/// How to start a pool.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PoolOptions {
    /// The number of workers.
    pub workers: usize,
    /// How a worker waits while a thief has the task that it needs.
    pub wait: Wait,
    /// How often it tries that thief before it looks further.
    pub leaps: Leaps,
    /// Whether workers are bound to processors.
    pub pin: bool,
    /// Whether the calling thread may work in a sleeping worker's seat, unless workers are bound.
    pub caller_works: bool,
    /// How long tasks are interrupted.
    pub interrupts: Option<Interrupts>,
    /// The settings that queues for worklists also have.
    pub common: Common,
}

impl PoolOptions {
    /// Returns the default settings with this number of workers.
    pub fn of(workers: usize) -> Self {
        let (wait, leaps, common) = (Wait::default(), Leaps::default(), Common::default());
        Self { workers, wait, leaps, pin: false, caller_works: true, interrupts: None, common }
    }
}

/// The name of the default pool.
pub const DEFAULT_POOL: &str = "split";

/// The rows of all pools for the catalogue; the first is the default.
///
/// ```
/// use filch_runner::schedulers::{DEFAULT_POOL, described_pools};
///
/// let pools = described_pools();
/// assert_eq!(pools[0].name, DEFAULT_POOL);
/// assert!(pools.iter().any(|pool| pool.name == "wool" && pool.own[0].name == "chunk"));
/// ```
pub fn described_pools() -> Vec<PoolSpec> {
    Vec::from([
        PoolSpec {
            summary: "direct task stack on the split deque; the owner shares when thieves ask",
            paper: "Lace (van Dijk, van de Pol, 2014)",
            follows: "figure 4, and figure 1 to wait for a stolen task",
            departures: vec![
                "The head is in a register, and a request overwrites the limits that it is compared with; Lace keeps the head in memory and tests flags.",
                "A worker shares all its forks until they have proved short, and then the first fork, and half of the others on request; with share=half so from the beginning, as printed.",
                "While it shares all, it takes shared tasks back one by one; with share=half always half, as printed.",
                "A thief shares for an owner that runs a long task; with share=half none does.",
                "A thief that takes the last shared task asks for more at once; with share=half only if a worker sleeps.",
                "A request may stay until there is something to share; with share=half only a sleeper's does.",
                "Split moves by updates of the whole word; with moves=half-stores as printed.",
            ],
            progress: "owner wait-free, steal lock-free",
            capacity: "reserved stack, then inline",
            ..with::<SplitSettings>(DEFAULT_POOL, Stealable::Shared)
        },
        PoolSpec {
            summary: "direct task stack whose oldest tasks are public; a thief swaps the task's own word",
            paper: "Faxén (ICPP 2010)",
            follows: "the text and Wool's program, and no listing",
            departures: vec![
                "All slots are public until tasks have proved short; with share=chunk a first chunk, as printed.",
                "A thief takes a task, and claims it by a second store once it will keep it; Wool's swaps in its own name.",
                "The owner takes slots back without claiming each: no thief changes a fresh one.",
                "A public fork fences, since thieves may sleep.",
            ],
            progress: "owner wait-free until it meets a thief, steal lock-free",
            capacity: "reserved stack, then inline",
            ..with::<WoolSettings>("wool", Stealable::Shared)
        },
        PoolSpec {
            summary: "direct task stack that is a private deque; the owner gives a thief that asks its oldest task",
            paper: "Acar, Charguéraud, Rainey (PPoPP 2013); on the task stack of Lace (van Dijk, van de Pol, 2014)",
            follows: "figures 1 and 8, and Lace's section 4, which compares with it",
            departures: vec![
                "A thief that has waited for long withdraws its request: an owner may block, and nothing but its own code can answer.",
                "A worker closes its request cell when its last task goes, and opens it at its next push; so the cell is also the flag that says whether there are tasks.",
                "Owners answer at pushes, too.",
                "Thieves try one worker after the other, as on the other stacks; with victims=one a random one, as printed.",
                "The push of a first task fences, since thieves may sleep.",
            ],
            progress: "owner wait-free, steal by request",
            capacity: "reserved stack, then inline",
            ..with::<()>("direct-pdq-r2", Stealable::OnRequest)
        },
        PoolSpec {
            paper: "Chase, Lev (SPAA 2005); Lê et al. (PPoPP 2013)",
            ..on::<ChaseLev>("the deque that most libraries use", "lock-free")
        },
        PoolSpec {
            summary: "private forks; every 100 µs each owner promotes its oldest fork to a Chase–Lev deque",
            paper: "Acar, Charguéraud, Guatto, Rainey, Sieczkowski (PLDI 2018)",
            follows: "the text, and no listing",
            departures: vec![
                "A fork reads a flag that a clock sets; the paper counts steps, and promotes in the scheduler's loop.",
                "Loops have nothing to promote: they split on request.",
            ],
            progress: "owner wait-free between beats, steal lock-free",
            ..with::<HeartbeatSettings<ChaseLev, Clock>>("heartbeat", Stealable::Shared)
        },
        PoolSpec {
            summary: "private forks; an owner promotes its oldest fork to a Chase–Lev deque when a thief finds nothing",
            paper: "after Acar, Charguéraud, Guatto, Rainey, Sieczkowski (PLDI 2018)",
            follows: "the text, and no listing",
            departures: vec!["Those of heartbeat.", "A thief's request says when to promote, not a clock."],
            progress: "owner wait-free between requests, steal lock-free",
            ..with::<HeartbeatSettings<ChaseLev, Request>>("heartbeat-on-request", Stealable::Shared)
        },
        PoolSpec {
            paper: "Chase, Lev (SPAA 2005); Lê et al. (PPoPP 2013)",
            ..on::<filch_queue::ChaseLevFixed>(
                "Chase–Lev on one ring that does not grow",
                "owner wait-free, steal lock-free",
            )
        },
        on::<filch_queue::ChaseLevAsym>(
            "Chase–Lev with asymmetric fences: the thief makes the owner fence, if the system can",
            "owner wait-free, steal lock-free, by a system call",
        ),
        on::<filch_queue::Abp>(
            "the first non-blocking deque, in an array that restarts when it is empty",
            "owner wait-free, steal lock-free",
        ),
        on::<filch_queue::OneExposed>(
            "a private deque that exposes its oldest task to thieves",
            "owner wait-free, steal lock-free",
        ),
        on::<filch_queue::The>(
            "Cilk-5's deque: thieves lock, and the owner only when it meets one",
            "owner wait-free until it meets a thief, steal blocking",
        ),
        #[cfg(target_arch = "x86_64")]
        on::<filch_queue::FfThe>(
            "THE without the owner's fence, for at most 192 pending stores; thieves keep their distance from the owner",
            "owner wait-free until it meets a thief, steal blocking or refused",
        ),
        #[cfg(target_arch = "x86_64")]
        on::<filch_queue::FfCl>(
            "Chase–Lev without the owner's fence, for at most 192 pending stores; thieves keep their distance from the owner",
            "owner wait-free, steal lock-free or refused",
        ),
        #[cfg(target_arch = "x86_64")]
        on::<filch_queue::Thep>(
            "ff-the whose thieves wait for the owner's echo when close to it, as printed",
            "owner wait-free until it meets a thief, steal waits for the owner's next operation",
        ),
        #[cfg(target_arch = "x86_64")]
        on::<filch_queue::ThepApart>(
            "thep whose thieves keep their counter in a variable of its own, which costs the owner a load",
            "owner wait-free until it meets a thief, steal waits for the owner's next operation",
        ),
        #[cfg(target_arch = "x86_64")]
        on::<filch_queue::ImpatientThep>(
            "thep whose thieves look for the echo 256 times and give up",
            "owner wait-free until it meets a thief, steal blocking or refused",
        ),
        on::<filch_queue::Unfenced<filch_queue::The>>(
            "THE without the owner's fence, for one worker only: what the fence costs",
            "wait-free",
        ),
        on::<filch_queue::Unfenced<ChaseLev>>(
            "Chase–Lev without the owner's fence, for one worker only: what the fence costs",
            "wait-free",
        ),
        on::<filch_queue::Lace>("the split deque holding words", "owner wait-free, steal lock-free"),
        PoolSpec {
            defaults: SHORT_BLOCKS,
            ..on::<filch_queue::BwosL>(
                "blocks of four tasks by default; the owner's current block is private",
                "owner wait-free, steal lock-free",
            )
        },
        PoolSpec {
            defaults: SAME_CAPACITY,
            ..on::<filch_queue::PadWs>(
                "blocks; the owner grants thieves tasks of its own block on request",
                "owner wait-free, steal lock-free or by request",
            )
        },
        on::<filch_queue::Adws>(
            "a private ring; the owner grants a position on request",
            "owner wait-free, steal by request",
        ),
        PoolSpec {
            defaults: ONE_VICTIM,
            ..on::<filch_queue::PdqR>(
                "a private deque, as in figure 2; a thief asks one victim at random and waits for its oldest task",
                "owner wait-free, steal waits for the owner's answer",
            )
        },
        PoolSpec {
            defaults: ONE_VICTIM,
            ..on::<filch_queue::PdqR2>(
                "pdq-r with the acquire of figure 8: thieves do not ask an empty owner",
                "owner wait-free, steal waits for the owner's answer",
            )
        },
        on::<filch_queue::PdqRAsync>(
            "pdq-r whose thieves do not wait: they come back for the answer, or withdraw; a claim is a swap",
            "owner wait-free, steal by request",
        ),
        on::<filch_queue::PdqR2Async>(
            "pdq-r-async whose thieves do not ask an empty owner",
            "owner wait-free, steal by request",
        ),
        on::<filch_queue::PdqS>(
            "a private deque, as in figure 3; every 30 µs or so the owner picks one other worker, and deals a task to it if it is idle",
            "owner wait-free, steal by the owner's clock",
        ),
        on::<filch_queue::PdqSAtOnce>(
            "pdq-s whose owner deals one task by one compare-and-swap; a fork writes its worker's number into the task",
            "owner wait-free, steal by the owner's clock",
        ),
        on::<filch_queue::PdqSTold>(
            "pdq-s whose thieves tell one victim that they are idle; the owner deals to whoever has told it",
            "owner wait-free, steal by the owner's clock",
        ),
        on::<filch_queue::PdqSOneStep>(
            "pdq-s-told whose owner deals one task, by one compare-and-swap, as in figure 3",
            "owner wait-free, steal by the owner's clock",
        ),
        on::<filch_queue::Dsq>(
            "split queue: thieves lock, and the owner locks to take shared tasks back",
            "owner wait-free while it has private tasks, steal blocking",
        ),
        on::<filch_queue::HendlerShavit>("one word makes the older half public", "owner wait-free, steal lock-free"),
        PoolSpec {
            defaults: AS_IN_SOURCE,
            ..on::<filch_queue::Wsq>(
                "each operation is one swap of one word, for one task or many; slots are handed over one by one",
                "blocking while a slot is handed over",
            )
        },
        on::<filch_queue::WsqPacked>(
            "wsq with fewer fields in the word; owner and thieves look at a slot before they write to it",
            "blocking while a slot is handed over",
        ),
        on::<filch_queue::Locked>("one lock around a double-ended queue: the baseline", "blocking"),
    ])
}
