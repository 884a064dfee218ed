//! The default of `filch compare`.

use filch_catalogue::protocol::cores;
use filch_catalogue::{Kind, WAITS, Workload, specs};

use crate::experiment::{Contender, Effort, Entry, Experiment, Program};
use crate::flags::Size;
use crate::programs::name_of;
use crate::scheduler::STYLED;

pub(crate) const NAME: &str = "usual";

/// The programs. UTS's trees have fixed sizes, so the quick size uses a part of one.
const PROGRAMS: &[[Option<&str>; 3]] = &[
    [Some("fib"); 3],
    [Some("fib-unrolled"); 3],
    [Some("queens"); 3],
    [Some("uts"), None, None],
    [None, Some("uts:tree=T1S"), Some("uts:tree=T1S")],
    [None, Some("uts:tree=T3S"), Some("uts:tree=T3S")],
    [Some("matmul"); 3],
    [Some("cilksort"); 3],
    [Some("spread"); 3],
    [Some("grain"); 3],
];
/// The inputs besides every program's defaults.
const VARIANTS: &[&str] = &[
    "uts:tree=T3:b=60",
    "cilksort:input=exponential",
    "quicksort:input=exponential",
    "samplesort:input=exponential",
    "knapsack:input=independent:items=22",
    "hull:input=plummer",
    "spread:shape=list",
    "spread:shape=forks",
    "spread:shape=loop",
    "mis:graph=randlocal",
    "mis:graph=rmat",
    "matching:graph=randlocal",
    "matching:graph=rmat",
    "pseudo-dfs:graph=randlocal",
    "pseudo-dfs:graph=rmat",
    "closure:graph=torus",
    "spanning-tree:graph=random",
    "trees:tree=fat:fanout=40:depth=3",
    "trees:tree=comb:depth=50000",
];
const POOLS: &[&str] = &["split", "chase-lev"];
const PEERS: &[&str] = &["rayon", "chili", "lace-ws"];
/// The queues of worklist programs; the last one is for tasks that may run twice.
const LISTS: &[&str] = &["chase-lev", "lace", "bwos-l", "pdq-r-async", "idem-lifo"];

/// A session of about one minute on two processors, or of fifteen seconds for quick sizes.
pub(crate) fn experiment() -> Experiment {
    let entry = |texts: &[Option<&str>; 3]| {
        let name = name_of(texts.iter().flatten().next().copied().unwrap_or_default());
        let contenders = [pools(name, Kind::ForkJoin, true, WAITS[0].name), peers(Kind::ForkJoin)].concat();
        Entry { program: Program::sized(*texts), contenders }
    };
    Experiment {
        name: Some(NAME),
        entries: PROGRAMS.iter().map(entry).collect(),
        workers: vec![1, cores()],
        effort: Effort { at_least: 3, ..Effort::default() },
        ..Experiment::new("Which scheduler is fastest on programs of many kinds?")
    }
}

/// Returns the usual programs of this size.
pub(crate) fn programs(size: Size) -> Vec<String> {
    experiment().entries.iter().filter_map(|entry| entry.program.of(size).map(str::to_owned)).collect()
}

/// Returns every program on every input, grouped by program.
pub(crate) fn every_program() -> Vec<String> {
    let known: Vec<&str> = specs().iter().map(|spec| spec.name).collect();
    let mut all: Vec<String> = known.iter().chain(VARIANTS).map(ToString::to_string).collect();
    all.sort_by_key(|program| known.iter().position(|name| *name == name_of(program)));
    all
}

/// Returns the pools, or queues, that run a program.
pub(crate) fn pools_for(workload: &Workload, wait: &'static str) -> Vec<Contender> {
    pools(workload.name(), workload.kind(), workload.is_idempotent(), wait)
}

fn pools(name: &str, kind: Kind, is_idempotent: bool, wait: &'static str) -> Vec<Contender> {
    let names: Vec<&str> = match kind {
        // In every style, since the program is almost only forks.
        Kind::ForkJoin if name == "fib" => POOLS.iter().copied().chain(STYLED.iter().map(|&(name, ..)| name)).collect(),
        Kind::ForkJoin => POOLS.to_vec(),
        _ => LISTS.iter().copied().filter(|&name| name != "idem-lifo" || is_idempotent).collect(),
    };
    names.into_iter().map(|name| Contender::Pool { name: name.to_owned(), wait }).collect()
}

/// Returns the peers that run a program.
pub(crate) fn peers_for(workload: &Workload) -> Vec<Contender> {
    peers(workload.kind())
}

fn peers(kind: Kind) -> Vec<Contender> {
    if kind == Kind::ForkJoin { PEERS.iter().copied().map(Contender::peer).collect() } else { Vec::new() }
}
