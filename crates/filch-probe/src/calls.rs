//! `filch probe calls`: the cost of calls into an idle pool from outside, for many lengths of calls and pauses.
//!
//! A call is a tree of joins in closure style with sixteen leaves of equal length, or one empty join. The contenders
//! take turns, so that the machine's other activity affects all of them alike.

use std::hint::{black_box, spin_loop};
use std::io::Write;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::{Result, usage};
use crate::flags::ProbeCalls;
use crate::table;
use filch_catalogue::console::json::Lines;
use filch_catalogue::protocol::{Machine, cpu_time};

use crate::commit;
use crate::progress::Progress;
use crate::terminal::{colour, duration};
use filch_catalogue::console::stats::quantile;

/// The time of a call on one worker, in microseconds; 0 is an empty join.
const LENGTHS: [u64; 6] = [0, 1, 5, 20, 100, 1000];
/// The time from the end of a call to the caller's next one, in microseconds.
const PAUSES: [u64; 5] = [0, 5, 50, 500, 10_000];
/// The leaves of a tree.
const LEAVES: u64 = 16;
/// The number of turns of each contender at each call and pause.
const TURNS: usize = 3;

#[derive(Serialize)]
struct Measured {
    probe: &'static str,
    contender: &'static str,
    workers: usize,
    callers: usize,
    call_micros: u64,
    pause_micros: u64,
    calls: usize,
    median_seconds: f64,
    p90_seconds: f64,
    cpu_seconds_per_call: f64,
    machine: Machine,
    commit: String,
}

/// A pool, and the way to call into it.
struct Contender {
    name: &'static str,
    call: Box<dyn Fn(&Work) + Sync>,
}

/// The work of a call.
struct Work {
    /// The rounds of each leaf; `None` is an empty join.
    rounds: Option<u64>,
}

/// Computes for this many rounds.
fn compute(rounds: u64) {
    let mut state = rounds;
    for _ in 0..rounds {
        state = black_box(state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1));
    }
}

/// Measures the number of rounds per microsecond.
fn rounds_in_a_microsecond() -> f64 {
    const ROUNDS: u64 = 1 << 20;
    let round = |_| {
        let start = Instant::now();
        compute(ROUNDS);
        start.elapsed().as_secs_f64()
    };
    let best = (0..5).map(round).fold(f64::INFINITY, f64::min);
    #[expect(clippy::cast_precision_loss, reason = "a power of two")]
    let rounds = ROUNDS as f64;
    rounds / (best * 1e6)
}

macro_rules! tree_by {
    ($tree:ident, $join:path) => {
        fn $tree(work: &Work, leaves: u64) {
            match work.rounds {
                None => _ = $join(|| (), || ()),
                Some(rounds) if leaves == 1 => compute(rounds),
                Some(_) => _ = $join(|| $tree(work, leaves / 2), || $tree(work, leaves - leaves / 2)),
            }
        }
    };
}

tree_by!(tree_of_filch, filch::join);
tree_by!(tree_of_rayon, rayon::join);

fn contenders(workers: usize) -> Result<[Contender; 3]> {
    let filch = |works| filch::ThreadPool::builder().workers(workers).caller_works(works).build().map_err(usage);
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(workers).build().map_err(usage)?;
    let (guests, waiters) = (filch(true)?, filch(false)?);
    Ok([
        Contender { name: "filch", call: Box::new(move |work| guests.install(|| tree_of_filch(work, LEAVES))) },
        Contender {
            name: "filch, handed in",
            call: Box::new(move |work| waiters.install(|| tree_of_filch(work, LEAVES))),
        },
        Contender { name: "rayon", call: Box::new(move |work| rayon.install(|| tree_of_rayon(work, LEAVES))) },
    ])
}

/// Waits this long; awake if it is short, like a caller that computes something else.
fn pause(micros: u64) {
    const SHORT: u64 = 100;
    let (start, length) = (Instant::now(), Duration::from_micros(micros));
    if micros > SHORT {
        std::thread::sleep(length);
    }
    while start.elapsed() < length {
        spin_loop();
    }
}

/// Returns the seconds of each call, and the processor time of all.
fn measure(contender: &Contender, work: &Work, callers: usize, calls: usize, pause_micros: u64) -> (Vec<f64>, f64) {
    let one_by_one = || {
        let call = |_| {
            pause(pause_micros);
            let start = Instant::now();
            (contender.call)(work);
            start.elapsed().as_secs_f64()
        };
        (0..calls).map(call).collect::<Vec<f64>>()
    };
    let before = cpu_time();
    let seconds = std::thread::scope(|s| {
        let threads: Vec<_> = (0..callers).map(|_| s.spawn(one_by_one)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a call does not panic")).collect()
    });
    (seconds, cpu_time() - before)
}

pub(crate) fn calls(flags: &ProbeCalls) -> Result {
    let mut lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let (workers, callers) = (usize::from(flags.workers), usize::from(flags.callers));
    let contenders = contenders(workers)?;
    let progress = Progress::new(!flags.output.quiet);
    let speed = rounds_in_a_microsecond();
    let mut rows = Vec::new();
    let kinds = LENGTHS.iter().flat_map(|&length| PAUSES.map(|pause| (length, pause)));
    for (index, (length, pause)) in kinds.enumerate() {
        let told = if length == 0 { "empty".to_owned() } else { format!("{length} µs") };
        progress.show(index, LENGTHS.len() * PAUSES.len(), f64::NAN, format!("calls: {told}, pauses: {pause} µs"));
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small"
        )]
        let rounds = (length > 0).then(|| (speed * length as f64 / LEAVES as f64) as u64);
        // About as many as fit into fifty milliseconds.
        let calls = usize::try_from(50_000 / (length + pause + 10)).unwrap_or(usize::MAX).clamp(5, 1000);
        let calls = calls.min(flags.samples as usize);
        let work = Work { rounds };
        let mut seen: [(Vec<f64>, f64); 3] = Default::default();
        for _ in 0..TURNS {
            for (contender, (seconds, cpu)) in contenders.iter().zip(&mut seen) {
                let (more, spent) = measure(contender, &work, callers, calls, pause);
                seconds.extend(more);
                *cpu += spent;
            }
        }
        let mut cells = vec![told, format!("{pause} µs")];
        for (contender, (mut seconds, cpu)) in contenders.iter().zip(seen) {
            seconds.sort_by(f64::total_cmp);
            let [median, p90] = [0.5, 0.9].map(|share| quantile(&seconds, share));
            #[expect(clippy::cast_precision_loss, reason = "sample counts are small")]
            let cpu_per_call = cpu / seconds.len() as f64;
            cells.extend([duration(median), duration(cpu_per_call)]);
            if let Some(lines) = &mut lines {
                lines.write(&Measured {
                    probe: "calls",
                    contender: contender.name,
                    workers,
                    callers,
                    call_micros: length,
                    pause_micros: pause,
                    calls: seconds.len(),
                    median_seconds: median,
                    p90_seconds: p90,
                    cpu_seconds_per_call: cpu_per_call,
                    machine: Machine::here(),
                    commit: commit(),
                })?;
            }
        }
        rows.push(cells);
    }
    progress.end();
    if flags.output.talks(lines.as_ref()) {
        let heads = ["call", "pause", "filch", "CPU", "filch, handed in", "CPU", "rayon", "CPU"];
        let mut out = std::io::stdout().lock();
        writeln!(out, "{callers} callers, {workers} workers; medians, and processor time per call")?;
        writeln!(out, "{}", table::list(&heads, &rows, colour()))?;
    }
    Ok(())
}
