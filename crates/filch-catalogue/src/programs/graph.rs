//! Graphs: the families, the edges by number, and the parameters that choose a graph.

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
    /// Vertices draw mostly near neighbours: in a five-dimensional space, a neighbour twice as far away in each dimension is half as
    /// likely. After randLocalGraph of the Problem Based Benchmark Suite.
    RandLocal,
    /// Recursive: each edge chooses quarters of the adjacency matrix with probabilities ½, 0.1, 0.1 and 0.3, so that few vertices have many
    /// neighbours. Deepayan Chakrabarti, Yiping Zhan and Christos Faloutsos, *R-MAT*, SDM 2004.
    RMat,
    /// Each vertex is linked to the vertices at certain fixed distances.
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
    /// The default number of edges drawn by each vertex.
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
    /// Returns a shape with at least `n` vertices: grids have the same length in each dimension, and [`Family::RMat`] has a power of two.
    /// Each vertex draws `degree` edges; those of a grid link it to the next vertex in each dimension.
    ///
    /// Returns `None` if there is no such graph: vertices are from 1 to 2³² − 1, and the torus has two dimensions.
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
            Family::RMat => (n.next_power_of_two(), 0),
            Family::RandLocal | Family::KGraph | Family::Random => (n, 0),
        };
        let vertices = u32::try_from(vertices).ok()?;
        Some(Self { family, vertices, degree, seed, side: side as u32 })
    }

    /// The graph's family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The number of vertices.
    pub fn vertices(&self) -> u32 {
        self.vertices
    }

    /// The number of edges drawn by each vertex.
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The number of drawn edges; the graph may have fewer, since it omits loops and duplicates.
    pub fn edges(&self) -> usize {
        self.vertices as usize * self.degree as usize
    }

    /// Returns the edge of this number, which is below [`Shape::edges`].
    #[inline]
    pub fn edge(&self, index: u64) -> (u32, u32) {
        let from = (index / u64::from(self.degree)) as u32;
        let which = (index % u64::from(self.degree)) as u32;
        let bits = hash(self.seed, index);
        match self.family {
            Family::Grid | Family::Torus => (from, self.next(from, which)),
            Family::RandLocal => (from, self.plus(from, near(bits))),
            Family::RMat => self.recursive(bits),
            // From 1 to n − 1, if n > 1, so that there are no loops.
            Family::KGraph => {
                (from, self.plus(from, 1 + hash(self.seed, which.into()) % u64::from(self.vertices - 1).max(1)))
            }
            Family::Random => (self.plus(0, bits), self.plus(0, hash(bits, 0))),
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
        let quarter = |(u, v): (u32, u32), level: u32| {
            // In percent.
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

pub const DEGREE: ParamSpec =
    ParamSpec { name: "degree", help: "edges drawn by each vertex; dimensions of a grid", default: "" };

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
        let shape = Shape::new(family, n, degree, seed)
            .ok_or_else(|| settings.bad(N.name, "gives too many vertices: at most 4294967295"))?;
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
        assert_eq!(vertices(Family::RMat, 1000, 5), Some(1024));
        assert_eq!(vertices(Family::RMat, MOST_VERTICES, 5), None);
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

    const PARAMS: &[ParamSpec] = &[GRAPH, N, DEGREE, SEED, CACHE];

    fn input(set: &[(&str, &str)]) -> Result<Input, ParamError> {
        let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Input::parse("test", &Settings::new("test", PARAMS, &set)?)
    }

    #[test]
    fn given_values_are_kept() {
        let given = ["rmat", "1024", "4", "9", "/some/where"];
        let set: Vec<(&str, &str)> = PARAMS.iter().map(|param| param.name).zip(given).collect();
        assert_eq!(input(&set).expect("valid parameters").values(), given);
        assert_eq!(input(&[]).expect("valid parameters").values(), ["grid", "205379", "3", "1", ""]);
        let sentence = |set| input(set).map(|input| input.shape).expect_err("invalid parameters").to_string();
        assert!(sentence(&[("graph", "ring")]).contains("is not one of grid, torus"));
        assert!(sentence(&[("n", "0")]).contains("too small"));
        assert!(sentence(&[("degree", "40")]).contains("too many vertices"));
        assert!(sentence(&[("graph", "torus"), ("degree", "3")]).contains("ask for a grid"));
    }
}
