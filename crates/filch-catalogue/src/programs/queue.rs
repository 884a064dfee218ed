//! An owner and its thieves on one queue: their parameters.
//!
//! The workers are the owner and, all the others, its thieves.

use super::{ParamError, ParamSpec, Settings, Spec, spec};

const SOURCE: &str = "Wang et al., PadWS, SPAA 2024";

const BATCH: ParamSpec = ParamSpec { name: "batch", help: "tasks that the owner pushes in a row", default: "64" };
const ENTRY: ParamSpec = ParamSpec {
    name: "entry",
    help: "bytes of a task: 8, a word in the queue, or 64, which its taker copies",
    default: "8",
};
const SHARE: ParamSpec =
    ParamSpec { name: "share", help: "per cent of the tasks that thieves shall take", default: "10" };
const WORK: ParamSpec =
    ParamSpec { name: "work", help: "rounds of work of the owner after each push, some 1.5 ns each", default: "0" };

const MILLIS: ParamSpec = ParamSpec {
    name: "millis",
    help: "milliseconds for which the owner waits for its thieves, then it takes the rest",
    default: "200",
};

/// Above this share the owner would mostly wait.
const MOST_STOLEN: u64 = 90;

/// What the owner and its thieves do with the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The owner pushes a batch and pops until the queue is empty.
    Empties,
    /// The owner pops only as many as leave a batch for the thieves, whose steals are timed.
    Keeps,
    /// The owner only pushes.
    Feeds,
}

/// The parameters of all three programs.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub what: Use,
    pub n: u32,
    pub share: u32,
    pub batch: u32,
    pub entry: u32,
    pub work: u32,
    pub millis: u32,
}

impl Params {
    fn parse(what: Use, settings: &Settings<'_>) -> Result<Self, ParamError> {
        let n = settings.whole("n", 1, 200_000_000, ", whose record takes 763 MiB")? as u32;
        let batch = settings.whole("batch", 1, 4096, ", half of the usual capacity")? as u32;
        let entry = settings.word("entry", settings.text("entry"), &[("8", 8), ("64", 64)])?;
        let (mut share, mut work, mut millis) = (100, 0, 0);
        if what == Use::Feeds {
            millis = settings.whole("millis", 0, 60_000, ", a minute")? as u32;
        } else {
            share = settings.whole("share", 0, MOST_STOLEN, "")? as u32;
            work = settings.whole("work", 0, 1_000_000, ", 1.5 ms")? as u32;
        }
        Ok(Self { what, n, share, batch, entry, work, millis })
    }

    fn values(&self) -> Vec<String> {
        let &Self { what, n, share, batch, entry, work, millis } = self;
        let shown = if what == Use::Feeds { vec![n, batch, entry, millis] } else { vec![n, share, batch, entry, work] };
        shown.iter().map(u32::to_string).collect()
    }

    /// What each thread takes is noted, and a page that is not touched takes no memory.
    fn memory_bytes(&self) -> u64 {
        4 * u64::from(self.n)
    }
}

macro_rules! program {
    ($(#[$doc:meta])* $program:ident: $what:expr, $spec:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $program(pub Params);

        impl spec::Params for $program {
            const SPEC: Spec = $spec;

            fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
                Params::parse($what, settings).map(Self)
            }

            fn values(&self) -> Vec<String> {
                self.0.values()
            }

            fn tasks(&self) -> Option<u64> {
                Some(self.0.n.into())
            }

            fn memory_bytes(&self) -> u64 {
                self.0.memory_bytes()
            }

            /// A task is a number; but whoever takes a task of 64 bytes frees its place.
            fn is_idempotent(&self) -> bool {
                self.0.entry == 8
            }
        }
    };
}

program!(
    /// How fast an owner is while thieves take a share of its tasks.
    OwnerThroughput: Use::Empties,
    Spec {
        name: "owner-throughput",
        summary: "a queue's owner pushes and pops while thieves take a share of its tasks",
        source: SOURCE,
        params: &[ParamSpec { name: "n", help: "tasks that the owner pushes", default: "3000000" }, SHARE, BATCH, ENTRY, WORK],
        quick: &[("n", "1000000")],
        compare: &[("n", "3000000")],
        paper: &[("n", "50000000")],
    }
);

program!(
    /// How long it takes to steal a task.
    StealLatency: Use::Keeps,
    Spec {
        name: "steal-latency",
        summary: "thieves time their steals from a queue that its owner keeps filled",
        source: SOURCE,
        params: &[ParamSpec { name: "n", help: "tasks that the owner pushes", default: "3000000" }, SHARE, BATCH, ENTRY, WORK],
        quick: &[("n", "1000000")],
        compare: &[("n", "3000000")],
        paper: &[("n", "50000000")],
    }
);

program!(
    /// How many tasks thieves get that do nothing but steal.
    StealThroughput: Use::Feeds,
    Spec {
        name: "steal-throughput",
        summary: "thieves steal as fast as they can from a queue whose owner only pushes",
        source: SOURCE,
        params: &[ParamSpec { name: "n", help: "tasks that the owner pushes", default: "300000" }, BATCH, ENTRY, MILLIS],
        quick: &[("n", "100000")],
        compare: &[("n", "300000")],
        paper: &[("n", "10000000"), ("millis", "5000")],
    }
);
