//! Points in space, and the exact answer to a search for neighbours: for the libraries that search approximately.

use crate::checksum::checksum;
use crate::numbers::numbers;

/// How many neighbours are searched for.
pub(crate) const NEAREST: usize = 10;

pub(crate) type Point = [f32; 8];

pub(crate) struct Neighbours {
    pub(crate) points: Vec<Point>,
    pub(crate) queries: Vec<Point>,
    /// For each query the numbers of the nearest points.
    exact: Vec<Vec<usize>>,
}

impl Neighbours {
    pub(crate) fn of(points: usize, queries: usize) -> Self {
        let mut all: Vec<Point> = numbers(points + queries).iter().map(|x| x.to_le_bytes().map(f32::from)).collect();
        let queries = all.split_off(points);
        let nearest = |query: &Point| {
            let distance = |&i: &usize| all[i].iter().zip(query).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
            let mut order: Vec<_> = (0..points).collect();
            order.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
            order.truncate(NEAREST);
            order
        };
        let exact = queries.iter().map(nearest).collect();
        Self { points: all, queries, exact }
    }

    /// Asserts that most neighbours of each query are found, and returns a checksum of the exact answer: which few are
    /// missed depends on the order in which points are inserted.
    pub(crate) fn check(&self, found: impl Iterator<Item = Vec<usize>>) -> u64 {
        let hits =
            |(found, exact): (Vec<usize>, &Vec<usize>)| found.iter().filter(|point| exact.contains(point)).count();
        let hits: usize = found.zip(&self.exact).map(hits).sum();
        assert!(hits * 100 >= self.queries.len() * NEAREST * 95);
        checksum(self.exact.iter().flatten().map(|&point| point as u64))
    }
}
