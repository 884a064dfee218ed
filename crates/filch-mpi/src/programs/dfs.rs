//! Reachability in a torus of three dimensions, whose vertices are numbers and whose edges are computed. Each rank owns
//! a slab of planes, and has the marks of its vertices alone: a bit for each. So the graph can be as large as all
//! ranks' memories together.
//!
//! A task is a vertex, and runs on its owner. Every vertex is reached, so the answer is known.
//!
//! Invariant: only the owner of a vertex looks at its mark.

#![allow(clippy::disallowed_types, reason = "marks, no protocol for the checker")]

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use filch_workloads::Answer;

use super::{Around, Param, Program};

pub(super) struct Dfs {
    side: u64,
    rank: usize,
    ranks: usize,
    /// This rank's vertices, with their marks.
    own: Range<u64>,
    marks: Vec<AtomicU64>,
}

const BITS: u64 = 64;

impl Dfs {
    pub(super) fn new(set: &[Param], rank: usize, ranks: usize) -> Result<Self, String> {
        const MOST: u64 = 1 << 20;
        let mut side = 128;
        for (name, value) in set {
            if name != "side" {
                return Err(format!("pseudo-dfs has no parameter `{name}`, but `side`"));
            }
            side = value
                .parse()
                .ok()
                .filter(|side| (1..=MOST).contains(side))
                .ok_or_else(|| format!("side={value}: not from 1 to {MOST}"))?;
        }
        let mut dfs = Self { side, rank, ranks, own: 0..0, marks: Vec::new() };
        dfs.own = dfs.first(rank)..dfs.first(rank + 1);
        let words = usize::try_from((dfs.own.end - dfs.own.start).div_ceil(BITS)).map_err(|error| error.to_string())?;
        dfs.marks
            .try_reserve_exact(words)
            .map_err(|error| format!("rank {rank} has no memory for {words} words of marks: {error}"))?;
        dfs.marks.resize_with(words, AtomicU64::default);
        Ok(dfs)
    }

    /// The number of vertices, all of which are reached.
    pub(super) fn reached(&self) -> Answer {
        Answer::Number(self.side.pow(3))
    }

    pub(super) fn params(&self) -> Vec<Param> {
        vec![("side".to_owned(), self.side.to_string())]
    }

    /// The first vertex of a rank.
    fn first(&self, rank: usize) -> u64 {
        (self.side * rank as u64).div_ceil(self.ranks as u64) * self.side * self.side
    }

    fn owner(&self, vertex: u64) -> usize {
        (vertex / (self.side * self.side) * self.ranks as u64 / self.side) as usize
    }

    /// Returns the word and the bit of a vertex, if it is this rank's.
    #[inline]
    fn mark(&self, vertex: u64) -> Option<(&AtomicU64, u64)> {
        self.own.contains(&vertex).then(|| {
            let index = vertex - self.own.start;
            (&self.marks[(index / BITS) as usize], 1 << (index % BITS))
        })
    }

    fn neighbours(&self, vertex: u64) -> impl Iterator<Item = u64> {
        let side = self.side;
        [1, side, side * side].into_iter().flat_map(move |step| {
            let place = vertex / step % side;
            let at = move |other: u64| vertex - place * step + other * step;
            [at((place + 1) % side), at((place + side - 1) % side)]
        })
    }
}

impl Program for Dfs {
    type Task = u64;
    type State = u64;

    fn reset(&mut self) {
        self.marks.iter_mut().for_each(|word| *word.get_mut() = 0);
    }

    fn root(&self) -> u64 {
        0
    }

    #[inline]
    fn visit(&self, worker: &mut impl Around<u64>, count: &mut u64, vertex: u64) {
        // Relaxed: a mark publishes nothing, and an update of it wins once.
        let Some((word, bit)) = self.mark(vertex) else { return worker.push_to(self.owner(vertex), vertex) };
        if word.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
            return;
        }
        *count += 1;
        for next in self.neighbours(vertex) {
            match self.mark(next) {
                Some((word, bit)) if word.load(Ordering::Relaxed) & bit != 0 => {}
                Some(_) => worker.push_to(self.rank, next),
                None => worker.push_to(self.owner(next), next),
            }
        }
    }

    fn merge(a: u64, b: u64) -> u64 {
        a + b
    }

    fn answer(&self, count: u64) -> Answer {
        Answer::Number(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vertex_has_an_owner_with_its_mark() {
        for (side, ranks) in [(1, 1), (3, 2), (5, 8), (8, 3)] {
            let parts: Vec<_> = (0..ranks)
                .map(|rank| Dfs::new(&[("side".to_owned(), side.to_string())], rank, ranks).unwrap())
                .collect();
            assert_eq!((parts[0].first(0), parts[0].first(ranks)), (0, side * side * side));
            for vertex in 0..side * side * side {
                let owner = parts[0].owner(vertex);
                let (word, bit) = parts[owner].mark(vertex).unwrap();
                assert_eq!(word.fetch_or(bit, Ordering::Relaxed) & bit, 0, "vertex {vertex} has a mark of its own");
                assert!(parts[0].neighbours(vertex).all(|next| next < side * side * side));
                assert!(parts[0].neighbours(vertex).all(|next| parts[0].neighbours(next).any(|back| back == vertex)));
            }
        }
    }
}
