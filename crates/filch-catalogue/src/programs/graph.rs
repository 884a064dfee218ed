//! Graphs: their families, their edges by number, and the parameters by which programs choose one.

use std::fmt;
use std::path::PathBuf;

use super::{ParamError, ParamSpec, Settings, hash};

/// What kind of graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A grid of as many dimensions as the degree says, that is closed in each of them to a torus.
    Grid,
    /// A grid of two dimensions, closed.
    Torus,
    /// Each vertex draws neighbours that are seldom far away: one that is twice as far in each dimension of a space of five is
    /// half as likely. After randLocalGraph of the Problem Based Benchmark Suite.
    RandLocal,
    /// Recursive: each edge chooses quarters of the adjacency matrix with probabilities ½, 0.1, 0.1 and 0.3, so that few
    /// vertices have many neighbours. Deepayan Chakrabarti, Yiping Zhan and Christos Faloutsos, *R-MAT*, SDM 2004.
    RMat,
    /// Each vertex is linked to those at some fixed distances from it.
    KGraph,
    /// Edges between any two vertices.
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
    /// Edges drawn by each vertex, unless something else is asked for.
    pub const fn default_degree(self) -> u32 {
        match self {
            Self::Grid | Self::Random => 3,
            Self::Torus => 2,
            Self::RandLocal | Self::RMat => 5,
            Self::KGraph => 6,
        }
    }
}

/// The most vertices: one number is left to mean none.
pub const MOST_VERTICES: u64 = u32::MAX as u64;

/// A family with its sizes and its seed: everything that a graph depends on.
///
/// ```
/// use filch_catalogue::programs::graph::{Family, Shape};
///
/// let torus = Shape::new(Family::Torus, 8, 2, 0).unwrap();
/// assert_eq!((torus.vertices(), torus.edges()), (9, 18));
/// assert_eq!([torus.edge(0), torus.edge(1)], [(0, 1), (0, 3)]);
/// assert_eq!([torus.edge(16), torus.edge(17)], [(8, 6), (8, 2)]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    family: Family,
    vertices: u32,
    degree: u32,
    seed: u64,
    /// The length of a grid in each dimension.
    side: u32,
}

impl Shape {
    /// Of at least `n` vertices: grids are as long in each dimension as in the others, and those of [`Family::RMat`] have a power of
    /// two. Each vertex draws `degree` edges; those of a grid link it to the next vertex in each dimension.
    ///
    /// `None` if there is no such graph: vertices are from 1 to 2³² − 1, and the torus has two dimensions.
    pub fn new(family: Family, n: u64, degree: u32, seed: u64) -> Option<Self> {
        if degree == 0 || n == 0 || n > MOST_VERTICES || (family == Family::Torus && degree != 2) {
            return None;
        }
        let (vertices, side) = match family {
            Family::Grid | Family::Torus => {
                let power = |side: u64| side.checked_pow(degree);
                // The root is right but for rounding.
                let near = (n as f64).powf(1.0 / f64::from(degree)) as u64;
                let side = (near.saturating_sub(1).max(1)..).find(|&side| power(side).is_none_or(|all| all >= n))?;
                (power(side)?, side)
            }
            Family::RMat => (n.next_power_of_two(), 0),
            Family::RandLocal | Family::KGraph | Family::Random => (n, 0),
        };
        let vertices = u32::try_from(vertices).ok()?;
        Some(Self { family, vertices, degree, seed, side: side as u32 })
    }

    /// What kind of graph it is.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The number of vertices.
    pub fn vertices(&self) -> u32 {
        self.vertices
    }

    /// Edges drawn by each vertex.
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many edges are drawn; in the graph there may be fewer, without loops and those drawn before.
    pub fn edges(&self) -> usize {
        self.vertices as usize * self.degree as usize
    }

    /// The edge of this number below [`Shape::edges`].
    #[inline]
    pub fn edge(&self, index: u64) -> (u32, u32) {
        let from = (index / u64::from(self.degree)) as u32;
        let which = (index % u64::from(self.degree)) as u32;
        let bits = hash(self.seed, index);
        match self.family {
            Family::Grid | Family::Torus => (from, self.next(from, which)),
            Family::RandLocal => (from, self.plus(from, near(bits))),
            Family::RMat => self.recursive(bits),
            // From 1 to n - 1, if there are as many: no loops.
            Family::KGraph => {
                (from, self.plus(from, 1 + hash(self.seed, which.into()) % u64::from(self.vertices - 1).max(1)))
            }
            Family::Random => (self.plus(0, bits), self.plus(0, hash(bits, 0))),
        }
    }

    /// The vertex that comes so many after another, the first coming after the last.
    fn plus(&self, vertex: u32, distance: u64) -> u32 {
        let n = u64::from(self.vertices);
        ((u64::from(vertex) + distance % n) % n) as u32
    }

    /// The next vertex in a dimension.
    fn next(&self, vertex: u32, dimension: u32) -> u32 {
        let (vertex, side) = (u64::from(vertex), u64::from(self.side));
        let step = side.pow(dimension);
        let at = vertex / step % side;
        // Both fit, as the vertex after it exists.
        (if at + 1 == side { vertex - at * step } else { vertex + step }) as u32
    }

    fn recursive(&self, bits: u64) -> (u32, u32) {
        let quarter = |(u, v): (u32, u32), level: u32| {
            // Of a hundred equal parts.
            let (right, down) = match hash(bits, level.into()) % 100 {
                0..50 => (0, 0),
                50..60 => (1, 0),
                60..70 => (0, 1),
                _ => (1, 1),
            };
            (u << 1 | down, v << 1 | right)
        };
        (0..self.vertices.ilog2()).fold((0, 0), quarter)
    }
}

/// A distance: the space of which it is chosen doubles in each dimension with probability ½, again and again.
fn near(bits: u64) -> u64 {
    const DIMENSIONS: u32 = 5;
    let doublings = bits.trailing_ones();
    let space = (DIMENSIONS + 2 + DIMENSIONS * doublings).min(62);
    hash(bits, 0) & ((1 << space) - 1)
}

/// A program's first parameters, in this order; their defaults may differ.
pub const GRAPH: ParamSpec =
    ParamSpec { name: "graph", help: "grid, torus, randlocal, rmat, kgraph or random", default: "grid" };

pub const N: ParamSpec =
    ParamSpec { name: "n", help: "vertices, or more where the kind of graph needs it", default: "200000" };

pub const DEGREE: ParamSpec =
    ParamSpec { name: "degree", help: "edges drawn by each vertex; a grid's dimensions", default: "" };

pub const SEED: ParamSpec = ParamSpec { name: "seed", help: "seed of the edges", default: "1" };

pub const CACHE: ParamSpec = ParamSpec { name: "cache", help: "folder that keeps the graph", default: "" };

/// Which graph, and where it is kept.
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
        let n = settings.whole(N.name, 1, MOST_VERTICES, ", the range of vertices")?;
        let degree = settings.whole_or(DEGREE.name, family.default_degree().into(), (1, MOST_DEGREE), "")? as u32;
        if family == Family::Torus && degree != 2 {
            return Err(settings.bad(DEGREE.name, "is not 2: for a torus of more dimensions ask for a grid"));
        }
        let seed = settings.whole(SEED.name, 0, u64::MAX, "")?;
        let shape = Shape::new(family, n, degree, seed)
            .ok_or_else(|| settings.bad(N.name, "gives too many vertices: there are at most 4294967295"))?;
        let cache = Some(settings.text(CACHE.name)).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        Ok(Self { name, shape, cache })
    }

    /// The values of the parameters above.
    pub fn values(&self) -> Vec<String> {
        let Self { shape, cache, .. } = self;
        let cache = cache.as_deref().map(|folder| folder.display().to_string()).unwrap_or_default();
        let numbers =
            [u64::from(shape.vertices()), shape.degree().into(), shape.seed()].map(|number| number.to_string());
        [shape.family().to_string()].into_iter().chain(numbers).chain([cache]).collect()
    }

    pub fn vertices(&self) -> u32 {
        self.shape.vertices()
    }

    /// Edges at most.
    pub fn edges(&self) -> u64 {
        self.shape.edges() as u64
    }

    /// Bytes of the graph while it is made.
    pub fn memory_bytes(&self) -> u64 {
        build_bytes(&self.shape)
    }
}

/// Bytes of a mark for each vertex and of what the right marks are.
pub(super) fn marks_bytes(vertices: u32) -> u64 {
    2 * u64::from(vertices)
}

/// Bytes of a graph while it is made, when there are most.
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
        assert_eq!(vertices(Family::RMat, 1000, 5), Some(1024));
        assert_eq!(vertices(Family::RMat, MOST_VERTICES, 5), None);
        assert_eq!(vertices(Family::Random, MOST_VERTICES, 1), Some(u32::MAX));
        // Roots that a computer rounds down or up.
        for side in [2_u64, 3, 5, 10, 99, 127, 1000, 1625] {
            for (n, right) in [(side.pow(3) - 1, side), (side.pow(3), side), (side.pow(3) + 1, side + 1)] {
                let expected = u32::try_from(right.pow(3)).ok();
                assert_eq!(vertices(Family::Grid, n, 3), expected, "{n}");
            }
        }
    }

    /// Half of the local edges are short, and few of the recursive ones start in the upper half.
    #[test]
    fn edges_are_distributed_as_they_should() {
        let shape = Shape::new(Family::RandLocal, 1 << 20, 5, 3).expect("it fits");
        let edges = 0..1 << 16;
        let distance = |(u, v): (u32, u32)| v.wrapping_sub(u) & ((1 << 20) - 1);
        let short = edges.clone().filter(|&index| distance(shape.edge(index)) < 1 << 7).count();
        assert!((32_000..36_000).contains(&short), "{short}");
        let shape = Shape::new(Family::RMat, 1 << 20, 5, 3).expect("it fits");
        let (mut rows, mut columns) = (0, 0);
        for (u, v) in edges.map(|index| shape.edge(index)) {
            rows += u32::from(u >= 1 << 19);
            columns += u32::from(v >= 1 << 19);
        }
        for upper in [rows, columns] {
            assert!((25_500..27_000).contains(&upper), "0.4 of 65536, and not {upper}");
        }
    }

    const PARAMS: &[ParamSpec] = &[GRAPH, N, DEGREE, SEED, CACHE];

    fn input(set: &[(&str, &str)]) -> Result<Input, ParamError> {
        let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Input::parse("test", &Settings::new("test", PARAMS, &set)?)
    }

    #[test]
    fn values_are_those_that_were_given() {
        let given = ["rmat", "1024", "4", "9", "/some/where"];
        let set: Vec<(&str, &str)> = PARAMS.iter().map(|param| param.name).zip(given).collect();
        assert_eq!(input(&set).expect("fine").values(), given);
        assert_eq!(input(&[]).expect("fine").values(), ["grid", "205379", "3", "1", ""]);
        let sentence = |set| input(set).map(|input| input.shape).expect_err("this is refused").to_string();
        assert!(sentence(&[("graph", "ring")]).contains("is not one of grid, torus"));
        assert!(sentence(&[("n", "0")]).contains("too small"));
        assert!(sentence(&[("degree", "40")]).contains("too many vertices"));
        assert!(sentence(&[("graph", "torus"), ("degree", "3")]).contains("ask for a grid"));
    }
}
