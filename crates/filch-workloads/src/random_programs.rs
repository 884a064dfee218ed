//! Random programs that nest everything filch offers, checked against the result of a sequential run.
//!
//! A program is a tree made from a seed. Each node forks its children in one of many ways, in handle style or closure
//! style, on its pool or another. Captured values and results have several sizes and count their drops. A node may
//! panic. [`check_on`] runs the tree on a pool and compares with what follows from the tree alone: the value, the
//! number of runs of each node, the panics that may come out, and that every value was dropped once.
//!
//! ```
//! use filch_workloads::random_programs::{Settings, check};
//!
//! let settings = Settings { workers: 2, wait: filch::Wait::Leapfrog, panics: true };
//! let pool = filch::ThreadPool::builder().workers(2).wait(settings.wait).build()?;
//! for seed in 0..10 {
//!     check(seed, &settings, &pool).unwrap();
//! }
//! # Ok::<(), filch::BuildError>(())
//! ```
#![allow(clippy::disallowed_types, reason = "the ledger is not an algorithm to check; it counts")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use fastrand::Rng;
use filch::levels::{Level, Levels};
use filch::pool::{Pool, Split};
use filch::{Scope, ThreadPool, Wait, Worker};

/// The options of a check, and the configuration of its pool, for messages.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of workers of the pool.
    pub workers: usize,
    /// How the pool waits.
    pub wait: Wait,
    /// Whether nodes panic.
    pub panics: bool,
}

/// The payload of a node's panic, thrown without calling the panic hook.
#[derive(Debug)]
struct Thrown(usize);

#[derive(Debug)]
struct Node {
    id: usize,
    cargo: CargoKind,
    throws: Throws,
    action: Action,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Throws {
    Never,
    Before,
    After,
}

/// The kind of values that a node's closures capture and return, besides references.
#[derive(Clone, Copy, Debug)]
enum CargoKind {
    Plain,
    Large,
    Aligned,
    Empty,
}

#[derive(Debug)]
enum Action {
    Leaf {
        spins: u32,
    },
    Join(Box<[Node; 2]>),
    ForkAll(Vec<Node>),
    Scope {
        tasks: Vec<Node>,
        nested: bool,
    },
    ForEach(Vec<Node>),
    MapReduce(Vec<Node>),
    /// Each child is one of `stride` items, so that the loop has enough items to fork.
    MapReduceFixed {
        children: Vec<Node>,
        stride: usize,
    },
    Run(Box<Node>),
    Install(Box<Node>),
    /// On another pool; in handle style if the flag is set.
    Elsewhere(Box<Node>, bool),
    /// In closure style, in either surrounding style.
    Closures(Box<Node>),
}

impl Action {
    fn children(&self) -> &[Node] {
        match self {
            Self::Leaf { .. } => &[],
            Self::Join(both) => &both[..],
            Self::ForkAll(all) | Self::ForEach(all) | Self::MapReduce(all) => all,
            Self::Scope { tasks: all, .. } | Self::MapReduceFixed { children: all, .. } => all,
            Self::Run(one) | Self::Install(one) | Self::Elsewhere(one, _) | Self::Closures(one) => {
                std::slice::from_ref(one)
            }
        }
    }
}

fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The number of powers of two for the size of a program. It and the other bounds are small under Miri, where each step
/// takes a thousand times as long.
const SIZES: usize = if cfg!(miri) { 5 } else { 8 };
/// The bound on a leaf's spins.
const SPINS: usize = if cfg!(miri) { 20 } else { 3000 };
/// The bound on a loop's items per child.
const ITEMS: usize = if cfg!(miri) { 5 } else { 600 };

/// Makes programs.
struct Author {
    random: Rng,
    /// One node in this many panics; 0 for none.
    throws: usize,
    nodes: usize,
}

impl Author {
    fn program(&mut self, budget: usize) -> Node {
        let id = self.nodes;
        self.nodes += 1;
        let cargo = [CargoKind::Plain, CargoKind::Plain, CargoKind::Large, CargoKind::Aligned, CargoKind::Empty]
            [self.random.usize(..5)];
        let throws = match self.throws {
            n if n > 0 && self.random.usize(..n) == 0 => [Throws::Before, Throws::After][self.random.usize(..2)],
            _ => Throws::Never,
        };
        Node { id, cargo, throws, action: self.action(budget) }
    }

    fn action(&mut self, budget: usize) -> Action {
        if budget <= 1 {
            let spins = if self.random.usize(..4) == 0 { self.random.usize(..SPINS) } else { 0 };
            return Action::Leaf { spins: spins as u32 };
        }
        let rest = budget - 1;
        match self.random.usize(..16) {
            0..=4 => Action::Join(self.two(rest)),
            5 | 6 => Action::ForkAll(self.several(rest)),
            7 | 8 => Action::Scope { nested: self.random.usize(..3) == 0, tasks: self.several(rest) },
            9 => Action::ForEach(self.several(rest)),
            10 => Action::MapReduce(self.several(rest)),
            11 => Action::MapReduceFixed { stride: 1 + self.random.usize(..ITEMS), children: self.several(rest) },
            12 => Action::Run(self.one(rest)),
            13 => Action::Install(self.one(rest)),
            14 if self.random.usize(..2) == 0 => Action::Elsewhere(self.one(rest), self.random.usize(..2) == 0),
            _ => Action::Closures(self.one(rest)),
        }
    }

    fn one(&mut self, budget: usize) -> Box<Node> {
        Box::new(self.program(budget))
    }

    fn two(&mut self, budget: usize) -> Box<[Node; 2]> {
        let first = self.random.usize(..budget + 1);
        Box::new([self.program(first), self.program(budget - first)])
    }

    fn several(&mut self, budget: usize) -> Vec<Node> {
        let count = 1 + self.random.usize(..7);
        (0..count).map(|_| self.program(budget / count)).collect()
    }
}

/// A map `v ↦ factor · v + term`. Composition is associative but not commutative, so it exposes any wrong order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Affine {
    factor: u64,
    term: u64,
}

impl Affine {
    const NEUTRAL: Self = Self { factor: 1, term: 0 };

    fn of(value: u64) -> Self {
        Self { factor: value | 1, term: value }
    }

    fn then(self, next: Self) -> Self {
        let term = self.term.wrapping_mul(next.factor).wrapping_add(next.term);
        Self { factor: self.factor.wrapping_mul(next.factor), term }
    }

    fn value(self, id: usize) -> u64 {
        scramble(self.factor ^ self.term.rotate_left(32) ^ id as u64)
    }
}

/// The expected end of a program: its value, or a panic of one of these nodes.
#[derive(Debug)]
enum Expected {
    Value(u64),
    Panics(Vec<usize>),
}

/// Evaluates a node sequentially.
fn expected(node: &Node) -> Expected {
    if node.throws == Throws::Before {
        return Expected::Panics(vec![node.id]);
    }
    let mut sum = Affine::NEUTRAL;
    let mut panics: Vec<Vec<usize>> = Vec::new();
    for child in node.action.children() {
        match expected(child) {
            Expected::Value(value) => sum = sum.then(Affine::of(value)),
            Expected::Panics(nodes) => panics.push(nodes),
        }
    }
    let thrown = match node.action {
        // The first branch's panic has precedence over the second's.
        Action::Join(_) => panics.into_iter().next(),
        // The newest fork is joined first.
        Action::ForkAll(_) => panics.pop(),
        _ => (!panics.is_empty()).then(|| panics.concat()),
    };
    match thrown {
        Some(nodes) => Expected::Panics(nodes),
        None if node.throws == Throws::After => Expected::Panics(vec![node.id]),
        None => Expected::Value(sum.value(node.id)),
    }
}

/// A record of the values made and dropped.
struct Ledger {
    /// For each token: 0 unused, 1 alive, 2 dropped.
    tokens: Vec<AtomicU8>,
    made: AtomicUsize,
    dropped: AtomicUsize,
    dropped_twice: AtomicBool,
}

/// A value whose drop is recorded.
struct Token<'c> {
    ledger: &'c Ledger,
    number: usize,
}

impl<'c> Token<'c> {
    fn new(ledger: &'c Ledger) -> Self {
        let number = ledger.made.fetch_add(1, Relaxed);
        if let Some(token) = ledger.tokens.get(number) {
            token.store(1, Relaxed);
        }
        Self { ledger, number }
    }
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        self.ledger.dropped.fetch_add(1, Relaxed);
        if self.ledger.tokens.get(self.number).is_some_and(|token| token.swap(2, Relaxed) != 1) {
            self.ledger.dropped_twice.store(true, Relaxed);
        }
    }
}

/// The count of zero-sized values, which have a destructor but cannot refer to a ledger.
static EMPTIES: AtomicI64 = AtomicI64::new(0);

/// Returns how many zero-sized values exist: zero whenever no check is running.
pub fn empties_alive() -> i64 {
    EMPTIES.load(Relaxed)
}

trait Cargo<'c>: Send + 'c {
    fn pack(ledger: &'c Ledger, value: u64) -> Self;
    fn carries(&self, value: u64) -> bool;
}

/// Fits a slot.
struct Plain<'c>(u64, Token<'c>);

/// Too large for a slot.
struct Large<'c>([u64; 9], Token<'c>);

/// Too strictly aligned for a slot.
#[repr(align(128))]
struct Aligned<'c>(u64, Token<'c>);

/// Has size zero.
struct Empty;

impl<'c> Cargo<'c> for Plain<'c> {
    fn pack(ledger: &'c Ledger, value: u64) -> Self {
        Self(value, Token::new(ledger))
    }

    fn carries(&self, value: u64) -> bool {
        self.0 == value && self.1.number < usize::MAX
    }
}

impl<'c> Cargo<'c> for Large<'c> {
    fn pack(ledger: &'c Ledger, value: u64) -> Self {
        Self([value; 9], Token::new(ledger))
    }

    fn carries(&self, value: u64) -> bool {
        self.0 == [value; 9] && self.1.number < usize::MAX
    }
}

impl<'c> Cargo<'c> for Aligned<'c> {
    fn pack(ledger: &'c Ledger, value: u64) -> Self {
        Self(value, Token::new(ledger))
    }

    fn carries(&self, value: u64) -> bool {
        self.0 == value && self.1.number < usize::MAX && std::ptr::from_ref(self).is_aligned()
    }
}

impl<'c> Cargo<'c> for Empty {
    fn pack(_: &'c Ledger, _: u64) -> Self {
        EMPTIES.fetch_add(1, Relaxed);
        Self
    }

    fn carries(&self, _: u64) -> bool {
        true
    }
}

impl Drop for Empty {
    fn drop(&mut self) {
        EMPTIES.fetch_sub(1, Relaxed);
    }
}

/// The state of a reduction, with its own token.
struct Sum<'c>(Affine, Token<'c>);

impl Clone for Sum<'_> {
    fn clone(&self) -> Self {
        Self(self.0, Token::new(self.1.ledger))
    }
}

/// A program in progress.
struct Context<'p, P: Pool> {
    pool: &'p ThreadPool<P>,
    runs: Vec<AtomicU32>,
    values: Vec<AtomicU64>,
    ledger: Ledger,
    damaged: AtomicBool,
}

impl<P: Pool> Context<'_, P> {
    /// Runs a node. `children` runs its children.
    fn visit(&self, node: &Node, children: impl FnOnce() -> Affine) {
        self.runs[node.id].fetch_add(1, Relaxed);
        let throw = |when| {
            if node.throws == when {
                resume_unwind(Box::new(Thrown(node.id)));
            }
        };
        throw(Throws::Before);
        let value = children().value(node.id);
        throw(Throws::After);
        self.values[node.id].store(value, Relaxed);
    }

    fn value(&self, node: &Node) -> u64 {
        self.values[node.id].load(Relaxed)
    }

    fn sum_of(&self, children: &[Node]) -> Affine {
        children.iter().fold(Affine::NEUTRAL, |sum, child| sum.then(Affine::of(self.value(child))))
    }

    fn inspect<'c>(&self, cargo: &impl Cargo<'c>, value: u64) {
        if !cargo.carries(value) {
            self.damaged.store(true, Relaxed);
        }
    }

    /// Inspects the results of `fork_all`.
    fn inspect_newest_first<'c>(&self, children: &[Node], results: Vec<impl Cargo<'c>>) {
        for (child, result) in children.iter().rev().zip(results) {
            self.inspect(&result, self.value(child));
        }
    }

    fn luggage<'c, C: Cargo<'c>>(&'c self, node: &Node) -> C {
        C::pack(&self.ledger, node.id as u64)
    }

    /// Runs a child whose closure captured `luggage`, and packs the child's value.
    fn travel<'c, C: Cargo<'c>>(&'c self, luggage: C, node: &Node, run: impl FnOnce()) -> C {
        run();
        self.inspect(&luggage, node.id as u64);
        drop(luggage);
        C::pack(&self.ledger, self.value(node))
    }

    fn leaf(spins: u32) {
        for round in 0..spins {
            std::hint::spin_loop();
            if round % 1024 == 1023 {
                std::thread::yield_now();
            }
        }
    }

    fn reduce<'c>(&'c self, children: &[Node], stride: usize, index: usize) -> Sum<'c> {
        let affine = if index.is_multiple_of(stride) {
            let child = &children[index / stride];
            by_closure(child, self);
            Affine::of(self.value(child))
        } else {
            Affine::NEUTRAL
        };
        Sum(affine, Token::new(&self.ledger))
    }

    fn zero(&self) -> Sum<'_> {
        Sum(Affine::NEUTRAL, Token::new(&self.ledger))
    }

    /// Runs the actions that both styles share.
    fn in_any_style<'c, C: Cargo<'c>>(&'c self, node: &'c Node) -> Affine {
        match &node.action {
            Action::Leaf { spins } => Self::leaf(*spins),
            Action::Scope { tasks, nested } => filch::scope(|s| spawn_all::<P, C>(s, tasks, *nested, self)),
            Action::Run(child) if child.id.is_multiple_of(2) => self.pool.run(|w| by_handle(w, child, self)),
            Action::Run(child) => self.pool.run(|w| by_handle(w.in_levels::<Levels<2>>(), child, self)),
            Action::Install(child) => self.pool.install(|| by_closure(child, self)),
            Action::Elsewhere(child, true) => ELSEWHERE.run(|w| by_handle(w, child, self)),
            Action::Elsewhere(child, false) => ELSEWHERE.install(|| by_closure(child, self)),
            Action::Closures(child) => by_closure(child, self),
            _ => unreachable!("each style has its own code"),
        }
        self.sum_of(node.action.children())
    }
}

fn then<'c>(Sum(a, token): Sum<'c>, Sum(b, _): Sum<'c>) -> Sum<'c> {
    Sum(a.then(b), token)
}

fn and<C>(mut results: Vec<C>, result: C) -> Vec<C> {
    results.push(result);
    results
}

/// The other pool.
static ELSEWHERE: LazyLock<ThreadPool> = LazyLock::new(|| {
    let builder = ThreadPool::builder().workers(2).wait(Wait::Leapfrog).task_capacity(64);
    builder.build().expect("two more threads can be started")
});

fn spawn_all<'c, P: Pool, C: Cargo<'c>>(s: &Scope<'c>, tasks: &'c [Node], nested: bool, x: &'c Context<'_, P>) {
    let [first, others @ ..] = tasks else { return };
    let luggage: C = x.luggage(first);
    s.spawn(move |s| {
        if nested {
            spawn_all::<P, C>(s, others, nested, x);
        }
        x.inspect(&x.travel(luggage, first, || by_closure(first, x)), x.value(first));
    });
    if !nested {
        spawn_all::<P, C>(s, others, nested, x);
    }
}

fn spawn_all_by_handle<'c, Q, P, C>(s: &Scope<'c, Q>, tasks: &'c [Node], nested: bool, x: &'c Context<'_, P>)
where
    Q: Pool,
    P: Pool,
    C: Cargo<'c>,
{
    let [first, others @ ..] = tasks else { return };
    let luggage: C = x.luggage(first);
    s.spawn(move |w, s| {
        if nested {
            spawn_all_by_handle::<Q, P, C>(s, others, nested, x);
        }
        x.inspect(&x.travel(luggage, first, || by_handle(w, first, x)), x.value(first));
    });
    if !nested {
        spawn_all_by_handle::<Q, P, C>(s, others, nested, x);
    }
}

fn by_handle<Q: Pool, L: Level, P: Pool>(w: Worker<'_, Q, L>, node: &Node, x: &Context<'_, P>) {
    x.visit(node, || match node.cargo {
        CargoKind::Plain => fork_by_handle::<Q, L, P, Plain<'_>>(w, node, x),
        CargoKind::Large => fork_by_handle::<Q, L, P, Large<'_>>(w, node, x),
        CargoKind::Aligned => fork_by_handle::<Q, L, P, Aligned<'_>>(w, node, x),
        CargoKind::Empty => fork_by_handle::<Q, L, P, Empty>(w, node, x),
    });
}

fn fork_by_handle<'c, Q, L, P, C>(mut w: Worker<'_, Q, L>, node: &'c Node, x: &'c Context<'_, P>) -> Affine
where
    Q: Pool,
    L: Level,
    P: Pool,
    C: Cargo<'c>,
{
    let children = node.action.children();
    match &node.action {
        Action::Join(both) => {
            let [a, b] = &**both;
            let (luggage_a, luggage_b): (C, C) = (x.luggage(a), x.luggage(b));
            let (ra, rb) = w.join(
                move |w| x.travel(luggage_a, a, || by_handle(w, a, x)),
                move |w| x.travel(luggage_b, b, || by_handle(w, b, x)),
            );
            x.inspect(&ra, x.value(a));
            x.inspect(&rb, x.value(b));
            x.sum_of(children)
        }
        Action::ForkAll(all) => {
            let items = all.iter().map(|child| (child, x.luggage::<C>(child)));
            let each = |w: Worker<'_, Q, L::Next>, (child, luggage): (&Node, C)| {
                x.travel(luggage, child, || by_handle(w, child, x))
            };
            let results = w.fork_all(items, each, Vec::new(), and);
            x.inspect_newest_first(all, results);
            x.sum_of(children)
        }
        Action::ForEach(all) => {
            w.for_each(&all[..], |child| by_closure(child, x));
            x.sum_of(children)
        }
        Action::MapReduce(all) => w.map_reduce(0..all.len(), x.zero(), |i| x.reduce(all, 1, i), then).0,
        Action::MapReduceFixed { children, stride } => {
            let length = children.len() * stride;
            w.map_reduce_fixed(0..length, x.zero(), |i| x.reduce(children, *stride, i), then).0
        }
        Action::Scope { tasks, nested } => {
            w.scope(|_, s| spawn_all_by_handle::<Q, P, C>(s, tasks, *nested, x));
            x.sum_of(children)
        }
        Action::Closures(child) if child.id.is_multiple_of(2) => {
            w.install(|| by_closure(child, x));
            x.sum_of(children)
        }
        _ => x.in_any_style::<C>(node),
    }
}

fn by_closure<P: Pool>(node: &Node, x: &Context<'_, P>) {
    x.visit(node, || match node.cargo {
        CargoKind::Plain => fork_by_closure::<P, Plain<'_>>(node, x),
        CargoKind::Large => fork_by_closure::<P, Large<'_>>(node, x),
        CargoKind::Aligned => fork_by_closure::<P, Aligned<'_>>(node, x),
        CargoKind::Empty => fork_by_closure::<P, Empty>(node, x),
    });
}

fn fork_by_closure<'c, P: Pool, C: Cargo<'c>>(node: &'c Node, x: &'c Context<'_, P>) -> Affine {
    let children = node.action.children();
    match &node.action {
        Action::Join(both) => {
            let [a, b] = &**both;
            let (luggage_a, luggage_b): (C, C) = (x.luggage(a), x.luggage(b));
            let (ra, rb) = filch::join(
                move || x.travel(luggage_a, a, || by_closure(a, x)),
                move || x.travel(luggage_b, b, || by_closure(b, x)),
            );
            x.inspect(&ra, x.value(a));
            x.inspect(&rb, x.value(b));
            x.sum_of(children)
        }
        Action::ForkAll(all) => {
            let items = all.iter().map(|child| (child, x.luggage::<C>(child)));
            let each = |(child, luggage): (&Node, C)| x.travel(luggage, child, || by_closure(child, x));
            let results = filch::fork_all(items, each, Vec::new(), and);
            x.inspect_newest_first(all, results);
            x.sum_of(children)
        }
        Action::ForEach(all) => {
            filch::for_each(&all[..], |child| by_closure(child, x));
            x.sum_of(children)
        }
        Action::MapReduce(all) => filch::map_reduce(0..all.len(), x.zero(), |i| x.reduce(all, 1, i), then).0,
        Action::MapReduceFixed { children, stride } => {
            let length = children.len() * stride;
            filch::map_reduce_fixed(0..length, x.zero(), |i| x.reduce(children, *stride, i), then).0
        }
        _ => x.in_any_style::<C>(node),
    }
}

fn thrown_by(payload: &(dyn Any + Send)) -> Option<usize> {
    payload.downcast_ref::<Thrown>().map(|thrown| thrown.0)
}

/// [`check_on`] for the default pool.
///
/// # Errors
/// As [`check_on`].
pub fn check(seed: u64, settings: &Settings, pool: &ThreadPool<Split>) -> Result<(), String> {
    check_on(seed, settings, pool)
}

/// Runs the program of `seed` on `pool`, which was built according to `settings`.
///
/// # Errors
/// A description of what differs from a sequential run.
pub fn check_on<P: Pool>(seed: u64, settings: &Settings, pool: &ThreadPool<P>) -> Result<(), String> {
    let mut author = Author { random: Rng::with_seed(seed), throws: 0, nodes: 0 };
    let budget = 1 << author.random.usize(..SIZES);
    if settings.panics {
        author.throws = [4, 16, 64][author.random.usize(..3)];
    }
    let program = author.program(budget);
    let context = Context {
        pool,
        runs: (0..author.nodes).map(|_| AtomicU32::new(0)).collect(),
        values: (0..author.nodes).map(|_| AtomicU64::new(0)).collect(),
        ledger: Ledger {
            tokens: (0..author.nodes * 4 + 4096).map(|_| AtomicU8::new(0)).collect(),
            made: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            dropped_twice: AtomicBool::new(false),
        },
        damaged: AtomicBool::new(false),
    };
    let x = &context;
    let in_handle_style = author.random.usize(..2) == 0;
    let outcome = catch_unwind(AssertUnwindSafe(|| match in_handle_style {
        true => pool.run(|w| by_handle(w, &program, x)),
        false => pool.install(|| by_closure(&program, x)),
    }));
    let outcome = outcome.map_err(|payload| thrown_by(&*payload));
    verify(&program, x, outcome)
        .map_err(|what| format!("seed {seed}, {settings:?}, {pool:?}: {what}\n{program:#?}"))?;
    match pool.run(|mut w| w.join(|_| 1, |_| 2)) {
        (1, 2) => Ok(()),
        other => Err(format!("seed {seed}, {settings:?}: a join afterwards gives {other:?}")),
    }
}

fn verify<P: Pool>(program: &Node, x: &Context<'_, P>, outcome: Result<(), Option<usize>>) -> Result<(), String> {
    let runs: Vec<u32> = x.runs.iter().map(|runs| runs.load(Relaxed)).collect();
    match (expected(program), outcome) {
        (Expected::Value(value), Ok(())) => {
            if x.value(program) != value {
                return Err(format!("the value is {:#x} instead of {value:#x}", x.value(program)));
            }
            if let Some(node) = runs.iter().position(|&runs| runs != 1) {
                return Err(format!("node {node} ran {} times", runs[node]));
            }
        }
        (Expected::Panics(nodes), Err(Some(node))) if nodes.contains(&node) => {
            if let Some(node) = runs.iter().position(|&runs| runs > 1) {
                return Err(format!("node {node} ran {} times", runs[node]));
            }
        }
        (expected, outcome) => return Err(format!("{outcome:?} instead of {expected:?}")),
    }
    let (made, dropped) = (x.ledger.made.load(Relaxed), x.ledger.dropped.load(Relaxed));
    if made != dropped || x.ledger.dropped_twice.load(Relaxed) {
        return Err(format!("{made} values made and {dropped} dropped"));
    }
    if x.damaged.load(Relaxed) { Err("a captured value or a result was damaged".into()) } else { Ok(()) }
}
