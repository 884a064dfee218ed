//! `filch stress`: runs an owner and thieves on one queue at a time, and accounts for every task. Each round ends by
//! checking that the queue still works as a new one does.
#![expect(clippy::disallowed_types, reason = "tells the thieves when the owner is done, outside of what is tested")]

use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fastrand::Rng;
use filch_catalogue::unknown;
use filch_queue::as_new::Trial;
use filch_queue::{Delivery, Full, Owner, Promises, Queue, Steal, Task, Thief};
use filch_runner::schedulers::{PROMISES, QueueUser, with_queue};

use super::flags::StressQueues as Flags;
use super::{any_seed, as_float};
use crate::error::{Error, Result, usage};
use crate::progress::Progress;
use crate::table;
use crate::terminal::{colour, count, duration};

/// The number of tasks in a round.
const TASKS: usize = 1 << 18;

/// A round takes milliseconds; one that exceeds this limit never ends.
const HUNG: Duration = Duration::from_secs(60);

/// The interval at which a long round checks for an interrupt.
const LOOK: Duration = Duration::from_millis(200);

pub(crate) fn queues(flags: &Flags) -> Result {
    let known: Vec<&str> = PROMISES.iter().map(|queue| queue.name).collect();
    if let Some(name) = flags.queues.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(usage(unknown("queue", name, &known)));
    }
    let wanted = |queue: &&Promises| flags.queues.is_empty() || flags.queues.iter().any(|name| name == queue.name);
    let mut tallies: Vec<Tally> = PROMISES.iter().filter(wanted).map(Tally::new).collect();
    let first = flags.seed.unwrap_or_else(any_seed);
    crate::interrupt::watch()?;
    let progress = Progress::new(!flags.quiet);
    let (start, limit) = (Instant::now(), Duration::from_secs(flags.seconds.into()));
    let mut seed = first;
    // Run at least one round on every queue, however short the time.
    while seed == first || start.elapsed() < limit {
        for tally in &mut tallies {
            if crate::interrupt::interrupted() || seed != first && start.elapsed() >= limit {
                break;
            }
            let (name, left) = (tally.queue.name, limit.as_secs_f64() - start.elapsed().as_secs_f64());
            let what = format!("{name}, seed {seed}, {} operations a second", tally.rate());
            #[expect(clippy::cast_possible_truncation, reason = "seconds of a session")]
            progress.show(start.elapsed().as_secs() as usize, limit.as_secs() as usize, left, what);
            let script = Script { seed, threads: flags.threads.into(), tasks: TASKS };
            match with_queue(name, Rounds(script)).expect("a name of the table") {
                Ok(Some(round)) => tally.add(&round),
                Ok(None) => break,
                Err(why) => {
                    progress.end();
                    let threads = flags.threads;
                    return Err(Error::FailedBecause(format!(
                        "{name}, seed {seed} with {threads} threads: {why}\nAgain: filch stress {name} --seed {seed} \
                         --threads {threads}"
                    )));
                }
            }
        }
        if crate::interrupt::interrupted() {
            break;
        }
        seed = seed.wrapping_add(1);
    }
    progress.end();
    if !flags.quiet {
        let heads = ["queue", "rounds", "tasks", "stolen", "kept", "again", "operations/s"];
        let rows = tallies.iter().map(Tally::row).collect::<Vec<_>>();
        let (seconds, threads) = (duration(start.elapsed().as_secs_f64()), flags.threads);
        writeln!(
            std::io::stdout(),
            "{}\nNo task lost, none taken too often, every queue as good as new in {seconds}; {threads} threads, seeds \
             from {first}.\nkept: the queue was full, and the owner kept the task. again: taken once more, for tasks \
             that may be.",
            table::list(&heads, &rows, colour()),
        )?;
    }
    Ok(())
}

/// The results of a queue so far.
struct Tally {
    queue: &'static Promises,
    rounds: u64,
    sum: Round,
}

impl Tally {
    fn new(queue: &'static Promises) -> Self {
        Self { queue, rounds: 0, sum: Round::default() }
    }

    fn add(&mut self, round: &Round) {
        self.rounds += 1;
        self.sum.tasks += round.tasks;
        self.sum.kept += round.kept;
        self.sum.popped += round.popped;
        self.sum.stolen += round.stolen;
        self.sum.again += round.again;
        self.sum.time += round.time;
    }

    fn rate(&self) -> String {
        let sum = &self.sum;
        let operations = sum.tasks - sum.kept + sum.popped + sum.stolen;
        count(as_float(operations) / sum.time.as_secs_f64().max(1e-9))
    }

    fn row(&self) -> Vec<String> {
        let sum = &self.sum;
        let of_all = |part: u64| format!("{:.1} %", as_float(part) * 100.0 / as_float(sum.tasks.max(1)));
        let again = match self.queue.delivery {
            Delivery::ExactlyOnce => "–".to_owned(),
            Delivery::AtLeastOnce => format!("{:.3} %", as_float(sum.again) * 100.0 / as_float(sum.tasks.max(1))),
        };
        let (rounds, tasks) = (self.rounds.to_string(), count(as_float(sum.tasks)));
        vec![self.queue.name.to_owned(), rounds, tasks, of_all(sum.stolen), of_all(sum.kept), again, self.rate()]
    }
}

/// The parts of a round that a seed decides.
#[derive(Clone, Copy)]
struct Script {
    seed: u64,
    threads: usize,
    tasks: usize,
}

/// The events of a round.
#[derive(Default)]
struct Round {
    tasks: u64,
    /// Tasks that the full queue refused.
    kept: u64,
    popped: u64,
    stolen: u64,
    /// Extra times that tasks were taken.
    again: u64,
    time: Duration,
}

struct Rounds(Script);

impl QueueUser for Rounds {
    type Output = std::result::Result<Option<Round>, String>;

    fn with<Q: Queue>(self, params: Q::Params) -> Self::Output {
        watched(move || round::<Q>(self.0, &params))
    }
}

/// Runs a round with a time limit; returns `None` after an interrupt. A round that hangs is abandoned: its threads end
/// with the program.
fn watched(
    round: impl FnOnce() -> std::result::Result<Round, String> + Send + 'static,
) -> std::result::Result<Option<Round>, String> {
    let (done, wait) = channel();
    let thread = thread::spawn(move || {
        let _ = done.send(round());
    });
    let deadline = Instant::now() + HUNG;
    loop {
        match wait.recv_timeout(LOOK) {
            Ok(result) => return result.map(Some),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(thread.join().map_or_else(|panic| said(&*panic), |()| unreachable!("it has sent nothing")));
            }
            Err(RecvTimeoutError::Timeout) if crate::interrupt::interrupted() => return Ok(None),
            Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => {
                return Err(format!("a round does not end within {}", duration(HUNG.as_secs_f64())));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("a thread panicked: {}", text.unwrap_or("no message"))
}

fn task(number: usize) -> Task {
    Task::from_id(NonZeroUsize::new(number + 1).expect("one more than something"))
}

fn number(task: Task) -> usize {
    task.id().get() - 1
}

fn round<Q: Queue>(script: Script, params: &Q::Params) -> std::result::Result<Round, String> {
    const SOME: &str = "there is one";
    let mut choices = Rng::with_seed(script.seed);
    // Nearly always empty or full, usually in between, or never full.
    let capacity = choices.choice([1, 2, 3, 4, 16, 256, 256, script.tasks]).expect(SOME);
    let burst = choices.choice([2, 6, 40, 40, 400]).expect(SOME);
    // Thieves steal more if the owner yields more often.
    let haste = choices.choice([4, 64, 1024]).expect(SOME);
    let (mut owner, thieves) = Q::make(capacity, script.threads.saturating_sub(1), params);
    let (done, start) = (Arc::new(AtomicBool::new(false)), Arc::new(Barrier::new(thieves.len() + 1)));
    let thieves: Vec<_> = thieves
        .into_iter()
        .map(|thief| {
            let (done, start, seed) = (Arc::clone(&done), Arc::clone(&start), choices.u64(..1 << 31));
            thread::spawn(move || {
                start.wait();
                rob(&Q::PROMISES, thief, &done, Rng::with_seed(seed))
            })
        })
        .collect();
    // Each thread notes its tasks privately, and the test counts them afterwards: a shared count would order the memory
    // accesses under test.
    let mut popped: Vec<Task> = Vec::with_capacity(script.tasks);
    let mut kept = Vec::new();
    start.wait();
    let begin = Instant::now();
    let mut next = 0;
    let (mut most_pops, mut yielded) = (burst, Duration::ZERO);
    while next < script.tasks {
        for _ in 0..=choices.usize(..burst).min(script.tasks - next - 1) {
            if let Err(Full(refused)) = owner.push(task(next)) {
                kept.push(refused);
                // Some arrays must be found empty first.
                popped.extend(owner.pop());
            }
            next += 1;
        }
        for _ in 0..=choices.usize(..most_pops) {
            let Some(task) = owner.pop() else { break };
            popped.push(task);
        }
        if choices.usize(..haste) == 0 && yielded < HUNG / 10 {
            let before = Instant::now();
            thread::yield_now();
            // A yield may last as long as others' shares of the processor.
            yielded += before.elapsed();
        }
        match choices.usize(..64) {
            // Sometimes pop everything, so that the owner meets the thieves.
            0 => popped.extend(std::iter::from_fn(|| owner.pop())),
            // Let the number of queued tasks rise or fall for a while.
            1 => most_pops = choices.choice([burst / 2, burst, 2 * burst]).expect(SOME),
            _ => owner.poll(),
        }
    }
    // Release: what the owner pushed comes before a thief's last look.
    done.store(true, Ordering::Release);
    while !thieves.iter().all(JoinHandle::is_finished) {
        owner.poll();
        thread::yield_now();
    }
    popped.extend(std::iter::from_fn(|| owner.pop()));
    let time = begin.elapsed();
    let (mut stolen, mut ended) = (Vec::new(), Vec::new());
    for thief in thieves {
        let (thief, loot) = thief.join().map_err(|panic| said(&*panic))?;
        ended.push(thief);
        stolen.extend(loot);
    }
    let again = judge(script.tasks, &Q::PROMISES, popped.iter().chain(&kept).chain(&stolen).copied().map(number))?;
    Trial::new::<Q, _>(capacity, params).passes(&mut owner, &mut ended);
    let sizes = [script.tasks, kept.len(), popped.len(), stolen.len()].map(|size| size as u64);
    Ok(Round { tasks: sizes[0], kept: sizes[1], popped: sizes[2], stolen: sizes[3], again, time })
}

/// Steals until the owner is done and this thief finds nothing; returns the thief and its loot.
fn rob<T: Thief<Task>>(promises: &Promises, mut thief: T, done: &AtomicBool, mut choices: Rng) -> (T, Vec<Task>) {
    let mut loot = Vec::new();
    loop {
        // Acquire: pairs with the owner's store; an attempt after it sees whatever was pushed.
        let was_done = done.load(Ordering::Acquire);
        let answer = thief.steal();
        assert!(promises.may_answer(&answer), "{answer:?} is no answer of this queue");
        match answer {
            Steal::Task(task) => loot.push(task),
            Steal::Empty | Steal::Aborted | Steal::Pending if was_done => break,
            // Mostly retry at once, to interfere; sometimes yield, because the owner may need this processor.
            _ if choices.usize(..16) == 0 => thread::yield_now(),
            _ => std::hint::spin_loop(),
        }
        if choices.usize(..512) == 0 {
            // As before sleeping.
            loot.extend(thief.quiesce());
        }
    }
    loot.extend(std::iter::from_fn(|| thief.quiesce()));
    (thief, loot)
}

/// Counts how often each task was taken; returns how many tasks were taken more than once, if that is allowed.
fn judge(tasks: usize, queue: &Promises, taken: impl Iterator<Item = usize>) -> std::result::Result<u64, String> {
    let mut bitmap = vec![0_u64; tasks.div_ceil(64)];
    let (mut again, mut twice) = (0, None);
    for task in taken {
        let Some(word) = bitmap.get_mut(task / 64).filter(|_| task < tasks) else {
            return Err(format!("task {task} was taken, which nobody pushed"));
        };
        let bit = 1 << (task % 64);
        if *word & bit != 0 {
            again += 1;
            twice.get_or_insert(task);
        }
        *word |= bit;
    }
    let lost: Vec<usize> = (0..tasks).filter(|task| bitmap[task / 64] & (1 << (task % 64)) == 0).collect();
    match (lost.first(), twice) {
        (Some(first), _) => Err(format!("{} of {tasks} tasks were lost, task {first} the first", lost.len())),
        (None, Some(first)) if queue.delivery == Delivery::ExactlyOnce => {
            Err(format!("{again} of {tasks} tasks were taken again, task {first} the first"))
        }
        _ => Ok(again),
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use filch_queue::{ChaseLev, Locked};

    use super::*;

    /// The queue `Q` with an owner that loses one task, or pushes one twice.
    struct Broken<Q, const LOSES: bool>(PhantomData<fn() -> Q>);

    struct BrokenOwner<O, const LOSES: bool>(O);

    // SAFETY: only stress tests use it, and their tasks are numbers.
    unsafe impl<Q: Queue, const LOSES: bool> Queue for Broken<Q, LOSES> {
        type Owner = BrokenOwner<Q::Owner, LOSES>;
        type Thief = Q::Thief;
        type Params = Q::Params;

        const PROMISES: Promises = Q::PROMISES;
        const WITHDRAWS: bool = Q::WITHDRAWS;

        fn make(capacity: usize, thieves: usize, params: &Q::Params) -> (Self::Owner, Vec<Q::Thief>) {
            let (owner, thieves) = Q::make(capacity, thieves, params);
            (BrokenOwner(owner), thieves)
        }
    }

    impl<O: Owner<Task>, const LOSES: bool> Owner<Task> for BrokenOwner<O, LOSES> {
        fn push(&mut self, task: Task) -> std::result::Result<(), Full<Task>> {
            match number(task) {
                500 if LOSES => Ok(()),
                500 => self.0.push(task).and_then(|()| self.0.push(task)),
                _ => self.0.push(task),
            }
        }

        fn pop(&mut self) -> Option<Task> {
            self.0.pop()
        }

        fn len_hint(&self) -> usize {
            self.0.len_hint()
        }
    }

    const SCRIPT: Script = Script { seed: 1, threads: 3, tasks: 2000 };

    #[test]
    fn losses_and_duplicates_are_found() {
        for seed in 1..20 {
            let script = Script { seed, ..SCRIPT };
            assert_eq!(round::<Locked>(script, &()).map(|round| round.again), Ok(0));
            let lost = round::<Broken<Locked, true>>(script, &()).map(|_| ());
            assert_eq!(lost, Err("1 of 2000 tasks were lost, task 500 the first".to_owned()));
            let doubled = round::<Broken<ChaseLev, false>>(script, &()).map(|_| ());
            assert_eq!(doubled, Err("1 of 2000 tasks were taken again, task 500 the first".to_owned()));
        }
    }

    #[test]
    fn an_owner_alone_takes_everything_back() {
        let round = round::<ChaseLev>(Script { threads: 1, ..SCRIPT }, &()).expect("no task is lost");
        assert_eq!((round.popped, round.stolen, round.kept), (2000, 0, 0));
    }

    #[test]
    fn a_task_that_may_be_taken_again_must_still_be_taken() {
        let promises = Promises { delivery: Delivery::AtLeastOnce, ..<Locked as Queue>::PROMISES };
        assert_eq!(judge(3, &promises, [0, 2, 1, 2].into_iter()), Ok(1));
        assert_eq!(judge(3, &promises, [0, 2, 2].into_iter()), Err("1 of 3 tasks were lost, task 1 the first".into()));
        assert!(judge(3, &promises, [0, 1, 2, 3].into_iter()).is_err());
    }

    #[test]
    fn a_panic_is_reported() {
        let outcome = watched(|| panic!("something is wrong")).map(|_| ());
        assert_eq!(outcome, Err("a thread panicked: something is wrong".to_owned()));
    }
}
