//! Pools, worklists and jobs behind trait objects, so that a program is compiled once instead of for each of forty
//! types.

use std::any::type_name;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use filch::inside::host::{Crew, Lease, Seat};
use filch::levels::Level;
use filch::pool::Pool;
use filch::{Builder, Divisible, Interrupts, Scope, Stats, ThreadPool, Wait, Worker};

use crate::common::{EveryPool, picked};
use crate::evil::values::Evil;

/// A value that moves between tasks: a boxed number, optionally with a counter or with an evil value.
#[derive(Debug, Default)]
pub(crate) struct Thing {
    number: Box<usize>,
    #[expect(dead_code, reason = "it is only dropped")]
    counted: Option<Counted>,
    evil: Option<Evil>,
}

impl Thing {
    pub(crate) fn new(number: usize) -> Self {
        Self { number: Box::new(number), counted: None, evil: None }
    }

    pub(crate) fn counted(number: usize, alive: &Arc<AtomicUsize>) -> Self {
        Self { counted: Some(Counted::new(alive)), ..Self::new(number) }
    }

    pub(crate) fn evil(depth: usize) -> Self {
        Self { evil: Some(Evil::new(depth)), ..Self::new(depth) }
    }

    pub(crate) fn number(&self) -> usize {
        *self.number
    }

    pub(crate) fn set(&mut self, number: usize) {
        *self.number = number;
    }

    /// Describes it, without the panic of an evil value.
    pub(crate) fn told(self) -> String {
        match self.evil {
            Some(evil) => format!("Evil({})", evil.defuse()),
            None => self.number.to_string(),
        }
    }
}

/// Counts the values that are alive.
#[derive(Debug)]
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Counted {
    pub(crate) fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, SeqCst);
        Self(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert!(self.0.fetch_sub(1, SeqCst) > 0, "dropped twice");
    }
}

/// What the branches of a join capture and return in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bulk {
    None,
    /// Too large for a slot.
    Large,
    /// More strictly aligned than a slot.
    Aligned,
    /// One branch returns nothing and the other captures nothing.
    Empty,
}

impl Bulk {
    pub(crate) const EVERY: [Self; 4] = [Self::None, Self::Large, Self::Aligned, Self::Empty];
}

#[derive(Clone, Copy)]
struct Large([usize; 12]);

#[derive(Clone, Copy)]
#[repr(align(128))]
struct Aligned(usize);

impl Aligned {
    fn check(&self) {
        assert!(std::ptr::from_ref(self).addr().is_multiple_of(128) && self.0 == 7);
    }
}

/// A branch in handle style.
pub(crate) type Branch<'b> = Box<dyn FnOnce(&mut dyn Handle) -> Thing + Send + 'b>;

/// The items of `fork_all`. Owned, so that the iterator is dropped where it is used up.
pub(crate) type Items<'i> = Box<dyn Iterator<Item = Thing> + 'i>;

/// A [`Worker`] of any pool type, on any level.
pub(crate) trait Handle {
    fn join(&mut self, bulk: Bulk, a: Branch<'_>, b: Branch<'_>) -> (Thing, Thing);

    fn fork_all(
        &mut self,
        items: Items<'_>,
        bulk: Bulk,
        each: &(dyn Fn(&mut dyn Handle, Thing) -> Thing + Sync),
        fold: &mut dyn FnMut(usize, Thing) -> usize,
    ) -> usize;

    fn for_each(&mut self, numbers: Numbers<'_>, each: &(dyn Fn(usize) + Sync));

    fn map_reduce(&mut self, is_fixed: bool, numbers: Numbers<'_>, map: &MapFn<'_>, reduce: &ReduceFn<'_>) -> Sum;

    fn poll(&mut self);

    /// Runs `f` in closure style.
    fn install(&mut self, f: Box<dyn FnOnce() -> Thing + '_>) -> Thing;

    /// Runs a scope with a task per item, each spawned by the previous one.
    fn scope(&mut self, items: &mut [Thing], each: &(dyn Fn(&mut dyn Handle, &mut Thing) + Sync));
}

/// The sum of a loop. Shared, since sums are cloned.
pub(crate) type Sum = Arc<Thing>;
pub(crate) type MapFn<'f> = dyn Fn(usize) -> Sum + Sync + 'f;
pub(crate) type ReduceFn<'f> = dyn Fn(Sum, Sum) -> Sum + Sync + 'f;

impl<P: Pool, L: Level> Handle for Worker<'_, P, L> {
    fn join(&mut self, bulk: Bulk, a: Branch<'_>, b: Branch<'_>) -> (Thing, Thing) {
        match bulk {
            Bulk::None => self.join(move |mut w| a(&mut w), move |mut w| b(&mut w)),
            Bulk::Large => {
                let large = Large([7; 12]);
                let (a, b) = self.join(move |mut w| (a(&mut w), large), move |mut w| (b(&mut w), large));
                assert_eq!((a.1.0, b.1.0), (large.0, large.0));
                (a.0, b.0)
            }
            Bulk::Aligned => {
                let aligned = Aligned(7);
                let (a, b) = self.join(move |mut w| (a(&mut w), aligned), move |mut w| (b(&mut w), aligned));
                a.1.check();
                b.1.check();
                (a.0, b.0)
            }
            Bulk::Empty => {
                let mut there = None;
                let (a, ()) = self.join(move |mut w| a(&mut w), |mut w| there = Some(b(&mut w)));
                self.join(|_| (), |_| ());
                (a, there.expect("the second branch has run"))
            }
        }
    }

    fn fork_all(
        &mut self,
        items: Items<'_>,
        bulk: Bulk,
        each: &(dyn Fn(&mut dyn Handle, Thing) -> Thing + Sync),
        fold: &mut dyn FnMut(usize, Thing) -> usize,
    ) -> usize {
        if bulk == Bulk::Large {
            let items = items.map(|item| (item, Large([7; 12])));
            self.fork_all(
                items,
                |mut w, (item, large)| (each(&mut w, item), large),
                0,
                |sum, (thing, large)| {
                    assert_eq!(large.0, [7; 12]);
                    fold(sum, thing)
                },
            )
        } else {
            self.fork_all(items, |mut w, item| each(&mut w, item), 0, fold)
        }
    }

    fn for_each(&mut self, numbers: Numbers<'_>, each: &(dyn Fn(usize) + Sync)) {
        self.for_each(numbers, each);
    }

    fn map_reduce(&mut self, is_fixed: bool, numbers: Numbers<'_>, map: &MapFn<'_>, reduce: &ReduceFn<'_>) -> Sum {
        if is_fixed {
            self.map_reduce_fixed(numbers, Sum::default(), map, reduce)
        } else {
            self.map_reduce(numbers, Sum::default(), map, reduce)
        }
    }

    fn poll(&mut self) {
        self.poll();
    }

    fn install(&mut self, f: Box<dyn FnOnce() -> Thing + '_>) -> Thing {
        self.install(f)
    }

    fn scope(&mut self, items: &mut [Thing], each: &(dyn Fn(&mut dyn Handle, &mut Thing) + Sync)) {
        fn spawns<'s, P: Pool>(
            s: &Scope<'s, P>,
            items: &'s mut [Thing],
            each: &'s (dyn Fn(&mut dyn Handle, &mut Thing) + Sync),
        ) {
            let Some((first, others)) = items.split_first_mut() else { return };
            s.spawn(move |mut w, s| {
                spawns(s, others, each);
                each(&mut w, first);
            });
        }
        self.scope(|_, s| spawns(s, items, each));
    }
}

/// A range that calls a function at each cut, each item and each iterator's end. Any call may throw.
#[derive(Clone)]
pub(crate) struct Numbers<'f> {
    numbers: Range<usize>,
    at: &'f (dyn Fn(Moment, &Range<usize>) + Sync),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Cut,
    Item,
    End,
}

impl<'f> Numbers<'f> {
    pub(crate) fn new(numbers: Range<usize>) -> Self {
        Self { numbers, at: &|_, _| () }
    }

    pub(crate) fn watched(numbers: Range<usize>, at: &'f (dyn Fn(Moment, &Range<usize>) + Sync)) -> Self {
        Self { numbers, at }
    }
}

impl Divisible for Numbers<'_> {
    fn length(&self) -> usize {
        self.numbers.len()
    }

    fn cut(self, at: usize) -> (Self, Self) {
        let (left, right) = self.numbers.cut(at);
        (self.at)(Moment::Cut, &left);
        let part = |numbers| Self { numbers, at: self.at };
        (part(left), part(right))
    }
}

impl<'f> IntoIterator for Numbers<'f> {
    type Item = usize;
    type IntoIter = NumbersIter<'f>;

    fn into_iter(self) -> NumbersIter<'f> {
        NumbersIter { all: self.numbers.clone(), left: self }
    }
}

pub(crate) struct NumbersIter<'f> {
    all: Range<usize>,
    left: Numbers<'f>,
}

impl Iterator for NumbersIter<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let next = self.left.numbers.next();
        if let Some(next) = next {
            (self.left.at)(Moment::Item, &(next..next + 1));
        }
        next
    }

    /// Like the default, which however loses the folded value when the iterator's end panics: see rust-lang/rust#47949.
    fn fold<B, F: FnMut(B, usize) -> B>(mut self, init: B, mut f: F) -> B {
        let mut folded = init;
        for number in self.by_ref() {
            folded = f(folded, number);
        }
        drop(self);
        folded
    }
}

impl Drop for NumbersIter<'_> {
    fn drop(&mut self) {
        // Not during a panic, where nobody could tell a second one apart.
        if !std::thread::panicking() {
            (self.left.at)(Moment::End, &self.all);
        }
    }
}

/// A [`ThreadPool`] of any type.
pub(crate) trait AnyPool: Send + Sync {
    fn workers(&self) -> usize;

    fn run(&self, f: Branch<'_>) -> Thing;

    fn install(&self, f: Box<dyn FnOnce() -> Thing + Send + '_>) -> Thing;

    fn spawn(&self, f: Box<dyn FnOnce() + Send>);

    fn stats(&self) -> Stats;

    fn forget_peak_depth(&self);
}

impl<P: Pool> AnyPool for ThreadPool<P> {
    fn workers(&self) -> usize {
        self.workers()
    }

    fn run(&self, f: Branch<'_>) -> Thing {
        self.run(|mut w| f(&mut w))
    }

    fn install(&self, f: Box<dyn FnOnce() -> Thing + Send + '_>) -> Thing {
        self.install(f)
    }

    fn spawn(&self, f: Box<dyn FnOnce() + Send>) {
        self.spawn(f);
    }

    fn stats(&self) -> Stats {
        self.stats()
    }

    fn forget_peak_depth(&self) {
        self.forget_peak_depth();
    }
}

/// [`AnyPool::run`] with any result.
pub(crate) fn run<R: Send>(pool: &dyn AnyPool, f: impl FnOnce(&mut dyn Handle) -> R + Send) -> R {
    let mut result = None;
    pool.run(Box::new(|w| {
        result = Some(f(w));
        Thing::default()
    }));
    result.expect("the call has run")
}

/// [`AnyPool::install`] with any result.
pub(crate) fn install<R: Send>(pool: &dyn AnyPool, f: impl FnOnce() -> R + Send) -> R {
    let mut result = None;
    pool.install(Box::new(|| {
        result = Some(f());
        Thing::default()
    }));
    result.expect("the call has run")
}

type Hook = Arc<dyn Fn(usize) + Send + Sync>;

/// How to build a pool.
#[derive(Clone)]
pub(crate) struct PoolSettings {
    pub(crate) workers: usize,
    pub(crate) wait: Wait,
    pub(crate) capacity: usize,
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_exit: Option<Hook>,
    pub(crate) interrupted: bool,
}

impl PoolSettings {
    pub(crate) fn new(workers: usize, wait: Wait, capacity: usize) -> Self {
        Self { workers, wait, capacity, on_start: None, on_exit: None, interrupted: false }
    }

    fn builder<P: Pool>(self) -> Builder<P> {
        let builder = Builder::new().workers(self.workers).wait(self.wait).task_capacity(self.capacity);
        let builder = self.on_start.into_iter().fold(builder, |builder, hook| builder.on_start(move |n| hook(n)));
        let builder = self.on_exit.into_iter().fold(builder, |builder, hook| builder.on_exit(move |n| hook(n)));
        // Ticks that nobody waits for.
        let often = Interrupts::flag().every(Duration::from_micros(20));
        if self.interrupted { builder.interrupts(often) } else { builder }
    }
}

/// A pool type.
#[derive(Clone, Copy)]
pub(crate) struct PoolKind {
    pub(crate) name: &'static str,
    is_transitive: bool,
    build: fn(PoolSettings) -> Box<dyn AnyPool>,
    seats: fn(PoolSettings) -> (Crew, Lease, Vec<Seat>),
}

impl PoolKind {
    /// All pool types.
    pub(crate) fn every() -> Vec<Self> {
        struct Kinds(RefCell<Vec<PoolKind>>);
        impl EveryPool for Kinds {
            fn with<P: Pool>(&self) {
                self.0.borrow_mut().push(PoolKind {
                    name: type_name::<P>(),
                    is_transitive: P::TRANSITIVE,
                    build: |settings| Box::new(settings.builder::<P>().build().expect("the pool starts")),
                    seats: |settings| settings.builder::<P>().seats().expect("there is memory"),
                });
            }
        }
        let kinds = Kinds(RefCell::default());
        kinds.every();
        kinds.0.into_inner()
    }

    pub(crate) fn waits(self) -> impl Iterator<Item = Wait> {
        Wait::EVERY.iter().copied().filter(move |&wait| self.is_transitive || wait != Wait::Transitive)
    }

    /// Every size and strategy, and task stacks that fill up soon.
    fn settings(self) -> Vec<(usize, Wait, usize)> {
        let sizes = [(1, 64), (2, 64), (3, 64), (2, 2)];
        self.waits().flat_map(|wait| sizes.map(|(workers, capacity)| (workers, wait, capacity))).collect()
    }

    pub(crate) fn build(self, settings: PoolSettings) -> Box<dyn AnyPool> {
        (self.build)(settings)
    }

    pub(crate) fn seats(self, settings: PoolSettings) -> (Crew, Lease, Vec<Seat>) {
        (self.seats)(settings)
    }
}

/// Calls `program` for each pool type with each way to build one.
pub(crate) fn with_kinds(program: impl Fn(PoolKind, PoolSettings)) {
    for kind in PoolKind::every() {
        for (workers, wait, capacity) in picked(&kind.settings(), 1) {
            println!("{workers} workers of {}, wait: {wait}, capacity: {capacity}", kind.name);
            program(kind, PoolSettings::new(workers, wait, capacity));
        }
    }
}

/// Like [`with_kinds`], with the pools built.
pub(crate) fn with_pools(program: impl Fn(&dyn AnyPool)) {
    with_kinds(|kind, settings| program(&*kind.build(settings)));
}
