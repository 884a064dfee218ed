//! The speed of parallel iterators beside rayon's: filch in both styles and rayon take turns in one process, each on a
//! pool of its own, while the others sleep.
//!
//! `cargo bench -p filch-examples --bench iterators -- [PART OF A NAME] [--workers 1,2,8] [--rounds 31] [--json FILE]`
//!
//! A number is the median of the ratios of time, filch over rayon, each of one round, with its 95 % interval: below 1,
//! filch is faster. A call begins on a worker of its pool, so that neither the way into the pool nor its waking counts.
//! `--once filch|handles|rayon` runs one contender's call in the function `counted`, for
//! `valgrind --tool=callgrind --toggle-collect='*counted*'`.

use std::hint::black_box;
use std::time::{Duration, Instant};
use std::{env, process, thread};

use filch::iter::IntoPar;
use filch_catalogue::console::json::Lines;
use filch_catalogue::console::stats::{Estimate, Rounds};
use filch_catalogue::console::{error, table};
use filch_catalogue::protocol::Machine;
use rayon::prelude::*;
use serde_json::json;

/// The half of a round's batch that counts takes about so long, or is a single call.
const BATCH: Duration = Duration::from_millis(1);
/// So long a pool has to fall asleep.
const PAUSE: Duration = Duration::from_millis(1);
const CONTENDERS: [&str; 3] = ["filch", "handles", "rayon"];

/// What the command line says.
struct Plan {
    filter: String,
    workers: Vec<usize>,
    rounds: usize,
    once: Option<String>,
    lines: Option<Lines>,
    rows: Vec<Vec<String>>,
}

/// A style, so that a program is written once for both.
struct Free;

impl Free {
    fn par<S: IntoPar>(&mut self, source: S) -> filch::iter::Par<S::Parts, filch::iter::Closures> {
        filch::par(source)
    }
}

/// Calls `f` on every input, and returns the time of the second half, and the last result. In the first half the pool
/// wakes up, if calls are short.
fn batch<I, O>(inputs: Vec<I>, mut f: impl FnMut(I) -> O) -> (f64, O) {
    let half = inputs.len() / 2;
    let mut results = Vec::with_capacity(inputs.len());
    let mut start = Instant::now();
    for (index, input) in inputs.into_iter().enumerate() {
        if index == half {
            start = Instant::now();
        }
        results.push(black_box(f(black_box(input))));
    }
    (start.elapsed().as_secs_f64(), results.pop().expect("a batch has a call"))
}

#[inline(never)]
fn counted<I, O>(inputs: Vec<I>, f: impl FnMut(I) -> O) -> (f64, O) {
    batch(inputs, f)
}

impl Plan {
    fn read() -> error::Result<Self> {
        let mut plan = Self {
            filter: String::new(),
            workers: vec![1, 2, 8],
            rounds: 31,
            once: None,
            lines: None,
            rows: Vec::new(),
        };
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| error::usage(format!("{word} needs a value")));
            let number = |text: &str| text.parse().map_err(error::usage);
            match &*word {
                "--bench" => (),
                "--workers" => plan.workers = value()?.split(',').map(number).collect::<error::Result<_>>()?,
                "--rounds" => plan.rounds = number(&value()?)?,
                "--once" => plan.once = Some(value()?),
                "--json" => plan.lines = Some(Lines::append(value()?.as_ref())?),
                _ => plan.filter = word,
            }
        }
        Ok(plan)
    }

    /// Measures a program. `input` is made anew for each call, outside of the measured time.
    fn case<I, O>(
        &mut self,
        name: &str,
        input: impl Fn() -> I + Sync,
        closures: impl Fn(I) -> O + Sync,
        handles: impl Fn(&mut filch::Worker<'_>, I) -> O + Sync,
        theirs: impl Fn(I) -> O + Sync,
    ) -> error::Result
    where
        I: Send,
        O: PartialEq + Send,
    {
        if !name.contains(&self.filter) {
            return Ok(());
        }
        for &workers in &self.workers {
            let filch = filch::ThreadPool::new(workers).map_err(error::usage)?;
            let rayon = rayon::ThreadPoolBuilder::new().num_threads(workers).build().map_err(error::usage)?;
            let inputs = |calls| (0..calls).map(|_| input()).collect::<Vec<_>>();
            if let Some(contender) = &self.once {
                let _ = match &**contender {
                    "filch" => filch.install(|| (batch(inputs(1), &closures), counted(inputs(1), &closures)).1),
                    "handles" => filch.run(|mut w| {
                        batch(inputs(1), |input| handles(&mut w, input));
                        counted(inputs(1), |input| handles(&mut w, input))
                    }),
                    _ => rayon.install(|| (batch(inputs(1), &theirs), counted(inputs(1), &theirs)).1),
                };
                continue;
            }
            let run = |contender, calls| {
                // On this thread, so that all contenders get the same memory.
                let inputs = inputs(calls);
                thread::sleep(PAUSE);
                match contender {
                    0 => filch.install(|| batch(inputs, &closures)),
                    1 => filch.run(|mut w| batch(inputs, |input| handles(&mut w, input))),
                    _ => rayon.install(|| batch(inputs, &theirs)),
                }
            };
            let first = [0, 1, 2].map(|contender| run(contender, 1).1);
            assert!(first.iter().all(|result| *result == first[0]), "{name}: the results differ");
            // A call of more than a batch comes alone; the others come in twos.
            let calls = (1..16).map(|power| 1_usize << power).find(|&calls| run(2, calls).0 > BATCH.as_secs_f64());
            let calls = calls.unwrap_or(1 << 16);
            let calls = if calls == 2 { 1 } else { calls };
            let mut seconds = [Rounds::new(), Rounds::new(), Rounds::new()];
            for round in 0..self.rounds {
                for turn in 0..CONTENDERS.len() {
                    let contender = (round + turn) % CONTENDERS.len();
                    seconds[contender].insert(round, run(contender, calls).0 / calls.div_ceil(2) as f64);
                }
                if let Some(lines) = &mut self.lines {
                    let [closures, handles, theirs] = [0, 1, 2].map(|contender| seconds[contender][&round]);
                    lines.write(&json!({"case": name, "workers": workers, "calls": calls, "round": round,
                        "filch": closures, "handles": handles, "rayon": theirs}))?;
                }
            }
            let mut row = vec![name.to_owned(), workers.to_string()];
            for ours in &seconds[..2] {
                let ratio = Estimate::paired([ours, &seconds[2]], |[ours, theirs]| ours / theirs).expect("rounds");
                let (low, high) = ratio.interval.unwrap_or((ratio.value, ratio.value));
                row.push(format!("{:.2} ({low:.2}–{high:.2})", ratio.value));
            }
            let time = Estimate::paired([&seconds[2]], |[theirs]| theirs * 1e6).expect("rounds");
            row.push(format!("{:.1}", time.value));
            self.rows.push(row);
        }
        Ok(())
    }
}

/// A program that reads the same as a closure and with a handle.
macro_rules! case {
    ($plan:ident, $name:expr, $input:expr, |$p:ident, $x:pat_param| $ours:expr, |$y:pat_param| $theirs:expr) => {
        $plan.case(
            $name,
            || $input,
            |$x| {
                let $p = &mut Free;
                $ours
            },
            |$p, $x| $ours,
            |$y| $theirs,
        )?
    };
}

/// Numbers without a pattern, the same in every run.
fn numbers(count: usize) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(1);
    (0..count).map(|_| random.u64(..)).collect()
}

fn square(x: &u64) -> u64 {
    x.wrapping_mul(*x)
}

fn flat(plan: &mut Plan, v: &[u64]) -> error::Result {
    for power in 4..8 {
        let part = &v[..10_usize.pow(power)];
        let name = format!("sum of squares, 10^{power}");
        case!(plan, &name, part, |p, part| p.par(part).map(|x| square(x) >> 32).sum::<u64>(), |part| part
            .par_iter()
            .map(|x| square(x) >> 32)
            .sum::<u64>());
    }
    let v = &v[..1_000_000];
    let real: Vec<f64> = v.iter().map(|x| *x as f64).collect();
    let real = &real[..];
    case!(plan, "max of f64, 10^6", real, |p, real| p.par(real).copied().reduce(|| f64::MIN, f64::max), |real| real
        .par_iter()
        .copied()
        .reduce(|| f64::MIN, f64::max));
    case!(plan, "max by Ord, 10^6", v, |p, v| p.par(v).max(), |v| v.par_iter().max());
    case!(
        plan,
        "zip and sum, 10^6",
        v,
        |p, v| p.par(v).zip(&v[1..]).map(|(a, b)| a.wrapping_mul(*b) >> 32).sum::<u64>(),
        |v| v.par_iter().zip(&v[1..]).map(|(a, b)| a.wrapping_mul(*b) >> 32).sum::<u64>()
    );
    let wanted = v[v.len() / 4 * 3];
    case!(plan, "find_first, 10^6", v, |p, v| p.par(v).find_first(|x| **x == wanted), |v| v
        .par_iter()
        .find_first(|x| **x == wanted));
    case!(plan, "windows, 10^6", v, |p, v| p.par(v.windows(3)).filter(|w| w[0] < w[1] && w[1] > w[2]).count(), |v| v
        .par_windows(3)
        .filter(|w| w[0] < w[1] && w[1] > w[2])
        .count());
    case!(
        plan,
        "chunks, 10^6",
        v,
        |p, v| p.par(v.chunks(64)).map(|c| c.iter().fold(0, |a: u64, b| a.wrapping_add(*b))).max(),
        |v| v.par_chunks(64).map(|c| c.iter().fold(0, |a: u64, b| a.wrapping_add(*b))).max()
    );
    Ok(())
}

fn nested(plan: &mut Plan, v: &[u64]) -> error::Result {
    let rows: Vec<&[u64]> = v[..100_000].chunks(100).collect();
    let rows = &rows[..];
    let add = |a: u64, b: u64| a + b;
    plan.case(
        "nested rows, 1000 of 100",
        || rows,
        |rows| filch::par(rows).map(|row| filch::par(*row).map(|x| square(x) >> 32).sum::<u64>()).sum::<u64>(),
        |w, rows| w.map_reduce_with(rows, 0, |mut w, row| w.par(*row).map(|x| square(x) >> 32).sum::<u64>(), add),
        |rows| rows.par_iter().map(|row| row.par_iter().map(|x| square(x) >> 32).sum::<u64>()).sum::<u64>(),
    )
}

fn collecting(plan: &mut Plan, v: &[u64]) -> error::Result {
    let twice: Vec<u32> = v[..2_000_000].iter().map(|x| *x as u32).collect();
    let twice = &twice[..];
    case!(
        plan,
        "filter and collect, 2·10^6",
        twice,
        |p, v| p.par(v).copied().filter(|x| x % 2 == 0).collect::<Vec<u32>>(),
        |v| v.par_iter().copied().filter(|x| x % 2 == 0).collect::<Vec<u32>>()
    );
    let v = &v[..1_000_000];
    case!(plan, "map and collect, 10^6", v, |p, v| p.par(v).map(square).collect::<Vec<u64>>(), |v| v
        .par_iter()
        .map(square)
        .collect::<Vec<u64>>());
    case!(
        plan,
        "collect a Result, 10^6",
        v,
        |p, v| p.par(v).map(|x| x.checked_add(0).ok_or(())).collect::<Result<Vec<u64>, ()>>(),
        |v| v.par_iter().map(|x| x.checked_add(0).ok_or(())).collect::<Result<Vec<u64>, ()>>()
    );
    Ok(())
}

fn sorting(plan: &mut Plan, v: &[u64]) -> error::Result {
    let small: Vec<u32> = v[..1_000_000].iter().map(|x| *x as u32).collect();
    let pairs: Vec<(u32, u32)> = v[..1_000_000].iter().map(|x| (*x as u32 >> 12, (*x >> 32) as u32)).collect();
    let texts: Vec<String> = v[..100_000].iter().map(ToString::to_string).collect();
    macro_rules! sort {
        ($name:expr, $data:ident, $ours:ident, $theirs:ident ($($key:expr)?)) => {
            case!(
                plan,
                $name,
                $data.clone(),
                |p, mut v| {
                    p.par(&mut v).$ours($($key)?);
                    v
                },
                |mut v| {
                    v.$theirs($($key)?);
                    v
                }
            );
        };
    }
    sort!("sort u32, 10^6", small, sort, par_sort());
    sort!("sort_unstable u32, 10^6", small, sort_unstable, par_sort_unstable());
    sort!("sort String, 10^5", texts, sort, par_sort());
    sort!("sort_unstable String, 10^5", texts, sort_unstable, par_sort_unstable());
    sort!("sort_by_key, 10^6", pairs, sort_by_key, par_sort_by_key(|pair| pair.0));
    sort!("sort_unstable_by_key, 10^6", pairs, sort_unstable_by_key, par_sort_unstable_by_key(|pair| *pair));
    let mut sorted = small.clone();
    sorted.sort_unstable();
    sort!("sort what is sorted, 10^6", sorted, sort, par_sort());
    Ok(())
}

fn measure() -> error::Result {
    let mut plan = Plan::read()?;
    if let Some(lines) = &mut plan.lines {
        lines.write(&json!({"machine": Machine::here(), "rounds": plan.rounds}))?;
    }
    let v = numbers(10_000_000);
    flat(&mut plan, &v)?;
    nested(&mut plan, &v)?;
    collecting(&mut plan, &v)?;
    sorting(&mut plan, &v)?;
    let heads = ["program", "workers", "filch/rayon, closures", "filch/rayon, handles", "rayon, µs"];
    println!("{}", table::list(&heads, &plan.rows, false));
    Ok(())
}

fn main() {
    // The allocator treats the main thread unlike the others.
    let measured = thread::spawn(measure).join().expect("a measurement does not panic");
    if let Err(error) = measured {
        eprintln!("{error}");
        process::exit(1);
    }
}
