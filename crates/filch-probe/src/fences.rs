//! `filch probe fences`: the price of fences, of atomic updates, of barriers by the system, and of a cache line's way
//! between processors.
//!
//! Each operation is repeated in a loop, and the time of the empty loop in the same round is subtracted.

use std::arch::asm;
use std::io::Write;
use std::time::Instant;

use filch_memory::{Asymmetric, Memory, Native, Ordering};
use filch_queue::Padded;
use serde::Serialize;

use filch_catalogue::console::json::Lines;
use filch_catalogue::console::stats::{Estimate, Rounds};
use filch_catalogue::protocol::Machine;

use crate::error::{Result, usage};
use crate::flags::ProbeFences;
use crate::processors::{self, beside, bind, neighbour};
use crate::progress::Progress;
use crate::terminal::{colour, duration, significant};
use crate::{commit, table, ticks};

/// The repetitions of an operation of some nanoseconds in a round.
const SHORT: u32 = 2000;
/// The repetitions of a call into the system.
const CALLS: u32 = 100;
/// The most processors whose pairs are all measured; of more, as many are chosen evenly.
const MOST: usize = 16;

/// The words that operations change, each on a line of its own.
#[derive(Default)]
#[repr(C)]
struct Words([Padded<u64>; 2]);

/// An operation to price.
struct Operation {
    name: &'static str,
    repetitions: u32,
    /// Whether a thread runs on another processor meanwhile.
    has_company: bool,
    run: fn(&mut Words, u32),
}

/// A function that repeats instructions on the registers `own` and `other`, which point to words, and `value`.
macro_rules! repeat {
    ($($instruction:literal),* $(; $then:expr)?) => {
        |words: &mut Words, repetitions: u32| {
            let [own, other] = words.0.each_mut().map(|word| &raw mut **word);
            for _ in 0..repetitions {
                // SAFETY: the instructions change the words at `own` and `other`, which are exclusively borrowed, and
                // the declared registers.
                unsafe {
                    asm!(
                        $($instruction,)*
                        "/* {own} {other} {value} */",
                        own = in(reg) own,
                        other = in(reg) other,
                        value = inout(reg) 0_u64 => _,
                        out("rax") _,
                        options(nostack),
                    );
                }
                $($then;)?
            }
        }
    };
}

/// The empty loop comes first.
fn operations() -> Vec<Operation> {
    let short = |name, run| Operation { name, repetitions: SHORT, has_company: false, run };
    let mut all = vec![
        short("nothing", repeat!()),
        short("store", repeat!("mov qword ptr [{own}], {value}")),
        short("mfence", repeat!("mfence")),
        short("lock or", repeat!("lock or qword ptr [{own}], 0")),
        short("xchg", repeat!("xchg qword ptr [{own}], {value}")),
        short("lock xadd", repeat!("lock xadd qword ptr [{own}], {value}")),
        short("lock cmpxchg", repeat!("lock cmpxchg qword ptr [{own}], {value}")),
        short("store, mfence", repeat!("mov qword ptr [{other}], {value}", "mfence")),
        short("store, lock or", repeat!("mov qword ptr [{other}], {value}", "lock or qword ptr [{own}], 0")),
        short("light barrier", repeat!(; Native::light_barrier())),
    ];
    if Native::prepare_barriers() {
        let heavy: fn(&mut Words, u32) = |_, repetitions| (0..repetitions).for_each(|_| Native::heavy_barrier());
        let alone = Operation { name: "heavy barrier, alone", repetitions: CALLS, has_company: false, run: heavy };
        let company = Operation { name: "heavy barrier, beside a running thread", has_company: true, ..alone };
        all.extend([alone, company]);
    }
    all
}

/// The seconds and ticks of one repetition, by round.
#[derive(Default)]
struct Prices {
    seconds: Rounds,
    ticks: Rounds,
}

impl Prices {
    /// Times a round that repeats something this many times.
    fn time(&mut self, round: usize, repetitions: u32, run: impl FnOnce()) {
        let (start, begin) = (Instant::now(), ticks());
        run();
        #[expect(clippy::cast_precision_loss, reason = "far below 2⁵²")]
        let spent = (ticks() - begin) as f64;
        self.seconds.insert(round, start.elapsed().as_secs_f64() / f64::from(repetitions));
        self.ticks.insert(round, spent / f64::from(repetitions));
    }

    /// Returns the price beyond that of the empty loop, in seconds and in ticks.
    fn beyond(&self, empty: &Self) -> Option<(Estimate, Estimate)> {
        let beyond = |ours, theirs| Estimate::paired([ours, theirs], |[ours, theirs]| ours - theirs);
        Some((beyond(&self.seconds, &empty.seconds)?, beyond(&self.ticks, &empty.ticks)?))
    }

    /// Returns the price itself.
    fn whole(&self) -> Option<(Estimate, Estimate)> {
        let whole = |ours| Estimate::paired([ours], |[ours]| ours);
        Some((whole(&self.seconds)?, whole(&self.ticks)?))
    }
}

/// Sends a line to and fro between this processor and another; each of the repetitions is one way.
fn exchange(other: usize, prices: &mut Prices, round: usize, repetitions: u32) {
    let ball = Padded(<Native as Memory>::AtomicU64::new(0));
    // Acquire and Release: as in a queue; the ball publishes nothing here.
    let catch = |turn: u64| {
        let mut tries = 0_u32;
        while ball.load(Ordering::Acquire) != turn {
            tries += 1;
            // The other thread may be waiting for this processor.
            if tries.is_multiple_of(1 << 14) { std::thread::yield_now() } else { Native::spin_loop() }
        }
        ball.store(turn + 1, Ordering::Release);
    };
    let turns = u64::from(repetitions / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            bind(other);
            (0..=turns).for_each(|turn| catch(2 * turn + 1));
        });
        // The first exchange waits for the thread to begin.
        catch(0);
        catch(2);
        prices.time(round, repetitions - 2, || (2..=turns).for_each(|turn| catch(2 * turn)));
    });
}

/// Returns the pairs to measure.
fn pairs(all: &[usize]) -> Vec<[usize; 2]> {
    let chosen: Vec<usize> = match all.len() {
        few if few <= MOST => all.to_vec(),
        many => (0..MOST).map(|nth| all[nth * (many - 1) / (MOST - 1)]).collect(),
    };
    let with = |(nth, &first): (usize, &usize)| {
        chosen[nth + 1..].iter().map(move |&second| [first, second]).collect::<Vec<_>>()
    };
    chosen.iter().enumerate().flat_map(with).collect()
}

#[derive(Serialize)]
struct Line<'a> {
    probe: &'static str,
    operation: &'a str,
    processors: &'a [usize],
    rounds: usize,
    median_seconds: f64,
    /// The 95 % bootstrap interval of the median.
    interval_seconds: Option<(f64, f64)>,
    /// Ticks of the time-stamp counter.
    median_ticks: f64,
    interval_ticks: Option<(f64, f64)>,
    machine: Machine,
    commit: String,
}

pub(crate) fn fences(flags: &ProbeFences) -> Result {
    let mut lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let all = processors::all();
    let Some(&first) = all.first() else { return Err(usage("the system does not tell which processors there are")) };
    let company = neighbour(first).map(|other| other.processor);
    let (operations, pairs) = (operations(), pairs(&all));
    let operations: Vec<_> = operations.into_iter().filter(|row| !row.has_company || company.is_some()).collect();
    let mut prices: Vec<Prices> = operations.iter().map(|_| Prices::default()).collect();
    let mut ways: Vec<Prices> = pairs.iter().map(|_| Prices::default()).collect();
    let (progress, rounds) = (Progress::new(!flags.output.quiet), flags.rounds as usize);
    let mut words = Words::default();
    for round in 0..rounds {
        progress.show(round, rounds, f64::NAN, "fences".to_owned());
        bind(first);
        for (operation, prices) in operations.iter().zip(&mut prices) {
            let other = company.filter(|_| operation.has_company);
            beside(other, Native::spin_loop, || {
                (operation.run)(&mut words, operation.repetitions / 10);
                prices.time(round, operation.repetitions, || (operation.run)(&mut words, operation.repetitions));
            });
        }
        for (&[one, other], prices) in pairs.iter().zip(&mut ways) {
            bind(one);
            exchange(other, prices, round, SHORT);
        }
    }
    progress.end();
    let mut measured = Vec::new();
    for (operation, price) in operations.iter().zip(&prices).skip(1) {
        measured.push((operation.name.to_owned(), vec![first], price.beyond(&prices[0])));
    }
    for (pair, price) in pairs.iter().zip(&ways) {
        measured.push((format!("a line from {} to {}", pair[0], pair[1]), pair.to_vec(), price.whole()));
    }
    let mut rows = Vec::new();
    for (operation, processors, price) in &measured {
        let Some((seconds, ticks)) = price else { continue };
        if let Some(lines) = &mut lines {
            lines.write(&Line {
                probe: "fences",
                operation,
                processors,
                rounds,
                median_seconds: seconds.value,
                interval_seconds: seconds.interval,
                median_ticks: ticks.value,
                interval_ticks: ticks.interval,
                machine: Machine::here(),
                commit: commit(),
            })?;
        }
        let interval = |estimate: &Estimate, show: &dyn Fn(f64) -> String| {
            estimate.interval.map_or_else(String::new, |(low, high)| format!("{} to {}", show(low), show(high)))
        };
        rows.push(vec![
            operation.clone(),
            duration(seconds.value),
            interval(seconds, &duration),
            significant(ticks.value),
            interval(ticks, &significant),
        ]);
    }
    if flags.output.talks(lines.as_ref()) {
        let mut out = std::io::stdout().lock();
        writeln!(out, "medians of {rounds} rounds, and their 95 % intervals; ticks are the time-stamp counter's")?;
        writeln!(out, "{}", table::list(&["operation", "time", "", "ticks", ""], &rows, colour()))?;
        if !operations.iter().any(|operation| operation.name.starts_with("heavy")) {
            writeln!(out, "heavy barriers are not measurable here: the system has none")?;
        }
        if pairs.is_empty() {
            writeln!(out, "a line's way is not measurable here: there is one processor")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_do_what_their_names_say() {
        let operations = operations();
        assert_eq!(operations[0].name, "nothing");
        for Operation { name, run, .. } in operations {
            let mut words = Words([Padded(5), Padded(7)]);
            run(&mut words, 3);
            let [own, other] = words.0.map(|word| *word);
            let expected = match name {
                "store" | "xchg" => [0, 7],
                "store, mfence" | "store, lock or" => [5, 0],
                _ => [5, 7],
            };
            if name != "lock cmpxchg" {
                assert_eq!([own, other], expected, "{name}");
            }
        }
    }

    #[test]
    fn a_price_is_what_comes_on_top_of_the_empty_loop() {
        let prices = |seconds: &[f64]| {
            let rounds: Rounds = seconds.iter().copied().enumerate().collect();
            Prices { seconds: rounds.clone(), ticks: rounds }
        };
        let (seconds, ticks) = prices(&[5.0, 6.0, 9.0]).beyond(&prices(&[1.0, 1.0, 3.0])).unwrap();
        assert_eq!((seconds.value, ticks.value, seconds.interval), (5.0, 5.0, Some((4.0, 6.0))));
        assert_eq!(prices(&[2.0]).whole().unwrap().0.value, 2.0);
        assert!(prices(&[]).whole().is_none());
    }

    #[test]
    fn a_line_is_exchanged_as_often_as_asked() {
        let Some([one, other]) = pairs(&processors::all()).first().copied() else { return };
        bind(one);
        let mut prices = Prices::default();
        exchange(other, &mut prices, 3, 20);
        assert!(prices.seconds[&3] > 0.0);
    }

    #[test]
    fn of_many_processors_some_are_paired() {
        assert_eq!(pairs(&[0, 2, 5]), [[0, 2], [0, 5], [2, 5]]);
        assert!(pairs(&[4]).is_empty());
        let many: Vec<usize> = (0..100).collect();
        let pairs = pairs(&many);
        assert_eq!((pairs.len(), pairs[14]), (MOST * (MOST - 1) / 2, [0, 99]));
        assert!(pairs.iter().all(|[one, other]| one != other));
    }
}
