//! hnsw_rs: inserts points into an index for approximate searches of neighbours (HNSW) and searches it, both by
//! parallel iterators in the global pool; the answers of the search come back through a channel.

use crate::numbers::numbers;
use hnsw_rs::prelude::{DistL2, Hnsw};

const POINTS: usize = 1000;
const QUERIES: usize = 200;
const NEAREST: usize = 10;

/// Returns a run: an index and the neighbours of some points, and a checksum of the exact answer if most are found.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let numbers = numbers(POINTS + QUERIES);
    let points: Vec<Vec<f32>> = numbers.iter().map(|x| x.to_le_bytes().map(f32::from).to_vec()).collect();
    let (points, queries) = (points[..POINTS].to_vec(), points[POINTS..].to_vec());
    let exact: Vec<Vec<usize>> = queries
        .iter()
        .map(|query| {
            let distance = |&i: &usize| points[i].iter().zip(query).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
            let mut order: Vec<_> = (0..POINTS).collect();
            order.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
            order[..NEAREST].to_vec()
        })
        .collect();
    Box::new(move || {
        let index = Hnsw::<f32, DistL2>::new(16, POINTS, 16, 100, DistL2 {});
        let numbered: Vec<_> = points.iter().zip(0..).collect();
        index.parallel_insert(&numbered);
        assert_eq!(index.get_nb_point(), POINTS);
        let answers = index.parallel_search(&queries, NEAREST, 64);
        let hits: usize = answers
            .iter()
            .zip(&exact)
            .map(|(found, exact)| found.iter().filter(|neighbour| exact.contains(&neighbour.d_id)).count())
            .sum();
        // Which few are missed depends on the order of the insertions.
        assert!(hits * 100 >= QUERIES * NEAREST * 95);
        exact.iter().flatten().zip(1..).map(|(&point, weight)| weight * point as u64).sum()
    })
}
