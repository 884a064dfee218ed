//! Compares the published rayon-core with the drop-in: runs two builds of the same programs alternately, in fresh
//! processes.
//!
//! `measure STOCK OURS [--rounds N] [--threads 1,2,8] [--only TEXT] [--busy N]`, with two builds of the same programs:
//! without an argument a build lists their names, with a name it runs one and prints up to four figures and, after `=`,
//! its answer, which must be the same in both. Prints a Markdown table with, for each program and number of threads,
//! the times of both (medians over all rounds), and of each figure the median of the ratios of each round with its 95 %
//! interval. Below 1 the drop-in needs less. Below the table: the geometric means of these medians, and, after at least
//! [`FEWEST`] rounds, the rows where a whole interval is above [`LIMIT`]. With `--busy`, so many threads do nothing but
//! use processors meanwhile. `tests/drop-in/compare`, `demos` and `real` make the builds and call it.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::hint::spin_loop;
use std::process::Command;
use std::thread;

/// What a build prints of a program, in this order.
const FIGURES: [&str; 4] = ["time", "processor time", "page faults", "peak memory"];
/// The drop-in is to need no more than this.
const LIMIT: f64 = 1.02;
/// Fewer rounds have no interval of 95 %.
const FEWEST: usize = 6;

struct Plan {
    builds: [String; 2],
    rounds: usize,
    threads: Vec<usize>,
    only: String,
    busy: usize,
}

fn parse(args: impl Iterator<Item = String>) -> Result<Plan, Box<dyn Error>> {
    let (mut builds, mut rounds, mut threads, mut only, mut busy) = (Vec::new(), 7, vec![1, 2, 8], String::new(), 0);
    let mut args = args.peekable();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--rounds" => rounds = value()?.parse::<usize>()?.max(1),
            "--threads" => threads = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--only" => only = value()?,
            "--busy" => busy = value()?.parse()?,
            _ => builds.push(arg),
        }
    }
    let usage = "usage: measure STOCK OURS [--rounds N] [--threads A,B] [--only TEXT] [--busy N]";
    let builds = builds.try_into().map_err(|_| usage)?;
    Ok(Plan { builds, rounds, threads, only, busy })
}

fn output_of(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// What a run has printed.
#[derive(Clone)]
struct Run {
    figures: Vec<f64>,
    answer: Option<String>,
}

/// Runs `program` once.
fn run(build: &str, program: &str, threads: usize) -> Result<Run, Box<dyn Error>> {
    let printed = output_of(Command::new(build).arg(program).env("RAYON_NUM_THREADS", threads.to_string()))?;
    let (figures, answer) = match printed.split_once('=') {
        Some((figures, answer)) => (figures, Some(answer.trim().to_owned())),
        None => (&*printed, None),
    };
    let figures: Result<Vec<f64>, _> = figures.split_whitespace().map(str::parse).collect();
    match figures {
        Ok(figures) if (1..=FIGURES.len()).contains(&figures.len()) => Ok(Run { figures, answer }),
        _ => Err(format!("{build} printed `{printed}`").into()),
    }
}

fn sorted(figures: &[f64]) -> Vec<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn median(figures: &[f64]) -> f64 {
    let sorted = sorted(figures);
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

/// Returns the narrowest pair of order statistics that has the true median between them in 95 % of cases; of fewer than
/// six figures, the extremes, which have it in fewer.
fn interval(figures: &[f64]) -> (f64, f64) {
    let n = figures.len();
    let (mut skipped, mut share, mut outside) = (0, 0.5_f64.powi(n as i32), 0.0);
    // Each side: the probability that at most `skipped` figures lie beyond the median.
    while outside + share <= 0.025 {
        outside += share;
        skipped += 1;
        share *= (n - skipped + 1) as f64 / skipped as f64;
    }
    let (sorted, skipped) = (sorted(figures), skipped.max(1) - 1);
    (sorted[skipped], sorted[n - 1 - skipped])
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} µs", s * 1e6),
    }
}

/// The median of the ratios of ours to the published one's, and its interval.
struct Ratio {
    median: f64,
    low: f64,
    high: f64,
}

impl Ratio {
    fn of(rounds: &[[Run; 2]], figure: usize) -> Self {
        let ratio = |[stock, ours]: &[Run; 2]| ours.figures[figure] / stock.figures[figure];
        let ratios: Vec<f64> = rounds.iter().map(ratio).collect();
        let (low, high) = interval(&ratios);
        Self { median: median(&ratios), low, high }
    }
}

/// Runs both builds once, in an order that alternates, so that neither gains by it.
fn round(plan: &Plan, number: usize, program: &str, threads: usize) -> Result<[Run; 2], Box<dyn Error>> {
    let run = |build: usize| run(&plan.builds[build], program, threads);
    let runs = if number.is_multiple_of(2) {
        [run(0)?, run(1)?]
    } else {
        let ours = run(1)?;
        [run(0)?, ours]
    };
    match &runs {
        [stock, ours] if stock.answer != ours.answer => {
            Err(format!("{program}: {:?} with the published one, {:?} with ours", stock.answer, ours.answer).into())
        }
        _ => Ok(runs),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let plan = parse(env::args().skip(1))?;
    let programs = output_of(&mut Command::new(&plan.builds[0]))?;
    let programs: Vec<&str> = programs.lines().filter(|name| name.contains(&plan.only)).collect();
    let busy = || loop {
        spin_loop();
    };
    // They end with the process.
    (0..plan.busy).for_each(|_| drop(thread::spawn(busy)));
    let mut measured: BTreeMap<(usize, usize), Vec<[Run; 2]>> = BTreeMap::new();
    for number in 0..plan.rounds {
        for (row, program) in programs.iter().enumerate() {
            for &threads in &plan.threads {
                measured.entry((row, threads)).or_default().push(round(&plan, number, program, threads)?);
            }
        }
        eprintln!("round {} of {}", number + 1, plan.rounds);
    }
    let Some(first) = measured.values().next() else { return Err("no program has this name".into()) };
    let figures = &FIGURES[..first[0][0].figures.len()];
    println!("| program | threads | rayon-core | on filch | {} |", figures.join(" | "));
    println!("| --- | ---: | ---: | ---: |{}", " --- |".repeat(figures.len()));
    let mut means: BTreeMap<usize, Vec<Vec<f64>>> = BTreeMap::new();
    let mut above = Vec::new();
    for ((row, threads), rounds) in &measured {
        let times = |build: usize| rounds.iter().map(|runs| runs[build].figures[0]).collect::<Vec<_>>();
        let [stock, ours] = [0, 1].map(|build| time(median(&times(build))));
        print!("| {} | {threads} | {stock} | {ours} |", programs[*row]);
        let all = means.entry(*threads).or_insert_with(|| vec![Vec::new(); figures.len()]);
        for (figure, name) in figures.iter().enumerate() {
            let Ratio { median, low, high } = Ratio::of(rounds, figure);
            print!(" {median:.2} [{low:.2}, {high:.2}] |");
            all[figure].push(median);
            if low > LIMIT {
                above.push(format!("{} on {threads}: {name} {median:.2}", programs[*row]));
            }
        }
        println!();
    }
    for (threads, all) in &means {
        let mean = |ratios: &Vec<f64>| (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let cells: Vec<_> = all.iter().map(|ratios| format!("{:.3}", mean(ratios))).collect();
        println!("| geometric mean | {threads} | | | {} |", cells.join(" | "));
    }
    if plan.rounds >= FEWEST {
        println!("\nWholly above {LIMIT}: {}.", if above.is_empty() { "none".to_owned() } else { above.join("; ") });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_cover_the_median_in_95_percent_of_cases() {
        // From the binomial table: six figures have it between the extremes in 96.9 % of cases, nine within one of
        // them in 96.1 %, and twelve within two in 96.1 %.
        let of = |n: usize| interval(&(1..=n).rev().map(|x| x as f64).collect::<Vec<_>>());
        assert_eq!([of(1), of(5), of(6)], [(1.0, 1.0), (1.0, 5.0), (1.0, 6.0)]);
        assert_eq!([of(8), of(9), of(11), of(12)], [(1.0, 8.0), (2.0, 8.0), (2.0, 10.0), (3.0, 10.0)]);
    }
}
