//! The instructions that the owner executes for a push and a pop while no thief is there, as a Markdown table. The
//! table in the library's documentation is this one.

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
    use core::hint::black_box;
    use core::num::NonZeroUsize;
    use core::time::Duration;

    use crossbeam_deque::Worker;
    use filch_queue::{
        Abp, Adws, BwosF, BwosL, ChaseLev, ChaseLevAsym, Dsq, Full, HendlerShavit, IdempotentDeque, IdempotentFifo,
        IdempotentLifo, Lace, Locked, OneExposed, Owner, PadWs, PdqR, PdqR2, PdqS, Queue, Task, The, Wsq, pdq,
    };

    use crate::single_step::{Count, counted};

    /// Tasks below those that are counted. Runs pass a power of two, where some queues do more.
    const BELOW: usize = 480;
    /// Room for all of them.
    const CAPACITY: usize = 1024;
    /// Pairs, pushes or pops in a trace.
    const PAIRS: usize = 64;

    /// To add a queue, add a row.
    pub(crate) fn table() {
        println!("| queue | pair, over other tasks | pair, the only task | push, in a run | pop, in a run |");
        println!("|---|---|---|---|---|");
        row::<ChaseLev>(&default::<ChaseLev>());
        row::<ChaseLevAsym>(&default::<ChaseLevAsym>());
        row::<Abp>(&default::<Abp>());
        row::<The>(&default::<The>());
        #[cfg(feature = "fence-free")]
        fence_free();
        row::<Lace>(&default::<Lace>());
        row::<Dsq>(&default::<Dsq>());
        row::<HendlerShavit>(&default::<HendlerShavit>());
        row::<Wsq>(&default::<Wsq>());
        row::<BwosL>(&default::<BwosL>());
        row::<BwosF>(&default::<BwosF>());
        row::<PadWs>(&default::<PadWs>());
        row::<Adws>(&default::<Adws>());
        row::<OneExposed>(&default::<OneExposed>());
        row::<PdqR>(&default::<PdqR>());
        row::<PdqR2>(&default::<PdqR2>());
        // Step by step, its clock would always be due.
        row::<PdqS>(&pdq::sender::Params { gap: Duration::MAX / 2, ..Default::default() });
        row::<IdempotentLifo>(&default::<IdempotentLifo>());
        row::<IdempotentFifo>(&default::<IdempotentFifo>());
        row::<IdempotentDeque>(&default::<IdempotentDeque>());
        row::<Locked>(&default::<Locked>());
        cells("crossbeam-deque", || Crossbeam(Worker::new_lifo()));
    }

    #[cfg(feature = "fence-free")]
    fn fence_free() {
        use filch_queue::{Delta, FfCl, FfThe, Thep};
        // SAFETY: one thread only.
        let delta = unsafe { Delta::from_bound(Delta::ASSUMED_BOUND) };
        row::<FfThe>(&delta);
        row::<FfCl>(&delta);
        row::<Thep>(&delta);
    }

    fn default<Q: Queue>() -> Q::Params {
        Q::Params::default()
    }

    fn row<Q: Queue>(params: &Q::Params) {
        cells(Q::PROMISES.name, || Q::make(CAPACITY, 1, params).0);
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
        let cells = [pairs(holding(BELOW)), pairs(holding(0)), pushes, pops].map(cell);
        println!("| `{name}` | {} |", cells.join(" | "));
    }

    /// What one costs, from the cost of `PAIRS`.
    fn cell(all: Count) -> String {
        let each = |number: usize| number as f64 / PAIRS as f64;
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

    /// What `body` costs beyond as many calls of `frame`.
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
        // The first time, lazily bound functions are looked up, and queues that grow grow.
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

    /// The deque of crossbeam, which grows and shrinks as it likes.
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
