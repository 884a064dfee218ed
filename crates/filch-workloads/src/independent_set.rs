//! A maximal independent set of a graph: no two of its vertices are neighbours, and no vertex can be added.
//!
//! Vertices have hashed priorities. The sequential program takes them in order of priority and adds a vertex unless a
//! neighbour is in the set. The parallel program works in rounds over a prefix of the undecided vertices, in the same
//! order. A vertex is out once a neighbour of higher priority is in. It is in once all of them are out. Otherwise it
//! waits for the next round. The prefix has max(200, n/50) vertices: a longer prefix gives a round more parallelism and
//! more vertices that must wait.
//!
//! **Phases.** In the source a round has two loops: the first decides by what the rounds before have stored, the second
//! stores the decisions and collects the vertices that wait. So all loads of states in a round give the same in any
//! schedule. A decision never changes, so one loop can do both (`phases=1`): a vertex that is in tells its neighbours
//! that they are out, at once, and some decisions come a round earlier.
//!
//! What it stresses: a sequence of a few hundred parallel loops, each of some thousand iterations of some hundred
//! nanoseconds, whose results are collected, on memory without locality. It is one of the programs that compare loops
//! split on demand with loops of a fixed number of chunks. It looks at the neighbours of each vertex in the set twice,
//! the sequential program once. The span is Θ(log² n) rounds with high probability, as long as prefixes are short.
//!
//! The set equals that of the sequential program in any schedule, since the decision on a vertex depends only on
//! neighbours of higher priority. This is the method of deterministic reservations.
//!
//! **Source.** Guy E. Blelloch, Jeremy T. Fineman, Phillip B. Gibbons and Julian Shun, *Internally Deterministic
//! Parallel Algorithms Can Be Fast*, PPoPP 2012, as measured in *Private deques*.

#![allow(clippy::disallowed_types, reason = "one decision per vertex, no protocol for the checker")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use filch_catalogue::ParamError;
use filch_catalogue::programs::hash;
use filch_catalogue::programs::independent_set::{Params, Phases};

use crate::answer::{Answer, expect};
use crate::checks::sequence;
use crate::graph::Graph;
use crate::inputs::{filled, shuffled};
use crate::rounds::{append, rounds};
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Grain};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let Self { choice, phases } = self;
        let graph = Graph::of(&choice.input)?;
        let n = graph.vertices();
        let states = |count: u32| -> Result<Vec<AtomicU8>, ParamError> {
            Ok(filled(choice.input.name, count as usize, UNDECIDED)?.into_iter().map(AtomicU8::new).collect())
        };
        Ok(Instance {
            order: shuffled(ORDER_SEED, n),
            states: states(n)?,
            decisions: states(if *phases == Phases::Two { n } else { 0 })?,
            grain: Grain::from_param(choice.grain, 256),
            phases: *phases,
            right: OnceLock::new(),
            graph,
        })
    }
}

const ORDER_SEED: u64 = 11;

/// Returns the rank of a vertex; an earlier vertex has a smaller one. The hash is one to one, so no two are equal.
#[inline]
fn priority(vertex: u32) -> u64 {
    hash(ORDER_SEED, vertex.into())
}

const UNDECIDED: u8 = 0;

const IN: u8 = 1;

const OUT: u8 = 2;

/// The program, its graph, and the set.
#[derive(Debug)]
pub struct Instance {
    graph: Graph,
    /// The vertices in order of priority.
    order: Vec<u32>,
    /// All accesses are relaxed: a decided state does not change and publishes no other memory, and a stale one delays
    /// a decision by one round.
    states: Vec<AtomicU8>,
    /// What the first phase of a round has decided; relaxed, since the phases are ordered.
    decisions: Vec<AtomicU8>,
    grain: Grain,
    phases: Phases,
    right: OnceLock<Vec<u8>>,
}

impl Instance {
    /// The graph, and for each vertex whether it is in the set.
    pub fn set(&self) -> (&Graph, Vec<bool>) {
        (&self.graph, self.states().map(|state| state == IN).collect())
    }

    fn states(&self) -> impl Iterator<Item = u8> {
        self.states.iter().map(|state| state.load(Ordering::Relaxed))
    }

    fn answer(&self) -> Answer {
        Answer::Number(self.states().filter(|&state| state == IN).count() as u64)
    }

    /// The first phase: decides what can be decided by the states so far.
    #[inline(never)]
    fn reserve(&self, vertices: &[u32]) {
        for &vertex in vertices {
            let mine = priority(vertex);
            let mut decision = IN;
            for &neighbour in self.graph.neighbours(vertex) {
                if priority(neighbour) < mine {
                    match self.states[neighbour as usize].load(Ordering::Relaxed) {
                        IN => {
                            decision = OUT;
                            break;
                        }
                        UNDECIDED => decision = UNDECIDED,
                        _ => {}
                    }
                }
            }
            self.decisions[vertex as usize].store(decision, Ordering::Relaxed);
        }
    }

    /// The second phase: stores the decisions, and collects the vertices without one.
    #[inline(never)]
    fn commit(&self, mut left: Vec<u32>, vertices: &[u32]) -> Vec<u32> {
        for &vertex in vertices {
            let decision = self.decisions[vertex as usize].load(Ordering::Relaxed);
            self.states[vertex as usize].store(decision, Ordering::Relaxed);
            if decision == UNDECIDED {
                left.push(vertex);
            }
        }
        left
    }

    /// Decides a vertex from the states of its neighbours.
    #[inline]
    fn decide(&self, vertex: u32) -> u8 {
        let mine = priority(vertex);
        for &neighbour in self.graph.neighbours(vertex) {
            match self.states[neighbour as usize].load(Ordering::Relaxed) {
                // The neighbour is about to store this itself.
                IN => return OUT,
                UNDECIDED if priority(neighbour) < mine => return UNDECIDED,
                _ => {}
            }
        }
        IN
    }

    /// Decides the vertices that can be decided and collects the others.
    #[inline(never)]
    fn round(&self, mut left: Vec<u32>, vertices: &[u32]) -> Vec<u32> {
        for &vertex in vertices {
            if self.states[vertex as usize].load(Ordering::Relaxed) != UNDECIDED {
                continue;
            }
            match self.decide(vertex) {
                UNDECIDED => left.push(vertex),
                OUT => self.states[vertex as usize].store(OUT, Ordering::Relaxed),
                _ => {
                    self.states[vertex as usize].store(IN, Ordering::Relaxed);
                    for &neighbour in self.graph.neighbours(vertex) {
                        self.states[neighbour as usize].store(OUT, Ordering::Relaxed);
                    }
                }
            }
        }
        left
    }
}

/// The sequential program. `state` accesses a state.
fn serial<S>(graph: &Graph, order: &[u32], states: &mut [S], state: impl Fn(&mut S) -> &mut u8) {
    for &vertex in order {
        let mine = state(&mut states[vertex as usize]);
        if *mine == UNDECIDED {
            *mine = IN;
            for &neighbour in graph.neighbours(vertex) {
                *state(&mut states[neighbour as usize]) = OUT;
            }
        }
    }
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.states.iter_mut().for_each(|state| *state.get_mut() = UNDECIDED);
    }

    fn serial(&mut self) -> Answer {
        serial(&self.graph, &self.order, &mut self.states, AtomicU8::get_mut);
        self.answer()
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        let right = self.right.get_or_init(|| {
            let mut states = vec![UNDECIDED; self.states.len()];
            serial(&self.graph, &self.order, &mut states, |state| state);
            states
        });
        let size = right.iter().filter(|&&state| state == IN).count();
        expect(answer, &Answer::Number(size as u64))?;
        match self.states().zip(right).position(|(found, &right)| found != right) {
            None => Ok(()),
            Some(vertex) => Err(format!("vertex {vertex} is undecided or decided wrongly")),
        }
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn digest(&self) -> u64 {
        sequence(self.states().map(u64::from))
    }

    fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.states.len();
        let state = self.states[at].get_mut();
        *state = IN + OUT - *state;
        true
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        let this = &*self;
        rounds(&self.order, |vertices| match this.phases {
            Phases::Two => {
                j.for_blocks(vertices, this.grain, |block| this.reserve(block));
                j.fold_blocks(vertices, this.grain, Vec::new(), |left, block| this.commit(left, block), append)
            }
            Phases::One => {
                j.fold_blocks(vertices, this.grain, Vec::new(), |left, block| this.round(left, block), append)
            }
        });
        self.answer()
    }
}
