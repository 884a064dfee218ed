//! Runs one of the examples.
#![allow(clippy::disallowed_types, reason = "examples use the atomics that their readers know")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use filch_examples::branch_and_bound::{self, Sack};
use filch_examples::image_filter::{self, Image};
use filch_examples::{async_jobs, bursts, unscaled, word_count};

const USAGE: &str =
    "usage: filch-examples word-count FOLDER | image-filter | branch-and-bound | bursts | async-jobs | unscaled";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or(USAGE)?;
    let begin = Instant::now();
    match name.as_str() {
        "word-count" => count_words(arguments.next().ok_or(USAGE)?.into())?,
        "image-filter" => {
            let mut images: Vec<_> = (1..=8).map(|seed| Image::noise(512, 512, seed)).collect();
            image_filter::filter(&mut images);
        }
        "branch-and-bound" => {
            let deadline = begin + Duration::from_secs(2);
            println!("the best value is {}", branch_and_bound::best(&Sack::puzzle(200), u64::MAX, deadline));
        }
        "bursts" => {
            let data: Vec<u64> = (0..bursts::LENGTH).collect();
            println!("{} threads, 1000 loops each", bursts::serve(&data, 1000).len());
        }
        "async-jobs" => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
            println!("{:?}", runtime.block_on(async_jobs::serve(vec![27, 0, 97])));
            let show = |when: &str, late: &[Duration]| {
                let [p50, p99] = [50, 99].map(|percent| late[late.len() * percent / 100]);
                println!("timers are late by {p50:?} (p50), {p99:?} (p99) {when}");
            };
            show("on an idle pool", &runtime.block_on(async_jobs::lateness(1000)));
            show("on a busy pool", &runtime.block_on(async_jobs::lateness_under_load(1000)));
        }
        "unscaled" => {
            let v: Vec<u64> = (0..1 << 22).collect();
            let unsorted = || (v.iter().rev().copied().collect::<Vec<_>>(), v.clone());
            show("coarse leaves", || (), |()| unscaled::sum(&v, v.len() / 4));
            show("fine leaves", || (), |()| unscaled::sum(&v, 1 << 12));
            show("a sequential merge", unsorted, |(v, buffer)| unscaled::sort(v, buffer, unscaled::merge));
            show("a parallel merge", unsorted, |(v, buffer)| unscaled::sort(v, buffer, unscaled::merge_in_parallel));
            show("a lock around the work", || (), |()| unscaled::count_under_a_lock(&v));
            show("no lock", || (), |()| unscaled::count(&v));
        }
        _ => return Err(USAGE.into()),
    }
    println!("{:?}", begin.elapsed());
    Ok(())
}

/// Shows how far this would scale, and how long it takes on the default pool: the best of five times.
fn show<T: Send, R: Send>(what: &str, prepare: impl Fn() -> T, run: impl Fn(&mut T) -> R + Sync) {
    let time = |_| {
        let mut input = prepare();
        let start = Instant::now();
        run(&mut input);
        start.elapsed()
    };
    let best = (0..5).map(time).min().unwrap_or_default();
    let mut input = prepare();
    println!("{what}: {best:?} on this machine\n{}\n", filch::scale::measure(|| run(&mut input)).scale);
}

/// Counts the words below a folder, and shows how many files are done.
fn count_words(folder: PathBuf) -> Result<(), Box<dyn Error>> {
    let done = Arc::new(AtomicU64::new(0));
    let progress = Arc::clone(&done);
    let job = filch::submit(move || word_count::closures::count(&folder, &progress));
    while !job.is_done() {
        eprint!("\r{} files", done.load(Relaxed));
        thread::sleep(Duration::from_millis(50));
    }
    eprintln!("\r{} files", done.load(Relaxed));
    let counts = job.join().map_err(|_| "the count panicked")??;
    let mut words: Vec<_> = counts.into_iter().collect();
    words.sort_unstable_by(|(a, m), (b, n)| n.cmp(m).then(a.cmp(b)));
    for (word, count) in words.iter().take(10) {
        println!("{count:8} {word}");
    }
    Ok(())
}
