//! A runner's life: it says hello, answers what it is asked, and ends when its standard input does.
//!
//! What must always hold: nothing is written to standard output but replies, one a line; and whatever goes wrong that a driver could
//! have known before is a refusal, everything else an end with a message on standard error.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::Instant;

use filch_protocol::{
    Description, Hello, Load, Machine, Order, ProgramDescription, Ran, Reply, Request, VERSION, cpu_time,
    peak_rss_bytes,
};
use filch_workloads::{Instance, Memory, Workload, specs};
use serde_json::{Map, Value};

use crate::{Contender, Job, Scheduler};

/// Address space for a stack that a program may need: reserved, not used.
const STACK_BYTES: usize = 64 << 20;

/// Answers a driver until it has enough.
pub fn serve(scheduler: &dyn Scheduler) -> ExitCode {
    #[cfg(target_os = "linux")]
    // SAFETY: the call only sets which signal this process gets when its parent ends.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)
    };
    match converse(scheduler) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn converse(scheduler: &dyn Scheduler) -> io::Result<()> {
    say(&Reply::Hello(Hello {
        protocol: VERSION,
        scheduler: scheduler.name().to_owned(),
        version: scheduler.version(),
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

/// The next request; `None` after the last.
fn listen() -> io::Result<Option<Request>> {
    let mut line = String::new();
    while io::stdin().lock().read_line(&mut line)? > 0 {
        match serde_json::from_str(&line) {
            Ok(request) => return Ok(Some(request)),
            Err(error) => say(&refusal(&format!("this is no request: {error}")))?,
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

/// Prepares and then runs as often as it is asked.
fn run(scheduler: &dyn Scheduler, order: &Order) -> io::Result<()> {
    let prepared = workload(&order.program, &order.parameters).and_then(|workload| {
        let spec = specs().iter().find(|spec| spec.name == workload.name()).expect("its name is in the list");
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
        // SAFETY: this process has only its first thread yet. Schedulers that leave the stacks of their threads to the standard
        // library get as much as the others.
        unsafe { std::env::set_var("RUST_MIN_STACK", stack.to_string()) };
    }
    std::thread::scope(|scope| {
        // The sequential program and some peers run on the calling thread, whose stack is small.
        let thread = std::thread::Builder::new().stack_size(stack);
        let work = || {
            let job =
                Job { workload: &workload, workers: order.workers, settings: &order.settings, stack_bytes: stack };
            match start(scheduler, &job, order) {
                Ok(contender) => answer(&*contender, &workload, &mut instance),
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

/// A started scheduler, warm.
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

fn answer(contender: &dyn Contender, workload: &Workload, instance: &mut Instance) -> io::Result<()> {
    let mut background = Background::default();
    instance.reset();
    let mut is_ready = true;
    say(&Reply::Ready)?;
    while let Some(request) = listen()? {
        match request {
            Request::Run if is_ready => {
                is_ready = false;
                match timed(contender, workload, instance, &mut background) {
                    Ok(ran) => say(&Reply::Ran(Box::new(ran)))?,
                    Err(why) => return say(&refusal(&why)),
                }
            }
            Request::Run => say(&refusal("the input of the last run has not been reset"))?,
            Request::Reset => {
                instance.reset();
                is_ready = true;
                say(&Reply::Ready)?;
            }
            Request::Describe | Request::Prepare(_) => say(&refusal("something is prepared already"))?,
        }
    }
    Ok(())
}

fn timed(
    contender: &dyn Contender,
    workload: &Workload,
    instance: &mut Instance,
    background: &mut Background,
) -> Result<Ran, String> {
    let counters = contender.counters();
    let (load, used) = (Load::now(), cpu_time());
    let start = Instant::now();
    let result = contender.run(instance);
    let seconds = start.elapsed().as_secs_f64();
    // Before the answer is checked, which takes time and memory too.
    let (load_after, used_after, peak_rss_bytes) = (Load::now(), cpu_time(), peak_rss_bytes());
    let answer = result?;
    let cpu_seconds = used_after - used;
    background.add(seconds, load_after.busy - load.busy - cpu_seconds, load_after.stolen - load.stolen);
    let known = || contender.tasks().or_else(|| instance.tasks(&answer)).or_else(|| workload.tasks());
    Ok(Ran {
        seconds,
        error: instance.check(&answer).err(),
        tasks: if contender.counts_tasks() { known() } else { None },
        answer: answer.to_string(),
        counters: since(&contender.counters(), &counters),
        cpu_seconds: Some(cpu_seconds),
        others: background.others(),
        stolen: background.stolen(),
        peak_rss_bytes,
    })
}

/// Counters of one run: differences, but for the depth, which is not a count.
fn since(later: &[(&'static str, u64)], earlier: &[(&'static str, u64)]) -> Map<String, Value> {
    let difference = |(&(name, later), &(_, earlier)): (&(&str, u64), &(&str, u64))| {
        let value = if name == "peak_depth" { later } else { later.saturating_sub(earlier) };
        (name.to_owned(), value.into())
    };
    later.iter().zip(earlier).map(difference).collect()
}

/// What else the machine did during the timed runs so far.
///
/// The kernel counts in hundredths of a second, so a short run alone says nothing.
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

    #[test]
    fn counters_are_differences_but_depths_are_not() {
        let run = since(&[("steals", 12), ("peak_depth", 9)], &[("steals", 5), ("peak_depth", 8)]);
        assert_eq!(run["steals"], 7);
        assert_eq!(run["peak_depth"], 9);
    }

    #[test]
    fn a_run_shorter_than_the_kernels_clock_says_nothing_of_the_background() {
        let mut background = Background::default();
        background.add(0.01, 0.02, 0.0);
        assert_eq!(background.others(), 0.0);
        background.add(0.99, 0.48, 0.0);
        assert!((background.others() - 0.5).abs() < 1e-12);
    }
}
