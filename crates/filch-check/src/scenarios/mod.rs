//! The scenarios that every queue and every protocol must survive.

mod blocks;
pub mod guest;
pub mod lineage;
pub mod queues;
pub mod runtime;
pub mod seize;
mod several;
pub mod wool;

use std::sync::Arc;
use std::time::Duration;

#[cfg(target_arch = "x86_64")]
use filch::protocol::grain;
use filch_queue::Delta;
use filch_queue::chase_lev_asym::Fences;
use filch_queue::pdq::sender;
use filch_queue::{
    Abp, ChaseLev, ChaseLevAsym, IdempotentDeque, IdempotentFifo, IdempotentLifo, Lace, Locked, MemoryModel,
    OneExposed, PdqR, PdqR2, PdqS, Queue, StealMany, Task, The,
};

use self::queues::Client;
use crate::c11::Loom;
use crate::scenario::Dependence;
use crate::tso::Tso;
use crate::{Program, Scenario, Setting};

/// All scenarios, those of one queue or protocol together.
pub fn all() -> Vec<Scenario> {
    let mut all = Vec::new();
    all.extend(battery::<Locked>(
        &[("++--", &[2], 2, Quick), ("+-+-", &[1, 1], 1, Quick)],
        |row| client(row).in_turns(),
        (queues::program::<Tso, Locked>, queues::program::<Loom, Locked>),
        |_| (),
        |_| (),
    ));
    all.extend(queue::<The>(
        &[
            ("+|-", &[1], 2, Quick),
            ("++|-", &[1], 2, Quick),
            ("++--", &[2], 2, Quick),
            ("+-+-", &[2], 1, QuickTso),
            ("++-+--", &[2], 2, QuickTso),
            ("++|-+-", &[1, 1], 3, QuickTso),
            ("++-+--", &[3], 2, Full),
            ("+++-+--", &[3], 2, Full),
            ("+-++--", &[2, 1], 2, Full),
            ("+++-+--", &[2, 2], 3, FullTso),
        ],
        |_| (),
        |_| (),
    ));
    all.extend(queue::<ChaseLev>(
        &[
            ("+|-", &[1], 1, Quick),
            ("++|-", &[2], 2, Quick),
            ("+|+-", &[1], 1, Quick),
            ("++--", &[2], 2, Quick),
            ("+++", &[1], 2, Quick),
            ("++|--", &[1, 1], 2, QuickTso),
            ("+-+-", &[2], 1, QuickTso),
            ("+++---", &[2], 2, QuickTso),
            ("++|-+-", &[2, 1], 2, QuickTso),
            ("++-+--", &[3], 1, QuickTso),
            ("+++|--", &[2], 4, Full),
            ("+-++-+--+-", &[3], 2, FullTso),
            ("++-+--", &[2, 2], 1, Full),
            ("+++-+--+-", &[2, 2], 2, FullTso),
        ],
        |_| (),
        |_| (),
    ));
    all.extend(blocks::scenarios());
    all.extend(queue::<Lace>(
        &[
            ("++|-", &[1], 2, Quick),
            ("+|+-", &[1], 1, Quick),
            ("++--", &[2], 2, Quick),
            ("+--+", &[1], 1, Quick),
            ("++.", &[3], 2, Quick),
            ("++++++|.---", &[5], 8, QuickTso),
            ("++|--", &[1, 1], 2, QuickTso),
            ("+-+-", &[2], 1, QuickTso),
            ("+++.--", &[3], 4, QuickTso),
            ("+++-+-", &[3], 2, QuickTso),
            ("++|+-+-", &[2, 1], 4, QuickTso),
            ("++++----", &[4], 4, Full),
            ("+++-+--+-", &[2, 2], 4, FullTso),
            ("++++-+---", &[2, 2], 4, FullTso),
        ],
        |_| Default::default(),
        |_| Default::default(),
    ));
    all.extend(several::scenarios());
    all.extend(queue::<Abp>(
        &[
            ("+|-", &[1, 1], 1, Quick),
            ("++|-", &[2], 2, Quick),
            ("+|-+", &[1], 1, Quick),
            ("++--", &[2], 2, QuickTso),
            ("++|--", &[1, 1], 2, QuickTso),
            ("+-+-", &[2], 1, QuickTso),
            ("+++---", &[2], 2, QuickTso),
            ("++|-+-", &[2, 1], 2, QuickTso),
            ("+++-+--", &[3], 3, Full),
            ("++-+--", &[2, 2], 2, Full),
            ("+++-+--+-", &[2, 2], 2, FullTso),
        ],
        |_| (),
        |_| (),
    ));
    all.extend(queue::<ChaseLevAsym>(
        &[
            ("+|-", &[1, 1], 1, QuickTso),
            ("+|-", &[1], 1, Quick),
            ("++|-", &[2], 2, Quick),
            ("+|+-", &[1], 1, Quick),
            ("++|-+", &[2], 2, Quick),
            ("++--", &[2], 2, QuickTso),
            ("++|--", &[1, 1], 2, Full),
            ("+-+-", &[2], 1, QuickTso),
            ("+++---", &[2], 2, Full),
            ("++|-+-", &[2, 1], 2, FullTso),
            ("++-+--", &[3], 1, Full),
            ("++-+--", &[2, 2], 1, Full),
            ("+++-+--+-", &[2, 2], 2, FullTso),
        ],
        |_| Fences::Asymmetric,
        |_| Fences::Asymmetric,
    ));
    // Where the system has no barriers.
    all.extend(queue::<ChaseLevAsym>(
        &[("++|-", &[1, 1], 2, Quick), ("++|--", &[2], 2, QuickTso), ("+++--", &[2], 1, QuickTso)],
        |_| Fences::Symmetric,
        |_| Fences::Symmetric,
    ));
    all.extend(idempotent::<IdempotentLifo>());
    all.extend(idempotent::<IdempotentFifo>());
    all.extend(idempotent::<IdempotentDeque>());
    all.extend(queue::<OneExposed>(
        &[
            ("++|-", &[1, 1], 2, Quick),
            ("+|-", &[1, 1], 1, Quick),
            ("++--", &[2], 2, Quick),
            ("+++.--", &[2], 2, QuickTso),
            ("++|-+-", &[2, 1], 2, QuickTso),
            ("+-+-", &[2], 1, QuickTso),
            ("+++-+--", &[3], 2, Full),
            ("+++-+--+-", &[2, 2], 2, FullTso),
        ],
        |_| (),
        |_| (),
    ));
    all.extend(hint::<OneExposed>(
        &[("+++|-", &[1], 4, Quick), ("++++|--", &[1], 4, Quick), ("++|.", &[1], 4, Quick)],
        |_| (),
        |_| (),
    ));
    all.extend(queue::<PdqR>(&private(), |_| Default::default(), |_| Default::default()));
    all.extend(queue::<PdqR2>(&private(), |_| Default::default(), |_| Default::default()));
    all.extend(queue::<PdqS>(&private(), |_| dealing(), |_| dealing()));
    #[cfg(target_arch = "x86_64")]
    all.extend(fence_free());
    all.extend(late());
    all.extend(hints());
    all.extend(protocols());
    all.extend(direct_stack());
    all.extend(jobs());
    all
}

/// How much a scenario costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cost {
    /// Quick on both memories.
    Quick,
    /// Quick on TSO.
    QuickTso,
    /// Quick on TSO with buffers of one size alone: the largest, where everything can happen that can on smaller ones.
    QuickOnce,
    /// Quick on neither.
    Full,
    /// Too much for C11.
    FullTso,
}
use Cost::{Full, FullTso, Quick, QuickOnce, QuickTso};

impl Cost {
    fn quick(self) -> (&'static [usize], bool) {
        let sizes: &[usize] = match self {
            Quick | QuickTso => SIZES,
            QuickOnce => &[4],
            Full | FullTso => &[],
        };
        (sizes, self == Quick)
    }
}

/// The usual sizes of store buffers.
const SIZES: &[usize] = &[0, 1, 2, 4];

/// The owner's acts, each thief's steals, the capacity, the cost.
type Row = (&'static str, &'static [usize], usize, Cost);

/// For the pools that deliver at least once.
const IDEMPOTENT: &[Row] = &[
    ("+|-", &[1, 1], 1, Quick),
    ("+|-+", &[1], 1, Quick),
    ("+|+", &[1, 1], 1, Quick),
    ("++--", &[2], 2, QuickTso),
    ("++|-+-", &[1, 1], 2, QuickTso),
    ("+++---", &[2], 2, QuickTso),
    ("++|++", &[2, 1], 2, QuickTso),
    ("++-+--", &[2], 1, Full),
    ("+-+-+-+-", &[2], 1, Full),
    ("++-++--", &[2, 2], 2, FullTso),
    ("+++-++--+-", &[4], 2, FullTso),
];

/// For the private deques, whose thieves need two attempts for a task.
const fn private() -> [Row; 10] {
    [
        ("+|.-", &[2], 1, Quick),
        ("++|-", &[2], 2, Quick),
        ("+|-+", &[2], 1, Quick),
        ("+|--", &[2], 1, Quick),
        ("++|..-", &[2, 2], 2, QuickTso),
        ("+|-+-", &[2, 1], 1, QuickTso),
        ("++|-.-+", &[4], 2, QuickTso),
        ("+++-+-.-", &[4], 2, Full),
        ("+++.-+--", &[2, 2], 2, FullTso),
        ("++-+--+.-", &[3, 3], 1, FullTso),
    ]
}

/// Without the clock, which would make a scenario another one each time.
fn dealing() -> sender::Params {
    sender::Params { gap: Duration::ZERO, ..sender::Params::default() }
}

/// These scenarios under another name, so that no two of a queue are called the same.
fn called(name: &str, mut scenarios: Vec<Scenario>) -> Vec<Scenario> {
    for scenario in &mut scenarios {
        scenario.name = format!("{} {name}", scenario.name);
    }
    scenarios
}

const TOO_LARGE: &str = "too large to explore on C11";

fn client(&(acts, thieves, capacity, _): &Row) -> Client {
    let (before, owner) = acts.split_once('|').unwrap_or(("", acts));
    Client::new(capacity, before.len(), owner, thieves)
}

/// The parameters of queue `Q` on memory `M`, in a setting.
type Params<Q, M> = fn(Setting) -> <Q as Queue<M>>::Params;

fn queue<Q: Queue<Tso> + Queue<Loom>>(rows: &[Row], tso: Params<Q, Tso>, c11: Params<Q, Loom>) -> Vec<Scenario> {
    let programs: Programs<Q> = (queues::program::<Tso, Q>, queues::program::<Loom, Q>);
    battery::<Q>(rows, client, programs, tso, c11)
}

/// As [`queue`], with thieves that ask for up to `most` tasks at once.
fn many<Q>(most: usize, rows: &[Row], tso: Params<Q, Tso>, c11: Params<Q, Loom>) -> Vec<Scenario>
where
    Q: Queue<Tso, Thief: StealMany<Task>> + Queue<Loom, Thief: StealMany<Task>>,
{
    let programs: Programs<Q> = (queues::program_of_many::<Tso, Q>, queues::program_of_many::<Loom, Q>);
    battery::<Q>(rows, |row| client(row).asking_for(most), programs, tso, c11)
}

/// How a client becomes a program on memory `M`.
type Make<Q, M> = fn(&Client, &<Q as Queue<M>>::Params) -> Program;
type Programs<Q> = (Make<Q, Tso>, Make<Q, Loom>);

fn battery<Q: Queue<Tso> + Queue<Loom>>(
    rows: &[Row],
    client: impl Fn(&Row) -> Client,
    (on_tso, on_c11): Programs<Q>,
    tso: Params<Q, Tso>,
    c11: Params<Q, Loom>,
) -> Vec<Scenario> {
    let promises = <Q as Queue<Tso>>::PROMISES;
    let bounded = promises.memory_model == MemoryModel::BoundedTso;
    let scenario = |row: &Row| {
        let (tso_client, c11_client) = (client(row), client(row));
        Scenario {
            subject: promises.name,
            name: tso_client.to_string(),
            quick: row.3.quick(),
            delta: if bounded { Dependence::Holds } else { Dependence::None },
            tso: Arc::new(move |setting| on_tso(&tso_client, &tso(setting))),
            c11: if row.3 == FullTso {
                Err(TOO_LARGE)
            } else {
                Ok(Arc::new(move |setting| on_c11(&c11_client, &c11(setting))))
            },
        }
    };
    rows.iter().map(scenario).collect()
}

/// The pools that deliver at least once.
fn idempotent<Q>() -> Vec<Scenario>
where
    Q: Queue<Tso, Params = ()> + Queue<Loom, Params = ()>,
{
    let mut all = queue::<Q>(IDEMPOTENT, |_| (), |_| ());
    for scenario in all.iter_mut().filter(|scenario| !scenario.quick.1) {
        scenario.c11 = Err(OWN_STORE);
    }
    all
}

const OWN_STORE: &str =
    "loom lets a thread read an update that its own later store has overwritten unread, which C11 does not";

/// What a queue tells a worker that is about to sleep.
fn hint<Q: Queue<Tso> + Queue<Loom>>(rows: &[Row], tso: Params<Q, Tso>, c11: Params<Q, Loom>) -> Vec<Scenario> {
    let scenario = |row: &Row| {
        let (on_tso, on_c11) = (client(row), client(row));
        Scenario {
            subject: <Q as Queue<Tso>>::PROMISES.name,
            name: format!("{on_tso} hint"),
            quick: row.3.quick(),
            delta: Dependence::None,
            tso: Arc::new(move |setting| queues::hint::<Tso, Q>(&on_tso, &tso(setting))),
            c11: Ok(Arc::new(move |setting| queues::hint::<Loom, Q>(&on_c11, &c11(setting)))),
        }
    };
    rows.iter().map(scenario).collect()
}

/// Thieves that sleep while the owner goes round, alone and two of them; of queues whose owner answers, also while they ask.
fn late() -> Vec<Scenario> {
    use filch_queue::{Adws, BwosF, BwosL, Dsq, HendlerShavit, PadWs, Wsq, wsq};

    const ALL: &[Row] = &[
        // Who loses one of two tasks to another thief may not say that there is none.
        ("++|", &[1, 1], 2, QuickTso),
        ("+|-+-+-+", &[1], 1, QuickTso),
        ("+|-+-+", &[1, 1], 1, QuickTso),
        ("++|--++--", &[2], 2, QuickTso),
    ];
    const ASKED: &[Row] =
        &[("+|.-+.-", &[2], 1, QuickTso), ("+|.-+.", &[2, 1], 1, QuickTso), ("+|.-+.-+.", &[2, 1], 1, FullTso)];
    fn late<Q: Queue<Tso> + Queue<Loom>>(rows: &[&[Row]], tso: Params<Q, Tso>, c11: Params<Q, Loom>) -> Vec<Scenario> {
        called("late", queue::<Q>(&rows.concat(), tso, c11))
    }
    let mut all = Vec::new();
    all.extend(late::<The>(&[ALL], |_| (), |_| ()));
    all.extend(late::<ChaseLev>(&[ALL], |_| (), |_| ()));
    all.extend(late::<ChaseLevAsym>(&[ALL], |_| Fences::Symmetric, |_| Fences::Symmetric));
    all.extend(late::<Abp>(&[ALL], |_| (), |_| ()));
    all.extend(late::<Lace>(&[ALL, ASKED], |_| Default::default(), |_| Default::default()));
    all.extend(late::<Wsq>(&[ALL], |_| wsq::Params { spare: 0 }, |_| wsq::Params { spare: 0 }));
    all.extend(late::<Dsq>(&[ALL], |_| Default::default(), |_| Default::default()));
    all.extend(late::<HendlerShavit>(&[ALL], |_| (), |_| ()));
    all.extend(late::<BwosL>(&[ALL], |_| Default::default(), |_| Default::default()));
    all.extend(late::<BwosF>(&[ALL], |_| Default::default(), |_| Default::default()));
    all.extend(late::<PadWs>(&[ALL, ASKED], |_| Default::default(), |_| Default::default()));
    all.extend(late::<Adws>(&[ALL, ASKED], |_| Default::default(), |_| Default::default()));
    all.extend(late::<IdempotentLifo>(&[ALL], |_| (), |_| ()));
    all.extend(late::<IdempotentFifo>(&[ALL], |_| (), |_| ()));
    all.extend(late::<IdempotentDeque>(&[ALL], |_| (), |_| ()));
    all.extend(late::<OneExposed>(&[ALL, ASKED], |_| (), |_| ()));
    all.extend(late::<PdqR>(&[ALL, ASKED], |_| Default::default(), |_| Default::default()));
    all.extend(late::<PdqR2>(&[ALL, ASKED], |_| Default::default(), |_| Default::default()));
    all.extend(late::<PdqS>(&[ALL, ASKED], |_| dealing(), |_| dealing()));
    all
}

/// What each queue tells a worker that looks once, while others take tasks.
fn hints() -> Vec<Scenario> {
    const ROWS: &[Row] = &[("+++|-", &[1], 4, QuickTso)];
    let mut all = Vec::new();
    all.extend(hint::<The>(ROWS, |_| (), |_| ()));
    all.extend(hint::<ChaseLev>(ROWS, |_| (), |_| ()));
    all.extend(hint::<ChaseLevAsym>(ROWS, |_| Fences::Symmetric, |_| Fences::Symmetric));
    all.extend(hint::<Abp>(ROWS, |_| (), |_| ()));
    all.extend(hint::<Lace>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<filch_queue::Wsq>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<filch_queue::Dsq>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<filch_queue::HendlerShavit>(ROWS, |_| (), |_| ()));
    all.extend(hint::<filch_queue::BwosL>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<filch_queue::BwosF>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<filch_queue::PadWs>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<filch_queue::Adws>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<IdempotentLifo>(ROWS, |_| (), |_| ()));
    all.extend(hint::<IdempotentFifo>(ROWS, |_| (), |_| ()));
    all.extend(hint::<IdempotentDeque>(ROWS, |_| (), |_| ()));
    all.extend(hint::<PdqR>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<PdqR2>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<PdqS>(ROWS, |_| dealing(), |_| dealing()));
    all
}

/// The queues that are right only where store buffers are bounded.
#[cfg(target_arch = "x86_64")]
fn fence_free() -> Vec<Scenario> {
    use filch_queue::{FfCl, FfThe, PatientThep, Thep};

    fn delta(setting: Setting) -> Delta {
        setting.delta.map_or_else(Delta::default, exactly)
    }
    const EXACT: Row = ("++++|----", &[2], 8, QuickTso);
    let rows: &[Row] = &[
        EXACT,
        ("+++|---", &[2], 3, QuickTso),
        ("+++-+--", &[2], 3, QuickTso),
        ("++|-+-", &[1, 1], 3, QuickTso),
        ("++++++-----", &[3], 8, FullTso),
        ("++++|-+---", &[2, 1], 7, FullTso),
    ];
    // Thieves that look for the echo twice and give up; and one that waits, whose owner goes on taking.
    let all = [
        queue::<FfThe>(rows, delta, delta),
        queue::<FfCl>(rows, delta, delta),
        queue::<Thep<1>>(
            &[
                EXACT,
                ("+++|---", &[2], 3, QuickTso),
                ("+|+-", &[2], 1, QuickTso),
                ("++|-+-", &[1, 1], 3, QuickTso),
                ("++-+--", &[2], 3, Full),
                ("+++-+--", &[2], 3, FullTso),
                ("++++++-----", &[3], 8, FullTso),
            ],
            delta,
            delta,
        ),
        queue::<PatientThep>(&[EXACT, ("+++|----", &[2], 3, QuickTso)], delta, delta),
    ];
    let exact = client(&EXACT).to_string();
    let mut all: Vec<Scenario> = all.into_iter().flatten().collect();
    for scenario in all.iter_mut().filter(|scenario| scenario.name == exact) {
        scenario.delta = Dependence::Exact;
    }
    all.extend(published());
    all
}

#[cfg(target_arch = "x86_64")]
fn exactly(delta: usize) -> Delta {
    // SAFETY: the processor is an abstract machine, and a task taken twice is what the check is to find.
    unsafe { Delta::new(delta) }
}

/// What needs no bound: a task is published to its thief. Here owner and thief never come for the same task, or both swap
/// for it, or the thief waits for the echo.
#[cfg(target_arch = "x86_64")]
fn published() -> Vec<Scenario> {
    use filch_queue::{FfCl, FfThe, Thep};

    const APART: Row = ("+++-", &[1], 4, Quick);
    let mut all = [
        called("δ=1", queue::<FfThe>(&[APART], |_| exactly(1), |_| exactly(1))),
        called("δ=1", queue::<FfCl>(&[APART, ("+++", &[1], 1, Quick)], |_| exactly(1), |_| exactly(1))),
        called("δ=0", queue::<FfCl>(&[("+-", &[1], 1, Quick)], |_| exactly(0), |_| exactly(0))),
        called("δ=1", queue::<Thep<1>>(&[APART], |_| exactly(1), |_| exactly(1))),
        called(
            "δ=∞",
            queue::<Thep<1>>(
                &[("+|-++-", &[1], 2, Quick), ("++-", &[1], 2, Quick)],
                |_| Delta::INFINITE,
                |_| Delta::INFINITE,
            ),
        ),
    ]
    .concat();
    for scenario in &mut all {
        scenario.delta = Dependence::None;
    }
    all
}

/// A program of filch's own protocols, on each memory.
macro_rules! protocol {
    ($subject:literal, $name:literal, $cost:expr, $program:ident $arguments:tt) => {
        Scenario {
            subject: $subject,
            name: $name.to_owned(),
            quick: $cost.quick(),
            delta: Dependence::None,
            tso: Arc::new(|_| protocol!(@ Tso, $program $arguments)),
            c11: if $cost == FullTso { Err(TOO_LARGE) } else { Ok(Arc::new(|_| protocol!(@ Loom, $program $arguments))) },
        }
    };
    (@ $memory:ty, $program:ident ($($argument:expr),*)) => {
        runtime::$program::<$memory>($($argument),*)
    };
}

/// On TSO alone: a place to sleep that is woken by somebody who has not seen anybody there.
fn sleeping(
    subject: &'static str,
    name: String,
    cost: Cost,
    make: impl Fn() -> Program + Send + Sync + 'static,
) -> Scenario {
    Scenario {
        subject,
        name,
        quick: (cost.quick().0, false),
        delta: Dependence::None,
        tso: Arc::new(move |_| make()),
        c11: Err("loom has a swap overlook a store that a pair of fences orders before it"),
    }
}

/// So many jobs for one worker.
fn posted(jobs: usize) -> Scenario {
    sleeping("runtime", format!("{jobs} jobs posted to a sleeper"), QuickTso, move || runtime::posted::<Tso>(jobs))
}

/// So many guests in the seat of a worker to which a job is posted.
fn guest(guests: usize, waits: bool, cost: Cost) -> Scenario {
    let name = format!("{guests} in the seat of a sleeper, {}", if waits { "where each waits" } else { "and a job" });
    let none = guest::Mistake::None;
    Scenario {
        subject: "guest",
        name,
        quick: cost.quick(),
        delta: Dependence::None,
        tso: Arc::new(move |_| guest::program::<Tso>(guests, waits, none)),
        c11: if cost == FullTso {
            Err(TOO_LARGE)
        } else {
            Ok(Arc::new(move |_| guest::program::<Loom>(guests, waits, none)))
        },
    }
}

/// A thief that shares on the owner's behalf.
fn seize(acts: &'static str, thieves: &'static [usize], grain: grain::Params, cost: Cost) -> Scenario {
    let none = seize::Mistake::None;
    let kind = if grain == runtime::FICKLE { " fickle" } else { "" };
    Scenario {
        subject: "seize",
        name: format!("{acts} {thieves:?}{kind}"),
        quick: cost.quick(),
        delta: Dependence::None,
        tso: Arc::new(move |_| seize::program::<Tso>(acts, thieves, grain, none)),
        c11: if cost == FullTso {
            Err(TOO_LARGE)
        } else {
            Ok(Arc::new(move |_| seize::program::<Loom>(acts, thieves, grain, none)))
        },
    }
}

/// So many pieces of work, and as many workers that search and sleep.
fn search(workers: usize, cost: Cost) -> Scenario {
    let name = format!("{workers} searching for {workers} pieces of work");
    let make = move || runtime::pieces::<Tso>(workers);
    let tso = sleeping("runtime", name, cost, make);
    if workers > 2 {
        return Scenario { c11: Err(TOO_LARGE), ..tso };
    }
    Scenario { c11: Ok(Arc::new(move |_| runtime::pieces::<Loom>(workers))), ..tso }
}

/// Heartbeat's clock, so many beats.
fn beat(beats: usize, cost: Cost) -> Scenario {
    let name = format!("{beats} beats and a clock that rests");
    sleeping("beat", name, cost, move || runtime::beat::<Tso>(beats))
}

/// The clock of interrupts, of whose ticks a thief has wanted so many in vain.
fn ticks(in_vain: usize, cost: Cost) -> Scenario {
    let name = format!("a request after {in_vain} ticks wanted in vain");
    sleeping("ticks", name, cost, move || runtime::ticks::<Tso>(in_vain))
}

fn protocols() -> Vec<Scenario> {
    use runtime::Others::{GiveBack, Live, Try};
    use runtime::Waiting::{Leaps, Sleeps};
    use runtime::{COARSE, FICKLE};

    const FINE: grain::Params = grain::Params::FINE;

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
        protocol!("runtime", "a request during a fork and a join", QuickOnce, wake_up("+-", Some(1), 0, FINE)),
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
        protocol!("runtime", "a request when tasks have become fine", QuickOnce, wake_up("+-+-", Some(1), 0, FICKLE)),
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
        sleeping("runtime", "a job posted to a joiner".to_owned(), QuickTso, runtime::posted_to_a_joiner::<Tso>),
        protocol!("runtime", "a worker waits for one thing", Quick, latch(1)),
        protocol!("runtime", "a worker waits for two things", QuickTso, latch(2)),
        protocol!("runtime", "a thread waits for one thing", Quick, event(1)),
        protocol!("runtime", "a thread waits for two things", Quick, event(2)),
        sleeping("runtime", "a push without a fence".to_owned(), QuickTso, || runtime::push_unfenced::<Tso>(0, false)),
        sleeping("runtime", "a push without a fence, one taken".to_owned(), QuickTso, || {
            runtime::push_unfenced::<Tso>(1, false)
        }),
        search(1, QuickTso),
        search(2, QuickOnce),
        search(3, Full),
        guest(1, false, QuickTso),
        guest(2, false, Full),
        guest(1, true, QuickOnce),
        guest(2, true, FullTso),
        seize("++|-", &[2], FINE, Quick),
        seize("++|--", &[2], FINE, QuickTso),
        seize("+++|--", &[2], FINE, QuickTso),
        seize("++|-+-", &[2], FINE, QuickTso),
        seize("+|+-", &[2], FINE, Full),
        seize("+|++-", &[2], FINE, Full),
        seize("+++|---", &[3], FINE, Full),
        seize("+++|--+--", &[3], FINE, FullTso),
        seize("++|--", &[2, 1], FINE, FullTso),
        seize("+++|-+-", &[2, 2], FINE, FullTso),
        seize("++--++|--", &[3], runtime::FICKLE, FullTso),
        beat(1, QuickTso),
        beat(2, Full),
        ticks(0, QuickTso),
        ticks(1, Full),
        protocol!("termination", "one look", Quick, termination(1)),
        protocol!("termination", "three looks", QuickTso, termination(3)),
        protocol!("termination", "all at home, one look", Quick, all_home(1)),
        protocol!("termination", "all at home, three looks", QuickTso, all_home(3)),
    ]
}

/// Jobs with parents, in places that are used again.
fn jobs() -> Vec<Scenario> {
    use lineage::Finishing::{Asking, OneByOne, Together};

    type Make = (fn() -> Program, fn() -> Program);
    let scenario = |name: &str, cost: Cost, (tso, c11): Make| Scenario {
        subject: "jobs",
        name: name.to_owned(),
        quick: cost.quick(),
        delta: Dependence::None,
        tso: Arc::new(move |_| tso()),
        c11: if cost == FullTso { Err(TOO_LARGE) } else { Ok(Arc::new(move |_| c11())) },
    };
    macro_rules! both {
        ($program:ident ($($argument:expr),*)) => {
            (|| lineage::$program::<Tso>($($argument),*), || lineage::$program::<Loom>($($argument),*))
        };
    }
    vec![
        scenario("two children", Quick, both!(family(OneByOne, None))),
        scenario("two children, a look at them", Quick, both!(family(Asking, None))),
        scenario("two children, two parts together", Quick, both!(family(Together, None))),
        scenario("two children, one look at their parent", Quick, both!(family(Together, Some(1)))),
        scenario("two children, three looks at their parent", FullTso, both!(family(OneByOne, Some(3)))),
        scenario("one child after the other", QuickTso, both!(one_after_the_other())),
        scenario("a place used again", Quick, both!(reuse(1))),
        scenario("a place used again, three looks", QuickTso, both!(reuse(3))),
    ]
}

/// Wool's direct task stack, with boundaries that move.
fn direct_stack() -> Vec<Scenario> {
    use filch::protocol::wool::Params;
    use runtime::{COARSE, FICKLE};
    use wool::{Client, Shipped, program, wake_up};

    // The owner's acts, those above a stolen task, the thieves' steals; the chunk, after how many joins to privatise; the cost.
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
    let scenario = |&(owner, above, thieves, chunk, privatise_after, cost): &Row| {
        let (client, params) = (Client { owner, above, thieves }, Params { chunk, privatise_after });
        Scenario {
            subject: "wool",
            name: format!("{client} {}", told(params)),
            quick: cost.quick(),
            delta: Dependence::None,
            tso: Arc::new(move |_| program::<Tso, Shipped<Tso>>(&client, &params)),
            c11: match cost {
                FullTso => Err(TOO_LARGE),
                _ => Ok(Arc::new(move |_| program::<Loom, Shipped<Loom>>(&client, &params))),
            },
        }
    };
    // What the owner does before it looks for the sleeper.
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
        Scenario {
            subject: "wool",
            name: format!("a fork wakes {acts} {}{kind}", told(params)),
            quick: cost.quick(),
            delta: Dependence::None,
            tso: Arc::new(move |_| wake_up::<Tso>(acts, params, grain)),
            c11: match cost {
                FullTso => Err(TOO_LARGE),
                _ => Ok(Arc::new(move |_| wake_up::<Loom>(acts, params, grain))),
            },
        }
    };
    ROWS.iter().map(scenario).chain(SLEEPS.iter().map(sleep)).collect()
}
