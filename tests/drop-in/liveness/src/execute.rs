//! Runs a program once, on whatever rayon-core is linked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rayon::prelude::*;
use rayon::{Scope, ScopeFifo, ThreadPool, ThreadPoolBuilder};

use crate::program::{Body, Op, Place, Program, Resource, Step};

/// A number that threads wait for, with a mutex and a condition variable.
struct Counter {
    value: Mutex<usize>,
    changed: Condvar,
}

impl Counter {
    fn new(value: usize) -> Counter {
        Counter { value: Mutex::new(value), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(usize) -> usize) {
        let mut value = self.lock();
        *value = change(*value);
        self.changed.notify_all();
    }

    fn wait_for(&self, wanted: usize) {
        let value = self.lock();
        drop(self.changed.wait_while(value, |value| *value != wanted).unwrap_or_else(PoisonError::into_inner));
    }
}

/// All that the tasks of one run share.
struct World {
    program: &'static Program,
    /// `None` stands for the global pool.
    pool: Option<ThreadPool>,
    second: Option<ThreadPool>,
    channels: Vec<(SyncSender<()>, Mutex<Receiver<()>>)>,
    barriers: Vec<Barrier>,
    latches: Vec<Counter>,
    orders: Vec<Counter>,
    locks: Vec<Mutex<()>>,
    /// How many spawned jobs have not ended.
    spawned: Counter,
    /// How often each body has run.
    ran: Vec<AtomicUsize>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
}

/// Runs the program. Returns whether each body ran as often as it should; an error says what went wrong.
pub fn execute(program: &'static Program) -> Result<(), String> {
    let expected = program.expected();
    let many = |resource| 0..program.used(resource);
    let world = Arc::new(World {
        program,
        pool: (!program.is_global).then(|| pool(program.threads)),
        second: (program.second != 0).then(|| pool(program.second)),
        channels: program
            .channels
            .iter()
            .map(|capacity| sync_channel(*capacity))
            .map(|(s, r)| (s, Mutex::new(r)))
            .collect(),
        barriers: program.barriers.iter().map(|size| Barrier::new(*size)).collect(),
        latches: program.latches.iter().map(|count| Counter::new(*count)).collect(),
        orders: many(Resource::Order).map(|_| Counter::new(0)).collect(),
        locks: many(Resource::Lock).map(|_| Mutex::new(())).collect(),
        spawned: Counter::new(0),
        ran: expected.iter().map(|_| AtomicUsize::new(0)).collect(),
    });
    At { world: &world, place: Place::Outside, scope: None }.run(&program.main);
    world.spawned.wait_for(0);
    // Relaxed suffices: all tasks have been waited for.
    let ran: Vec<usize> = world.ran.iter().map(|ran| ran.load(Ordering::Relaxed)).collect();
    if ran == expected { Ok(()) } else { Err(format!("bodies ran {ran:?} times, should be {expected:?}")) }
}

#[derive(Clone, Copy)]
enum AnyScope<'a> {
    Lifo(&'a Scope<'static>),
    Fifo(&'a ScopeFifo<'static>),
}

/// Where a body is executed.
#[derive(Clone, Copy)]
struct At<'a> {
    world: &'a Arc<World>,
    place: Place,
    /// The innermost scope, and the pool of the jobs spawned in it.
    scope: Option<(AnyScope<'a>, Place)>,
}

impl<'a> At<'a> {
    fn run(self, body: &'static Body) {
        self.world.ran[body.number].fetch_add(1, Ordering::Relaxed);
        body.steps.iter().for_each(|step| self.step(step));
    }

    fn scope_place(self) -> Place {
        self.scope.map_or(Place::Pool, |(_, place)| place)
    }

    /// Where the bodies of the step run.
    fn inside(self, step: &Step) -> At<'a> {
        At { place: self.world.program.place_of_bodies(step.op, self.place, self.scope_place()), ..self }
    }

    /// A spawned job that runs the step's body.
    fn job(self, step: &'static Step) -> impl Fn() + Clone + Send + Sync + 'static {
        let (world, place) = (Arc::clone(self.world), self.inside(step).place);
        move || {
            At { world: &world, place, scope: None }.run(&step.bodies[0]);
            world.spawned.change(|spawned| spawned - 1);
        }
    }

    fn child(self, step: &'static Step) {
        let Some((scope, place)) = self.scope else { panic!("`child` outside a scope") };
        let world = Arc::clone(self.world);
        match scope {
            AnyScope::Lifo(scope) => scope.spawn(move |scope| {
                At { world: &world, place, scope: Some((AnyScope::Lifo(scope), place)) }.run(&step.bodies[0]);
            }),
            AnyScope::Fifo(scope) => scope.spawn_fifo(move |scope| {
                At { world: &world, place, scope: Some((AnyScope::Fifo(scope), place)) }.run(&step.bodies[0]);
            }),
        }
    }

    fn step(self, step: &'static Step) {
        let world = self.world;
        match step.op {
            Op::Slot => {}
            Op::Send => (0..step.count).for_each(|_| world.channels[step.on].0.send(()).expect("it has a receiver")),
            Op::Recv => (0..step.count).for_each(|_| self.receive(step.on)),
            Op::Meet => _ = world.barriers[step.on].wait(),
            Op::Down => world.latches[step.on].change(|count| count - 1),
            Op::Await => world.latches[step.on].wait_for(0),
            Op::Poll => {
                while *world.latches[step.on].lock() != 0 {
                    if rayon::yield_now().is_none() {
                        thread::yield_now();
                    }
                }
            }
            Op::Turn => {
                world.orders[step.on].wait_for(step.count);
                world.orders[step.on].change(|taken| taken + 1);
            }
            Op::Hold => {
                let _held = locked(&world.locks[step.on]);
                self.run(&step.bodies[0]);
            }
            Op::Yield => _ = rayon::yield_now(),
            Op::Nap => thread::sleep(Duration::from_micros(200)),
            Op::Times => (0..step.count).for_each(|_| self.run(&step.bodies[0])),
            Op::Child => self.child(step),
            Op::Other => {
                let pool = world.second.as_ref().expect("a program with `other` has a second pool");
                pool.install(|| self.inside(step).run(&step.bodies[0]));
            }
            _ => match (&world.pool, self.place) {
                (Some(pool), Place::Outside) => self.parallel_from_outside(pool, step),
                (Some(pool), _) if step.op == Op::Install => pool.install(|| self.inside(step).run(&step.bodies[0])),
                _ => self.parallel(step),
            },
        }
    }

    /// Runs the body of a step that opens a scope.
    fn in_scope(self, step: &'static Step, scope: AnyScope<'a>) {
        At { scope: Some((scope, self.place.inside())), ..self.inside(step) }.run(&step.bodies[0]);
    }

    fn receive(self, channel: usize) {
        locked(&self.world.channels[channel].1).recv().expect("it has a sender");
    }

    fn parallel_from_outside(self, pool: &ThreadPool, step: &'static Step) {
        let body = step.bodies.first().expect("a parallel step has a body");
        match step.op {
            Op::Spawn | Op::SpawnFifo => {
                self.world.spawned.change(|spawned| spawned + 1);
                let job = self.job(step);
                if step.op == Op::Spawn { pool.spawn(job) } else { pool.spawn_fifo(job) }
            }
            Op::SpawnBroadcast => {
                self.world.spawned.change(|spawned| spawned + self.world.program.threads);
                let job = self.job(step);
                pool.spawn_broadcast(move |_| job());
            }
            Op::Broadcast => _ = pool.broadcast(|_| self.inside(step).run(body)),
            Op::Scope => pool.scope(|scope| self.in_scope(step, AnyScope::Lifo(scope))),
            Op::ScopeFifo => pool.scope_fifo(|scope| self.in_scope(step, AnyScope::Fifo(scope))),
            Op::InPlace => pool.in_place_scope(|scope| self.in_scope(step, AnyScope::Lifo(scope))),
            Op::InPlaceFifo => pool.in_place_scope_fifo(|scope| self.in_scope(step, AnyScope::Fifo(scope))),
            _ => pool.install(|| At { place: Place::Pool, ..self }.parallel(step)),
        }
    }

    /// A parallel step in the current pool, which outside pools is the global one.
    fn parallel(self, step: &'static Step) {
        let world = self.world;
        let inside = self.inside(step);
        let body = step.bodies.first().expect("a parallel step has a body");
        match step.op {
            Op::Spawn | Op::SpawnFifo => {
                world.spawned.change(|spawned| spawned + 1);
                let job = self.job(step);
                if step.op == Op::Spawn { rayon::spawn(job) } else { rayon::spawn_fifo(job) }
            }
            Op::SpawnBroadcast => {
                let threads = if inside.place == Place::Second { world.program.second } else { world.program.threads };
                world.spawned.change(|spawned| spawned + threads);
                let job = self.job(step);
                rayon::spawn_broadcast(move |_| job());
            }
            Op::Broadcast => _ = rayon::broadcast(|_| inside.run(body)),
            Op::Scope => rayon::scope(|scope| self.in_scope(step, AnyScope::Lifo(scope))),
            Op::ScopeFifo => rayon::scope_fifo(|scope| self.in_scope(step, AnyScope::Fifo(scope))),
            Op::InPlace => rayon::in_place_scope(|scope| self.in_scope(step, AnyScope::Lifo(scope))),
            Op::InPlaceFifo => rayon::in_place_scope_fifo(|scope| self.in_scope(step, AnyScope::Fifo(scope))),
            Op::Join => _ = rayon::join(|| inside.run(body), || inside.run(&step.bodies[1])),
            Op::Iter => (0..step.count).into_par_iter().for_each(|_| inside.run(body)),
            Op::Each => (0..step.count).into_par_iter().with_max_len(1).for_each(|_| inside.run(body)),
            Op::Bridge => (0..step.count).par_bridge().for_each(|_| inside.run(body)),
            Op::Pull => {
                let received = std::iter::repeat_with(|| self.receive(step.on)).take(step.count);
                received.par_bridge().for_each(|()| inside.run(body));
            }
            // In the global pool: nothing of rayon's interface is named so, but a scope begins there.
            Op::Install => rayon::scope(|_| inside.run(body)),
            _ => unreachable!("{step} is not parallel"),
        }
    }
}
