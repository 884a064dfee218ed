//! Families of computations, by name and parameters, such as `fib:n=12`.

use std::fmt;
use std::str::FromStr;

use crate::dag::{Builder, Dag};

/// A family of graphs with its parameters.
///
/// ```
/// use filch_sim::Shape;
///
/// let shape: Shape = "comb:teeth=3,grain=10".parse()?;
/// assert_eq!(shape, Shape::Comb { teeth: 3, grain: 10 });
/// let dag = shape.dag();
/// assert_eq!((dag.work(), dag.span(), dag.forks()), (3 * 12 + 1, 3 + 10 + 3, 3));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The calls of the Fibonacci function: a fork and a join for each call with n ≥ 2, a node for each other one. The
    /// larger call is the first branch.
    Fib {
        /// The argument of the first call.
        n: u32,
    },
    /// A complete binary tree of forks.
    Balanced {
        /// The forks on a path.
        depth: u32,
        /// The nodes of each leaf.
        grain: u32,
    },
    /// A chain of forks, each with the rest of the chain as its first branch and a leaf as its second one: as many
    /// nested forks as there can be.
    Comb {
        /// The number of forks.
        teeth: u32,
        /// The nodes of each leaf except the innermost one, which has one.
        grain: u32,
    },
    /// A tree whose nodes other than the root have `children` children with a probability of so many millionths, like
    /// the binomial trees of the Unbalanced Tree Search benchmark. A node forks off its children one by one and runs
    /// the last one itself.
    Uts {
        /// The children of the root.
        root: u32,
        /// The children of another node that has any.
        children: u32,
        /// In how many of a million cases a node has any.
        per_million: u32,
        /// The seed of the tree.
        seed: u32,
    },
}

/// The name of a parameter, its least and its largest value.
type Parameter = (&'static str, u32, u32);

/// The names of the families, with their parameters.
const FAMILIES: [(&str, &[Parameter]); 4] = [
    ("fib", &[("n", 0, 30)]),
    ("balanced", &[("depth", 0, 22), ("grain", 1, 1_000_000)]),
    ("comb", &[("teeth", 0, 1_000_000), ("grain", 1, 1_000_000)]),
    ("uts", &[("root", 1, 10_000), ("children", 1, 100), ("per_million", 0, 999_999), ("seed", 0, u32::MAX)]),
];

/// The most nodes of a graph.
const MOST: u64 = 20_000_000;

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, given) = text.split_once(':').unwrap_or((text, ""));
        let known = || FAMILIES.map(|(name, _)| name).join(", ");
        let (_, parameters) = FAMILIES
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| format!("there is no graph `{name}`: there are {}", known()))?;
        let form = || {
            let names: Vec<String> = parameters.iter().map(|(name, ..)| format!("{name}=N")).collect();
            format!("`{text}` does not have the form {name}:{}", names.join(","))
        };
        let pairs: Vec<(&str, &str)> = given.split(',').filter_map(|pair| pair.split_once('=')).collect();
        if pairs.len() != parameters.len() {
            return Err(form());
        }
        let value = |&(name, least, most): &Parameter| {
            let (_, value) = pairs.iter().find(|(given, _)| *given == name).ok_or_else(form)?;
            let value: u32 = value.parse().map_err(|_| format!("{name}=`{value}` is not a number"))?;
            let is_in_range = (least..=most).contains(&value);
            is_in_range.then_some(value).ok_or_else(|| format!("{name}={value} is not in {least}..={most}"))
        };
        let values = parameters.iter().map(value).collect::<Result<Vec<u32>, String>>()?;
        let shape = match values[..] {
            [n] => Self::Fib { n },
            [depth, grain] if name == "balanced" => Self::Balanced { depth, grain },
            [teeth, grain] => Self::Comb { teeth, grain },
            [root, children, per_million, seed] => Self::Uts { root, children, per_million, seed },
            _ => return Err(form()),
        };
        let least = shape.least_work();
        if least > MOST { Err(format!("{text} has at least {least} nodes; at most {MOST} fit")) } else { Ok(shape) }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fib { n } => write!(f, "fib:n={n}"),
            Self::Balanced { depth, grain } => write!(f, "balanced:depth={depth},grain={grain}"),
            Self::Comb { teeth, grain } => write!(f, "comb:teeth={teeth},grain={grain}"),
            Self::Uts { root, children, per_million, seed } => {
                write!(f, "uts:root={root},children={children},per_million={per_million},seed={seed}")
            }
        }
    }
}

impl Shape {
    /// The number of nodes, or what a tree by chance has at least.
    fn least_work(self) -> u64 {
        match self {
            Self::Fib { n } => (0..n).fold((1, 1), |(a, b), _| (b, a + b)).0 * 3 - 2,
            Self::Balanced { depth, grain } => (1 << depth) * (2 + u64::from(grain)) - 2,
            Self::Comb { teeth, grain } => u64::from(teeth) * (2 + u64::from(grain)) + 1,
            Self::Uts { root, .. } => 3 * u64::from(root) - 2,
        }
    }

    /// Makes the graph.
    ///
    /// # Panics
    ///
    /// If a tree by chance grows beyond twenty million nodes.
    pub fn dag(self) -> Dag {
        let mut builder = Builder::default();
        match self {
            Self::Fib { n } => drop(fib(&mut builder, n)),
            Self::Balanced { depth, grain } => drop(balanced(&mut builder, depth, grain)),
            Self::Comb { teeth, grain } => comb(&mut builder, teeth, grain),
            Self::Uts { root, children, per_million, seed } => {
                let mut rng = fastrand::Rng::with_seed(seed.into());
                tree(&mut builder, root, &mut || if rng.u32(..1_000_000) < per_million { children } else { 0 });
            }
        }
        builder.dag()
    }
}

/// Adds a fork, its branches and their join; returns the first and the last node.
fn branches(
    builder: &mut Builder,
    first: impl FnOnce(&mut Builder) -> (u32, u32),
    second: impl FnOnce(&mut Builder) -> (u32, u32),
) -> (u32, u32) {
    let fork = builder.node();
    let (one, other) = (first(builder), second(builder));
    builder.fork(fork, one.0, other.0);
    let join = builder.node();
    builder.edge(one.1, join);
    builder.edge(other.1, join);
    (fork, join)
}

fn fib(builder: &mut Builder, n: u32) -> (u32, u32) {
    if n < 2 {
        return builder.chain(1);
    }
    branches(builder, |builder| fib(builder, n - 1), |builder| fib(builder, n - 2))
}

fn balanced(builder: &mut Builder, depth: u32, grain: u32) -> (u32, u32) {
    if depth == 0 {
        return builder.chain(grain);
    }
    let half = |builder: &mut Builder| balanced(builder, depth - 1, grain);
    branches(builder, half, half)
}

/// A comb may have more teeth than the stack has frames.
fn comb(builder: &mut Builder, teeth: u32, grain: u32) {
    let (first, mut end) = builder.chain(teeth + 1);
    for fork in (first..first + teeth).rev() {
        let leaf = builder.chain(grain);
        builder.edge(fork, leaf.0);
        let join = builder.node();
        builder.edge(end, join);
        builder.edge(leaf.1, join);
        end = join;
    }
}

/// Adds a tree below a node with this many children.
///
/// It keeps its own stack, since a path may be longer than that of a thread.
fn tree(builder: &mut Builder, root: u32, children: &mut impl FnMut() -> u32) {
    /// A node whose children are being added, the last one first.
    struct Open {
        first: u32,
        /// The forks that still lack a branch.
        forks: std::ops::RangeInclusive<u32>,
        left: u32,
        /// The last node so far.
        end: Option<u32>,
    }
    let open = |builder: &mut Builder, left: u32| {
        // All children but the last are forked off.
        let (first, last) = builder.chain(left.saturating_sub(1).max(1));
        assert!(u64::from(last) < MOST, "the tree has more than {MOST} nodes");
        Open { first, forks: first..=last, left, end: None }
    };
    let mut stack = vec![open(builder, root)];
    while let Some(top) = stack.last_mut() {
        if top.left > 0 {
            top.left -= 1;
            // The last two children are branches of the last fork.
            let parent = if top.end.is_none() { *top.forks.end() } else { top.forks.next_back().expect("a fork each") };
            let child = open(builder, children());
            builder.edge(parent, child.first);
            stack.push(child);
            continue;
        }
        let end = top.end.unwrap_or(top.first);
        stack.pop();
        if let Some(parent) = stack.last_mut() {
            parent.end = Some(parent.end.map_or(end, |first| {
                let join = builder.node();
                builder.edge(first, join);
                builder.edge(end, join);
                join
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures(text: &str) -> (u64, u32, u32) {
        let dag = text.parse::<Shape>().unwrap_or_else(|why| panic!("{why}")).dag();
        (dag.work(), dag.span(), dag.forks())
    }

    #[test]
    fn measures_are_those_of_the_formulas() {
        // fib(13) = 233 leaves.
        assert_eq!(measures("fib:n=12"), (3 * 233 - 2, 2 * 11 + 1, 11));
        assert_eq!(measures("fib:n=0"), (1, 1, 0));
        assert_eq!(measures("balanced:depth=4,grain=3"), (16 * 3 + 2 * 15, 4 + 3 + 4, 4));
        assert_eq!(measures("comb:teeth=5,grain=1"), (5 * 3 + 1, 11, 5));
        assert_eq!(measures("comb:teeth=0,grain=9"), (1, 1, 0));
        assert_eq!(measures("uts:root=1,children=8,per_million=0,seed=1"), (2, 2, 0));
        // Three forks of the root, and four leaves.
        assert_eq!(measures("uts:root=4,children=8,per_million=0,seed=1"), (3 + 4 + 3, 7, 3));
    }

    #[test]
    fn least_work_is_the_work_of_what_is_not_by_chance() {
        for text in ["fib:n=9", "fib:n=1", "balanced:depth=3,grain=2", "comb:teeth=7,grain=4"] {
            let shape: Shape = text.parse().unwrap();
            assert_eq!((shape.least_work(), shape.to_string().as_str()), (shape.dag().work(), text));
        }
    }

    #[test]
    fn a_seed_is_a_tree() {
        let tree = |seed| measures(&format!("uts:root=50,children=8,per_million=120000,seed={seed}"));
        assert_eq!(tree(3), tree(3));
        assert!((1..9).any(|seed| tree(seed) != tree(3)));
    }

    #[test]
    fn a_path_may_be_longer_than_the_stack() {
        assert_eq!(measures("comb:teeth=100000,grain=1").2, 100_000);
        // Every node has one child, except every thousandth.
        assert!(measures("uts:root=900,children=1,per_million=999000,seed=1").1 > 5000);
    }

    #[test]
    fn wrong_texts_are_refused() {
        for (text, why) in [
            ("tree:n=3", "there is no graph `tree`: there are fib, balanced, comb, uts"),
            ("fib", "does not have the form fib:n=N"),
            ("comb:teeth=3", "teeth=N,grain=N"),
            ("comb:teeth=3,teeth=3", "teeth=N,grain=N"),
            ("fib:n=31", "n=31 is not in 0..=30"),
            ("fib:n=x", "n=`x` is not a number"),
            ("balanced:depth=22,grain=1000", "at most 20000000 fit"),
        ] {
            let said = text.parse::<Shape>().expect_err(text);
            assert!(said.contains(why), "{said}");
        }
    }
}
