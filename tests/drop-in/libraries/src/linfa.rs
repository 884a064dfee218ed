//! linfa-clustering: k-means of points around known centres. ndarray's `par_for_each` finds the nearest centre of each
//! point, in every iteration and when the first centres are chosen.

use crate::numbers::numbers;
use linfa::{DatasetBase, traits::Fit as _};
use linfa_clustering::KMeans;
use ndarray_0_16::Array2;

const POINTS: usize = 6000;
const CENTRES: usize = 12;
const DIMENSIONS: usize = 8;

/// Returns a run: the centres, and a checksum of them.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let numbers = numbers(POINTS + CENTRES);
    let points = Array2::from_shape_fn((POINTS, DIMENSIONS), |(i, j)| {
        let centre = numbers[i % CENTRES].to_le_bytes()[j];
        let offset = numbers[CENTRES + i].to_le_bytes()[j];
        f64::from(centre) + f64::from(offset) / 128.0
    });
    let dataset = DatasetBase::from(points);
    Box::new(move || {
        let model = KMeans::params(CENTRES).tolerance(1e-2).fit(&dataset).unwrap();
        assert!(model.cluster_count().iter().all(|&count| count == (POINTS / CENTRES) as f64));
        model.centroids().iter().map(|x| (x * 1000.0).round() as u64).sum()
    })
}
