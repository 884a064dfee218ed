//! The instructions of a fork and its join, including the two calls it makes, in each style and on each pool, as a
//! Markdown table. It single-steps `fib` on a pool of one worker and divides the count by the number of forks.
//!
//! Invariant: the count includes everything, from the test that ends the recursion on, except padding, which depends on
//! code placement.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[path = "../../filch-queue/tests/emitted/single_step.rs"]
mod single_step;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn main() {
    count::table();
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn main() {
    println!("Instructions are counted on x86-64 Linux only.");
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod count {
    use filch::levels::{Level, Levels};
    use filch::pool::{Clock, Heartbeat, Pool, PrivateStack, Queued, Request, Sharing, Split, SplitSettings, Wool};
    use filch::{Builder, ThreadPool, Worker, inline_recursion};
    use filch_queue::lace::Moves;
    use filch_queue::{Amount, ChaseLev, Queue, The, Unfenced, for_each_queue};

    use crate::single_step::{Count, counted};

    /// Fits the trace, and gives the ends of the recursion little weight.
    const N: u32 = 11;
    const FORKS: usize = 143;
    const FIB: u64 = 89;

    fn handles<P: Pool>(mut w: Worker<'_, P>, n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let (a, b) = w.join(move |w| handles(w, n - 1), move |w| handles(w, n - 2));
        a + b
    }

    #[inline]
    fn levels<P: Pool, L: Level>(mut w: Worker<'_, P, L>, n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let (a, b) = w.join(move |w| levels(w, n - 1), move |w| levels(w, n - 2));
        a + b
    }

    #[inline_recursion(3)]
    fn unrolled<P: Pool>(mut w: Worker<'_, P>, n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let (a, b) = w.join(move |w| unrolled(w, n - 1), move |w| unrolled(w, n - 2));
        a + b
    }

    fn closures(n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let (a, b) = filch::join(move || closures(n - 1), move || closures(n - 2));
        a + b
    }

    #[inline_recursion(3)]
    fn unrolled_closures(n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let (a, b) = filch::join(move || unrolled_closures(n - 1), move || unrolled_closures(n - 2));
        a + b
    }

    fn forks(mut w: Worker<'_>, n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        w.fork_all([n - 1, n - 2], forks, 0, |a, b| a + b)
    }

    fn forks_by_closure(n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        filch::fork_all([n - 1, n - 2], forks_by_closure, 0, |a, b| a + b)
    }

    pub(crate) fn table() {
        println!("| fork | instructions | fences | locked |");
        println!("|---|---|---|---|");
        by_handle::<Split>("split", handles);
        let half_stores = SplitSettings::default().moves(Moves::HalfStores);
        by_handle_on(&pool_of::<Split>(half_stores), "split, half-stores", handles);
        let as_printed = half_stores.share(Sharing::OnRequest(Amount::Half));
        by_handle_on(&pool_of::<Split>(as_printed), "split, as Lace's figure 4", handles);
        by_handle::<Split>("split, levels", |w, n| levels(w.in_levels::<Levels<2>>(), n));
        by_handle::<Split>("split, unrolled", unrolled);
        by_handle::<Split>("split, fork_all", forks);
        by_closure::<Split>("split, closures", closures);
        by_closure::<Split>("split, closures, unrolled", unrolled_closures);
        by_closure::<Split>("split, closures, fork_all", forks_by_closure);
        by_handle::<Wool>("wool", handles);
        by_closure::<Wool>("wool, closures", closures);
        by_handle::<PrivateStack>("direct-pdq-r2", handles);
        by_handle::<Heartbeat<ChaseLev, Clock>>("heartbeat", handles);
        by_handle::<Heartbeat<ChaseLev, Request>>("heartbeat-request", handles);
        by_closure::<Queued<ChaseLev>>("chase-lev, closures", closures);
        by_handle::<Queued<Unfenced<ChaseLev>>>("chase-lev-unfenced", handles);
        by_handle::<Queued<Unfenced<The>>>("the-unfenced", handles);
        for name in [
            "abp",
            "chase-lev",
            "chase-lev-asym",
            "lace",
            "locked",
            "one-exposed",
            "pdq-r",
            "pdq-r-async",
            "the",
            "wsq",
            "wsq-packed",
        ] {
            on_queue(name);
        }
    }

    /// Counts on the queue of this name, if a pool can be made of it with default parameters.
    macro_rules! if_named {
        ($name:ident, $lists:ident $queue:ty, $but:ident) => {};
        ($name:ident, twice $queue:ty) => {};
        ($name:ident, $lists:ident $queue:ty) => {
            if $name == <$queue as Queue>::PROMISES.name {
                return by_handle::<Queued<$queue>>($name, handles);
            }
        };
    }

    macro_rules! queues {
        ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
            fn on_queue(name: &str) {
                $(if_named!(name, $lists $queue $(, $but)?);)+
                panic!("no pool can be made of a queue called `{name}`");
            }
        };
    }

    for_each_queue!(queues);

    fn pool<P: Pool>() -> ThreadPool<P> {
        pool_of(P::Settings::default())
    }

    fn pool_of<P: Pool>(settings: P::Settings) -> ThreadPool<P> {
        Builder::<P>::new().workers(1).settings(settings).build().expect("a pool of one worker")
    }

    fn by_handle<P: Pool>(name: &str, fib: impl Fn(Worker<'_, P>, u32) -> u64 + Sync) {
        by_handle_on(&pool(), name, fib);
    }

    fn by_handle_on<P: Pool>(pool: &ThreadPool<P>, name: &str, fib: impl Fn(Worker<'_, P>, u32) -> u64 + Sync) {
        pool.run(|mut w| {
            // The first run looks up lazily bound functions and grows growable queues. The outer fork makes the stack
            // non-empty.
            assert_eq!(w.join(|w| fib(w, N), |_| ()).0, FIB);
            w.join(|w| row(name, || fib(w, N)), |_| ())
        });
    }

    fn by_closure<P: Pool>(name: &str, fib: fn(u32) -> u64) {
        pool::<P>().install(|| {
            filch::join(|| assert_eq!(fib(N), FIB), || ());
            filch::join(|| row(name, || fib(N)), || ())
        });
    }

    fn row(name: &str, fib: impl FnOnce() -> u64) {
        let (result, Count { instructions, fences, locked, padding }) = counted(fib);
        assert_eq!(result, FIB);
        let each = |number: usize| (number as f64 / FORKS as f64 * 10.0).round() / 10.0;
        println!("| {name} | {} | {} | {} |", each(instructions - padding), each(fences), each(locked));
    }
}
