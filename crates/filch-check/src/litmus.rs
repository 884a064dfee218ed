//! Litmus shapes: programs of a few instructions with published outcomes, to check the checker.
//!
//! **Sources.** Owens, Sarkar, Sewell, *A Better x86 Memory Model: x86-TSO*, TPHOLs 2009 (SB, MP, LB, IRIW, n6);
//! Alglave, Maranget, Tautschnig, *Herding Cats*, TOPLAS 2014, for the names and shapes of R, S and 2+2W.
//!
//! ```
//! use filch_check::litmus;
//! use filch_check::tso::Bounds;
//!
//! let sb = litmus::SHAPES.iter().find(|shape| shape.name == "SB").unwrap();
//! // Both threads read 0 only if a store can wait in a buffer.
//! assert!(!litmus::run(sb, &Bounds::buffer(0)).allows(&[0, 0]));
//! assert!(litmus::run(sb, &Bounds::buffer(1)).allows(&[0, 0]));
//! ```

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use filch_memory::{Asymmetric, Atomic, Memory, Ordering};

use crate::Program;
use crate::tso::{Bounds, Explored, Tso, explore};

/// An instruction of a litmus shape. Locations are numbered from 0 and initially hold 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Writes a value to a location.
    Write(usize, u64),
    /// Reads a location into the next register.
    Read(usize),
    /// Swaps a location's value into the next register.
    Swap(usize, u64),
    /// Writes a value to a location's upper half.
    WriteHigh(usize, u32),
    /// Reads a location's lower half into the next register.
    ReadLow(usize),
    /// A full fence.
    Fence,
    /// The light side of an asymmetric fence.
    Light,
    /// The heavy side of an asymmetric fence.
    Heavy,
}

use Instruction::{Fence, Heavy, Light, Read, ReadLow, Swap, Write, WriteHigh};

/// A litmus shape, with the outcome in question.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// The instructions of each thread.
    pub threads: &'static [&'static [Instruction]],
    /// The outcome in question: the registers in the order of the threads, then, if `finals` is set, every location's
    /// last value.
    pub asks: &'static [u64],
    /// Whether outcomes include the locations' last values.
    pub finals: bool,
    /// The smallest buffer that allows the outcome; `None`: no buffer does.
    pub allowed_from: Option<usize>,
}

/// The published shapes, and variants of two of them with fences.
pub const SHAPES: &[Shape] = &[
    Shape {
        name: "SB",
        threads: &[&[Write(0, 1), Read(1)], &[Write(1, 1), Read(0)]],
        asks: &[0, 0],
        finals: false,
        allowed_from: Some(1),
    },
    Shape {
        name: "MP",
        threads: &[&[Write(0, 1), Write(1, 1)], &[Read(1), Read(0)]],
        asks: &[1, 0],
        finals: false,
        allowed_from: None,
    },
    Shape {
        name: "LB",
        threads: &[&[Read(0), Write(1, 1)], &[Read(1), Write(0, 1)]],
        asks: &[1, 1],
        finals: false,
        allowed_from: None,
    },
    Shape {
        name: "IRIW",
        threads: &[&[Write(0, 1)], &[Write(1, 1)], &[Read(0), Read(1)], &[Read(1), Read(0)]],
        asks: &[1, 0, 1, 0],
        finals: false,
        allowed_from: None,
    },
    Shape {
        name: "2+2W",
        threads: &[&[Write(0, 1), Write(1, 2)], &[Write(1, 1), Write(0, 2)]],
        asks: &[1, 1],
        finals: true,
        allowed_from: None,
    },
    Shape {
        name: "R",
        threads: &[&[Write(0, 1), Write(1, 1)], &[Write(1, 2), Read(0)]],
        asks: &[0, 1, 2],
        finals: true,
        allowed_from: Some(1),
    },
    Shape {
        name: "S",
        threads: &[&[Write(0, 2), Write(1, 1)], &[Read(1), Write(0, 1)]],
        asks: &[1, 2, 1],
        finals: true,
        allowed_from: None,
    },
    Shape {
        name: "n6",
        threads: &[&[Write(0, 1), Read(0), Read(1)], &[Write(1, 2), Write(0, 2)]],
        asks: &[1, 0, 1, 2],
        finals: true,
        allowed_from: Some(1),
    },
    Shape {
        name: "SB+2",
        threads: &[&[Write(0, 1), Write(2, 1), Read(1)], &[Write(1, 1), Write(3, 1), Read(0)]],
        asks: &[0, 0],
        finals: false,
        // One entry holds the second store; the first must have left the buffer before.
        allowed_from: Some(2),
    },
    Shape {
        name: "SB+fences",
        threads: &[&[Write(0, 1), Fence, Read(1)], &[Write(1, 1), Fence, Read(0)]],
        asks: &[0, 0],
        finals: false,
        allowed_from: None,
    },
    Shape {
        name: "SB+fence",
        threads: &[&[Write(0, 1), Fence, Read(1)], &[Write(1, 1), Read(0)]],
        asks: &[0, 0],
        finals: false,
        allowed_from: Some(1),
    },
    Shape {
        name: "SB+swaps",
        threads: &[&[Swap(0, 1), Read(1)], &[Swap(1, 1), Read(0)]],
        asks: &[0, 0, 0, 0],
        finals: false,
        allowed_from: None,
    },
    Shape {
        name: "SB+light+heavy",
        threads: &[&[Write(0, 1), Light, Read(1)], &[Write(1, 1), Heavy, Read(0)]],
        asks: &[0, 0],
        finals: false,
        allowed_from: None,
    },
    Shape {
        name: "SB+lights",
        threads: &[&[Write(0, 1), Light, Read(1)], &[Write(1, 1), Light, Read(0)]],
        asks: &[0, 0],
        finals: false,
        allowed_from: Some(1),
    },
    Shape {
        name: "SB of halves",
        threads: &[&[WriteHigh(0, 1), ReadLow(0)], &[Swap(0, 5)]],
        asks: &[0, 0, 1 << 32 | 5],
        finals: true,
        allowed_from: Some(1),
    },
    Shape {
        name: "SB of halves+fence",
        threads: &[&[WriteHigh(0, 1), Fence, ReadLow(0)], &[Swap(0, 5)]],
        asks: &[0, 0, 1 << 32 | 5],
        finals: true,
        allowed_from: None,
    },
    Shape {
        name: "half after whole",
        threads: &[&[Write(0, 3), WriteHigh(0, 1), Read(0), WriteHigh(0, 2)], &[Swap(0, 5), Read(0)]],
        // Reads the other thread's lower half, although it was written before this thread's.
        asks: &[1 << 32 | 5, 0, 2 << 32 | 3],
        finals: true,
        allowed_from: None,
    },
    Shape {
        name: "half before whole",
        threads: &[&[WriteHigh(0, 1), Write(0, 3), Read(0)], &[Read(0), Read(0)]],
        asks: &[3, 1 << 32, 3],
        finals: false,
        allowed_from: Some(0),
    },
];

/// The result of exploring a shape.
#[derive(Clone, Debug)]
pub struct Outcomes {
    /// The outcomes of all executions.
    pub outcomes: BTreeSet<Vec<u64>>,
    /// The statistics of the exploration.
    pub explored: Explored,
}

impl Outcomes {
    /// Returns whether some execution has this outcome.
    pub fn allows(&self, outcome: &[u64]) -> bool {
        self.outcomes.contains(outcome)
    }
}

/// Explores a shape and collects its outcomes.
pub fn run(shape: &Shape, bounds: &Bounds) -> Outcomes {
    let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
    let program = || program(shape, &outcomes);
    let bounds = Bounds { count_distinct: true, ..bounds.clone() };
    let explored = explore(&program, &bounds, &mut |_| ());
    let outcomes = std::mem::take(&mut *outcomes.lock().expect("no panic holds it"));
    Outcomes { outcomes, explored }
}

fn program(shape: &Shape, outcomes: &Arc<Mutex<BTreeSet<Vec<u64>>>>) -> Program {
    type Words = Vec<<Tso as Memory>::AtomicU64>;
    let largest = shape.threads.iter().copied().flatten().map(|instruction| match *instruction {
        Write(location, _) | Read(location) | Swap(location, _) | WriteHigh(location, _) | ReadLow(location) => {
            location + 1
        }
        Fence | Light | Heavy => 0,
    });
    let memory: Arc<Words> = Arc::new((0..largest.max().unwrap_or(0)).map(|_| Atomic::new(0)).collect());
    let registers: Arc<Mutex<Vec<Vec<u64>>>> = Arc::new(Mutex::new(vec![Vec::new(); shape.threads.len()]));
    let threads = shape.threads.iter().enumerate().map(|(thread, &instructions)| {
        let (memory, registers) = (Arc::clone(&memory), Arc::clone(&registers));
        let body = move || {
            let mut read = Vec::new();
            for &instruction in instructions {
                match instruction {
                    Write(location, value) => memory[location].store(value, Ordering::Relaxed),
                    Read(location) => read.push(memory[location].load(Ordering::Relaxed)),
                    Swap(location, value) => read.push(memory[location].swap(value, Ordering::Relaxed)),
                    WriteHigh(location, high) => Tso::store_high(&memory[location], 0, high, Ordering::Relaxed),
                    ReadLow(location) => read.push(Tso::load_low(&memory[location], Ordering::Relaxed).into()),
                    Fence => Tso::fence(Ordering::SeqCst),
                    Light => Tso::light_barrier(),
                    Heavy => Tso::heavy_barrier(),
                }
            }
            registers.lock().expect("no panic holds it")[thread] = read;
        };
        (format!("thread {thread}"), Box::new(body) as Box<dyn FnOnce()>)
    });
    let threads = threads.collect();
    let (finals, outcomes) = (shape.finals, Arc::clone(outcomes));
    let finally = Box::new(move || {
        let mut outcome = registers.lock().expect("no panic holds it").concat();
        if finals {
            outcome.extend(memory.iter().map(|word| word.load(Ordering::Relaxed)));
        }
        outcomes.lock().expect("no panic holds it").insert(outcome);
    });
    Program { threads, finally }
}
