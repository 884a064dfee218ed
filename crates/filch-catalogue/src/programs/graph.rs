//! Graphs: the families, the edges by number, and the parameters that choose a graph.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

use super::{ParamError, ParamSpec, Settings, hash};

/// The families of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A torus: a closed grid, whose number of dimensions is the degree.
    Grid,
    /// A closed grid of two dimensions.
    Torus,
    /// Vertices draw mostly near neighbours: in a five-dimensional space, a neighbour twice as far away in each
    /// dimension is half as likely. After randLocalGraph of the Problem Based Benchmark Suite.
    RandLocal,
    /// Recursive: each edge chooses quarters of the adjacency matrix with probabilities ½, 0.1, 0.1 and 0.3, so that
    /// few vertices have many neighbours. Deepayan Chakrabarti, Yiping Zhan and Christos Faloutsos, *R-MAT*, SDM 2004.
    RMat,
    /// Each vertex has as many neighbours as the degree says, at fixed distances that are drawn once.
    KGraph,
    /// Each edge links any two vertices.
    Random,
}

pub const FAMILIES: &[(&str, Family)] = &[
    ("grid", Family::Grid),
    ("torus", Family::Torus),
    ("randlocal", Family::RandLocal),
    ("rmat", Family::RMat),
    ("kgraph", Family::KGraph),
    ("random", Family::Random),
];

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FAMILIES.iter().find(|(_, family)| family == self).map_or("", |(name, _)| name))
    }
}

impl Family {
    /// The default degree: dimensions of a grid, neighbours in a K-graph, otherwise edges drawn per vertex.
    pub const fn default_degree(self) -> u32 {
        match self {
            Self::Grid | Self::Random => 3,
            Self::Torus => 2,
            Self::RandLocal | Self::RMat => 5,
            Self::KGraph => 6,
        }
    }
}

/// The most vertices: one number is reserved for "none".
pub const MOST_VERTICES: u64 = u32::MAX as u64;

/// A family with its sizes and seed, which determine a graph.
///
/// ```
/// use filch_catalogue::programs::graph::{Family, Shape};
///
/// let torus = Shape::new(Family::Torus, 8, 2, 0).unwrap();
/// assert_eq!((torus.vertices(), torus.edges()), (9, 18));
/// assert_eq!([torus.edge(0), torus.edge(1)], [(0, 1), (0, 3)]);
/// assert_eq!([torus.edge(16), torus.edge(17)], [(8, 6), (8, 2)]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    family: Family,
    vertices: u32,
    degree: u32,
    edges: u64,
    seed: u64,
    /// The length of a grid in each dimension.
    side: u32,
    /// The distances of a K-graph, each to two neighbours. Those of an odd degree have a neighbour opposite them
    /// besides.
    distances: Vec<u32>,
}

impl Shape {
    /// Returns a shape with `n` vertices, or the next number for which there is one: grids have the same length in each
    /// dimension, and a K-graph of odd degree has an even number of vertices. A vertex of a grid is linked to the next
    /// one in each dimension, a vertex of a K-graph has `degree` neighbours, and in other graphs `degree` edges are
    /// drawn per vertex.
    ///
    /// Returns `None` if there is no such graph: vertices are from 1 to 2³² − 1, the torus has two dimensions, and a
    /// K-graph has more vertices than its degree.
    pub fn new(family: Family, n: u64, degree: u32, seed: u64) -> Option<Self> {
        if degree == 0 || n == 0 || n > MOST_VERTICES || (family == Family::Torus && degree != 2) {
            return None;
        }
        let (vertices, side) = match family {
            Family::Grid | Family::Torus => {
                let power = |side: u64| side.checked_pow(degree);
                // The root is right except for rounding.
                let near = (n as f64).powf(1.0 / f64::from(degree)) as u64;
                let side = (near.saturating_sub(1).max(1)..).find(|&side| power(side).is_none_or(|all| all >= n))?;
                (power(side)?, side)
            }
            Family::KGraph if degree % 2 == 1 => (n.next_multiple_of(2), 0),
            Family::RandLocal | Family::RMat | Family::KGraph | Family::Random => (n, 0),
        };
        let vertices = u32::try_from(vertices).ok()?;
        let (edges, distances) = match family {
            Family::KGraph if degree >= vertices => return None,
            Family::KGraph => (u64::from(vertices) * u64::from(degree) / 2, distances(vertices, degree / 2, seed)),
            _ => (u64::from(vertices) * u64::from(degree), Vec::new()),
        };
        Some(Self { family, vertices, degree, edges, seed, side: side as u32, distances })
    }

    /// The same with this number of drawn edges. Returns `None` if the family fixes another number.
    pub fn with_edges(self, edges: u64) -> Option<Self> {
        let is_fixed = matches!(self.family, Family::Grid | Family::Torus | Family::KGraph);
        (!is_fixed || edges == self.edges).then_some(Self { edges, ..self })
    }

    /// The graph's family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The number of vertices.
    pub fn vertices(&self) -> u32 {
        self.vertices
    }

    /// The degree, as [`Shape::new`] was given it.
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The number of drawn edges; the graph may have fewer, since it omits loops and duplicates.
    pub fn edges(&self) -> usize {
        self.edges as usize
    }

    /// Returns the edge of this number, which is below [`Shape::edges`].
    #[inline]
    pub fn edge(&self, index: u64) -> (u32, u32) {
        let bits = || hash(self.seed, index);
        match self.family {
            Family::Grid | Family::Torus => {
                let from = (index / u64::from(self.degree)) as u32;
                (from, self.next(from, (index % u64::from(self.degree)) as u32))
            }
            Family::RandLocal => {
                // Each vertex draws as many, up to one.
                let from = (u128::from(index) * u128::from(self.vertices) / u128::from(self.edges)) as u32;
                (from, self.plus(from, near(bits())))
            }
            Family::RMat => self.recursive(bits()),
            Family::KGraph => {
                let distances = self.distances.len() as u64;
                let to_both_sides = u64::from(self.vertices) * distances;
                if index < to_both_sides {
                    let from = (index / distances) as u32;
                    (from, self.plus(from, self.distances[(index % distances) as usize].into()))
                } else {
                    let from = (index - to_both_sides) as u32;
                    (from, from + self.vertices / 2)
                }
            }
            Family::Random => (self.plus(0, bits()), self.plus(0, hash(bits(), 0))),
        }
    }

    /// The vertex at this distance after another; the first vertex follows the last.
    fn plus(&self, vertex: u32, distance: u64) -> u32 {
        let n = u64::from(self.vertices);
        ((u64::from(vertex) + distance % n) % n) as u32
    }

    /// The next vertex in a dimension.
    fn next(&self, vertex: u32, dimension: u32) -> u32 {
        let (vertex, side) = (u64::from(vertex), u64::from(self.side));
        let step = side.pow(dimension);
        let at = vertex / step % side;
        // Both fit, since the vertex exists.
        (if at + 1 == side { vertex - at * step } else { vertex + step }) as u32
    }

    fn recursive(&self, bits: u64) -> (u32, u32) {
        let levels = u64::from(self.vertices).next_power_of_two().ilog2();
        let quarter = |bits, (u, v): (u32, u32), level: u32| {
            // In percent.
            let (right, down) = match hash(bits, level.into()) % 100 {
                0..50 => (0, 0),
                50..60 => (1, 0),
                60..70 => (0, 1),
                _ => (1, 1),
            };
            (u << 1 | down, v << 1 | right)
        };
        // The matrix has a power of two rows. An edge outside the graph is drawn again.
        let draws = std::iter::successors(Some(bits), |&bits| Some(hash(bits, u64::MAX)));
        let mut edges = draws.map(|bits| (0..levels).fold((0, 0), |edge, level| quarter(bits, edge, level)));
        edges.find(|&(u, v)| u.max(v) < self.vertices).expect("an endless number of draws")
    }
}

/// Draws so many distances of a K-graph: each less than half of the vertices, no two alike; the first has no divisor in
/// common with the number of vertices, so that the graph is connected.
fn distances(vertices: u32, count: u32, seed: u64) -> Vec<u32> {
    let below_half = u64::from(vertices - 1) / 2;
    let mut all: Vec<u32> = Vec::with_capacity(count as usize);
    let mut taken = HashSet::new();
    let mut draws = (0..).map(|draw| 1 + (hash(seed, draw) % below_half.max(1)) as u32);
    while all.len() < count as usize {
        let distance = draws.next().expect("an endless number of draws");
        if (!all.is_empty() || has_no_common_divisor(distance, vertices)) && taken.insert(distance) {
            all.push(distance);
        }
    }
    all
}

fn has_no_common_divisor(a: u32, b: u32) -> bool {
    if b == 0 { a == 1 } else { has_no_common_divisor(b, a % b) }
}

/// Draws a distance: the space to choose from doubles in each dimension with probability ½, repeatedly.
fn near(bits: u64) -> u64 {
    const DIMENSIONS: u32 = 5;
    let doublings = bits.trailing_ones();
    let space = (DIMENSIONS + 2 + DIMENSIONS * doublings).min(62);
    hash(bits, 0) & ((1 << space) - 1)
}

/// A program's first parameters, in this order; their defaults may differ.
pub const GRAPH: ParamSpec =
    ParamSpec { name: "graph", help: "grid, torus, randlocal, rmat, kgraph or random", default: "grid" };

pub const N: ParamSpec = ParamSpec { name: "n", help: "vertices, rounded up if the graph needs it", default: "200000" };

pub const DEGREE: ParamSpec = ParamSpec {
    name: "degree",
    help: "neighbours (kgraph), dimensions (grid), otherwise edges drawn per vertex",
    default: "",
};

pub const EDGES: ParamSpec =
    ParamSpec { name: "edges", help: "edges drawn, instead of the degree (randlocal, rmat, random)", default: "" };

pub const SEED: ParamSpec = ParamSpec { name: "seed", help: "seed of the edges", default: "1" };

pub const CACHE: ParamSpec = ParamSpec { name: "cache", help: "folder to cache the graph in", default: "" };

/// The graph, and its cache.
#[derive(Clone, Debug)]
pub struct Input {
    pub name: &'static str,
    pub shape: Shape,
    pub cache: Option<PathBuf>,
}

impl Input {
    pub fn parse(name: &'static str, settings: &Settings<'_>) -> Result<Self, ParamError> {
        const MOST_DEGREE: u64 = 1 << 16;
        let family = settings.word(GRAPH.name, settings.text(GRAPH.name), FAMILIES)?;
        let n = settings.whole(N.name, 1, MOST_VERTICES, ", the range of vertex numbers")?;
        let degree = settings.whole_or(DEGREE.name, family.default_degree().into(), (1, MOST_DEGREE), "")? as u32;
        if family == Family::Torus && degree != 2 {
            return Err(settings.bad(DEGREE.name, "is not 2: for a torus of more dimensions, ask for a grid"));
        }
        let seed = settings.whole(SEED.name, 0, u64::MAX, "")?;
        let is_too_small = family == Family::KGraph && u64::from(degree) >= n;
        let why =
            if is_too_small { "is not more than the degree" } else { "gives too many vertices: at most 4294967295" };
        let shape = Shape::new(family, n, degree, seed).ok_or_else(|| settings.bad(N.name, why))?;
        let edges = settings.whole_or(EDGES.name, shape.edges() as u64, (1, 1 << 40), "")?;
        let fixed = "is fixed by the degree in grids, tori and K-graphs";
        let shape = match settings.given(EDGES.name) {
            None => shape,
            Some(_) => shape.with_edges(edges).ok_or_else(|| settings.bad(EDGES.name, fixed))?,
        };
        let cache = Some(settings.text(CACHE.name)).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        Ok(Self { name, shape, cache })
    }

    /// The values of the parameters above.
    pub fn values(&self) -> Vec<String> {
        let Self { shape, cache, .. } = self;
        let cache = cache.as_deref().map(|folder| folder.display().to_string()).unwrap_or_default();
        let numbers = [u64::from(shape.vertices()), shape.degree().into(), shape.edges() as u64, shape.seed()];
        let numbers = numbers.map(|number| number.to_string());
        [shape.family().to_string()].into_iter().chain(numbers).chain([cache]).collect()
    }

    pub fn vertices(&self) -> u32 {
        self.shape.vertices()
    }

    /// The most edges.
    pub fn edges(&self) -> u64 {
        self.shape.edges() as u64
    }

    /// The bytes needed to build the graph.
    pub fn memory_bytes(&self) -> u64 {
        build_bytes(&self.shape)
    }
}

/// The bytes of a mark per vertex and of the right marks.
pub(super) fn marks_bytes(vertices: u32) -> u64 {
    2 * u64::from(vertices)
}

/// The peak of the bytes needed to build a graph.
fn build_bytes(shape: &Shape) -> u64 {
    let arcs = 2 * shape.edges() as u64;
    // Arcs and room to sort them, then arcs and lists.
    (16 * arcs).max(12 * arcs + 8 * u64::from(shape.vertices()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up() {
        let vertices = |family, n, degree| Shape::new(family, n, degree, 1).map(|shape| shape.vertices());
        assert_eq!(vertices(Family::Grid, 262_144, 3), Some(64 * 64 * 64));
        assert_eq!(vertices(Family::Grid, 262_145, 3), Some(65 * 65 * 65));
        assert_eq!(vertices(Family::Torus, 200_000, 2), Some(448 * 448));
        assert_eq!(vertices(Family::Grid, 2, 40), None);
        assert_eq!(vertices(Family::Grid, 1, 40), Some(1));
        assert_eq!(vertices(Family::Torus, 10, 3), None);
        assert_eq!(vertices(Family::RMat, 1000, 5), Some(1000));
        assert_eq!(vertices(Family::RMat, MOST_VERTICES, 5), Some(u32::MAX));
        assert_eq!(vertices(Family::KGraph, 1000, 5), Some(1000));
        assert_eq!(vertices(Family::KGraph, 1001, 5), Some(1002));
        assert_eq!(vertices(Family::KGraph, 6, 6), None);
        assert_eq!(vertices(Family::Random, MOST_VERTICES, 1), Some(u32::MAX));
        // Roots that floating point rounds down or up.
        for side in [2_u64, 3, 5, 10, 99, 127, 1000, 1625] {
            for (n, right) in [(side.pow(3) - 1, side), (side.pow(3), side), (side.pow(3) + 1, side + 1)] {
                let expected = u32::try_from(right.pow(3)).ok();
                assert_eq!(vertices(Family::Grid, n, 3), expected, "{n}");
            }
        }
    }

    /// Half of the local edges are short, and few of the recursive ones start in the upper half.
    #[test]
    fn edges_have_the_right_distribution() {
        let shape = Shape::new(Family::RandLocal, 1 << 20, 5, 3).expect("a valid shape");
        let edges = 0..1 << 16;
        let distance = |(u, v): (u32, u32)| v.wrapping_sub(u) & ((1 << 20) - 1);
        let short = edges.clone().filter(|&index| distance(shape.edge(index)) < 1 << 7).count();
        assert!((32_000..36_000).contains(&short), "{short}");
        let shape = Shape::new(Family::RMat, 1 << 20, 5, 3).expect("a valid shape");
        let (mut rows, mut columns) = (0, 0);
        for (u, v) in edges.map(|index| shape.edge(index)) {
            rows += u32::from(u >= 1 << 19);
            columns += u32::from(v >= 1 << 19);
        }
        for upper in [rows, columns] {
            assert!((25_500..27_000).contains(&upper), "{upper}, not 0.4 of 65536");
        }
    }

    const PARAMS: &[ParamSpec] = &[GRAPH, N, DEGREE, EDGES, SEED, CACHE];

    fn input(set: &[(&str, &str)]) -> Result<Input, ParamError> {
        let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Input::parse("test", &Settings::new("test", PARAMS, &set)?)
    }

    #[test]
    fn given_values_are_kept() {
        let given = ["rmat", "1000", "4", "7000", "9", "/some/where"];
        let set: Vec<(&str, &str)> = PARAMS.iter().map(|param| param.name).zip(given).collect();
        assert_eq!(input(&set).expect("valid parameters").values(), given);
        assert_eq!(input(&[]).expect("valid parameters").values(), ["grid", "205379", "3", "616137", "1", ""]);
        let sentence = |set| input(set).map(|input| input.shape).expect_err("invalid parameters").to_string();
        assert!(sentence(&[("graph", "ring")]).contains("is not one of grid, torus"));
        assert!(sentence(&[("n", "0")]).contains("too small"));
        assert!(sentence(&[("degree", "40")]).contains("too many vertices"));
        assert!(sentence(&[("graph", "torus"), ("degree", "3")]).contains("ask for a grid"));
        assert!(sentence(&[("edges", "7")]).contains("is fixed by the degree"));
        assert!(sentence(&[("graph", "kgraph"), ("n", "5")]).contains("is not more than the degree"));
    }
}
