//! Compares the published rayon-core with the drop-in: runs two builds of the same programs alternately, in fresh
//! processes.
//!
//! `measure STOCK OURS [--rounds N] [--threads 1,2,8] [--only TEXT]`, with two builds of the same programs: without an
//! argument a build lists their names, with a name it runs one and prints its seconds. Prints a Markdown table with,
//! for each program and number of threads, the times of both (medians over all rounds), the median of the ratios of
//! each round with its confidence interval, and the ratio of the minima. Below 1 the drop-in is faster.
//! `tests/drop-in/compare` and `tests/drop-in/demos` make the builds and call it.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::process::Command;

/// Programs measured by their processor time.
const RESTING: [&str; 3] = ["idle", "a trickle", "one busy thread"];

struct Plan {
    builds: [String; 2],
    rounds: usize,
    threads: Vec<usize>,
    only: String,
}

fn parse(args: impl Iterator<Item = String>) -> Result<Plan, Box<dyn Error>> {
    let (mut builds, mut rounds, mut threads, mut only) = (Vec::new(), 7, vec![1, 2, 8], String::new());
    let mut args = args.peekable();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--rounds" => rounds = value()?.parse::<usize>()?.max(1),
            "--threads" => threads = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--only" => only = value()?,
            _ => builds.push(arg),
        }
    }
    let builds =
        builds.try_into().map_err(|_| "usage: measure STOCK OURS [--rounds N] [--threads A,B] [--only TEXT]")?;
    Ok(Plan { builds, rounds, threads, only })
}

fn output_of(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs `program` once and returns its time or processor time.
fn run(build: &str, program: &str, threads: usize) -> Result<f64, Box<dyn Error>> {
    let printed = output_of(Command::new(build).arg(program).env("RAYON_NUM_THREADS", threads.to_string()))?;
    let figure = printed.split_whitespace().nth(usize::from(RESTING.contains(&program)));
    Ok(figure.ok_or_else(|| format!("{build} printed `{printed}`"))?.parse()?)
}

fn minimum(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::INFINITY, f64::min)
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

fn main() -> Result<(), Box<dyn Error>> {
    let plan = parse(env::args().skip(1))?;
    let programs = output_of(&mut Command::new(&plan.builds[0]))?;
    let programs: Vec<&str> = programs.lines().filter(|name| name.contains(&plan.only)).collect();
    let mut figures: BTreeMap<(usize, usize), [Vec<f64>; 2]> = BTreeMap::new();
    for round in 0..plan.rounds {
        for (row, program) in programs.iter().enumerate() {
            for &threads in &plan.threads {
                let both = figures.entry((row, threads)).or_default();
                // The order alternates, so that neither build gains by it.
                for build in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                    both[build].push(run(&plan.builds[build], program, threads)?);
                }
            }
        }
        eprintln!("round {} of {}", round + 1, plan.rounds);
    }
    println!("| program | threads | rayon-core | on filch | ratio | 95 % interval | of minima |");
    println!("| --- | ---: | ---: | ---: | ---: | --- | ---: |");
    for ((row, threads), [stock, ours]) in &figures {
        let program = programs[*row];
        let what = if RESTING.contains(&program) { " (processor time)" } else { "" };
        let ratios: Vec<f64> = stock.iter().zip(ours).map(|(stock, ours)| ours / stock).collect();
        let (low, high) = interval(&ratios);
        println!(
            "| {program}{what} | {threads} | {} | {} | {:.2} | {low:.2} to {high:.2} | {:.2} |",
            time(median(stock)),
            time(median(ours)),
            median(&ratios),
            minimum(ours) / minimum(stock),
        );
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
