//! Checks the explorer against an independent enumeration: for each litmus shape, the test writes down all candidate
//! executions as relations, and the axioms of x86-TSO select the allowed ones.

use std::collections::BTreeSet;

use filch_check::litmus::{Instruction, SHAPES, Shape, run};
use filch_check::tso::{Bounds, Verdict};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    thread: usize,
    location: usize,
    writes: bool,
    reads: bool,
    value: u64,
    /// The number of fences and swaps that its thread has passed before it, including itself if it is a swap.
    fences: usize,
}

struct Candidate {
    events: Vec<Event>,
}

fn events(shape: &Shape) -> Option<Candidate> {
    let mut events = Vec::new();
    for (thread, instructions) in shape.threads.iter().enumerate() {
        let mut fences = 0;
        for &instruction in *instructions {
            let event =
                |location, writes, reads, value, fences| Event { thread, location, writes, reads, value, fences };
            match instruction {
                Instruction::Write(location, value) => events.push(event(location, true, false, value, fences)),
                Instruction::Read(location) => events.push(event(location, false, true, 0, fences)),
                Instruction::Swap(location, value) => {
                    fences += 1;
                    events.push(event(location, true, true, value, fences));
                    fences += 1;
                }
                Instruction::Fence => fences += 1,
                // These are not part of the published model.
                Instruction::Heavy | Instruction::WriteHigh(..) | Instruction::ReadLow(_) => return None,
                Instruction::Light => {}
            }
        }
    }
    Some(Candidate { events })
}

fn is_acyclic(n: usize, edges: &[(usize, usize)]) -> bool {
    let mut left: BTreeSet<usize> = (0..n).collect();
    while let Some(&source) = left.iter().find(|&&node| !edges.iter().any(|&(a, b)| b == node && left.contains(&a))) {
        left.remove(&source);
    }
    left.is_empty()
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (index, &item) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(index);
        all.extend(permutations(&rest).into_iter().map(|tail| [vec![item], tail].concat()));
    }
    all
}

/// Returns the number of allowed executions and their outcomes, by the axioms: the order within each thread on one
/// location, and the union of globally preserved program order (all but write to read without a fence between), reads
/// from other threads, the order of writes, and reads before later writes, must have no cycles.
fn axiomatic(shape: &Shape, sequentially_consistent: bool) -> Option<(usize, BTreeSet<Vec<u64>>)> {
    let Candidate { events } = events(shape)?;
    let n = events.len();
    let locations = events.iter().map(|event| event.location).max().unwrap() + 1;
    let reads: Vec<usize> = (0..n).filter(|&e| events[e].reads).collect();
    let writes_to =
        |location| (0..n).filter(|&e| events[e].writes && events[e].location == location).collect::<Vec<_>>();
    // For each location, all orders of its writes; for each read, all writes or the initial value.
    let mut orders: Vec<Vec<Vec<usize>>> = vec![Vec::new()];
    for location in 0..locations {
        let these = permutations(&writes_to(location));
        orders =
            orders.iter().flat_map(|all| these.iter().map(|one| [all.clone(), vec![one.clone()]].concat())).collect();
    }
    let mut sources: Vec<Vec<Option<usize>>> = vec![Vec::new()];
    for &read in &reads {
        let mut these: Vec<Option<usize>> =
            writes_to(events[read].location).into_iter().filter(|&w| w != read).map(Some).collect();
        these.push(None);
        sources = sources.iter().flat_map(|all| these.iter().map(|&one| [all.clone(), vec![one]].concat())).collect();
    }
    let (mut count, mut outcomes) = (0, BTreeSet::new());
    for order in &orders {
        for source in &sources {
            let position = |write: usize| order[events[write].location].iter().position(|&w| w == write).unwrap();
            let mut communication = Vec::new();
            let mut external = Vec::new();
            for writes in order {
                for pair in writes.windows(2) {
                    communication.push((pair[0], pair[1]));
                    external.push((pair[0], pair[1]));
                }
            }
            let mut atomic = true;
            for (&read, &from) in reads.iter().zip(source) {
                let after = from.map_or(0, |write| position(write) + 1);
                if let Some(from) = from {
                    communication.push((from, read));
                    if events[from].thread != events[read].thread || sequentially_consistent {
                        external.push((from, read));
                    }
                }
                for &later in &order[events[read].location][after..] {
                    if later != read {
                        communication.push((read, later));
                        external.push((read, later));
                    }
                }
                // A swap reads from the write just before its own.
                atomic &= !events[read].writes || position(read) == after;
            }
            let program = |keep: &dyn Fn(&Event, &Event) -> bool| {
                let mut edges = Vec::new();
                for a in 0..n {
                    for b in a + 1..n {
                        if events[a].thread == events[b].thread && keep(&events[a], &events[b]) {
                            edges.push((a, b));
                        }
                    }
                }
                edges
            };
            let same_place = program(&|a, b| a.location == b.location);
            let preserved = program(&|a, b| {
                let store_then_load = a.writes && !a.reads && b.reads && !b.writes;
                sequentially_consistent || !store_then_load || a.fences != b.fences
            });
            let coherent = is_acyclic(n, &[same_place, communication].concat());
            if atomic && coherent && is_acyclic(n, &[preserved, external].concat()) {
                count += 1;
                let value = |from: &Option<usize>| from.map_or(0, |write| events[write].value);
                let mut outcome: Vec<u64> = source.iter().map(value).collect();
                if shape.finals {
                    outcome.extend(order.iter().map(|writes| value(&writes.last().copied())));
                }
                outcomes.insert(outcome);
            }
        }
    }
    Some((count, outcomes))
}

/// For every shape, at every size of buffer: the number of completed executions, and the number of those that differ in
/// which write a read sees. A thread's read of its own store, before and after the store leaves the buffer, is one
/// execution in the second count and two in the first.
const COUNTS: &[(&str, [(u64, usize); 4])] = &[
    // Buffers of      0       1       2       ∞
    ("SB", [(3, 3), (4, 4), (4, 4), (4, 4)]),
    ("MP", [(3, 3), (3, 3), (3, 3), (3, 3)]),
    ("LB", [(3, 3), (3, 3), (3, 3), (3, 3)]),
    ("IRIW", [(15, 15), (15, 15), (15, 15), (15, 15)]),
    ("2+2W", [(3, 3), (3, 3), (3, 3), (3, 3)]),
    ("R", [(3, 3), (4, 4), (4, 4), (4, 4)]),
    ("S", [(3, 3), (3, 3), (3, 3), (3, 3)]),
    ("n6", [(4, 4), (8, 5), (8, 5), (8, 5)]),
    ("SB+2", [(3, 3), (3, 3), (4, 4), (4, 4)]),
    ("SB+fences", [(3, 3), (3, 3), (3, 3), (3, 3)]),
    ("SB+fence", [(3, 3), (4, 4), (4, 4), (4, 4)]),
    ("SB+swaps", [(3, 3), (3, 3), (3, 3), (3, 3)]),
    // The barrier depends on every step of the other threads, so it has more orders than outcomes.
    ("SB+light+heavy", [(5, 3), (4, 3), (4, 3), (4, 3)]),
    ("SB+lights", [(3, 3), (4, 4), (4, 4), (4, 4)]),
    ("SB of halves", [(3, 3), (6, 4), (6, 4), (6, 4)]),
    ("SB of halves+fence", [(3, 3), (3, 3), (3, 3), (3, 3)]),
    ("half after whole", [(12, 12), (25, 25), (39, 29), (39, 29)]),
    ("half before whole", [(6, 6), (12, 6), (12, 6), (12, 6)]),
];

#[test]
fn the_explorer_finds_exactly_the_executions_of_x86_tso() {
    for shape in SHAPES {
        for (buffer, sequential) in [(0, true), (usize::MAX, false)] {
            let Some((count, outcomes)) = axiomatic(shape, sequential) else { continue };
            let found = run(shape, &Bounds::buffer(buffer));
            assert_eq!(found.outcomes, outcomes, "{}, buffer {buffer}", shape.name);
            assert_eq!(found.explored.distinct, Some(count), "{}, buffer {buffer}", shape.name);
        }
    }
}

#[test]
fn the_outcome_in_question_is_allowed_from_the_published_buffer_on() {
    for shape in SHAPES {
        for buffer in [0, 1, 2, 3, usize::MAX] {
            let allowed = run(shape, &Bounds::buffer(buffer)).allows(shape.asks);
            assert_eq!(allowed, shape.allowed_from.is_some_and(|from| buffer >= from), "{}, {buffer}", shape.name);
        }
    }
}

#[test]
fn outcomes_only_grow_with_the_buffer() {
    for shape in SHAPES {
        let mut smaller = BTreeSet::new();
        for buffer in [0, 1, 2, 3, usize::MAX] {
            let outcomes = run(shape, &Bounds::buffer(buffer)).outcomes;
            assert!(outcomes.is_superset(&smaller), "{}, {buffer}", shape.name);
            smaller = outcomes;
        }
    }
}

#[test]
fn the_number_of_executions_is_exact_and_none_is_run_twice() {
    assert_eq!(SHAPES.len(), COUNTS.len());
    for (shape, (name, expected)) in SHAPES.iter().zip(COUNTS) {
        assert_eq!(shape.name, *name);
        let counts = [0, 1, 2, usize::MAX].map(|buffer| {
            let explored = run(shape, &Bounds::buffer(buffer)).explored;
            assert_eq!(explored.redundant, 0, "{name}, {buffer}");
            (explored.executions, explored.distinct.unwrap())
        });
        assert_eq!(counts, *expected, "{name}");
    }
}

/// Without the reduction, every order of steps is run; the distinct executions must be the same.
#[test]
fn the_reduction_leaves_nothing_out() {
    for shape in SHAPES.iter().filter(|shape| shape.threads.len() < 4) {
        for bounds in [Bounds::buffer(0), Bounds::buffer(1), Bounds::buffer(2), Bounds::buffer(1).coalescing()] {
            let all = run(shape, &Bounds { reduce: false, executions: 3_000_000, ..bounds.clone() });
            let reduced = run(shape, &bounds);
            assert!(matches!(all.explored.verdict, Verdict::Passed), "{}: the bound is too small", shape.name);
            assert_eq!(all.outcomes, reduced.outcomes, "{}, {bounds:?}", shape.name);
            assert_eq!(all.explored.distinct, reduced.explored.distinct, "{}, {bounds:?}", shape.name);
            assert!(reduced.explored.executions <= all.explored.executions);
        }
    }
}
