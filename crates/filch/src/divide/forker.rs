//! The two styles in which a loop forks: by a worker's handle, and by closures.
//!
//! Invariants: a lent item is worked on once, by a thief, or goes back. Only code on a worker has [`Closures`], except
//! to start a job.

use std::marker::PhantomData;

use crate::fork::{fast_path, here::Here, job::Body};
use crate::tasks::handle::{Worker, by_handle};
use crate::tasks::join::ByClosure;
use crate::threads::thread_pool::ThreadPool;
use crate::worker::home::{Home, Outer, current_home};
use crate::worker::plumbing::Pool;
use crate::worker::strands;

/// The style in which a loop forks: by a worker's [handle](Worker), or by [closures](Closures). No other type
/// implements it.
pub trait Forker: sealed::Sealed + Sized {
    #[doc(hidden)]
    type Branch<'b>: for<'c> Forker<Branch<'c> = Self::Branch<'c>>;

    /// Runs a job on a worker.
    #[doc(hidden)]
    fn start<J: Work>(self, job: J) -> J::Out;

    /// Lends itself to `f`.
    #[doc(hidden)]
    fn within<R>(&mut self, f: impl for<'b> FnOnce(Self::Branch<'b>) -> R) -> R;

    #[doc(hidden)]
    fn place(&self) -> Place;

    /// The rate that the loop of this code had when it last ran here, if it is known.
    #[doc(hidden)]
    fn rate(&self, code: usize) -> Option<u64>;

    #[doc(hidden)]
    fn set_rate(&self, code: usize, rate: u64);

    /// Tells loops that start on this worker about the block around them.
    #[doc(hidden)]
    fn tell(&self, outer: Option<Outer>);

    /// Whether thieves would see a lent item at once, and do not see enough work.
    #[doc(hidden)]
    fn lends(&self) -> bool;

    /// Whether nothing is stealable.
    #[doc(hidden)]
    fn wants(&self) -> bool;

    /// Called once the loop has proved long: wakes a worker that naps while calls are short.
    #[doc(hidden)]
    fn call_for_help(&self);

    /// Runs `a`, while a thief may take `item` and run `b` on it.
    #[doc(hidden)]
    fn lend<A, B, I, RA, RB>(&mut self, a: A, item: I, b: &B) -> (RA, Lent<I, RB>)
    where
        A: for<'b> FnOnce(Self::Branch<'b>) -> RA,
        B: for<'b> Fn(Self::Branch<'b>, I) -> RB + Sync,
        I: Send,
        RB: Send;

    #[doc(hidden)]
    fn fork<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Self::Branch<'b>) -> RA + Send,
        B: for<'b> FnOnce(Self::Branch<'b>) -> RB + Send,
        RA: Send,
        RB: Send;
}

/// What a loop needs to know of its worker.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub(crate) workers: usize,
    /// The number of a worker's newest tasks that thieves leave to it.
    pub(super) kept_back: usize,
    pub(super) outer: Outer,
}

impl Place {
    /// The number of workers for which an algorithm divides its work.
    pub(crate) fn parts(self) -> usize {
        if self.workers == 1 { strands::workers() } else { self.workers }
    }

    #[inline]
    fn of(home: &Home) -> Self {
        let common = &home.common;
        Self { workers: common.workers(), kept_back: common.kept_back, outer: home.outer.get() }
    }
}

const ON_A_WORKER: &str = "a loop runs on a worker";

mod sealed {
    pub trait Sealed {}

    impl<P: crate::pool::Pool> Sealed for crate::tasks::handle::Worker<'_, P> {}

    impl Sealed for super::Closures {}
}

/// Work that forks in any style.
#[doc(hidden)]
pub trait Work: Send {
    type Out: Send;

    fn run<K: Forker>(self, forker: K) -> Self::Out;
}

/// The outcome of lending an item.
#[doc(hidden)]
#[derive(Debug)]
pub enum Lent<I, R> {
    /// Nobody has taken the item.
    Back(I),
    /// A thief has run it, with this result.
    Done(R),
}

/// A lent item, and the function that makes work of it for a thief.
struct Lending<I, M, B> {
    item: I,
    work: M,
    body: PhantomData<fn() -> B>,
}

impl<I, M: FnOnce(I) -> B, B> Lending<I, M, B> {
    fn new(item: I, work: M) -> Self {
        Self { item, work, body: PhantomData }
    }
}

impl<I, M: FnOnce(I) -> B, B: Body> Body for Lending<I, M, B> {
    type Out = Lent<I, B::Out>;
    type In = B::In;

    #[inline(always)]
    fn inline(self, _: Here<'_, B::In>) -> Self::Out {
        Lent::Back(self.item)
    }

    fn stolen(self, here: Here<'_, B::In>) -> Self::Out {
        Lent::Done((self.work)(self.item).stolen(here))
    }

    #[inline(always)]
    fn raise(here: &Here<'_, B::In>) {
        B::raise(here);
    }

    #[inline(always)]
    fn lower(here: &Here<'_, B::In>) {
        B::lower(here);
    }
}

impl<P: Pool> Forker for Worker<'_, P> {
    type Branch<'b> = Worker<'b, P>;

    #[inline]
    fn start<J: Work>(self, job: J) -> J::Out {
        job.run(self)
    }

    #[inline(always)]
    fn within<R>(&mut self, f: impl for<'b> FnOnce(Worker<'b, P>) -> R) -> R {
        f(self.again())
    }

    #[inline]
    fn place(&self) -> Place {
        Place::of(&self.seen().home())
    }

    #[inline]
    fn rate(&self, code: usize) -> Option<u64> {
        self.seen().home().rates.get(code)
    }

    #[inline]
    fn set_rate(&self, code: usize, rate: u64) {
        self.seen().home().rates.set(code, rate);
    }

    #[inline]
    fn tell(&self, outer: Option<Outer>) {
        self.seen().home().outer.set(outer.unwrap_or_default());
    }

    #[inline]
    fn lends(&self) -> bool {
        self.seen().lends()
    }

    fn wants(&self) -> bool {
        self.wants_work()
    }

    fn call_for_help(&self) {
        self.seen().home().common.call_for_help();
    }

    #[inline]
    fn lend<A, B, I, RA, RB>(&mut self, a: A, item: I, b: &B) -> (RA, Lent<I, RB>)
    where
        A: for<'b> FnOnce(Worker<'b, P>) -> RA,
        B: for<'b> Fn(Worker<'b, P>, I) -> RB + Sync,
        I: Send,
        RB: Send,
    {
        let a = by_handle(a);
        let lending = Lending::new(item, move |item| by_handle(move |w: Worker<'_, P>| b(w, item)));
        P::join(self.here(), a, lending)
    }

    #[inline]
    fn fork<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Worker<'b, P>) -> RA + Send,
        B: for<'b> FnOnce(Worker<'b, P>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.join(a, b)
    }
}

/// Closure style: on the current worker's pool, or on the [global one](ThreadPool::global).
#[derive(Debug)]
pub struct Closures(());

impl Closures {
    /// Closure style, to start jobs only, unless this thread is a worker.
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// The first branch of a fork, which only a worker makes.
    #[inline]
    fn first<R>(f: impl FnOnce(Self) -> R) -> ByClosure<impl FnOnce() -> R> {
        assert!(current_home().is_some(), "{ON_A_WORKER}");
        ByClosure(move || f(Self(())))
    }
}

impl Forker for Closures {
    type Branch<'b> = Self;

    #[inline]
    fn start<J: Work>(self, job: J) -> J::Out {
        if current_home().is_none() { ThreadPool::global().install(|| job.run(Self(()))) } else { job.run(self) }
    }

    #[inline(always)]
    fn within<R>(&mut self, f: impl FnOnce(Self) -> R) -> R {
        f(Self(()))
    }

    #[inline]
    fn place(&self) -> Place {
        Place::of(&current_home().expect(ON_A_WORKER))
    }

    #[inline]
    fn rate(&self, code: usize) -> Option<u64> {
        current_home().expect(ON_A_WORKER).rates.get(code)
    }

    #[inline]
    fn set_rate(&self, code: usize, rate: u64) {
        current_home().expect(ON_A_WORKER).rates.set(code, rate);
    }

    #[inline]
    fn tell(&self, outer: Option<Outer>) {
        current_home().expect(ON_A_WORKER).outer.set(outer.unwrap_or_default());
    }

    #[inline]
    fn lends(&self) -> bool {
        Here::with(|here| here.lends())
    }

    fn wants(&self) -> bool {
        Here::with(|here| fast_path::wants_work(&here))
    }

    fn call_for_help(&self) {
        current_home().expect(ON_A_WORKER).common.call_for_help();
    }

    #[inline]
    fn lend<A, B, I, RA, RB>(&mut self, a: A, item: I, b: &B) -> (RA, Lent<I, RB>)
    where
        A: FnOnce(Self) -> RA,
        B: Fn(Self, I) -> RB + Sync,
        I: Send,
        RB: Send,
    {
        let a = Self::first(a);
        let lending = Lending::new(item, move |item| ByClosure(move || b(Self(()), item)));
        fast_path::join_here(a, lending)
    }

    #[inline]
    fn fork<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Self) -> RA + Send,
        B: for<'b> FnOnce(Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        fast_path::join_here(Self::first(a), ByClosure(move || b(Self(()))))
    }
}
