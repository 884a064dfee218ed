//! The weakening driver on the queues: each ordering is needed by a small client, or has a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use filch_check::c11::{self, Loom};
use filch_check::kept::{SETTLED, reasons};
use filch_check::scenarios::queues::{Client, program};
use filch_check::sites::Kind;
use filch_check::tso::{Bounds, Tso};
use filch_check::weaken::{self, Effort, On, Outcome, Report, Row, weaken};
use filch_check::{Dependence, Scenario, Setting, scenarios};
use filch_memory::Ordering;
use filch_queue::lace::{Moves, Policies};
use filch_queue::{ChaseLev, Lace, Queue};

/// Capacity, tasks before the start, the owner's acts, each thief's steals.
type Shape<'a> = (usize, usize, &'a str, &'a [usize]);

fn scenarios_of<Q, P>(params: &P, clients: &[Shape<'_>]) -> Vec<Scenario>
where
    Q: Queue<Tso, Params = P> + Queue<Loom, Params = P>,
    P: Clone + Send + Sync + 'static,
{
    let scenario = |&(capacity, before, owner, thieves): &Shape<'_>| {
        let on_tso = Client::new(capacity, before, owner, thieves);
        let on_c11 = on_tso.clone();
        let [for_tso, for_c11] = [params.clone(), params.clone()];
        Scenario {
            subject: <Q as Queue<Tso>>::PROMISES.name,
            name: on_tso.to_string(),
            is_quick_on_tso: true,
            is_quick_on_c11: true,
            delta: Dependence::None,
            tso: Arc::new(move |_| program::<Tso, Q>(&on_tso, &for_tso)),
            c11: Ok(Arc::new(move |_| program::<Loom, Q>(&on_c11, &for_c11))),
        }
    };
    clients.iter().map(scenario).collect()
}

/// The same on a busy machine.
fn effort() -> Effort {
    let default = Effort::default();
    Effort { c11: c11::Bounds { executions: 20_000, time: None, ..default.c11.clone() }, ..default }
}

fn settled(scenarios: &[Scenario]) -> Report {
    let mut rows = Vec::new();
    let report = weaken(scenarios, &effort(), &mut |row| rows.push(row.to_string()));
    println!("{}\n{report}\n{:?} {:?}", rows.join("\n"), report.unreached, report.left_out);
    report
}

#[test]
fn chase_lev_asks_for_what_it_needs() {
    let report =
        settled(&scenarios_of::<ChaseLev, _>(&(), &[(2, 0, "++--", &[2]), (2, 0, "+++", &[1]), (1, 0, "+-+-", &[1])]));
    assert!(report.is_settled(), "{report}");
    let fences: Vec<_> = report.rows.iter().filter(|row| row.weakening.site.kind == Kind::Fence).collect();
    assert_eq!(fences.len(), 4);
    // The owner's fence is needed even where stores are never reordered.
    let on_tso = |row: &&&Row| matches!(row.outcome, Outcome::Necessary { on: On::Tso, .. });
    assert!(fences.iter().filter(on_tso).count() >= 2);
}

#[test]
fn lace_asks_for_what_it_needs() {
    let clients: &[Shape<'_>] =
        &[(2, 0, "++-", &[1]), (1, 0, "+--+", &[1]), (2, 0, "++.", &[3]), (2, 0, "++--", &[2]), (8, 6, ".---", &[5])];
    let halves = Policies { moves: Moves::HalfStores, ..Policies::default() };
    let both = [Policies::default(), halves].map(|policies| scenarios_of::<Lace, _>(&policies, clients));
    let report = settled(&both.concat());
    assert!(report.left_out.is_empty());
    assert!(report.is_settled(), "{report}");
    // A later word than the one that the thief has loaded may publish the task that it takes.
    let takes = report.rows.iter().find(|row| {
        let site = &row.weakening.site;
        site.kind == Kind::Update && site.order == Ordering::Acquire
    });
    assert!(takes.is_some_and(|row| matches!(row.outcome, Outcome::Necessary { on: On::C11, .. })));
}

#[test]
fn rounds_ask_for_what_they_need() {
    let mut rounds = weaken::of("rounds", &scenarios::all());
    rounds.retain(|scenario| scenario.name.starts_with("1 thread"));
    let mut rows = Vec::new();
    let report = weaken(&rounds, &effort(), &mut |row| rows.push(row.to_string()));
    println!("{}\n{report}", rows.join("\n"));
    assert!(report.is_settled() && report.unreached.is_empty(), "{report}");
    assert_eq!(report.necessary(), 4);
}

/// The totals do not settle an ordering or a reason that was added or removed later.
#[test]
fn the_settled_totals_are_of_these_sources() {
    let all = scenarios::all();
    let mut subjects: Vec<&str> = all.iter().map(|scenario| scenario.subject).collect();
    subjects.dedup();
    let known = |subject: &&str| SETTLED.iter().any(|settled| settled.subject == *subject);
    assert!(subjects.iter().all(known), "`filch check --weaken` has yet to settle one of {subjects:?}");
    // A hundred executions reach every call site; more leave room for scenarios to come.
    let bounds = Bounds { executions: 2_000, ..Bounds::buffer(0) };
    // Subjects that share a protocol have the same scenarios.
    let mut counted: BTreeMap<Vec<String>, (usize, usize)> = BTreeMap::new();
    let mut given = BTreeSet::new();
    for settled in SETTLED {
        let mut of = weaken::of(settled.subject, &all);
        of.retain(|scenario| scenario.is_quick_on_tso);
        let count = || {
            let weakenings = weaken::weakenings(&of, Setting { delta: Some(1) }, &bounds);
            let reasons = weakenings.iter().filter_map(|(_, reason)| reason.as_ref());
            given.extend(reasons.clone().map(ToString::to_string));
            let kept = reasons.count();
            (weakenings.len() - kept, kept)
        };
        let names = of.iter().map(|scenario| format!("{scenario:?}")).collect();
        let (necessary, kept) = *counted.entry(names).or_insert_with(count);
        assert_eq!((necessary, kept), (settled.necessary, settled.kept), "{}: settle it again", settled.subject);
    }
    let idle: Vec<String> = reasons().iter().map(ToString::to_string).filter(|kept| !given.contains(kept)).collect();
    assert!(idle.is_empty(), "no operation can be weakened that would need these reasons:\n{}", idle.join("\n"));
}
