//! Direct task stacks in simulated time: whom a worker steals from while it waits for a stolen task.
//!
//! The rules are those of Tom van Dijk and Jaco van de Pol, *Lace: Non-blocking Split Deque for Work-Stealing*, 2014,
//! figure 1 and section 4.3. A task visits a node of a tree, which takes a step, leaves a task for each child on its
//! worker's stack, and then joins them, the newest first: it runs those that are still there itself, and waits for
//! those that were stolen. Thieves take the oldest task. Every task can be stolen as soon as it is there, as if the
//! split point were always right. An attempt takes a step if it fails.
//!
//! Invariant: the tasks of a stack before `tail` are stolen, the others are not.

use std::collections::VecDeque;

use crate::Shape;
use crate::chance::another;

/// A tree of tasks.
///
/// ```
/// use filch_sim::lace::Tree;
///
/// let leaves = Tree::binomial(5, 8, 0, 1);
/// assert_eq!(leaves.nodes(), 6);
/// ```
#[derive(Clone, Debug)]
pub struct Tree {
    /// The children of node n are the nodes from `first[n]` to before `first[n + 1]`.
    first: Vec<u32>,
}

impl Tree {
    /// A tree like the binomial ones of the Unbalanced Tree Search benchmark: the root has `root` children, and another
    /// node `children` with a probability of so many millionths, else none. T3 has the shape of `Tree::binomial(2000,
    /// 8, 124_875, _)`.
    ///
    /// # Panics
    ///
    /// If it grows to 2³² nodes.
    pub fn binomial(root: u32, children: u32, per_million: u32, seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut first = vec![1];
        let mut next = 1_u32;
        let mut add = |number: u32| {
            next = next.checked_add(number).expect("fewer than 2³² nodes");
            first.push(next);
            next
        };
        let mut known = add(root);
        let mut visited = 1;
        while visited < known {
            known = add(if rng.u32(..1_000_000) < per_million { children } else { 0 });
            visited += 1;
        }
        Self { first }
    }

    /// The calls of the Fibonacci function. The larger call is the older task.
    fn fib(n: u32) -> Self {
        let (mut first, mut next) = (Vec::new(), 1);
        let mut open = VecDeque::from([n]);
        while let Some(n) = open.pop_front() {
            first.push(next);
            if n >= 2 {
                open.extend([n - 1, n - 2]);
                next += 2;
            }
        }
        first.push(next);
        Self { first }
    }

    /// The tree of tasks of this family of computations, if each of its nodes is a task.
    ///
    /// ```
    /// use filch_sim::lace::Tree;
    ///
    /// let tree = |text: &str| text.parse().ok().and_then(Tree::of);
    /// assert_eq!(tree("fib:n=10").map(|tree| tree.nodes()), Some(177));
    /// assert!(tree("comb:teeth=64,grain=500").is_none());
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tree::binomial`].
    pub fn of(shape: Shape) -> Option<Self> {
        match shape {
            Shape::Fib { n } => Some(Self::fib(n)),
            Shape::Uts { root, children, per_million, seed } => {
                Some(Self::binomial(root, children, per_million, seed.into()))
            }
            Shape::Balanced { .. } | Shape::Comb { .. } => None,
        }
    }

    /// The number of nodes: the steps of one worker.
    pub fn nodes(&self) -> u64 {
        self.first.len() as u64 - 1
    }

    pub(crate) fn children(&self, node: u32) -> std::ops::Range<u32> {
        self.first[node as usize]..self.first[node as usize + 1]
    }
}

/// Whom a worker steals from while it waits for a stolen task. One without any task steals from random workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Only the thief of that task.
    Leapfrog,
    /// The thief, or if it has nothing, the thieves of its descendants of that task (Wool).
    Transitive,
    /// The thief, or if it has nothing, a random worker (section 4.3).
    Random,
}

impl Waiting {
    /// All of them.
    pub const EVERY: [Self; 3] = [Self::Leapfrog, Self::Transitive, Self::Random];

    /// The name, as pools have it.
    ///
    /// ```
    /// use filch_sim::lace::Waiting;
    ///
    /// assert_eq!(Waiting::EVERY.map(Waiting::name), ["leapfrog", "transitive", "leapfrog-random"]);
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leapfrog => "leapfrog",
            Self::Transitive => "transitive",
            Self::Random => "leapfrog-random",
        }
    }
}

/// The workers, and how they steal.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Their number, at least 1.
    pub workers: usize,
    /// The steps that a successful theft takes, at least 1.
    pub steal: u32,
    /// What they do while they wait.
    pub waiting: Waiting,
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visit {
    /// The steps.
    pub steps: u64,
    /// The nodes that were visited.
    pub nodes: u64,
    /// The thefts of workers without a task.
    pub steals: u64,
    /// The thefts of workers that waited.
    pub leaps: u64,
    /// The most tasks that were on a stack at once.
    pub depth: usize,
}

/// A task on the stack of its owner.
#[derive(Debug)]
struct Task {
    node: u32,
    /// Its thief, and how many tasks that had when it took this one: later ones are descendants of it.
    thief: Option<(usize, usize)>,
    is_done: bool,
}

/// A node whose children are being joined.
#[derive(Debug)]
struct Frame {
    left: u32,
    /// The owner of the stolen task that this is, and its place.
    stolen: Option<(usize, usize)>,
}

#[derive(Debug, Default)]
struct Worker {
    tasks: Vec<Task>,
    tail: usize,
    frames: Vec<Frame>,
    /// The task that it has just stolen, its owner and place, and the steps until it begins.
    loot: Option<(u32, (usize, usize), u32)>,
    /// Whether its last attempt at a thief failed.
    has_failed: bool,
}

/// Returns a worker that has a task, among the one that stole a task and those that stole descendants of it. A theft is
/// the thief, and how many tasks or activities that had before; `thefts` returns those from a worker since then.
pub(crate) fn descendant<I: Iterator<Item = (usize, usize)>>(
    workers: usize,
    theft: (usize, usize),
    has_task: impl Fn(usize) -> bool,
    thefts: impl Fn(usize, usize) -> I,
) -> Option<usize> {
    let mut open = vec![theft];
    // Two workers may have stolen from one another many times.
    let mut seen = vec![false; workers];
    while let Some((thief, base)) = open.pop() {
        if std::mem::replace(&mut seen[thief], true) {
            continue;
        }
        if has_task(thief) {
            return Some(thief);
        }
        open.extend(thefts(thief, base));
    }
    None
}

/// Visits a tree; the seed determines the run.
///
/// ```
/// use filch_sim::lace::{Machine, Tree, Waiting, visit};
///
/// let tree = Tree::binomial(200, 8, 124_000, 5);
/// let on = |workers| visit(&tree, Machine { workers, steal: 2, waiting: Waiting::Random }, 1);
/// assert_eq!(on(1).steps, tree.nodes());
/// assert!(on(8).steps < on(4).steps);
/// ```
///
/// # Panics
///
/// If there is no worker, or a theft takes no step.
pub fn visit(tree: &Tree, machine: Machine, seed: u64) -> Visit {
    assert!(machine.workers > 0 && machine.steal > 0, "there is a worker, and a theft takes a step");
    let workers = std::iter::repeat_with(Worker::default).take(machine.workers).collect();
    let mut run = Run { tree, machine, rng: fastrand::Rng::with_seed(seed), workers, visit: Visit::default() };
    run.visit.steps = 1;
    run.begin(0, 0, None);
    while !run.workers[0].frames.is_empty() {
        run.visit.steps += 1;
        for worker in 0..machine.workers {
            run.act(worker);
        }
        // The last task may have ended after the first worker looked.
        run.finish(0);
    }
    run.visit
}

/// A run under way.
struct Run<'t> {
    tree: &'t Tree,
    machine: Machine,
    rng: fastrand::Rng,
    workers: Vec<Worker>,
    visit: Visit,
}

impl Run<'_> {
    /// Has a worker use its step.
    fn act(&mut self, me: usize) {
        if let Some((node, place, left)) = self.workers[me].loot.take() {
            if left == 0 {
                self.begin(me, node, Some(place));
                self.finish(me);
            } else {
                self.workers[me].loot = Some((node, place, left - 1));
            }
            return;
        }
        self.finish(me);
        let worker = &mut self.workers[me];
        let Some(frame) = worker.frames.last_mut() else { return self.idle(me) };
        if worker.tasks.len() > worker.tail {
            frame.left -= 1;
            let task = worker.tasks.pop().expect("a task that is not stolen");
            self.begin(me, task.node, None);
            self.finish(me);
        } else {
            self.wait(me);
        }
    }

    /// Visits a node, and leaves its children as tasks.
    fn begin(&mut self, me: usize, node: u32, stolen: Option<(usize, usize)>) {
        let children = self.tree.children(node);
        let worker = &mut self.workers[me];
        worker.frames.push(Frame { left: children.end - children.start, stolen });
        worker.tasks.extend(children.map(|node| Task { node, thief: None, is_done: false }));
        self.visit.nodes += 1;
        self.visit.depth = self.visit.depth.max(worker.tasks.len());
    }

    /// Ends the nodes whose children have all ended, and joins stolen tasks that are done.
    fn finish(&mut self, me: usize) {
        loop {
            let worker = &mut self.workers[me];
            let Some(frame) = worker.frames.last_mut() else { return };
            if frame.left == 0 {
                let stolen = frame.stolen;
                worker.frames.pop();
                if let Some((owner, place)) = stolen {
                    self.workers[owner].tasks[place].is_done = true;
                }
            } else if worker.tasks.len() == worker.tail && worker.tasks.last().is_some_and(|task| task.is_done) {
                frame.left -= 1;
                worker.tasks.pop();
                worker.tail = worker.tasks.len();
            } else {
                return;
            }
        }
    }

    /// Tries to steal while it has no task.
    fn idle(&mut self, me: usize) {
        let victim = self.random(me);
        self.visit.steals += u64::from(self.steal(me, victim));
    }

    /// Tries to steal while the newest task is stolen.
    fn wait(&mut self, me: usize) {
        let task = self.workers[me].tasks.last().expect("a task to wait for");
        let (thief, base) = task.thief.expect("a stolen task has a thief");
        let victim = match self.machine.waiting {
            Waiting::Leapfrog => Some(thief),
            Waiting::Transitive => {
                let has_task = |worker: usize| self.workers[worker].tail < self.workers[worker].tasks.len();
                let thefts = |worker: usize, base: usize| {
                    let tasks = self.workers[worker].tasks[base..].iter();
                    tasks.filter(|task| !task.is_done).filter_map(|task| task.thief)
                };
                descendant(self.machine.workers, (thief, base), has_task, thefts)
            }
            Waiting::Random if self.workers[me].has_failed => self.random(me),
            Waiting::Random => Some(thief),
        };
        let has_stolen = self.steal(me, victim);
        self.workers[me].has_failed = !has_stolen && !self.workers[me].has_failed;
        self.visit.leaps += u64::from(has_stolen);
    }

    /// Returns a random other worker, if there is one.
    fn random(&mut self, me: usize) -> Option<usize> {
        another(&mut self.rng, self.machine.workers, me)
    }

    /// Steals the oldest task of a worker, if it has one.
    fn steal(&mut self, me: usize, victim: Option<usize>) -> bool {
        let base = self.workers[me].tasks.len();
        let Some(victim) = victim else { return false };
        let worker = &mut self.workers[victim];
        let place = worker.tail;
        let Some(task) = worker.tasks.get_mut(place) else { return false };
        task.thief = Some((me, base));
        worker.tail += 1;
        let node = task.node;
        self.workers[me].loot = Some((node, (victim, place), self.machine.steal - 1));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: [Waiting; 3] = Waiting::EVERY;

    /// A tree of 387 871 nodes with the shape of T3L.
    fn t3() -> Tree {
        Tree::binomial(200, 5, 199_900, 2)
    }

    #[test]
    fn every_node_is_visited_once_and_never_too_soon() {
        for tree in [Tree::binomial(100, 8, 124_000, 1), Tree::binomial(20, 2, 499_500, 1), Tree::binomial(40, 1, 0, 1)]
        {
            for waiting in WAITS {
                for (workers, steal) in [(1, 1), (2, 1), (7, 3), (48, 2)] {
                    let run = visit(&tree, Machine { workers, steal, waiting }, 3);
                    assert_eq!(run.nodes, tree.nodes(), "{waiting:?} on {workers}");
                    assert!(run.steps * workers as u64 >= tree.nodes() && run.steps <= 2 * tree.nodes());
                    assert_eq!(workers == 1, run.steals == 0, "{run:?}");
                }
            }
        }
    }

    /// Two workers visit a root in the first step. In the second one, the first worker visits its last child, and the
    /// other one steals the first child, which it visits in the third step.
    #[test]
    fn small_trees_take_the_steps_that_they_take_by_hand() {
        let steps = |children, steal| {
            let tree = Tree::binomial(children, 1, 0, 1);
            WAITS.map(|waiting| visit(&tree, Machine { workers: 2, steal, waiting }, 1).steps)
        };
        assert_eq!((steps(1, 1), steps(2, 1), steps(3, 1)), ([2; 3], [3; 3], [3; 3]));
        assert_eq!((steps(2, 4), steps(5, 4)), ([6; 3], [6; 3]), "a theft of four steps");
    }

    /// fib(5) has fifteen calls; whoever runs the root runs fib(3) itself, the newer task, while a thief has fib(4).
    #[test]
    fn thieves_get_the_larger_call() {
        let tree = Tree::fib(5);
        assert_eq!(tree.nodes(), 15);
        let calls = |node| tree.children(node).len();
        assert_eq!(tree.children(0), 1..3);
        assert_eq!((calls(1), calls(2), calls(14)), (2, 2, 0));
        // The thief has fib(4), nine calls, in the second step. Its owner, done with fib(3), leaps for parts of it.
        let run = visit(&tree, Machine { workers: 2, steal: 1, waiting: Waiting::Leapfrog }, 1);
        assert!((8..=12).contains(&run.steps) && run.steals == 1 && run.leaps > 0, "{run:?}");
    }

    #[test]
    fn a_seed_is_a_run() {
        let tree = Tree::binomial(100, 8, 124_000, 1);
        let run = |seed| visit(&tree, Machine { workers: 8, steal: 1, waiting: Waiting::Random }, seed);
        assert_eq!(run(1), run(1));
        assert!((2..5).any(|seed| run(seed) != run(1)));
    }

    /// Figures 6 and 8: T3L gains little beyond 16 workers with plain leapfrogging (19.9 on 48), and much with either
    /// extension (38.3 and 37.8).
    #[test]
    fn leapfrogging_alone_holds_many_workers_back() {
        let tree = t3();
        #[expect(clippy::cast_precision_loss, reason = "below a million")]
        let on = |workers, waiting| {
            let machine = Machine { workers, steal: 1, waiting };
            let steps: u64 = (0..4).map(|seed| visit(&tree, machine, seed).steps).sum();
            4.0 * tree.nodes() as f64 / steps as f64
        };
        let [few, many] = [16, 48].map(|workers| on(workers, Waiting::Leapfrog));
        assert!(few > 11.0 && many < 28.0 && many / few < 2.2, "{few} on 16, {many} on 48");
        let extensions = [Waiting::Transitive, Waiting::Random].map(|waiting| (on(16, waiting), on(48, waiting)));
        for (fewer, more) in extensions {
            assert!(more > 1.3 * many && fewer < 1.3 * few, "{fewer} on 16, {more} on 48");
        }
        let [(_, transitive), (_, random)] = extensions;
        assert!((random / transitive - 1.0).abs() < 0.05, "{random} and {transitive} are alike (section 4.3)");
        for waiting in WAITS {
            assert!(on(4, waiting) > 3.7, "{waiting:?}: hardly a chain on four workers");
        }
    }

    /// Section 1.2: whoever steals only descendants of a task that it waits for has no larger stack than a sequential
    /// run; whoever steals at random may have.
    #[test]
    fn leapfrogging_bounds_the_stack() {
        let depth = |workers| visit(&Tree::fib(20), Machine { workers, steal: 1, waiting: Waiting::Random }, 1).depth;
        assert!(depth(8) > depth(1) && depth(48) > depth(1));
        for tree in [t3(), Tree::binomial(100, 8, 124_000, 1)] {
            let depth = |workers, waiting| visit(&tree, Machine { workers, steal: 1, waiting }, 1).depth;
            for waiting in [Waiting::Leapfrog, Waiting::Transitive] {
                assert!(
                    [2, 8, 48].into_iter().all(|workers| depth(workers, waiting) <= depth(1, waiting)),
                    "{waiting:?}"
                );
            }
        }
    }
}
