//! Every mutant is found, every twin without its mistake passes, and the stored histories are what the machine does.
//!
//! `FILCH_BLESS=1` looks for the shortest histories again and stores them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use filch_check::c11::{self, Loom};
use filch_check::scenarios::queues::{self, Client};
use filch_check::tso::{Bounds, Schedule, Tso, Verdict, explore, replay, shortest};
use filch_check::twins::{Mutant, chase_lev, ff_cl, ff_the, lace, lineage, mutants, the, thep};
use filch_check::{Make, Program, Setting};
use filch_queue::Queue;

#[test]
fn every_mutant_is_killed() {
    let killed = |mutant: &Mutant| {
        let explored = explore(&|| mutant.program(), &mutant.mistaken_bounds(), &mut |_| ());
        let (name, client, executions) = (mutant.name(), &mutant.client, explored.executions);
        println!("{name:<45} {client:<20} {:?} {executions:>8}", mutant.processor);
        match explored.verdict {
            Verdict::Failed(failure) if mutant.harm.is_told_by(&failure.message) => true,
            other => {
                println!("  {other:?}");
                false
            }
        }
    };
    let alive: Vec<_> = mutants().iter().filter(|mutant| !killed(mutant)).map(Mutant::name).collect();
    assert!(alive.is_empty(), "the checker does not find {alive:?}");
}

#[test]
fn every_control_passes() {
    let mut seen = BTreeSet::new();
    for mutant in mutants() {
        let control = mutant.control_name();
        if seen.insert(control.clone()) {
            passes(&|| mutant.control(), &mutant.bounds(), &control);
        }
    }
}

/// A fence is for store buffers only: without one, its absence does no harm.
#[test]
fn fences_are_not_missed_without_store_buffers() {
    let fences: Vec<Mutant> = mutants().into_iter().filter(|mutant| mutant.mistake.starts_with("no-fence")).collect();
    assert!(!fences.is_empty());
    for mutant in fences {
        passes(&|| mutant.program(), &Bounds { slip: mutant.slip, ..Bounds::buffer(0) }, &mutant.name());
    }
}

/// Updates drain the store buffer, whatever they order: it takes another machine to tell.
#[test]
fn a_relaxed_decrement_is_missed_on_tso_and_found_on_c11() {
    let on_c11 = |mistake| {
        let make: Make = Arc::new(move |_| lineage::program::<Loom>(mistake));
        c11::explore(&make, Setting::default(), &c11::Bounds::default(), &mut |_| ()).verdict
    };
    for buffer in 0..3 {
        let program = || lineage::program::<Tso>(lineage::Mistake::RelaxedDecrement);
        passes(&program, &Bounds::buffer(buffer), "a relaxed decrement");
    }
    match on_c11(lineage::Mistake::RelaxedDecrement) {
        c11::Verdict::Failed(message) => assert!(message.contains("Causality violation"), "{message}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(on_c11(lineage::Mistake::None), c11::Verdict::Passed);
}

/// Half of an odd number, rounded up, has room for the one pop more that a load of H before the store of T hides.
#[test]
fn rounding_hides_an_early_load_of_head() {
    for buffer in [1, 3, 5] {
        let (delta, count) = (buffer as i64 / 2 + 1, buffer / 2 + 3);
        for (pops, steals) in [(count - 1, 2), (count, 1)] {
            let client = Client::new(count, count, &"-".repeat(pops), &[steals]).of_twin();
            let bounds = Bounds::buffer(buffer);
            let the = (ff_the::Mistake::HeadFirst, delta);
            let cl = (ff_cl::Mistake::HeadFirst, delta);
            let thep = (thep::Mistake::HeadFirst, delta);
            passes(&|| queues::program::<Tso, ff_the::FfThe>(&client, &the), &bounds, "ff-the, head first");
            passes(&|| queues::program::<Tso, ff_cl::FfCl>(&client, &cl), &bounds, "ff-cl, head first");
            passes(&|| queues::program::<Tso, thep::Thep>(&client, &thep), &bounds, "thep, head first");
        }
    }
}

/// Without pads, δ helps only where it leaves nothing to take, or in FF-CL the one task that is never taken without a swap.
#[test]
fn without_pads_only_a_useless_delta_is_enough() {
    let client = Client::new(4, 4, "----", &[2]).of_twin();
    for buffer in 1..=3 {
        let bounds = Bounds::buffer(buffer).coalescing();
        let the = (ff_the::Mistake::NoPad, 4);
        let cl = (ff_cl::Mistake::NoPad, 3);
        passes(&|| queues::program::<Tso, ff_the::FfThe>(&client, &the), &bounds, "ff-the without pads");
        passes(&|| queues::program::<Tso, ff_cl::FfCl>(&client, &cl), &bounds, "ff-cl without pads");
        for delta in 0..4 {
            let the = (ff_the::Mistake::NoPad, delta);
            fails(&|| queues::program::<Tso, ff_the::FfThe>(&client, &the), &bounds);
        }
        for delta in 0..3 {
            let cl = (ff_cl::Mistake::NoPad, delta);
            fails(&|| queues::program::<Tso, ff_cl::FfCl>(&client, &cl), &bounds);
        }
    }
}

/// The twins are what they are named after: without a mistake they pass more than their mutants' clients.
#[test]
fn twins_pass_larger_clients() {
    fn pass<Q: Queue<Tso>>(params: &Q::Params, bounds: &Bounds) {
        let clients = [
            Client::new(2, 0, "++--+-", &[2]),
            Client::new(2, 1, "+-+--", &[1, 1]),
            Client::new(4, 4, "---", &[3]),
            Client::new(2, 2, ".-+.-", &[3]),
        ];
        for client in clients.map(Client::of_twin) {
            passes(&|| queues::program::<Tso, Q>(&client, params), bounds, &format!("{} {client}", Q::PROMISES.name));
        }
    }
    for bounds in [Bounds::buffer(2), Bounds::buffer(3), Bounds::buffer(1).coalescing()] {
        let delta = (bounds.processor.buffer as i64 + 1) / 2;
        pass::<chase_lev::ChaseLev>(&chase_lev::Mistake::None, &bounds);
        pass::<the::The>(&the::Mistake::None, &bounds);
        pass::<lace::Lace>(&lace::Mistake::None, &bounds);
        pass::<ff_the::FfThe>(&(ff_the::Mistake::None, delta), &bounds);
        pass::<ff_cl::FfCl>(&(ff_cl::Mistake::None, delta), &bounds);
        pass::<thep::Thep>(&(thep::Mistake::None, delta), &bounds);
    }
}

fn fails(program: &dyn Fn() -> Program, bounds: &Bounds) {
    let verdict = explore(program, bounds, &mut |_| ()).verdict;
    assert!(matches!(verdict, Verdict::Failed(_)), "{:?}: {verdict:?}", bounds.processor);
}

fn passes(program: &dyn Fn() -> Program, bounds: &Bounds, what: &str) {
    let start = std::time::Instant::now();
    let explored = explore(program, bounds, &mut |_| ());
    let machine = bounds.processor;
    println!("{what:<45} {machine:?} {:>8} {:.2} s", explored.executions, start.elapsed().as_secs_f64());
    assert!(matches!(explored.verdict, Verdict::Passed), "{what} {machine:?}: {:?}", explored.verdict);
}

fn file_of(mutant: &Mutant) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("traces").join(mutant.name() + ".txt")
}

/// The trace of a mutant under a schedule, as it is stored.
fn trace(mutant: &Mutant, schedule: &Schedule) -> Result<String, String> {
    let history = replay(&|| mutant.program(), mutant.processor, schedule, mutant.slip)?;
    let failure = history.failure().ok_or("nothing goes wrong")?;
    if !mutant.harm.is_told_by(failure) {
        return Err(format!("another thing goes wrong: {failure}"));
    }
    Ok(format!("{mutant}replay: {schedule}\n\n{history:#}"))
}

#[test]
fn the_stored_histories_are_what_happens() {
    let bless = std::env::var_os("FILCH_BLESS").is_some_and(|value| value == "1");
    let mut names = BTreeSet::new();
    for mutant in mutants() {
        let path = file_of(&mutant);
        assert!(names.insert(path.clone()), "two mutants are called {}", mutant.name());
        if bless {
            // A stored execution that still fails is told afresh; where there is none, the shortest is looked for.
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
    for file in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("traces")).expect("the folder is there") {
        let path = file.expect("it can be read").path();
        assert!(
            path.extension().is_none_or(|end| end != "txt") || names.contains(&path),
            "{} is no mutant's",
            path.display()
        );
    }
}
