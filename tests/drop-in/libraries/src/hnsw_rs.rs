//! hnsw_rs: inserts points into an index for approximate searches of neighbours (HNSW) and searches it, both by
//! parallel iterators in the global pool; the answers of the search come back through a channel.

use crate::neighbours::{NEAREST, Neighbours};
use hnsw_rs::prelude::{DistL2, Hnsw};

const POINTS: usize = 3000;
const QUERIES: usize = 500;

/// Returns a run: an index and the neighbours of some points.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let neighbours = Neighbours::of(POINTS, QUERIES);
    let [points, queries] = [&neighbours.points, &neighbours.queries]
        .map(|points| points.iter().map(|point| point.to_vec()).collect::<Vec<_>>());
    Box::new(move || {
        let index = Hnsw::<f32, DistL2>::new(16, POINTS, 16, 100, DistL2 {});
        let numbered: Vec<_> = points.iter().zip(0..).collect();
        index.parallel_insert(&numbered);
        assert_eq!(index.get_nb_point(), POINTS);
        let answers = index.parallel_search(&queries, NEAREST, 64);
        neighbours.check(answers.iter().map(|found| found.iter().map(|neighbour| neighbour.d_id).collect()))
    })
}
