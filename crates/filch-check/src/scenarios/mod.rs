//! The scenarios that every queue and every protocol must survive.

mod awake;
mod battery;
mod blocks;
mod cost;
pub mod delegated;
#[cfg(target_arch = "x86_64")]
pub mod fence_free;
pub mod guest;
pub mod lineage;
pub mod log;
mod napping;
pub mod order;
pub mod passing;
pub mod private;
pub mod private_stack;
mod protocols;
pub mod queues;
pub mod rounds;
pub mod runtime;
pub mod seize;
mod several;
pub mod stacks;
pub mod tree;
pub mod wool;

use std::time::Duration;

use filch_queue::chase_lev_asym::Fences;
use filch_queue::pdq::{one_step, sender};
use filch_queue::{
    Abp, ChaseLev, ChaseLevAsym, ChaseLevFixed, IdempotentDeque, IdempotentFifo, IdempotentLifo, Lace, Locked,
    OneExposed, PdqR, PdqR2, PdqR2Async, PdqRAsync, PdqS, PdqSAtOnce, PdqSOneStep, PdqSTold, Queue, The,
};

use self::battery::{Params, Row, battery, called, client, hint, queue};
use self::cost::Cost::{self, Full, FullTso, Quick, QuickTso};
use self::cost::scenario;
use self::private::Part;
use crate::c11::Loom;
use crate::scenario::Scenario;
use crate::tso::Tso;

/// The clients of a Chase–Lev deque, growing or bounded.
const CHASE_LEV: &[Row] = &[
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
];

/// Returns all scenarios, grouped by queue or protocol.
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
    all.extend(queue::<ChaseLev>(CHASE_LEV, |_| (), |_| ()));
    all.extend(queue::<ChaseLevFixed>(CHASE_LEV, |_| (), |_| ()));
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
    // The fallback for systems without barriers.
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
    all.extend(together::<PdqR>(|_| Default::default(), |_| Default::default()));
    all.extend(together::<PdqR2>(|_| Default::default(), |_| Default::default()));
    all.extend(queue::<PdqRAsync>(&private(), |_| Default::default(), |_| Default::default()));
    all.extend(queue::<PdqR2Async>(&private(), |_| Default::default(), |_| Default::default()));
    all.extend(together::<PdqS>(|_| dealing(), |_| dealing()));
    all.extend(together::<PdqSAtOnce>(|_| DEALING_ONE, |_| DEALING_ONE));
    all.extend(queue::<PdqSTold>(&private(), |_| dealing(), |_| dealing()));
    all.extend(together::<PdqSOneStep>(|_| DEALING_ONE, |_| DEALING_ONE));
    #[cfg(target_arch = "x86_64")]
    all.extend(fence_free::scenarios());
    all.extend(trees());
    all.extend(late());
    all.extend(hints());
    all.extend(protocols::scenarios());
    all
}

/// The clients of pools that deliver at least once.
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

/// The clients of private deques, whose thieves need two attempts per task.
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

/// The scenarios of private deques whose workers also steal from each other.
fn together<Q: Queue<Tso> + Queue<Loom>>(tso: Params<Q, Tso>, c11: Params<Q, Loom>) -> Vec<Scenario> {
    // Per worker: its number of tasks and its victims. Some ask each other, or one after the other at the same desk.
    const WORKERS: &[(&[Part], Cost)] = &[
        (&[(1, &[]), (0, &[0])], Quick),
        (&[(2, &[]), (0, &[0])], Quick),
        (&[(1, &[1]), (1, &[0])], QuickTso),
        (&[(2, &[1]), (0, &[0])], QuickTso),
        (&[(1, &[]), (1, &[]), (0, &[0, 1])], QuickTso),
        (&[(2, &[]), (0, &[0]), (0, &[0])], QuickTso),
        (&[(2, &[]), (0, &[0]), (0, &[1])], FullTso),
        (&[(2, &[]), (0, &[2, 0]), (1, &[])], FullTso),
        (&[(1, &[1]), (1, &[0]), (0, &[0])], FullTso),
    ];
    let mut all = queue::<Q>(&private(), tso, c11);
    all.extend(private::scenarios::<Q>(WORKERS, tso, c11));
    all
}

/// Parameters without the clock, which would make a scenario differ from run to run.
fn dealing() -> sender::Params {
    sender::Params { gap: Duration::ZERO, ..sender::Params::default() }
}

/// As [`dealing`], in one step.
const DEALING_ONE: one_step::Params = one_step::Params { gap: Duration::ZERO };

/// The scenarios of a pool that delivers at least once.
fn idempotent<Q>() -> Vec<Scenario>
where
    Q: Queue<Tso, Params = ()> + Queue<Loom, Params = ()>,
{
    only_quick_on_c11(OWN_STORE, queue::<Q>(IDEMPOTENT, |_| (), |_| ()))
}

/// Leaves out on C11 what is not quick there.
fn only_quick_on_c11(why: &'static str, mut scenarios: Vec<Scenario>) -> Vec<Scenario> {
    for scenario in scenarios.iter_mut().filter(|scenario| !scenario.is_quick_on_c11) {
        scenario.c11 = Err(why);
    }
    scenarios
}

const OWN_STORE: &str =
    "loom lets a thread read an update that its own later store has overwritten unread, which C11 does not";

/// One or two thieves that stall while the owner comes full circle; where owners answer requests, also during one.
fn late() -> Vec<Scenario> {
    use filch_queue::{Adws, BwosF, BwosL, Dsq, HendlerShavit, PadWs, Wsq, WsqPacked, wsq};

    const ALL: &[Row] = &[
        // A thief that loses one of two tasks to another thief may not report an empty queue.
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
    all.extend(late::<ChaseLevFixed>(&[ALL], |_| (), |_| ()));
    all.extend(late::<ChaseLevAsym>(&[ALL], |_| Fences::Symmetric, |_| Fences::Symmetric));
    all.extend(late::<Abp>(&[ALL], |_| (), |_| ()));
    all.extend(late::<Lace>(&[ALL, ASKED], |_| Default::default(), |_| Default::default()));
    let late_wsq = late::<Wsq>(&[ALL], |_| wsq::Params { spare: 0 }, |_| wsq::Params { spare: 0 });
    all.extend(only_quick_on_c11(several::MISSED_STORE, late_wsq));
    all.extend(late::<WsqPacked>(&[ALL], |_| wsq::Params { spare: 0 }, |_| wsq::Params { spare: 0 }));
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
    all.extend(late::<PdqRAsync>(&[ALL, ASKED], |_| Default::default(), |_| Default::default()));
    all.extend(late::<PdqR2Async>(&[ALL, ASKED], |_| Default::default(), |_| Default::default()));
    all.extend(late::<PdqS>(&[ALL, ASKED], |_| dealing(), |_| dealing()));
    all.extend(late::<PdqSAtOnce>(&[ALL, ASKED], |_| DEALING_ONE, |_| DEALING_ONE));
    all.extend(late::<PdqSTold>(&[ALL, ASKED], |_| dealing(), |_| dealing()));
    all.extend(late::<PdqSOneStep>(&[ALL, ASKED], |_| DEALING_ONE, |_| DEALING_ONE));
    all
}

/// A spanning tree by load and store, on the queues whose [pops have fences](Queue::FENCES_POPS).
fn trees() -> Vec<Scenario> {
    fn tree<Q: Queue<Tso, Params = ()> + Queue<Loom, Params = ()>>() -> Scenario {
        const { assert!(<Q as Queue<Tso>>::FENCES_POPS) };
        let name = <Q as Queue<Tso>>::PROMISES.name;
        scenario(name, "two neighbours", Quick, tree::neighbours::<Tso, Q>, tree::neighbours::<Loom, Q>)
    }
    vec![tree::<The>(), tree::<ChaseLev>(), tree::<ChaseLevFixed>(), tree::<Abp>()]
}

/// The hint of each queue to a worker that looks once while others take tasks.
fn hints() -> Vec<Scenario> {
    const ROWS: &[Row] = &[("+++|-", &[1], 4, QuickTso)];
    let mut all = Vec::new();
    all.extend(hint::<The>(ROWS, |_| (), |_| ()));
    all.extend(hint::<ChaseLev>(ROWS, |_| (), |_| ()));
    all.extend(hint::<ChaseLevFixed>(ROWS, |_| (), |_| ()));
    all.extend(hint::<ChaseLevAsym>(ROWS, |_| Fences::Symmetric, |_| Fences::Symmetric));
    all.extend(hint::<Abp>(ROWS, |_| (), |_| ()));
    all.extend(hint::<Lace>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<filch_queue::Wsq>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<filch_queue::WsqPacked>(ROWS, |_| Default::default(), |_| Default::default()));
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
    all.extend(hint::<PdqRAsync>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<PdqR2Async>(ROWS, |_| Default::default(), |_| Default::default()));
    all.extend(hint::<PdqS>(ROWS, |_| dealing(), |_| dealing()));
    all.extend(hint::<PdqSAtOnce>(ROWS, |_| DEALING_ONE, |_| DEALING_ONE));
    all.extend(hint::<PdqSTold>(ROWS, |_| dealing(), |_| dealing()));
    all.extend(hint::<PdqSOneStep>(ROWS, |_| DEALING_ONE, |_| DEALING_ONE));
    all
}
