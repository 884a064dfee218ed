//! Every mutant is found, every twin without its mistake passes, and the machine reproduces the stored histories.
//!
//! `FILCH_BLESS=1` searches for the shortest histories again and stores them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use filch_check::scenarios::queues::{Client, program};
use filch_check::sites::{Kind, Slip, Weakening};
use filch_check::tso::{Bounds, Schedule, Tso, Verdict, explore, replay, shortest};
use filch_check::twins::{Mutant, mutants, one_exposed, wsq};
use filch_check::{Program, Setting, c11, scenarios, weaken};
use filch_memory::Ordering;
use filch_queue::Queue;

#[test]
fn every_mutant_is_killed() {
    let killed = |mutant: &Mutant| {
        let explored = explore(&|| mutant.program(), &mutant.mistaken_bounds(), &mut |_| ());
        let (name, client, executions) = (mutant.name(), &mutant.client, explored.executions);
        println!("{name:<45} {client:<20} {:?} {executions:>8}", mutant.processor);
        match explored.verdict {
            Verdict::Failed(failure) if failure.wrong.harm == mutant.harm => true,
            other => {
                println!("  {other:?}");
                false
            }
        }
    };
    let alive: Vec<_> = mutants().iter().filter(|mutant| !killed(mutant)).map(Mutant::name).collect();
    assert!(alive.is_empty(), "the checker does not find {alive:?}");
}

/// Unless `FILCH_LONG` is set, the two largest stop before they have explored all executions.
#[test]
fn every_control_passes() {
    let executions = if std::env::var_os("FILCH_LONG").is_some() { u64::MAX } else { 50_000 };
    let (mut seen, mut stopped) = (BTreeSet::new(), 0);
    for mutant in mutants() {
        let control = mutant.control_name();
        if seen.insert(control.clone()) {
            let bounds = Bounds { executions, ..mutant.bounds() };
            stopped += usize::from(!passes_so_far(&|| mutant.control(), &bounds, &control));
        }
    }
    assert!(stopped <= 2, "{stopped} have more than {executions} executions");
}

/// Fences matter only with store buffers: without buffers, a missing fence does no harm.
#[test]
fn fences_are_not_missed_without_store_buffers() {
    let fences: Vec<Mutant> = mutants().into_iter().filter(|mutant| mutant.mistake.starts_with("no-fence")).collect();
    assert!(!fences.is_empty());
    for mutant in fences {
        passes(&|| mutant.program(), &Bounds { slip: mutant.slip, ..Bounds::buffer(0) }, &mutant.name());
    }
}

/// Updates drain the store buffer whatever their ordering, so only another machine can tell. With a relaxed decrement,
/// as in the job system WSQ, the end of a part orders nothing.
#[test]
fn a_relaxed_decrement_is_missed_on_tso_and_found_on_c11() {
    let mut jobs = weaken::of("jobs", &scenarios::all());
    jobs.retain(|scenario| scenario.name == "two children");
    let setting = Setting::default();
    let mut weakenings =
        weaken::weakenings(&jobs, setting, &Bounds::buffer(0)).into_iter().map(|(weakening, _)| weakening);
    let decrement =
        |weakening: &Weakening| weakening.site.kind == Kind::Update && weakening.site.order == Ordering::AcqRel;
    let relaxed = Weakening { to: Some(Ordering::Relaxed), ..weakenings.find(decrement).expect("the end of a part") };
    for buffer in 0..3 {
        let bounds = Bounds { weakening: Some(relaxed.clone()), ..Bounds::buffer(buffer) };
        passes(&|| (jobs[0].tso)(setting), &bounds, "a relaxed decrement");
    }
    let make = jobs[0].c11.as_ref().expect("loom takes it");
    let bounds = c11::Bounds { weakening: Some(relaxed), ..c11::Bounds::default() };
    match c11::explore(make, setting, &bounds, &mut |_| ()).verdict {
        c11::Verdict::Failed(message) => assert!(message.contains("Causality violation"), "{message}"),
        other => panic!("{other:?}"),
    }
}

/// The fence-free queues, with and without their mistakes, for values of δ other than those of the mutants.
#[cfg(target_arch = "x86_64")]
mod fence_free {
    use filch_queue::fence_free::Delta;
    use filch_queue::{FfCl, FfThe, Thep};

    use super::*;

    fn delta(tasks: usize) -> Delta {
        // SAFETY: it runs only on the machine.
        unsafe { Delta::new(tasks) }
    }

    /// Returns a mistake of a queue, as its mutants make it.
    fn slip(queue: &str, mistake: &str) -> Option<Slip> {
        let all = mutants();
        let mutant = all.iter().find(|mutant| mutant.subject == queue && mutant.mistake.starts_with(mistake));
        let slip = mutant.expect("there is such a mutant").slip;
        assert!(slip.is_some(), "{mistake} is made in the source of {queue}");
        slip
    }

    /// Half of an odd number, rounded up, leaves room for the extra pop that loading H before storing T hides.
    #[test]
    fn rounding_hides_an_early_load_of_head() {
        for buffer in [1, 3, 5] {
            let (delta, count) = (delta(buffer / 2 + 1), buffer / 2 + 3);
            for (pops, steals) in [(count - 1, 2), (count, 1)] {
                let client = Client::new(count, count, &"-".repeat(pops), &[steals]).of_twin();
                let bounds = |queue| Bounds { slip: slip(queue, "head-first"), ..Bounds::buffer(buffer) };
                passes(&|| program::<Tso, FfThe>(&client, &delta), &bounds("ff-the"), "ff-the, head first");
                passes(&|| program::<Tso, FfCl>(&client, &delta), &bounds("ff-cl"), "ff-cl, head first");
                passes(&|| program::<Tso, Thep<0>>(&client, &delta), &bounds("thep-impatient"), "thep, head first");
            }
        }
    }

    /// Without pads, δ helps only where it leaves no task to steal, or in FF-CL only the one task that is never taken
    /// without a swap.
    #[test]
    fn without_pads_only_a_useless_delta_is_enough() {
        let client = Client::new(4, 4, "----", &[2]).of_twin();
        for buffer in 1..=3 {
            let bounds = |queue| Bounds { slip: slip(queue, "no-pad"), ..Bounds::buffer(buffer).coalescing() };
            let (the, cl) = (bounds("ff-the"), bounds("ff-cl"));
            passes(&|| program::<Tso, FfThe>(&client, &delta(4)), &the, "ff-the without pads");
            passes(&|| program::<Tso, FfCl>(&client, &delta(3)), &cl, "ff-cl without pads");
            for less in 0..4 {
                fails(&|| program::<Tso, FfThe>(&client, &delta(less)), &the);
            }
            for less in 0..3 {
                fails(&|| program::<Tso, FfCl>(&client, &delta(less)), &cl);
            }
        }
    }
}

/// The twins live up to their names: without a mistake they pass larger clients than those of their mutants.
#[test]
fn twins_pass_larger_clients() {
    fn pass<Q: Queue<Tso, Params: Default>>(bounds: &Bounds) {
        let clients = [
            Client::new(2, 0, "++--+-", &[2]),
            Client::new(2, 1, "+-+--", &[1, 1]),
            Client::new(4, 4, "---", &[3]),
            Client::new(2, 2, ".-+.-", &[3]),
        ];
        for client in clients.map(Client::of_twin) {
            let what = format!("{} {client}", Q::PROMISES.name);
            passes(&|| program::<Tso, Q>(&client, &Q::Params::default()), bounds, &what);
        }
    }
    for bounds in [Bounds::buffer(2), Bounds::buffer(3), Bounds::buffer(1).coalescing()] {
        pass::<one_exposed::OneExposed>(&bounds);
        pass::<wsq::Wsq>(&bounds);
    }
}

fn fails(program: &dyn Fn() -> Program, bounds: &Bounds) {
    let verdict = explore(program, bounds, &mut |_| ()).verdict;
    assert!(matches!(verdict, Verdict::Failed(_)), "{:?}: {verdict:?}", bounds.processor);
}

fn passes(program: &dyn Fn() -> Program, bounds: &Bounds, what: &str) {
    assert!(passes_so_far(program, bounds, what), "{what} stops early");
}

/// Returns whether all executions are explored.
fn passes_so_far(program: &dyn Fn() -> Program, bounds: &Bounds, what: &str) -> bool {
    let start = std::time::Instant::now();
    let explored = explore(program, bounds, &mut |_| ());
    let machine = bounds.processor;
    println!("{what:<45} {machine:?} {:>8} {:.2} s", explored.executions, start.elapsed().as_secs_f64());
    match explored.verdict {
        Verdict::Passed => true,
        Verdict::Stopped => false,
        failed @ Verdict::Failed(_) => panic!("{what} {machine:?}: {failed:?}"),
    }
}

fn file_of(mutant: &Mutant) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("traces").join(mutant.name() + ".txt")
}

/// Returns the trace of a mutant under a schedule, as it is stored.
fn trace(mutant: &Mutant, schedule: &Schedule) -> Result<String, String> {
    let history = replay(&|| mutant.program(), mutant.processor, schedule, mutant.slip)?;
    let failure = history.failure().ok_or("nothing goes wrong")?;
    if failure.harm != mutant.harm {
        return Err(format!("another thing goes wrong: {failure}"));
    }
    Ok(format!("{mutant}replay: {schedule}\n\n{history:#}"))
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "an assertion that loads is a step of a history")]
fn the_stored_histories_are_what_happens() {
    let bless = std::env::var_os("FILCH_BLESS").is_some_and(|value| value == "1");
    let mut names = BTreeSet::new();
    for mutant in mutants() {
        let path = file_of(&mutant);
        assert!(names.insert(path.clone()), "two mutants are called {}", mutant.name());
        if bless {
            // A stored execution that still fails is told again; if there is none, the shortest one is searched for.
            let stored = std::fs::read_to_string(&path).ok();
            let schedule = stored.as_ref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("replay: ")));
            let again = schedule.and_then(|schedule| trace(&mutant, &schedule.parse().ok()?).ok());
            let text = again.unwrap_or_else(|| {
                let failure = shortest(&|| mutant.program(), &mutant.mistaken_bounds(), Duration::from_secs(60))
                    .expect("it fails");
                trace(&mutant, &failure.schedule).unwrap_or_else(|wrong| panic!("{}: {wrong}", mutant.name()))
            });
            std::fs::write(&path, text).expect("the folder is there");
            continue;
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_else(|error| {
            panic!("{}: {error}; FILCH_BLESS=1 writes what is missing", path.display());
        });
        let schedule = stored.lines().find_map(|line| line.strip_prefix("replay: ")).expect("a line with a schedule");
        let schedule = schedule.parse().unwrap_or_else(|wrong| panic!("{}: {wrong}", path.display()));
        match trace(&mutant, &schedule) {
            Ok(now) => assert_eq!(stored, now, "{} is out of date: FILCH_BLESS=1 renews it", path.display()),
            Err(wrong) => panic!("{}: {wrong}; FILCH_BLESS=1 looks again", path.display()),
        }
    }
    if cfg!(not(target_arch = "x86_64")) {
        // The fence-free queues do not exist here.
        return;
    }
    for file in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("traces")).expect("the folder is there") {
        let path = file.expect("it can be read").path();
        assert!(
            path.extension().is_none_or(|end| end != "txt") || names.contains(&path),
            "{} is no mutant's",
            path.display()
        );
    }
}
