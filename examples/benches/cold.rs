//! The first call into a new pool, in a new process each: what a program that computes for a moment waits for.
//!
//! `cargo bench -p filch-examples --bench cold -- [--rounds 100] [--fib 2]`
//!
//! A row is a way to begin. *First*: microseconds from before the pool to the result of fib, all calls of which fork.
//! *Stop*: from the request to end the pool until its threads have ended, for pools that can be told to. *Memory*: what
//! the process had at its end that no file backs. The rows take turns, and a number is a median.

use std::hint::black_box;
use std::process::{self, Command};
use std::time::Instant;
use std::{env, thread};

use filch_catalogue::console::stats::Sample;
use filch_catalogue::console::{error, table};
use filch_catalogue::protocol::{file_rss_bytes, peak_rss_bytes};

/// As many as a large machine has processors.
const MANY: usize = 64;
/// The option that makes a process one measurement.
const ONE: &str = "--one";

fn filch_fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = filch::join(move || filch_fib(n - 1), move || filch_fib(n - 2));
    a + b
}

fn rayon_fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = rayon::join(|| rayon_fib(n - 1), || rayon_fib(n - 2));
    a + b
}

/// Computes fib, and returns what ends the pool, if anything does.
type Way = fn(u32) -> Option<Box<dyn FnOnce()>>;

fn filch_pool<const WORKERS: usize>(n: u32) -> Option<Box<dyn FnOnce()>> {
    let pool = filch::ThreadPool::new(WORKERS).expect("so many threads");
    black_box(pool.install(|| filch_fib(n)));
    Some(Box::new(|| drop(pool)))
}

fn rayon_pool<const WORKERS: usize>(n: u32) -> Option<Box<dyn FnOnce()>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(WORKERS).build().expect("so many threads");
    black_box(pool.install(|| rayon_fib(n)));
    None
}

const WAYS: [(&str, Way); 7] = [
    ("filch::join", |n| {
        black_box(filch_fib(n));
        Some(Box::new(filch::ThreadPool::end_global))
    }),
    ("a pool of two, filch", filch_pool::<2>),
    ("a pool of 64, filch", filch_pool::<MANY>),
    ("rayon::join", |n| {
        black_box(rayon_fib(n));
        None
    }),
    ("a pool of two, rayon", rayon_pool::<2>),
    ("a pool of 64, rayon", rayon_pool::<MANY>),
    ("a thread", |n| {
        let thread = thread::spawn(move || black_box(n));
        Some(Box::new(|| _ = thread.join()))
    }),
];

/// Measures one way in this process, and prints the numbers of a row; a negative one is none.
fn one(way: usize, n: u32) {
    let start = Instant::now();
    let end = WAYS[way].1(n);
    let first = start.elapsed();
    let start = Instant::now();
    let has_end = end.is_some();
    end.into_iter().for_each(|end| end());
    let stop = if has_end { start.elapsed().as_secs_f64() * 1e6 } else { -1.0 };
    let memory = peak_rss_bytes().saturating_sub(file_rss_bytes()) >> 10;
    println!("{} {stop} {memory}", first.as_secs_f64() * 1e6);
}

fn measure() -> error::Result {
    let (mut rounds, mut n) = (100, 2);
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| error::usage(format!("{word} needs a value")));
        let mut number = || value()?.parse().map_err(error::usage);
        match &*word {
            "--bench" => (),
            ONE => {
                let way = number()?;
                one(way, number()?.try_into().map_err(error::usage)?);
                return Ok(());
            }
            "--rounds" => rounds = number()?,
            "--fib" => n = number()?,
            _ => return Err(error::usage(format!("there is no option {word}"))),
        }
    }
    let mut samples = vec![Vec::new(); WAYS.len()];
    for _ in 0..rounds {
        for (way, sample) in samples.iter_mut().enumerate() {
            let mut child = Command::new(env::current_exe().map_err(error::usage)?);
            let output = child.args([ONE, &way.to_string(), &n.to_string()]).output().map_err(error::usage)?;
            let numbers = String::from_utf8(output.stdout).map_err(error::usage)?;
            let numbers: Result<Vec<f64>, _> = numbers.split_whitespace().map(str::parse).collect();
            sample.push(numbers.map_err(error::usage)?);
        }
    }
    let median = |sample: &[Vec<f64>], column: usize| {
        let median = Sample::of(sample.iter().map(|numbers| numbers[column])).map_or(-1.0, |sample| sample.median);
        if median < 0.0 { String::new() } else { format!("{median:.0}") }
    };
    let row = |((name, _), sample): (&(&str, Way), &Vec<_>)| {
        [(*name).to_owned()].into_iter().chain((0..3).map(|column| median(sample, column))).collect()
    };
    let rows: Vec<_> = WAYS.iter().zip(&samples).map(row).collect();
    println!("{}", table::list(&["to begin", "first, µs", "stop, µs", "memory, KiB"], &rows, false));
    Ok(())
}

fn main() {
    if let Err(error) = measure() {
        eprintln!("{error}");
        process::exit(1);
    }
}
