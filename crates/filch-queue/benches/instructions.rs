//! The instructions that the owner executes for a push and a pop without thieves, and to answer a thief, as Markdown
//! tables. The library's documentation contains these tables.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[path = "../tests/emitted/single_step.rs"]
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
    use core::any::Any;
    use core::hint::black_box;
    use core::num::NonZeroUsize;
    use core::time::Duration;

    use crossbeam_deque::Worker;
    use filch_queue::lace::{Moves, Policies};
    use filch_queue::{
        Adws, ChaseLev, Full, Lace, Owner, PadWs, PdqR, PdqRAsync, PdqSOneStep, PdqSTold, Queue, Task, The, Thief,
        Unfenced, for_each_queue, pdq,
    };

    use crate::single_step::{Count, counted};

    /// Tasks below the counted ones. Runs pass a power of two, where some queues do more.
    const BELOW: usize = 480;
    /// Room for all of them.
    const CAPACITY: usize = 1024;
    /// Pairs, pushes or pops in a trace.
    const PAIRS: usize = 64;

    macro_rules! rows {
        ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
            $(row::<$queue>(<$queue as Queue>::PROMISES.name, 1, &params::<$queue>());)+
        };
    }

    pub(crate) fn table() {
        println!("| queue | pair, over other tasks | pair, the only task | push, in a run | pop, in a run |");
        println!("|---|---|---|---|---|");
        for_each_queue!(rows);
        row::<Unfenced<The>>("the-unfenced", 0, &());
        row::<Unfenced<ChaseLev>>("chase-lev-unfenced", 0, &());
        row::<Lace>(HALVES, 1, &halves());
        cells("crossbeam-deque", || Crossbeam(Worker::new_lifo()));
        println!("\n| queue | poll that answers a thief | pop that takes shared or granted tasks back |");
        println!("|---|---|---|");
        transfer::<Lace>("lace", &Policies::default());
        transfer::<Lace>(HALVES, &halves());
        transfer::<PdqR>("pdq-r", &Default::default());
        transfer::<PdqRAsync>("pdq-r-async", &Default::default());
        // Without the clock.
        let gap = Duration::ZERO;
        transfer::<PdqSTold>("pdq-s-told", &pdq::sender::Params { gap, ..Default::default() });
        transfer::<PdqSOneStep>("pdq-s-one-step", &pdq::one_step::Params { gap });
        transfer::<PadWs>("padws", &Default::default());
        transfer::<Adws>("adws", &Default::default());
    }

    const HALVES: &str = "lace:moves=half-stores";

    fn halves() -> Policies {
        Policies { moves: Moves::HalfStores, ..Policies::default() }
    }

    /// The costs of an answer, and of the one pop that takes tasks back, if it is different from others.
    fn transfer<Q: Queue>(name: &str, params: &Q::Params) {
        let cost = |body: &mut dyn FnMut()| {
            let ((), with) = counted(body);
            let ((), without) = counted(black_box::<&mut dyn FnMut()>(&mut || ()));
            Count { instructions: with.instructions - without.instructions, ..with }
        };
        let costs = || {
            let (mut owner, mut thieves) = Q::make(CAPACITY, 1, params);
            (0..8).for_each(|_| push(&mut owner));
            while thieves[0].steal().is_task() {}
            let answer = cost(&mut || black_box(&mut owner).poll());
            let pops = [(); 8].map(|()| cost(&mut || pop(black_box(&mut owner))));
            [Some(answer), pops.into_iter().find(|pop| pop.fences + pop.locked > 0)]
        };
        // The first time, the loader binds functions lazily.
        costs();
        let cells = costs().map(|cost| cost.map_or_else(String::new, |cost| cell(cost, 1)));
        println!("| `{name}` | {} |", cells.join(" | "));
    }

    /// Returns the default parameters, changed where stepping would make the owner behave unlike in a program.
    fn params<Q: Queue>() -> Q::Params {
        let mut params = Q::Params::default();
        let any: &mut dyn Any = &mut params;
        if let Some(params) = any.downcast_mut::<pdq::sender::Params>() {
            // Under stepping, its clock would always be due.
            params.gap = Duration::MAX / 2;
        }
        if let Some(params) = any.downcast_mut::<pdq::one_step::Params>() {
            params.gap = Duration::MAX / 2; // as above
        }
        #[cfg(feature = "fence-free")]
        if let Some(delta) = any.downcast_mut::<filch_queue::Delta>() {
            // SAFETY: there is only one thread.
            *delta = unsafe { filch_queue::Delta::from_bound(filch_queue::Delta::ASSUMED_BOUND) };
        }
        params
    }

    fn row<Q: Queue>(name: &str, thieves: usize, params: &Q::Params) {
        cells(name, || Q::make(CAPACITY, thieves, params).0);
    }

    fn cells<Q: Owner<Task>>(name: &str, make: impl Fn() -> Q) {
        let holding = |tasks: usize| {
            let mut owner = Box::new(make());
            for _ in 0..tasks {
                assert!(owner.push(task()).is_ok(), "there is room");
            }
            owner
        };
        let [pushes, pops] = runs(holding(BELOW));
        let cells = [pairs(holding(BELOW)), pairs(holding(0)), pushes, pops].map(|all| cell(all, PAIRS));
        println!("| `{name}` | {} |", cells.join(" | "));
    }

    /// Formats the cost of one operation, from the cost of several.
    fn cell(all: Count, operations: usize) -> String {
        let each = |number: usize| number as f64 / operations as f64;
        let mut cell = each(all.instructions).round().to_string();
        for (number, what) in [(all.fences, "fence"), (all.locked, "locked")] {
            if number > 0 {
                cell += &format!(", {} {what}", (each(number) * 100.0).round() / 100.0);
            }
        }
        cell
    }

    fn task() -> Task {
        Task::from_id(black_box(NonZeroUsize::MIN))
    }

    #[inline(always)]
    fn push(owner: &mut impl Owner<Task>) {
        let _ = black_box(owner.push(task()).is_ok());
    }

    #[inline(always)]
    fn pop(owner: &mut impl Owner<Task>) {
        black_box(owner.pop());
    }

    /// Returns the cost of `body` beyond that of `PAIRS` calls of `frame`.
    fn beyond(frame: fn(), body: impl FnOnce()) -> Count {
        let ((), with) = counted(body);
        let ((), without) = counted(|| (0..PAIRS).for_each(|_| frame()));
        Count { instructions: with.instructions - without.instructions, ..with }
    }

    /// A push without a queue.
    fn no_push() {
        let _ = black_box(black_box(NonZeroUsize::MIN).get() != 7);
    }

    /// A pop without a queue.
    fn no_pop() {
        black_box(Some(Task::from_id(NonZeroUsize::MIN)));
    }

    #[expect(clippy::boxed_local, reason = "an address that a move does not change")]
    fn pairs<Q: Owner<Task>>(mut owner: Box<Q>) -> Count {
        let mut body = || {
            let owner = black_box(&mut *owner);
            for _ in 0..PAIRS {
                push(owner);
                pop(owner);
            }
        };
        // The first time, the loader binds functions lazily, and growing queues grow.
        body();
        let no_pair = || {
            no_push();
            no_pop();
        };
        beyond(no_pair, body)
    }

    /// Pushes in a row, and then pops.
    #[expect(clippy::boxed_local, reason = "an address that a move does not change")]
    fn runs<Q: Owner<Task>>(mut owner: Box<Q>) -> [Count; 2] {
        let owner = &mut *owner;
        (0..PAIRS).for_each(|_| push(owner));
        (0..PAIRS).for_each(|_| pop(owner));
        let pushes = beyond(no_push, || (0..PAIRS).for_each(|_| push(black_box(&mut *owner))));
        let pops = beyond(no_pop, || (0..PAIRS).for_each(|_| pop(black_box(&mut *owner))));
        [pushes, pops]
    }

    /// Crossbeam's deque, which grows and shrinks on its own.
    struct Crossbeam(Worker<Task>);

    impl Owner<Task> for Crossbeam {
        #[inline]
        fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
            self.0.push(task);
            Ok(())
        }

        #[inline]
        fn pop(&mut self) -> Option<Task> {
            self.0.pop()
        }

        fn len_hint(&self) -> usize {
            self.0.len()
        }
    }
}
