//! Graphs as adjacency lists.

use filch_catalogue::ParamError;
use filch_catalogue::programs::graph::Shape;

use crate::cilksort;
use crate::divided::Rows;
use crate::inputs::filled;
use crate::{ForkJoin, Grain};

/// An undirected graph. Vertices are numbers from 0 on. It stores the end of each vertex's list of neighbours, and all
/// lists one after the other.
///
/// ```
/// use filch_workloads::graph::Graph;
///
/// let triangle = Graph::of_edges(4, &[(0, 1), (1, 2), (2, 0), (2, 1), (3, 3)]);
/// assert_eq!(triangle.neighbours(1), [0, 2]);
/// assert_eq!(triangle.degree(3), 0);
/// assert!(triangle.edges().eq([(0, 1), (0, 2), (1, 2)]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the neighbours of each vertex end; those of the next vertex begin there.
    pub(super) ends: Vec<u64>,
    pub(super) neighbours: Vec<u32>,
}

/// Replaces an edge that is a loop. It sorts to the end, since vertex `u32::MAX` does not exist.
const NO_ARC: u64 = u64::MAX;

/// Packs an arc into a word. Arcs sort like the lists of neighbours.
fn arc(from: u32, to: u32) -> u64 {
    u64::from(from) << 32 | u64::from(to)
}

impl Graph {
    /// Builds the graph with the given number of vertices and edges. Loops are left out; an edge given twice, in either
    /// direction, counts once.
    ///
    /// # Panics
    /// If an end of an edge is not a vertex.
    pub fn of_edges(vertices: u32, edges: &[(u32, u32)]) -> Self {
        assert!(edges.iter().all(|&(u, v)| u.max(v) < vertices), "an edge leads out of the graph");
        let arcs = |&(u, v): &(u32, u32)| [arc(u, v), arc(v, u)];
        let mut arcs: Vec<u64> = edges.iter().filter(|(u, v)| u != v).flat_map(arcs).collect();
        arcs.sort_unstable();
        let mut graph = Self { ends: Vec::new(), neighbours: Vec::new() };
        graph.gather(vertices, &arcs);
        graph
    }

    /// Builds the graph of a shape on the executor of `j`.
    pub(super) fn build<J: ForkJoin>(j: &mut J, name: &'static str, shape: &Shape) -> Result<Self, ParamError> {
        const BLOCK: usize = 1024;
        const CUTOFF: usize = 1 << 12;
        let count = 2 * shape.edges();
        let mut arcs = filled(name, count, 0)?;
        let mut scratch = filled(name, count, 0)?;
        j.for_blocks(Rows::new(&mut arcs, 2 * BLOCK), Grain::Advice(1), |block| {
            for (row, arcs) in block {
                for (pair, edge) in arcs.chunks_exact_mut(2).zip((row * BLOCK) as u64..) {
                    let (u, v) = shape.edge(edge);
                    pair.copy_from_slice(&if u == v { [NO_ARC; 2] } else { [arc(u, v), arc(v, u)] });
                }
            }
        });
        cilksort::sort(j, &mut arcs, &mut scratch, CUTOFF);
        drop(scratch);
        let mut graph = Self { ends: Vec::new(), neighbours: filled(name, count, 0)? };
        graph.neighbours.clear();
        graph.gather(shape.vertices(), &arcs);
        Ok(graph)
    }

    /// Fills in the lists from sorted arcs.
    fn gather(&mut self, vertices: u32, arcs: &[u64]) {
        self.ends.reserve_exact(vertices as usize);
        let mut last = NO_ARC;
        for &arc in arcs.iter().take_while(|&&arc| arc != NO_ARC) {
            if arc != last {
                let from = (arc >> 32) as usize;
                self.ends.resize(from, self.neighbours.len() as u64);
                self.neighbours.push(arc as u32);
                last = arc;
            }
        }
        self.ends.resize(vertices as usize, self.neighbours.len() as u64);
    }

    /// The number of vertices.
    pub fn vertices(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The number of edges, each counted once.
    pub fn edge_count(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// Returns the neighbours of a vertex, in order.
    ///
    /// # Panics
    /// If there is no such vertex.
    #[inline]
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        let start = if vertex == 0 { 0 } else { self.ends[vertex - 1] };
        &self.neighbours[start as usize..self.ends[vertex] as usize]
    }

    /// Returns the number of neighbours of a vertex.
    ///
    /// # Panics
    /// If there is no such vertex.
    #[inline]
    pub fn degree(&self, vertex: u32) -> usize {
        self.neighbours(vertex).len()
    }

    /// Returns each edge once, in order, with the smaller end first.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let larger = |u: u32| self.neighbours(u).iter().filter(move |&&v| u < v).map(move |&v| (u, v));
        (0..self.vertices()).flat_map(larger)
    }

    /// Returns which vertices can be reached from `root`, by breadth-first search.
    ///
    /// ```
    /// use filch_workloads::graph::Graph;
    ///
    /// let two_parts = Graph::of_edges(5, &[(0, 1), (2, 3), (3, 4)]);
    /// assert_eq!(two_parts.reach(4), [false, false, true, true, true]);
    /// ```
    ///
    /// # Panics
    /// If there is no such vertex.
    pub fn reach(&self, root: u32) -> Vec<bool> {
        let mut reached = vec![false; self.ends.len()];
        reached[root as usize] = true;
        let mut level = vec![root];
        while !level.is_empty() {
            let mut next = Vec::new();
            for &v in level.iter().flat_map(|&u| self.neighbours(u)) {
                if !std::mem::replace(&mut reached[v as usize], true) {
                    next.push(v);
                }
            }
            level = next;
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use filch::ThreadPool;

    use super::*;
    use crate::Serial;
    use crate::graph::Family;

    fn shapes() -> Vec<Shape> {
        let shape = |family, n, degree| Shape::new(family, n, degree, 7).expect("it fits");
        vec![
            shape(Family::Grid, 1000, 3),
            shape(Family::Grid, 5, 3),
            shape(Family::Grid, 1, 1),
            shape(Family::Torus, 900, 2),
            shape(Family::RandLocal, 3000, 5),
            shape(Family::RMat, 1 << 11, 5),
            shape(Family::KGraph, 2001, 6),
            shape(Family::Random, 2000, 3),
            shape(Family::Random, 1, 3),
            shape(Family::KGraph, 2, 1),
            shape(Family::KGraph, 500, 7),
            shape(Family::RMat, 1000, 5),
            shape(Family::RMat, 1, 5),
            shape(Family::RandLocal, 300, 1).with_edges(1001).expect("any number will do"),
        ]
    }

    /// A built graph has the edges of its shape, whether one thread or three build it.
    #[test]
    fn the_number_of_threads_does_not_matter() {
        let pool = ThreadPool::new(3).expect("threads start");
        for shape in shapes() {
            let alone = Graph::build(&mut Serial, "test", &shape).expect("there is memory");
            for _ in 0..3 {
                let together = pool.run(|mut w| Graph::build(&mut w, "test", &shape)).expect("there is memory");
                assert_eq!(alone, together, "{shape:?}");
            }
            let edges: Vec<(u32, u32)> = (0..shape.edges() as u64).map(|index| shape.edge(index)).collect();
            assert_eq!(alone, Graph::of_edges(shape.vertices(), &edges), "{shape:?}");
        }
    }

    #[test]
    fn edges_go_both_ways_once_without_loops() {
        for shape in shapes() {
            let graph = Graph::build(&mut Serial, "test", &shape).expect("there is memory");
            assert_eq!(graph.vertices(), shape.vertices());
            for u in 0..graph.vertices() {
                let neighbours = graph.neighbours(u);
                assert!(neighbours.windows(2).all(|pair| pair[0] < pair[1]), "{shape:?}");
                assert!(neighbours.iter().all(|&v| v != u && graph.neighbours(v).contains(&u)), "{shape:?}");
            }
            assert_eq!(graph.edges().count(), graph.edge_count());
        }
    }

    #[test]
    fn regular_graphs_are_regular() {
        for (family, n, degree, neighbours) in [
            (Family::Grid, 1000, 3, 6),
            (Family::Torus, 900, 2, 4),
            (Family::KGraph, 2001, 6, 6),
            (Family::KGraph, 2000, 3, 3),
            (Family::KGraph, 9, 8, 8),
        ] {
            let shape = Shape::new(family, n, degree, 7).expect("it fits");
            let graph = Graph::build(&mut Serial, "test", &shape).expect("there is memory");
            assert!((0..graph.vertices()).all(|v| graph.degree(v) == neighbours), "{family:?}");
            assert!(graph.reach(0).iter().all(|&reached| reached), "{family:?}");
        }
    }
}
