//! instant-distance: builds an index of points for approximate searches of neighbours (HNSW). The points of each layer
//! are inserted by a parallel iterator, under a lock for each node.

use crate::numbers::numbers;
use instant_distance::{Builder, Point, Search};

const POINTS: usize = 600;
const QUERIES: usize = 50;
const NEAREST: usize = 10;

#[derive(Clone)]
struct Place([f32; 8]);

impl Point for Place {
    fn distance(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt()
    }
}

/// Returns a run: an index and the neighbours of some places, and a checksum of the exact answer if most are found.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let numbers = numbers(POINTS + QUERIES);
    let places: Vec<_> = numbers.iter().map(|x| Place(x.to_le_bytes().map(f32::from))).collect();
    let (places, queries) = (places[..POINTS].to_vec(), places[POINTS..].to_vec());
    let exact: Vec<Vec<usize>> = queries
        .iter()
        .map(|query| {
            let mut order: Vec<_> = (0..POINTS).collect();
            order.sort_by(|&a, &b| query.distance(&places[a]).total_cmp(&query.distance(&places[b])));
            order[..NEAREST].to_vec()
        })
        .collect();
    Box::new(move || {
        let map = Builder::default().seed(1).build(places.clone(), (0..POINTS).collect());
        let mut search = Search::default();
        let mut hits = 0;
        for (query, exact) in queries.iter().zip(&exact) {
            hits += map.search(query, &mut search).take(NEAREST).filter(|item| exact.contains(item.value)).count();
        }
        // Which few are missed depends on the order of the insertions.
        assert!(hits * 100 >= QUERIES * NEAREST * 95);
        exact.iter().flatten().zip(1..).map(|(&place, weight)| weight * place as u64).sum()
    })
}
