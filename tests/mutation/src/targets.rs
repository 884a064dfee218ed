//! The mutated sources, and the tests that should find the mutants.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// A source and its tests.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub file: &'static str,
    /// The tests of queues to run: those whose names contain one of these modules.
    pub queues: &'static [&'static str],
    /// The queues and protocols whose quick checks to run.
    pub subjects: &'static [&'static str],
    /// The unit tests of its crate to run: those whose names contain this.
    pub units: Option<&'static str>,
    /// Integration tests of filch to run.
    pub programs: &'static [&'static str],
}

impl Target {
    pub fn is_of_filch(&self) -> bool {
        self.file.starts_with("crates/filch/")
    }
}

/// The integration tests of filch.
const PROGRAMS: &[&str] =
    &["leaping", "waiting", "order", "limits", "panics", "host", "pools", "jobs", "spreading", "progress", "faults"];

/// Those of threads that start, end and take seats.
const STARTS: &[&str] = &["late_workers", "guests", "host", "limits", "global", "spreading", "pools", "blocking"];

const fn queue(file: &'static str, queues: &'static [&'static str], subjects: &'static [&'static str]) -> Target {
    Target { file, queues, subjects, units: None, programs: &[] }
}

const fn protocol(file: &'static str, subjects: &'static [&'static str], programs: &'static [&'static str]) -> Target {
    Target { file, queues: &[], subjects, units: Some("protocol::"), programs }
}

const fn runtime(file: &'static str, programs: &'static [&'static str]) -> Target {
    Target { file, queues: &[], subjects: &[], units: Some(""), programs }
}

/// All targets, in the order in which their mutants run: those listed, and the files of queues that need only their own
/// tests and checks, which have their names.
pub static TARGETS: LazyLock<Vec<Target>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(QUEUES);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut modules: Vec<String> = files
        .filter_map(|file| Some(file.expect("a readable folder").file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
        .filter(|module| !NO_TARGETS.contains(&&**module))
        .collect();
    modules.sort_unstable();
    let named = |module: String| {
        let file: &str = format!("{QUEUES}/{module}.rs").leak();
        let (tests, subject): (&str, &str) = (format!("{module}::").leak(), module.replace('_', "-").leak());
        queue(file, vec![tests].leak(), vec![subject].leak())
    };
    let named = modules.into_iter().map(named).filter(|target| LISTED.iter().all(|listed| listed.file != target.file));
    LISTED.iter().copied().chain(named).collect()
});

/// The folder of the queues.
const QUEUES: &str = "crates/filch-queue/src";

/// Files there without mutants: names and constants, the judge of queues, whose own tests are `flawed.rs`, cache-line
/// padding, and forms of queues whose code is elsewhere.
const NO_TARGETS: &[&str] =
    &["block_size", "chase_lev_fixed", "counts", "lib", "model", "padded", "promises", "table", "unfenced"];

/// The targets that are no files of one queue each, or need more than its own tests and checks.
const LISTED: &[Target] = &[
    protocol("crates/filch/src/protocol/beat.rs", &["beat", "ticks"], &["protocols", "pools"]),
    protocol("crates/filch/src/protocol/grain.rs", &[], &["protocols", "spreading", "pools"]),
    protocol("crates/filch/src/protocol/latch.rs", &["runtime"], &["protocols", "pools", "panics"]),
    protocol("crates/filch/src/protocol/limits.rs", &["runtime", "wool"], &["protocols", "pools", "waiting"]),
    protocol("crates/filch/src/protocol/lineage.rs", &["jobs"], &["protocols", "jobs"]),
    protocol("crates/filch/src/protocol/log.rs", &["log"], &["protocols", "timeline"]),
    protocol("crates/filch/src/protocol/order.rs", &[], &["order"]),
    protocol("crates/filch/src/protocol/private.rs", &["direct-pdq-r2"], &["protocols", "pools", "limits", "waiting"]),
    protocol(
        "crates/filch/src/protocol/public.rs",
        &["wool"],
        &["protocols", "pools", "limits", "waiting", "spreading"],
    ),
    protocol("crates/filch/src/protocol/seize.rs", &["seize"], &["protocols", "spreading"]),
    protocol("crates/filch/src/protocol/sleep/mod.rs", &["runtime", "beat"], &["protocols", "pools", "waiting"]),
    protocol("crates/filch/src/protocol/sleep/sleepers.rs", &["runtime", "beat"], &["protocols", "pools", "waiting"]),
    protocol(
        "crates/filch/src/protocol/split.rs",
        &["runtime"],
        &["protocols", "figure_4", "pools", "limits", "waiting", "spreading"],
    ),
    protocol("crates/filch/src/protocol/state.rs", &["runtime", "wool"], &["protocols", "pools", "waiting"]),
    protocol("crates/filch/src/protocol/termination.rs", &["termination"], &["protocols"]),
    protocol("crates/filch/src/protocol/ticks.rs", &["ticks"], &["protocols", "pools"]),
    protocol("crates/filch/src/protocol/waiting.rs", &["runtime"], &["protocols", "pools", "waiting"]),
    protocol("crates/filch/src/protocol/wool.rs", &["wool"], &["protocols", "pools", "limits"]),
    runtime("crates/filch/src/wait/find.rs", PROGRAMS),
    runtime("crates/filch/src/wait/idle.rs", PROGRAMS),
    runtime("crates/filch/src/wait/join.rs", PROGRAMS),
    runtime("crates/filch/src/wait/spot.rs", PROGRAMS),
    runtime("crates/filch/src/wait/watchful.rs", STARTS),
    runtime("crates/filch/src/worker/patience.rs", PROGRAMS),
    runtime("crates/filch/src/shared/late.rs", STARTS),
    runtime("crates/filch/src/shared/on_demand.rs", STARTS),
    runtime("crates/filch/src/shared/guest.rs", STARTS),
    runtime("crates/filch/src/host/crew.rs", STARTS),
    runtime("crates/filch/src/fork/here.rs", PROGRAMS),
    runtime("crates/filch/src/fork/fast_path.rs", PROGRAMS),
    runtime("crates/filch/src/wait/cold_ops.rs", PROGRAMS),
    runtime("crates/filch/src/threads/enter.rs", PROGRAMS),
    runtime("crates/filch/src/worker/latch.rs", PROGRAMS),
    runtime("crates/filch/src/spawn/scope.rs", PROGRAMS),
    runtime("crates/filch/src/fork/job.rs", PROGRAMS),
    runtime("crates/filch/src/teams/jobs/blocks.rs", &["jobs"]),
    runtime("crates/filch/src/teams/jobs/mod.rs", &["jobs"]),
    runtime("crates/filch/src/teams/jobs/worker.rs", &["jobs", "progress"]),
    queue("crates/filch-queue/src/adws.rs", &["adws::", "raced::", "shared::"], &["adws"]),
    Target {
        units: Some("amount::"),
        ..queue("crates/filch-queue/src/amount.rs", &["lace", "dsq::", "pdq_r"], &["lace", "dsq", "pdq-r2-async"])
    },
    queue("crates/filch-queue/src/blocks.rs", &["bwos_l::", "pad_ws::"], &["bwos-l", "padws"]),
    Target { units: Some("clock::"), ..queue("crates/filch-queue/src/clock.rs", &["pdq_s"], &["pdq-s", "pdq-s-told"]) },
    queue("crates/filch-queue/src/delegation.rs", &["adws::", "pad_ws::", "raced::"], &["adws", "padws"]),
    queue("crates/filch-queue/src/dsq.rs", &["dsq::", "shared::"], &["dsq"]),
    Target {
        units: Some("fence_free::"),
        ..queue(
            "crates/filch-queue/src/fence_free.rs",
            &["ff_cl::", "ff_the::", "thep::"],
            &["ff-cl", "ff-the", "thep"],
        )
    },
    queue("crates/filch-queue/src/growing.rs", &["chase_lev::", "idem_"], &["chase-lev", "idem-fifo"]),
    queue("crates/filch-queue/src/hendler_shavit.rs", &["hendler_shavit::", "shared::"], &["hendler-shavit"]),
    queue("crates/filch-queue/src/idempotent/deque.rs", &["idem_de::"], &["idem-de"]),
    queue("crates/filch-queue/src/idempotent/fifo.rs", &["idem_fifo::"], &["idem-fifo"]),
    queue("crates/filch-queue/src/idempotent/lifo.rs", &["idem_lifo::"], &["idem-lifo"]),
    queue("crates/filch-queue/src/lace/index.rs", &["lace"], &["lace", "runtime"]),
    queue("crates/filch-queue/src/lace/mod.rs", &["lace", "shared::"], &["lace"]),
    queue("crates/filch-queue/src/one_exposed.rs", &["one_exposed::", "shared::"], &["one-exposed"]),
    queue("crates/filch-queue/src/pad_ws.rs", &["pad_ws::", "raced::"], &["padws"]),
    queue("crates/filch-queue/src/pdq/mod.rs", &["pdq_"], &["pdq-r", "pdq-r-async", "pdq-s", "pdq-s-told"]),
    queue("crates/filch-queue/src/pdq/asking.rs", &["pdq_r"], &["pdq-r", "pdq-r2", "pdq-r-async", "pdq-r2-async"]),
    queue("crates/filch-queue/src/pdq/receiver.rs", &["pdq_r"], &["pdq-r", "pdq-r2", "pdq-r-async", "pdq-r2-async"]),
    queue("crates/filch-queue/src/pdq/waits.rs", &["pdq_r"], &["pdq-r", "pdq-r2", "pdq-r-async", "pdq-r2-async"]),
    queue("crates/filch-queue/src/pdq/withdraws.rs", &["pdq_r"], &["pdq-r", "pdq-r2", "pdq-r-async", "pdq-r2-async"]),
    queue(
        "crates/filch-queue/src/pdq/sender.rs",
        &["pdq_s"],
        &["pdq-s", "pdq-s-at-once", "pdq-s-told", "pdq-s-one-step"],
    ),
    queue(
        "crates/filch-queue/src/pdq/dealt.rs",
        &["pdq_s"],
        &["pdq-s", "pdq-s-at-once", "pdq-s-told", "pdq-s-one-step"],
    ),
    queue(
        "crates/filch-queue/src/pdq/one_step.rs",
        &["pdq_s_one_step::", "pdq_s_at_once::"],
        &["pdq-s-one-step", "pdq-s-at-once"],
    ),
    queue("crates/filch-queue/src/pdq/two_steps.rs", &["pdq_s::", "pdq_s_told::"], &["pdq-s", "pdq-s-told"]),
    queue("crates/filch-queue/src/roles.rs", &["abp::", "adws::", "roles::"], &[]),
    queue("crates/filch-queue/src/slots.rs", &["abp::", "lace::", "wsq::", "idem_lifo::"], &["abp", "lace"]),
    queue("crates/filch-queue/src/spin_lock.rs", &["the::", "dsq::"], &["the", "dsq"]),
    queue("crates/filch-queue/src/task.rs", &["abp::", "lace::"], &[]),
    queue("crates/filch-queue/src/the.rs", &["the::", "raced::"], &["the", "ff-the"]),
    queue(
        "crates/filch-queue/src/thep.rs",
        &["thep::", "thep_apart::", "thep_impatient::", "raced::"],
        &["thep", "thep-apart", "thep-impatient"],
    ),
    queue("crates/filch-queue/src/wsq/form.rs", &["wsq::", "wsq_packed::", "shared::"], &["wsq", "wsq-packed"]),
    queue("crates/filch-queue/src/wsq/mod.rs", &["wsq::", "wsq_packed::", "shared::"], &["wsq", "wsq-packed"]),
];

/// Functions that stay `const`, because constants call them. The others lose the keyword, so that mutants can be in
/// them.
pub const CONSTANT: &[&str] = &[
    "promises",
    "from_ptr",
    "from_id",
    "as_ptr",
    "new",
    "from_bound",
    "get",
    "name",
    "is_strict",
    "fits",
    "unused",
    "empty",
    "is_unrolled",
];
