//! A runner's main loop: it says hello, answers requests, and ends at the end of its standard input.
//!
//! Invariants: standard output receives only replies, one per line. An error that a driver could have foreseen is a
//! refusal; every other error ends the runner with a message on standard error.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use filch_catalogue::protocol::{
    Description, Hello, Load, Machine, Order, ProgramDescription, Ran, Reply, Request, VERSION, cpu_time,
    file_rss_bytes, peak_rss_bytes,
};
use filch_workloads::{Instance, Kind, Memory, Prepare, Workload, specs};
use serde_json::{Map, Value};

use crate::{Contender, Counts, Job, Scheduler};

/// Address space for a stack that a program may need: reserved, not touched.
const STACK_BYTES: usize = 64 << 20;

/// Answers a driver until it is done.
pub fn serve(scheduler: &dyn Scheduler) -> ExitCode {
    #[cfg(target_os = "linux")]
    // SAFETY: the call only sets the signal that this process gets when its parent ends.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)
    };
    keep_freed_memory();
    match converse(scheduler) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Has the allocator keep freed memory, as those that the comparison of C++ runtimes recommends do. Otherwise a program
/// that makes large arrays spends a tenth of its time on pages that the system takes back and zeroes again, more on
/// some threads than on others.
fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// The largest that all versions accept.
        const LARGEST: libc::c_int = 32 << 20;
        // SAFETY: the calls only set options of the allocator.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST);
            libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        }
    }
}

fn converse(scheduler: &dyn Scheduler) -> io::Result<()> {
    say(&Reply::Hello(Hello {
        protocol: VERSION,
        scheduler: scheduler.name().to_owned(),
        version: scheduler.version() + compiled_for(),
        machine: Some(Machine::here()),
    }))?;
    while let Some(request) = listen()? {
        match request {
            Request::Describe => say(&Reply::Description(describe(scheduler)))?,
            Request::Prepare(order) => return run(scheduler, &order),
            Request::Run | Request::Reset => say(&refusal("nothing is prepared"))?,
        }
    }
    Ok(())
}

/// Returns what a version adds about the processors that the runner is compiled for, if it does not run on every one.
const fn compiled_for() -> &'static str {
    if cfg!(target_feature = "avx512f") {
        ", for AVX-512"
    } else if cfg!(target_feature = "avx2") {
        ", for AVX2"
    } else {
        ""
    }
}

/// Reads the next request; `None` at the end.
fn listen() -> io::Result<Option<Request>> {
    let mut line = String::new();
    while io::stdin().lock().read_line(&mut line)? > 0 {
        match serde_json::from_str(&line) {
            Ok(request) => return Ok(Some(request)),
            Err(error) => say(&refusal(&format!("not a request: {error}")))?,
        }
        line.clear();
    }
    Ok(None)
}

fn say(reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_string(reply)?;
    line.push('\n');
    let mut output = io::stdout().lock();
    output.write_all(line.as_bytes())?;
    output.flush()
}

fn refusal(why: &str) -> Reply {
    Reply::Refused { why: why.to_owned() }
}

fn describe(scheduler: &dyn Scheduler) -> Description {
    let programs = specs().iter().filter(|program| scheduler.runs(program)).map(|program| ProgramDescription {
        name: program.name.to_owned(),
        parameters: program.params.iter().map(|param| param.name.to_owned()).collect(),
    });
    Description { programs: programs.collect(), settings: scheduler.settings(), most_workers: None }
}

fn workload(name: &str, parameters: &BTreeMap<String, String>) -> Result<Workload, String> {
    let set: Vec<_> = parameters.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    Workload::new(name, &set).map_err(|error| error.to_string())
}

/// Prepares a program and runs it on request.
fn run(scheduler: &dyn Scheduler, order: &Order) -> io::Result<()> {
    let prepared = workload(&order.program, &order.parameters).and_then(|workload| {
        let spec = specs().iter().find(|spec| spec.name == workload.name()).expect("a workload has a spec");
        if !scheduler.runs(spec) {
            return Err(format!("{} does not run {}", scheduler.name(), workload.name()));
        }
        let instance = workload.prepare().map_err(|error| error.to_string())?;
        Ok((workload, instance))
    });
    let (workload, mut instance) = match prepared {
        Ok(prepared) => prepared,
        Err(why) => return say(&refusal(&why)),
    };
    let stack = STACK_BYTES.max(usize::try_from(instance.stack_bytes()).unwrap_or(usize::MAX));
    if std::env::var_os("RUST_MIN_STACK").is_none() {
        // SAFETY: this process has only its first thread yet. The variable gives threads whose stack size the scheduler
        // leaves to the standard library as much stack as the others.
        unsafe { std::env::set_var("RUST_MIN_STACK", stack.to_string()) };
    }
    std::thread::scope(|scope| {
        // The sequential program and some peers run on the calling thread, whose stack is small.
        let thread = std::thread::Builder::new().stack_size(stack);
        let work = || {
            let job =
                Job { workload: &workload, workers: order.workers, settings: &order.settings, stack_bytes: stack };
            let started = cold(scheduler, &job, order).and_then(|cold| Ok((cold, start(scheduler, &job, order)?)));
            match started {
                Ok((cold, contender)) => {
                    let file = order.timeline.as_deref();
                    answer(&*contender, &workload, &mut instance, &cold, file)
                }
                Err(why) => say(&refusal(&why)),
            }
        };
        match thread.spawn_scoped(scope, work) {
            Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(error) => {
                say(&refusal(&format!("cannot start a thread with a stack of {}: {error}", Memory(stack as u64))))
            }
        }
    })
}

/// Times a start of the scheduler up to its first result, and a stop, if the order asks for it and this is a fork–join
/// program.
fn cold(scheduler: &dyn Scheduler, job: &Job<'_>, order: &Order) -> Result<Counts, String> {
    if !order.cold || job.workload.kind() != Kind::ForkJoin {
        return Ok(Counts::new());
    }
    let least = workload("fib", &BTreeMap::from([("n".to_owned(), "2".to_owned())]))?;
    let mut instance = least.prepare().map_err(|error| error.to_string())?;
    let nanoseconds = |since: Instant| u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let begin = Instant::now();
    let contender = scheduler.start(&Job { workload: &least, ..*job })?;
    contender.run(&mut instance)?;
    let first = nanoseconds(begin);
    let begin = Instant::now();
    drop(contender);
    Ok(vec![("first_ns", first), ("stop_ns", nanoseconds(begin))])
}

/// Starts the scheduler and warms it up.
fn start(scheduler: &dyn Scheduler, job: &Job<'_>, order: &Order) -> Result<Box<dyn Contender>, String> {
    let contender = scheduler.start(job)?;
    if order.warmup > 0 {
        let warmup = match &order.warmup_parameters {
            Some(parameters) => workload(&order.program, parameters)?,
            None => job.workload.clone(),
        };
        let mut instance = warmup.prepare().map_err(|error| error.to_string())?;
        for _ in 0..order.warmup {
            instance.reset();
            contender.run(&mut instance)?;
        }
    }
    Ok(contender)
}

fn answer(
    contender: &dyn Contender,
    workload: &Workload,
    instance: &mut Instance,
    cold: &Counts,
    file: Option<&Path>,
) -> io::Result<()> {
    let mut background = Background::default();
    instance.reset();
    let mut is_ready = true;
    say(&Reply::Ready)?;
    while let Some(request) = listen()? {
        match request {
            Request::Run if is_ready => {
                is_ready = false;
                match timed(contender, workload, instance, &mut background, file) {
                    Ok(mut ran) => {
                        ran.counters.extend(object(cold));
                        say(&Reply::Ran(Box::new(ran)))?;
                    }
                    Err(why) => return say(&refusal(&why)),
                }
            }
            Request::Run => say(&refusal("the input has not been reset since the last run"))?,
            Request::Reset => {
                instance.reset();
                is_ready = true;
                say(&Reply::Ready)?;
            }
            Request::Describe | Request::Prepare(_) => say(&refusal("a program is prepared already"))?,
        }
    }
    Ok(())
}

fn timed(
    contender: &dyn Contender,
    workload: &Workload,
    instance: &mut Instance,
    background: &mut Background,
    file: Option<&Path>,
) -> Result<Ran, String> {
    contender.forget_last_run();
    let counters = contender.counters();
    let (load, used) = (Load::now(), cpu_time());
    let start = Instant::now();
    let result = match file {
        None => contender.run(instance).map(|answer| (answer, None)),
        Some(_) => contender.record(instance).map(|(answer, timeline)| (answer, Some(timeline))),
    };
    let seconds = start.elapsed().saturating_sub(instance.paused()).as_secs_f64();
    // The check of the answer takes time and memory, so this is read before it.
    let (load_after, used_after, peak_rss_bytes) = (Load::now(), cpu_time(), peak_rss_bytes());
    let file_rss_bytes = file_rss_bytes();
    let (answer, timeline) = result?;
    let written = file.zip(timeline.as_ref()).map_or(Ok(()), |(file, timeline)| {
        File::create(file)
            .and_then(|out| timeline.write_perfetto(BufWriter::new(out)))
            .map_err(|error| format!("the timeline cannot be written to {}: {error}", file.display()))
    });
    written?;
    let seconds = contender.seconds().unwrap_or(seconds);
    let cpu_seconds = used_after - used;
    background.add(seconds, load_after.busy - load.busy - cpu_seconds, load_after.stolen - load.stolen);
    let counters = contender.counters().since(&counters);
    let (tasks, expected_tasks) = tasks(contender, instance.tasks(&answer).or_else(|| workload.tasks()));
    let disagree = || match (tasks, expected_tasks) {
        (Some(pushed), Some(expected)) if pushed != expected => {
            Some(format!("{pushed} tasks were pushed, but the program has {expected}"))
        }
        _ => None,
    };
    Ok(Ran {
        seconds,
        error: instance.check(&answer).err().or_else(|| contender.complaint()).or_else(disagree),
        tasks,
        expected_tasks,
        answer: answer.to_string(),
        counters: object(&counters.total),
        workers: counters.workers.iter().map(object).collect(),
        cpu_seconds: Some(cpu_seconds),
        others: background.others(),
        stolen: background.stolen(),
        peak_rss_bytes,
        file_rss_bytes,
        timeline: timeline.map(|timeline| timeline.to_string()),
    })
}

/// Returns the number of tasks, and the expected number if the tasks were counted as they were pushed and the program
/// knows how many it has.
fn tasks(contender: &dyn Contender, known: Option<u64>) -> (Option<u64>, Option<u64>) {
    match contender.tasks() {
        Some(pushed) => (Some(pushed), known),
        None => (known.filter(|_| contender.counts_tasks()), None),
    }
}

fn object(counts: &Counts) -> Map<String, Value> {
    counts.iter().map(|&(name, count)| (name.to_owned(), count.into())).collect()
}

/// The activity of the rest of the machine during the timed runs so far.
///
/// The kernel counts in hundredths of a second, so one short run says nothing.
#[derive(Debug, Default)]
struct Background {
    wall: f64,
    others: f64,
    stolen: f64,
}

impl Background {
    const SHORTEST: f64 = 0.1;

    fn add(&mut self, wall: f64, others: f64, stolen: f64) {
        self.wall += wall;
        self.others += others;
        self.stolen += stolen;
    }

    fn others(&self) -> f64 {
        self.share(self.others)
    }

    fn stolen(&self) -> f64 {
        self.share(self.stolen)
    }

    fn share(&self, seconds: f64) -> f64 {
        if self.wall < Self::SHORTEST { 0.0 } else { (seconds / self.wall).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counters;

    #[test]
    fn counters_are_differences_but_depths_are_not() {
        let reading = |first: [u64; 2], second: [u64; 2]| {
            let worker = |[steals, depth]: [u64; 2]| vec![("steals", steals), ("peak_depth", depth)];
            Counters::of_workers(vec![worker(first), worker(second)])
        };
        let run = reading([12, 9], [3, 4]).since(&reading([5, 8], [3, 11]));
        assert_eq!(run.total, [("steals", 7), ("peak_depth", 9)]);
        assert_eq!(run.workers, [[("steals", 7), ("peak_depth", 9)], [("steals", 0), ("peak_depth", 4)]]);
    }

    /// Counts one task too many, or runs one too few.
    struct Careless {
        pushed: Option<u64>,
        complaint: Option<&'static str>,
    }

    impl Contender for Careless {
        fn run(&self, instance: &mut Instance) -> Result<filch_workloads::Answer, String> {
            Ok(instance.serial())
        }

        fn tasks(&self) -> Option<u64> {
            self.pushed
        }

        fn complaint(&self) -> Option<String> {
            self.complaint.map(str::to_owned)
        }
    }

    #[test]
    fn counts_that_disagree_are_an_error() {
        let set = BTreeMap::from([("tree".to_owned(), "thin".to_owned()), ("depth".to_owned(), "5".to_owned())]);
        let workload = workload("trees", &set).unwrap();
        let mut instance = workload.prepare().unwrap();
        let mut ran = |pushed, complaint| {
            instance.reset();
            timed(&Careless { pushed, complaint }, &workload, &mut instance, &mut Background::default(), None).unwrap()
        };
        // A complete binary tree.
        let right = ran(Some(63), None);
        assert_eq!((right.tasks, right.expected_tasks, right.error), (Some(63), Some(63), None));
        let wrong = ran(Some(64), None);
        assert_eq!((wrong.tasks, wrong.expected_tasks), (Some(64), Some(63)));
        assert_eq!(wrong.error.as_deref(), Some("64 tasks were pushed, but the program has 63"));
        let uncounted = ran(None, None);
        assert_eq!((uncounted.tasks, uncounted.expected_tasks, uncounted.error), (Some(63), None, None));
        assert_eq!(ran(Some(63), Some("one was lost")).error.as_deref(), Some("one was lost"));
    }

    #[test]
    fn short_runs_report_no_background_load() {
        let mut background = Background::default();
        background.add(0.01, 0.02, 0.0);
        assert_eq!(background.others(), 0.0);
        background.add(0.99, 0.48, 0.0);
        assert!((background.others() - 0.5).abs() < 1e-12);
    }
}
