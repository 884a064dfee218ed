//! The two styles in which a loop forks: by a worker's handle, and by closures.
//!
//! Invariant: a lent item is worked on once, by a thief, or goes back.

use std::marker::PhantomData;

use crate::fork;
use crate::here::Here;
use crate::home::current_home;
use crate::job::Body;
use crate::join::ByClosure;
use crate::pool::Pool;
use crate::worker::{Worker, by_handle};

/// A loop's style of forking.
pub(super) trait Forker: Sized {
    type Branch<'b>: for<'c> Forker<Branch<'c> = Self::Branch<'c>>;

    /// Lends itself to the body of the loop.
    fn again<R>(&mut self, f: impl for<'b> FnOnce(Self::Branch<'b>) -> R) -> R;

    /// Whether thieves would see a lent item.
    fn lends(&self) -> bool;

    /// Whether thieves can take none of the tasks there are.
    fn wants(&self) -> bool;

    /// Returns how many of a worker's newest tasks thieves leave to it.
    fn kept_back(&self) -> usize;

    /// Runs `a`, while a thief may take `item` and run `b` on it.
    fn lend<A, B, I, RA, RB>(&mut self, a: A, item: I, b: &B) -> (RA, Lent<I, RB>)
    where
        A: for<'b> FnOnce(Self::Branch<'b>) -> RA,
        B: for<'b> Fn(Self::Branch<'b>, I) -> RB + Sync,
        I: Send,
        RB: Send;

    fn fork<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Self::Branch<'b>) -> RA + Send,
        B: for<'b> FnOnce(Self::Branch<'b>) -> RB + Send,
        RA: Send,
        RB: Send;
}

/// The outcome of lending an item.
pub(super) enum Lent<I, R> {
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

    #[inline(always)]
    fn again<R>(&mut self, f: impl for<'b> FnOnce(Worker<'b, P>) -> R) -> R {
        f(Worker::again(self))
    }

    #[inline]
    fn lends(&self) -> bool {
        self.seen().lends()
    }

    fn wants(&self) -> bool {
        self.wants_work()
    }

    fn kept_back(&self) -> usize {
        self.seen().home().common.kept_back
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

/// Closure style, on a worker.
pub(super) struct Closures;

impl Forker for Closures {
    type Branch<'b> = Self;

    #[inline(always)]
    fn again<R>(&mut self, f: impl FnOnce(Self) -> R) -> R {
        f(Self)
    }

    #[inline]
    fn lends(&self) -> bool {
        // SAFETY: it is used at once.
        unsafe { Here::current() }.lends()
    }

    fn wants(&self) -> bool {
        // SAFETY: it is used at once.
        fork::wants_work(&unsafe { Here::current() })
    }

    fn kept_back(&self) -> usize {
        current_home().map_or(0, |home| home.common.kept_back)
    }

    #[inline]
    fn lend<A, B, I, RA, RB>(&mut self, a: A, item: I, b: &B) -> (RA, Lent<I, RB>)
    where
        A: FnOnce(Self) -> RA,
        B: Fn(Self, I) -> RB + Sync,
        I: Send,
        RB: Send,
    {
        let a = ByClosure(move || a(Self));
        let lending = Lending::new(item, move |item| ByClosure(move || b(Self, item)));
        // SAFETY: it is used at once, and this thread is a worker.
        fork::join(unsafe { Here::current() }, a, lending)
    }

    #[inline]
    fn fork<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Self) -> RA + Send,
        B: for<'b> FnOnce(Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        crate::join(|| a(Self), || b(Self))
    }
}
