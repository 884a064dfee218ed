//! The owner's instructions, as the processor executes them on the fast path. The fence-free queues are outside Rust's
//! memory model: even if their source is right, the compiler's output may not be. And forms that are as a paper prints
//! them have the fences and atomic updates of its figure, which is what they are compared for.
#![cfg(all(feature = "fence-free", target_arch = "x86_64", target_os = "linux", not(miri)))]

mod single_step;

use core::hint::black_box;
use core::num::NonZeroUsize;

use filch_queue::lace::{Moves, Policies};
use filch_queue::{
    ChaseLev, Delta, FfCl, FfThe, ImpatientThep, Lace, Owner, Padded, PdqR, PdqRAsync, Queue, Steal, Task, The, Thep,
    ThepApart, Thief, Unfenced, Wsq, WsqPacked,
};
use single_step::{Access, Step, counted, traced};

const LINE: u64 = align_of::<Padded<u8>>() as u64;

/// A pop on the fast path, compared with a thief's accesses to the same words.
struct Pop {
    steps: Vec<Step>,
    /// The word that the owner lowers: the owner writes it and a thief reads it.
    tail: Access,
    /// Where thieves take: a thief writes it and the owner reads it.
    head: Access,
    /// The thieves' number, if it is apart from that: likewise, but four bytes.
    numbers: Vec<Access>,
    /// Other writes outside the owner's own memory.
    others: Vec<Access>,
}

fn accesses(steps: &[Step]) -> impl Iterator<Item = Access> + Clone {
    steps.iter().filter_map(|step| if let Step::Access(access) = step { Some(*access) } else { None })
}

fn single(mut found: impl Iterator<Item = Access>, what: &str) -> Access {
    let first = found.next().unwrap_or_else(|| panic!("no {what}"));
    assert_eq!(found.next(), None, "more than one {what}");
    first
}

impl Pop {
    fn of<Q: Queue>(params: &Q::Params) -> Self {
        let (owner, mut thieves) = Q::make(512, 1, params);
        // On the heap, so that the owner's words are distinct from the stack.
        let mut owner = Box::new(owner);
        for n in 1..=400 {
            owner.push(Task::from_id(NonZeroUsize::new(n).unwrap())).unwrap();
        }
        let (stolen, theft) = traced(|| black_box(&mut thieves[0]).steal());
        assert_eq!(stolen.task().map(|task| task.id().get()), Some(1));
        owner.pop().unwrap();
        let (popped, steps) = traced(|| black_box(&mut *owner).pop());
        assert_eq!(popped.map(|task| task.id().get()), Some(399));

        let start = (&raw const *owner).addr() as u64;
        let own = start..start + size_of_val(&*owner) as u64;
        let shared: Vec<_> = accesses(&steps).filter(|access| !own.contains(&access.address)).collect();
        let steals = |address: u64, how: fn(&Access) -> bool| {
            accesses(&theft).any(|access| access.address == address && how(&access))
        };
        let mut writes = shared.iter().copied().filter(|access| access.writes);
        let is_tail = |access: &Access| steals(access.address, |access| access.reads);
        let tail = single(writes.clone().filter(is_tail), "store of T");
        let reads = shared.iter().copied().filter(|access| access.reads);
        let of_thieves = reads.filter(|access| steals(access.address, |access| access.writes));
        let (numbers, heads): (Vec<_>, Vec<_>) = of_thieves.partition(|access| access.bytes == 4);
        let head = single(heads.into_iter(), "load of H");
        let others = writes.by_ref().filter(|access| *access != tail).collect();
        Self { steps, tail, head, numbers, others }
    }

    fn position(&self, access: Access) -> usize {
        self.steps.iter().position(|step| matches!(step, Step::Access(other) if *other == access)).unwrap()
    }

    fn drains(&self) -> Vec<usize> {
        (0..self.steps.len()).filter(|&step| matches!(self.steps[step], Step::Drain)).collect()
    }

    /// Lowers T, reads H, and stores to a line of its own before it returns; never waits for the store buffer.
    fn assert_fence_free(&self) {
        assert_eq!(self.drains(), [0; 0], "{:?}", self.steps);
        assert!(self.tail.writes && !self.tail.reads && self.head.reads && !self.head.writes);
        assert_eq!(self.head.bytes, 8, "one load reads H");
        let pad = single(self.others.iter().copied(), "pad");
        assert!(self.position(self.tail) < self.position(self.head), "the load of H comes first: {:?}", self.steps);
        assert!(self.position(self.head) < self.position(pad), "the pad comes too early: {:?}", self.steps);
        let between = self.position(self.tail)..self.position(pad);
        let are_between = self.numbers.iter().all(|number| between.contains(&self.position(*number)));
        assert!(are_between, "a number is read too early or too late: {:?}", self.steps);
        let lines = [self.tail, self.head, pad].map(|access| access.address / LINE);
        assert!(lines[0] != lines[1] && lines[1] != lines[2] && lines[0] != lines[2], "they share lines: {lines:?}");
    }

    /// Lowers T, waits for the store buffer, and reads H.
    fn assert_fenced(&self) {
        let drains = self.drains();
        assert_eq!(drains.len(), 1, "{:?}", self.steps);
        assert!((self.position(self.tail)..self.position(self.head)).contains(&drains[0]), "{:?}", self.steps);
        assert_eq!(self.others, []);
    }
}

fn delta() -> Delta {
    // SAFETY: there is only one thread.
    unsafe { Delta::from_bound(Delta::ASSUMED_BOUND) }
}

#[test]
fn ff_the_pops_without_a_fence() {
    Pop::of::<FfThe>(&delta()).assert_fence_free();
}

#[test]
fn ff_cl_pops_without_a_fence() {
    Pop::of::<FfCl>(&delta()).assert_fence_free();
}

#[test]
fn thep_pops_without_a_fence() {
    Pop::of::<ImpatientThep>(&delta()).assert_fence_free();
    let apart = Pop::of::<ThepApart>(&delta());
    apart.assert_fence_free();
    assert_eq!(apart.numbers.len(), 1, "{:?}", apart.steps);
}

/// These show that the test detects a fence.
#[test]
fn the_and_chase_lev_pop_with_a_fence() {
    Pop::of::<The>(&()).assert_fenced();
    Pop::of::<ChaseLev>(&()).assert_fenced();
}

/// The numbers of fences and of other locked instructions that the processor executes.
fn synchronizes<R>(f: impl FnOnce() -> R) -> [usize; 2] {
    let (_, count) = counted(f);
    [count.fences, count.locked]
}

fn holding<Q: Queue>(tasks: usize, thieves: usize, params: &Q::Params) -> (Q::Owner, Vec<Q::Thief>) {
    let (mut owner, thieves) = Q::make(64, thieves, params);
    for _ in 0..tasks {
        owner.push(Task::from_id(NonZeroUsize::MIN)).unwrap();
    }
    (owner, thieves)
}

/// What a push and a pop execute, over other tasks.
fn of_push_and_pop<Q: Queue>(thieves: usize, params: &Q::Params) -> [[usize; 2]; 2] {
    let (mut owner, _thieves) = holding::<Q>(8, thieves, params);
    let push = synchronizes(|| black_box(&mut owner).push(Task::from_id(NonZeroUsize::MIN)).is_ok());
    [push, synchronizes(|| black_box(&mut owner).pop())]
}

/// What a push of several tasks executes, and one into a slot that the owner does not know to be empty.
fn of_pushes_by_wsq() -> [[usize; 2]; 2] {
    let tasks = [Task::from_id(NonZeroUsize::MIN); 56];
    let (mut owner, _thieves) = holding::<Wsq>(8, 1, &Default::default());
    let several = synchronizes(|| black_box(&mut owner).push_many(&tasks) == 56);
    owner.pop().expect("it holds 64");
    [several, synchronizes(|| black_box(&mut owner).push(tasks[0]).is_ok())]
}

/// What the answer to a request executes.
fn of_answer<Q: Queue<Params: Default>>() -> [usize; 2] {
    let (mut owner, mut thieves) = holding::<Q>(8, 1, &Q::Params::default());
    assert_eq!(thieves[0].steal(), Steal::Pending);
    let answer = synchronizes(|| black_box(&mut owner).poll());
    assert!(thieves[0].steal().is_task());
    answer
}

/// What sharing tasks, and taking some back, executes.
fn of_moves(moves: Moves) -> [[usize; 2]; 2] {
    let (mut owner, mut thieves) = holding::<Lace>(8, 1, &Policies { moves, ..Policies::default() });
    assert!(thieves[0].steal().is_task(), "the first task is shared at once");
    assert_eq!(thieves[0].steal(), Steal::Empty, "and no other");
    let share = synchronizes(|| black_box(&mut owner).poll());
    // Of seven tasks four are shared.
    (0..3).for_each(|_| assert_eq!(synchronizes(|| black_box(&mut owner).pop()), [0, 0]));
    [share, synchronizes(|| black_box(&mut owner).pop())]
}

#[test]
fn forms_as_printed_synchronize_as_their_figures_say() {
    const NOTHING: [usize; 2] = [0, 0];
    assert_eq!(of_push_and_pop::<The>(1, &()), [NOTHING, [1, 0]]);
    assert_eq!(of_push_and_pop::<ChaseLev>(1, &()), [NOTHING, [1, 0]]);
    assert_eq!(of_push_and_pop::<Unfenced<The>>(0, &()), [NOTHING; 2]);
    assert_eq!(of_push_and_pop::<Unfenced<ChaseLev>>(0, &()), [NOTHING; 2]);
    assert_eq!(of_push_and_pop::<FfThe>(1, &delta()), [NOTHING; 2]);
    assert_eq!(of_push_and_pop::<FfCl>(1, &delta()), [NOTHING; 2]);
    assert_eq!(of_push_and_pop::<Thep>(1, &delta()), [NOTHING; 2]);
    assert_eq!(of_push_and_pop::<ThepApart>(1, &delta()), [NOTHING; 2]);
    // A swap of the word each, however many tasks are pushed; and an exchange of a slot for a pop.
    assert_eq!(of_push_and_pop::<Wsq>(1, &Default::default()), [[0, 1], [0, 2]]);
    assert_eq!(of_pushes_by_wsq(), [[0, 1], [0, 2]]);
    assert_eq!(of_push_and_pop::<WsqPacked>(1, &Default::default()), [[0, 1], [0, 2]]);
    // The thieves of `PdqR` do not withdraw.
    assert_eq!(of_push_and_pop::<PdqR>(1, &Default::default()), [NOTHING; 2]);
    assert_eq!([of_answer::<PdqR>(), of_answer::<PdqRAsync>()], [NOTHING, [0, 1]]);
    assert_eq!(of_moves(Moves::HalfStores), [NOTHING, [1, 0]]);
    assert_eq!(of_moves(Moves::Updates), [[0, 1]; 2]);
}
