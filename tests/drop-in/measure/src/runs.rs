//! What a measured program prints.

use std::fmt::Debug;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A program: its name, its number of repetitions in one process, and what makes it. Each repetition returns the same
/// answer.
pub(crate) type Row<A> = (&'static str, u32, fn() -> Box<dyn FnMut() -> A>);

/// Lists the programs, or runs the one that the first argument names, and prints `SECONDS CPU FAULTS PEAK = ANSWER`:
/// the time of the fastest repetition, the processor time per repetition in seconds, the page faults of the whole
/// process, and the most memory that it had in KiB.
pub(crate) fn run<A: Debug + PartialEq>(programs: &[Row<A>]) -> ExitCode {
    let Some(wanted) = std::env::args().nth(1) else {
        programs.iter().for_each(|(name, ..)| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    let Some((_, repeats, make)) = programs.iter().find(|(name, ..)| *name == wanted) else {
        eprintln!("there is no program `{wanted}`");
        return ExitCode::from(2);
    };
    let mut program = make();
    // Of several repetitions, one more starts the pool and touches pages.
    let mut answer = (*repeats > 1).then(&mut program);
    let before = cpu_time(&usage());
    let once = |_| {
        let start = Instant::now();
        let now = program();
        let took = start.elapsed();
        match &answer {
            Some(before) => assert_eq!(*before, now, "each repetition has the same answer"),
            None => answer = Some(now),
        }
        took
    };
    let fastest = (0..*repeats).map(once).min().expect("at least once");
    let usage = usage();
    let cpu = (cpu_time(&usage) - before) / *repeats;
    let answer = answer.expect("at least once");
    let (seconds, cpu) = (fastest.as_secs_f64(), cpu.as_secs_f64());
    println!("{seconds} {cpu} {} {} = {answer:?}", usage.ru_minflt, usage.ru_maxrss);
    ExitCode::SUCCESS
}

fn usage() -> libc::rusage {
    // SAFETY: zeroes are a valid `rusage`, and the call fills it in.
    unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &mut usage), 0);
        usage
    }
}

/// The processor time of the process so far.
fn cpu_time(usage: &libc::rusage) -> Duration {
    let duration = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    duration(usage.ru_utime) + duration(usage.ru_stime)
}
