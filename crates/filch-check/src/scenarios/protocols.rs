//! The scenarios of filch's own protocols.

use std::sync::Arc;

use filch::inside::protocol::grain;
use filch_queue::lace::Moves;

use super::cost::Cost::{self, Full, FullTso, Quick, QuickTso};
use super::cost::{TOO_LARGE, scenario};
use super::guest::Own;
use super::runtime::Unfenced;
use super::{guest, lineage, log, order, passing, private_stack, rounds, runtime, seize, stacks, wool};
use crate::Program;
use crate::c11::Loom;
use crate::scenario::{Dependence, Scenario};
use crate::tso::Tso;

pub(super) fn scenarios() -> Vec<Scenario> {
    [runtime(), direct_stack(), private_stack::scenarios(), orders(), jobs(), rounds(), logs()]
        .into_iter()
        .flatten()
        .collect()
}

/// A program of filch's own protocols, on both memories.
macro_rules! protocol {
    ($subject:literal, $name:literal, $cost:expr, $program:ident $arguments:tt) => {
        scenario(
            $subject,
            $name,
            $cost,
            || protocol!(@ Tso, $program $arguments),
            || protocol!(@ Loom, $program $arguments),
        )
    };
    (@ $memory:ty, $program:ident ($($argument:expr),*)) => {
        runtime::$program::<$memory>($($argument),*)
    };
}

/// A scenario for TSO alone, in which a thread that saw nobody in a place wakes it.
fn sleeping(
    subject: &'static str,
    name: impl Into<String>,
    cost: Cost,
    make: impl Fn() -> Program + Send + Sync + 'static,
) -> Scenario {
    Scenario {
        subject,
        name: name.into(),
        is_quick_on_tso: cost.is_quick_on_tso(),
        is_quick_on_c11: false,
        delta: Dependence::None,
        tso: Arc::new(move |_| make()),
        c11: Err("loom has a swap overlook a store that a pair of fences orders before it"),
    }
}

/// `jobs` jobs posted to one worker.
fn posted(jobs: usize) -> Scenario {
    sleeping("runtime", format!("{jobs} jobs posted to a sleeper"), QuickTso, move || runtime::posted::<Tso>(jobs))
}

/// A push without a fence to a queue that held `before` tasks.
fn unfenced(name: &'static str, before: usize, known: Unfenced) -> Scenario {
    sleeping("runtime", name, QuickTso, move || runtime::push_unfenced::<Tso>(before, known))
}

/// `guests` guests in the seat of a worker to which a job is posted.
fn guest(guests: usize, waits: bool, begins: Own, cost: Cost) -> Scenario {
    let whose = match begins {
        Own::Awake => "a sleeper",
        Own::Asleep => "a thread that begins asleep",
        Own::Late => "a thread that begins when it is woken",
    };
    let name = format!("{guests} in the seat of {whose}, {}", if waits { "where each waits" } else { "and a job" });
    scenario(
        "guest",
        name,
        cost,
        move || guest::program::<Tso>(guests, waits, begins),
        move || guest::program::<Loom>(guests, waits, begins),
    )
}

/// A thief shares tasks on the owner's behalf.
fn seize(acts: &'static str, thieves: &'static [usize], grain: grain::Params, cost: Cost) -> Scenario {
    seize_by((Moves::Updates, grain), acts, thieves, cost)
}

/// Like [`seize`], for owners that move the split point as `moves` says.
fn seize_by(
    how @ (moves, grain): (Moves, grain::Params),
    acts: &'static str,
    thieves: &'static [usize],
    cost: Cost,
) -> Scenario {
    let none = seize::Mistake::None;
    let halves = if moves == Moves::HalfStores { " by half stores" } else { "" };
    let kind = if grain == runtime::FICKLE { " fickle" } else { "" };
    scenario(
        "seize",
        format!("{acts} {thieves:?}{kind}{halves}"),
        cost,
        move || seize::program::<Tso>(acts, thieves, how, none),
        move || seize::program::<Loom>(acts, thieves, how, none),
    )
}

/// `workers` workers search for as many pieces of work, and sleep; the last gives its processor away before, or not.
fn search(workers: usize, gives_way: bool, cost: Cost) -> Scenario {
    let before = if gives_way { ", one of which gives way" } else { "" };
    let name = format!("{workers} searching for {workers} pieces of work{before}");
    let tso = sleeping("runtime", name, cost, move || runtime::pieces::<Tso>(workers, gives_way));
    if workers > 2 || gives_way {
        return Scenario { c11: Err(TOO_LARGE), ..tso };
    }
    Scenario { c11: Ok(Arc::new(move |_| runtime::pieces::<Loom>(workers, gives_way))), ..tso }
}

/// Heartbeat's clock, for `beats` beats.
fn beat(beats: usize, cost: Cost) -> Scenario {
    let name = format!("{beats} beats and a clock that rests");
    sleeping("beat", name, cost, move || runtime::beat::<Tso>(beats))
}

/// The clock of interrupts, after a thief has wanted `in_vain` ticks in vain.
fn ticks(in_vain: usize, cost: Cost) -> Scenario {
    let name = format!("a request after {in_vain} ticks wanted in vain");
    sleeping("ticks", name, cost, move || runtime::ticks::<Tso>(in_vain))
}

/// Fork, join, sleep and shutdown.
fn runtime() -> Vec<Scenario> {
    use runtime::Others::{GiveBack, Live, Try};
    use runtime::Waiting::{Leaps, Sleeps};
    use runtime::{AS_PRINTED, COARSE, FICKLE};

    const FINE: grain::Params = grain::Params::FINE;
    // The x86 version in Lace's paper.
    const HALVES: (Moves, grain::Params) = (Moves::HalfStores, FINE);

    const CHILD: &[&[usize]] = &[&[1], &[]];
    const CHILDREN: &[&[usize]] = &[&[1, 2], &[], &[]];
    const GRANDCHILD: &[&[usize]] = &[&[1], &[2], &[]];
    const THREE: &[&[usize]] = &[&[1, 2, 3], &[], &[], &[]];
    vec![
        protocol!("runtime", "one task, one steal", Quick, fork_join(CHILD, 2, Sleeps, Try(1), FINE)),
        protocol!("runtime", "one task, given back", Quick, fork_join(CHILD, 2, Sleeps, GiveBack, FINE)),
        protocol!("runtime", "two tasks, two steals", Quick, fork_join(CHILDREN, 2, Sleeps, Try(2), FINE)),
        protocol!("runtime", "two tasks, two thieves", QuickTso, fork_join(CHILDREN, 3, Leaps(1), Try(1), FINE)),
        protocol!("runtime", "two tasks, two thieves, sleep", FullTso, fork_join(CHILDREN, 3, Sleeps, Try(1), FINE)),
        protocol!("runtime", "a task in a task, leapfrog", QuickTso, fork_join(GRANDCHILD, 2, Leaps(2), Try(1), FINE)),
        protocol!("runtime", "three tasks, three steals", FullTso, fork_join(THREE, 2, Sleeps, Try(3), FINE)),
        protocol!("runtime", "the next fork wakes", Quick, wake_up("", None, 0, FINE)),
        protocol!("runtime", "a request during a fork", Quick, wake_up("+", None, 0, FINE)),
        protocol!("runtime", "a request during two forks", QuickTso, wake_up("++", None, 0, FINE)),
        protocol!("runtime", "a request during a fork and a join", QuickTso, wake_up("+-", Some(1), 0, FINE)),
        protocol!("runtime", "one task as printed, one steal", Quick, fork_join(CHILD, 2, Sleeps, Try(1), AS_PRINTED)),
        protocol!(
            "runtime",
            "two tasks as printed, two steals",
            Quick,
            fork_join(CHILDREN, 2, Sleeps, Try(2), AS_PRINTED)
        ),
        protocol!(
            "runtime",
            "two tasks as printed, two thieves",
            QuickTso,
            fork_join(CHILDREN, 3, Leaps(1), Try(1), AS_PRINTED)
        ),
        protocol!(
            "runtime",
            "a task in a task as printed, leapfrog",
            QuickTso,
            fork_join(GRANDCHILD, 2, Leaps(2), Try(1), AS_PRINTED)
        ),
        protocol!(
            "runtime",
            "three tasks as printed, three steals",
            FullTso,
            fork_join(THREE, 2, Sleeps, Try(3), AS_PRINTED)
        ),
        protocol!(
            "runtime",
            "a pool's life with one task as printed",
            FullTso,
            fork_join(CHILD, 2, Sleeps, Live(0), AS_PRINTED)
        ),
        protocol!("runtime", "the next fork as printed wakes", Quick, wake_up("", None, 0, AS_PRINTED)),
        protocol!("runtime", "a request during a fork as printed", Quick, wake_up("+", None, 0, AS_PRINTED)),
        protocol!("runtime", "a request during two forks as printed", QuickTso, wake_up("++", None, 0, AS_PRINTED)),
        protocol!(
            "runtime",
            "a request during a fork and a join as printed",
            QuickTso,
            wake_up("+-", Some(1), 0, AS_PRINTED)
        ),
        protocol!("runtime", "one coarse task, one steal", Quick, fork_join(CHILD, 2, Sleeps, Try(1), COARSE)),
        protocol!("runtime", "two coarse tasks, two steals", QuickTso, fork_join(CHILDREN, 2, Sleeps, Try(2), COARSE)),
        protocol!(
            "runtime",
            "two tasks become fine, two steals",
            QuickTso,
            fork_join(CHILDREN, 2, Sleeps, Try(2), FICKLE)
        ),
        protocol!("runtime", "a coarse task in a task", QuickTso, fork_join(GRANDCHILD, 2, Leaps(2), Try(1), COARSE)),
        protocol!("runtime", "three tasks become fine", FullTso, fork_join(THREE, 2, Sleeps, Try(2), FICKLE)),
        protocol!(
            "runtime",
            "two coarse tasks, two thieves",
            FullTso,
            fork_join(CHILDREN, 3, Leaps(1), Try(1), COARSE)
        ),
        protocol!("runtime", "the next coarse fork wakes", Quick, wake_up("", None, 0, COARSE)),
        protocol!("runtime", "a sleeper during a coarse fork", Quick, wake_up("+", None, 0, COARSE)),
        protocol!("runtime", "a sleeper that was awake during a coarse fork", QuickTso, wake_up("+", None, 1, COARSE)),
        protocol!("runtime", "a sleeper while tasks become fine", FullTso, wake_up("+-+-", None, 0, FICKLE)),
        protocol!("runtime", "a request when tasks have become fine", QuickTso, wake_up("+-+-", Some(1), 0, FICKLE)),
        protocol!(
            "runtime",
            "a request during a fork when tasks have become fine",
            Full,
            wake_up("+-+-+", Some(1), 0, FICKLE)
        ),
        protocol!("runtime", "a pool's life without work", Quick, fork_join(&[&[]], 2, Sleeps, Live(0), FINE)),
        protocol!(
            "runtime",
            "a pool's life without work, awake first",
            Quick,
            fork_join(&[&[]], 2, Sleeps, Live(1), FINE)
        ),
        protocol!("runtime", "a pool's life with one task", FullTso, fork_join(CHILD, 2, Sleeps, Live(0), FINE)),
        protocol!("runtime", "a job posted to a sleeper", Quick, posted(1)),
        posted(2),
        sleeping("runtime", "a job posted to a joiner", QuickTso, runtime::posted_to_a_joiner::<Tso>),
        protocol!("runtime", "a worker waits for one thing", Quick, latch(1)),
        protocol!("runtime", "a worker waits for two things", QuickTso, latch(2)),
        protocol!("runtime", "a thread waits for one thing", Quick, event(1)),
        protocol!("runtime", "a thread waits for two things", Quick, event(2)),
        unfenced("a push without a fence", 0, Unfenced::Always),
        unfenced("a push without a fence, one taken", 1, Unfenced::Always),
        unfenced("a push without a fence after one with it", 0, Unfenced::Told { takes_back: false }),
        unfenced("a push without a fence after one with it, and no more", 0, Unfenced::Told { takes_back: true }),
        search(1, false, QuickTso),
        search(2, false, QuickTso),
        search(2, true, QuickTso),
        search(3, false, Full),
        search(3, true, FullTso),
        guest(1, false, Own::Awake, QuickTso),
        guest(2, false, Own::Awake, Full),
        guest(1, true, Own::Awake, QuickTso),
        guest(2, true, Own::Awake, FullTso),
        guest(0, false, Own::Asleep, Quick),
        guest(1, false, Own::Asleep, QuickTso),
        guest(1, true, Own::Asleep, QuickTso),
        guest(0, false, Own::Late, Quick),
        guest(1, false, Own::Late, QuickTso),
        guest(1, true, Own::Late, QuickTso),
        seize("++|-", &[2], FINE, Quick),
        seize("++|--", &[2], FINE, QuickTso),
        seize("+++|--", &[2], FINE, QuickTso),
        seize("++|-+-", &[2], FINE, QuickTso),
        seize("+|+-", &[2], FINE, Quick),
        seize("+|++-", &[2], FINE, Quick),
        seize("+++|---", &[3], FINE, Full),
        seize("+++|--+--", &[3], FINE, FullTso),
        seize("++|--", &[2, 1], FINE, FullTso),
        seize("+++|-+-", &[2, 2], FINE, FullTso),
        seize("++--++|--", &[3], runtime::FICKLE, FullTso),
        seize_by(HALVES, "++|-", &[2], Quick),
        seize_by(HALVES, "++|--", &[2], QuickTso),
        seize_by(HALVES, "+++|--", &[2], QuickTso),
        seize_by(HALVES, "++|-+-", &[2], QuickTso),
        seize_by(HALVES, "+++|---", &[3], Full),
        seize_by(HALVES, "+++|-+-", &[2, 2], FullTso),
        kept(0, QuickTso),
        kept(1, QuickTso),
        kept(2, Full),
        beat(1, QuickTso),
        beat(2, Full),
        ticks(0, QuickTso),
        ticks(1, Full),
        protocol!("termination", "one look", Quick, termination(1)),
        protocol!("termination", "three looks", QuickTso, termination(3)),
        protocol!("termination", "transfers, one look", Quick, transfers(1, false)),
        protocol!("termination", "transfers, three looks", QuickTso, transfers(3, false)),
        protocol!("termination", "transfers, one in vain, two looks", Quick, transfers(2, true)),
        protocol!("termination", "all at home, one look", Quick, all_home(1)),
        protocol!("termination", "all at home, three looks", QuickTso, all_home(3)),
    ]
}

/// A thief keeps a job for itself and `others` more thieves while the owner waits.
fn kept(others: usize, cost: Cost) -> Scenario {
    let none = passing::Mistake::None;
    sleeping("runtime", format!("a job that is kept, and {others} who come for it"), cost, move || {
        passing::kept::<Tso>(others, none)
    })
}

/// Jobs with parents, in places that are reused.
fn jobs() -> Vec<Scenario> {
    use lineage::Finishing::{Asking, ByUpdates, OneByOne, Together};

    type Make = (fn() -> Program, fn() -> Program);
    let row = |name: &str, cost: Cost, (tso, c11): Make| scenario("jobs", name, cost, tso, c11);
    macro_rules! both {
        ($program:ident ($($argument:expr),*)) => {
            (|| lineage::$program::<Tso>($($argument),*), || lineage::$program::<Loom>($($argument),*))
        };
    }
    vec![
        row("two children", Quick, both!(family(OneByOne, None))),
        row("two children, each part by an update", Quick, both!(family(ByUpdates, None))),
        row("two children, a look at them", Quick, both!(family(Asking, None))),
        row("two children, two parts together", Quick, both!(family(Together, None))),
        row("two children, one look at their parent", Quick, both!(family(Together, Some(1)))),
        row("two children, three looks at their parent", FullTso, both!(family(OneByOne, Some(3)))),
        row("one child after the other", QuickTso, both!(one_after_the_other())),
        row("a place used again", Quick, both!(reuse(1))),
        row("a place used again, three looks", QuickTso, both!(reuse(3))),
    ]
}

/// Threads that take part in repeated rounds.
fn rounds() -> Vec<Scenario> {
    let row = |threads: usize, rounds: u32, is_told: bool, cost| {
        scenario(
            "rounds",
            format!("{threads} threads for {rounds} rounds{}", if is_told { " and the end" } else { "" }),
            cost,
            move || rounds::program::<Tso>(threads, rounds, is_told),
            move || rounds::program::<Loom>(threads, rounds, is_told),
        )
    };
    vec![
        row(1, 1, true, Quick),
        row(1, 2, true, Quick),
        row(2, 1, false, Quick),
        row(2, 1, true, Full),
        row(2, 2, false, FullTso),
    ]
}

/// A worker that notes what it does, and another thread that records it.
fn logs() -> Vec<Scenario> {
    let row = |notes: u64, pieces: usize, recordings: u32, cost| {
        scenario(
            "log",
            format!("{notes} notes, {recordings} recordings, room for {}", 2 * pieces),
            cost,
            move || log::program::<Tso>(notes, pieces, recordings),
            move || log::program::<Loom>(notes, pieces, recordings),
        )
    };
    vec![row(1, 1, 1, Quick), row(2, 1, 2, Quick), row(3, 2, 1, Quick), row(3, 1, 2, Quick), row(4, 1, 3, FullTso)]
}

/// Forks and spawned jobs in one order.
fn orders() -> Vec<Scenario> {
    // The owner's acts, who waits for whom, how many tasks each thief takes, the cost.
    type Row = (&'static str, &'static [(usize, usize)], &'static [usize], Cost);
    const ROWS: &[Row] = &[
        // The thief takes the job first, or the fork first.
        ("s+0-", &[(1, 0)], &[1], QuickTso),
        ("+s0-", &[(1, 0)], &[1], QuickTso),
        ("s++0--", &[(1, 0), (2, 0)], &[1], QuickTso),
        ("+s+0--", &[(1, 0), (2, 0)], &[1], FullTso),
        // The owner runs the job before it joins the fork.
        ("+s-", &[(0, 1)], &[1], Full),
        ("++s--", &[(1, 2)], &[], QuickTso),
        // If a thief has ended that fork, the job is older than the next.
        ("+se-|+1-", &[(2, 1)], &[1], QuickTso),
        // The owner yields, and runs forks before their joins.
        ("+|y-", &[], &[1], QuickTso),
        ("++|yy--", &[], &[1], FullTso),
        ("++|y+y---", &[], &[2], FullTso),
        // Two thieves see the same fork, or the same job: the second takes what is oldest then.
        ("+s+g|1--", &[(2, 1)], &[1, 1], QuickTso),
        ("s+sg|1-", &[(2, 1)], &[1, 1], QuickTso),
    ];
    let row = |&(acts, waits, thieves, cost): &Row| {
        scenario(
            "order",
            format!("{acts} {thieves:?}, waiting {waits:?}"),
            cost,
            move || order::program::<Tso>(acts, waits, thieves, order::Mistake::None),
            move || order::program::<Loom>(acts, waits, thieves, order::Mistake::None),
        )
    };
    ROWS.iter().map(row).collect()
}

/// Wool's direct task stack, with moving boundaries.
fn direct_stack() -> Vec<Scenario> {
    use filch::inside::protocol::wool::Params;
    use runtime::{COARSE, FICKLE};
    use stacks::Client;
    use wool::{program, wake_up};

    // The owner's acts, those above a stolen task, the thieves' steals, the chunk, the joins before privatising, the
    // cost.
    type Row = (&'static str, &'static str, &'static [usize], u32, u32, Cost);
    const NEVER: u32 = u32::MAX;
    const ROWS: &[Row] = &[
        (".+|-", "", &[1], 4, NEVER, Quick),
        (".+|-", "", &[1, 1], 4, NEVER, Quick),
        (".++|--", "", &[1], 4, NEVER, Quick),
        (".+|-+-", "", &[1], 4, NEVER, Quick),
        (".+|-", "+-", &[2], 4, NEVER, Quick),
        ("+.-", "", &[1], 1, NEVER, Quick),
        ("++|.-", "", &[2], 1, 1, Quick),
        (".+|-.+-", "", &[1], 1, 1, Quick),
        (".++--", "", &[2], 4, NEVER, Full),
        (".++|--++--", "", &[2], 4, NEVER, QuickTso),
        (".++|--", "", &[1, 1], 4, NEVER, QuickTso),
        (".++|--", "+.+--", &[3], 4, NEVER, QuickTso),
        (".+|-", "+-", &[1, 1], 4, NEVER, QuickTso),
        (".+|-", "++--", &[2, 1], 4, NEVER, FullTso),
        ("+++|.-.--", "", &[3], 1, 1, QuickTso),
        (".+++-+.-+--", "", &[2], 2, 1, QuickTso),
        ("++|.-+.--+.+-", "+.-", &[2], 1, 1, FullTso),
        ("++|.-+.--+-", "", &[1, 1], 2, 2, FullTso),
        (".++s|--++", "", &[1, 2], 4, NEVER, Full),
        (".+++-+--+-", "+-", &[3], 4, NEVER, FullTso),
        (".++--++--", "+-", &[2, 2], 4, NEVER, FullTso),
        ("+.++.-+.--+.+--", "+.-", &[4], 2, 1, FullTso),
        ("++.+-.+--.+-", "+-", &[2, 2], 1, 1, FullTso),
    ];
    let told = |Params { chunk, privatise_after }: Params| match privatise_after {
        NEVER => format!("k{chunk}"),
        often => format!("k{chunk} p{often}"),
    };
    let stack = |&(owner, above, thieves, chunk, privatise_after, cost): &Row| {
        let (client, params) = (Client { owner, above, thieves }, Params { chunk, privatise_after });
        scenario(
            "wool",
            format!("{client} {}", told(params)),
            cost,
            move || program::<Tso>(&client, &params),
            move || program::<Loom>(&client, &params),
        )
    };
    // What the owner does before it checks for the sleeper.
    const FINE: grain::Params = grain::Params::FINE;
    const SLEEPS: &[(&str, u32, u32, grain::Params, &str, Cost)] = &[
        ("", 4, NEVER, FINE, "", Quick),
        ("+", 4, NEVER, FINE, "", Quick),
        ("+-", 1, NEVER, FINE, "", FullTso),
        ("+-", 4, 1, FINE, "", FullTso),
        ("++", 1, NEVER, FINE, "", QuickTso),
        ("++-", 1, 1, FINE, "", FullTso),
        ("++--", 2, 1, FINE, "", FullTso),
        ("+-+-", 4, 1, FINE, "", FullTso),
        ("", 1, NEVER, COARSE, " coarse", Quick),
        ("++", 1, NEVER, COARSE, " coarse", QuickTso),
        ("+-+-", 1, NEVER, FICKLE, " fickle", FullTso),
        ("++--++", 1, NEVER, FICKLE, " fickle", FullTso),
    ];
    let sleep = |&(acts, chunk, privatise_after, grain, kind, cost): &(&'static str, u32, u32, _, &str, Cost)| {
        let params = Params { chunk, privatise_after };
        scenario(
            "wool",
            format!("a fork wakes {acts} {}{kind}", told(params)),
            cost,
            move || wake_up::<Tso>(acts, params, grain),
            move || wake_up::<Loom>(acts, params, grain),
        )
    };
    ROWS.iter().map(stack).chain(SLEEPS.iter().map(sleep)).collect()
}
