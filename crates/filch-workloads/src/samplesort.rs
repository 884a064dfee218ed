//! Sample sort of floating-point numbers.
//!
//! The program cuts the keys into some √n/2 blocks and sorts them in parallel. A sorted sample, with eight keys for
//! each of √n/2 buckets, gives the pivots, which cut each block. Then the pieces of all blocks that belong to a bucket
//! are brought together and sorted, again in parallel.
//!
//! **The transposition** of blocks and buckets is that of PBBS: a recursion halves the larger of the two, in parallel,
//! down to 64 of each, whose source and destination fit into a cache. It goes over the sizes of the pieces first, so
//! that running sums give their places. In the other form (`transpose=gather`) the task that sorts a bucket gathers its
//! pieces from all blocks itself: one pass less, but each cache line of a block is read by the tasks of two buckets.
//!
//! What it stresses: two parallel loops of some thousand iterations of some 100 µs, uneven in the second loop, as the
//! buckets are; and between them a transposition of all keys in pieces of four. The
//! experiments on private deques show large differences with it, since their loops are cut by work, not into a fixed
//! number of chunks. The span is Θ(√n log n).
//!
//! Without `grain` the loops split on demand, if the executor can do that; others halve down to single blocks. The
//! sequential program is the standard library's unstable sort. Sorting keys twice in pieces of about √n takes as many
//! comparisons as sorting them once in one piece, but the library gains less on short pieces, and the sample and the
//! transposition add to it: with one worker the program takes some 1.7 times as long.

#![allow(clippy::disallowed_types, reason = "places of keys, no protocol for the checker")]

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use filch::iter::Zipped;
use filch_catalogue::ParamError;
use filch_catalogue::programs::hash;
use filch_catalogue::programs::samplesort::{Params, Transpose};

use crate::answer::{Answer, expect};
use crate::checks::{multiset, sequence, sorted};
use crate::divided::{Pieces, Rows};
use crate::inputs::{Draws, filled, made};
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Grain};

/// Keys in the sample for each bucket.
const OVERSAMPLING: usize = 8;

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let input = made("samplesort", self.n, |index| self.input.real(self.seed, index))?;
        let fingerprint = multiset(input.iter().map(|key| key.to_bits()));
        Ok(Instance {
            buckets: self.buckets(),
            block: self.block(),
            grain: Grain::from_param(self.grain, 1),
            input,
            keys: filled("samplesort", self.n, 0.0)?,
            sorted: filled("samplesort", self.n, 0.0)?,
            ends: filled("samplesort", self.blocks() * self.buckets(), 0)?,
            places: match self.transpose {
                Transpose::Halves => {
                    let places = filled("samplesort", self.blocks() * self.buckets(), 0)?;
                    Some(places.into_iter().map(AtomicUsize::new).collect())
                }
                Transpose::Gather => None,
            },
            fingerprint,
        })
    }
}

/// The program, its input, and the keys being sorted.
#[derive(Debug)]
pub struct Instance {
    buckets: usize,
    block: usize,
    grain: Grain,
    input: Vec<f64>,
    /// The keys to sort.
    keys: Vec<f64>,
    /// The sorted keys, at the end.
    sorted: Vec<f64>,
    /// For each block and each bucket, where in the block the bucket's keys end.
    ends: Vec<u32>,
    /// For each bucket and each block, where the bucket's keys of that block go; if they are transposed.
    places: Option<Vec<AtomicUsize>>,
    fingerprint: u64,
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.keys.copy_from_slice(&self.input);
        self.sorted.fill(f64::NAN);
    }

    fn serial(&mut self) -> Answer {
        self.sorted.copy_from_slice(&self.keys);
        sort(&mut self.sorted);
        Answer::Sorted(self.sorted.len())
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &Answer::Sorted(self.sorted.len()))?;
        sorted(&self.sorted, f64::to_bits, self.fingerprint)
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn digest(&self) -> u64 {
        sequence(self.sorted.iter().map(|key| key.to_bits()))
    }

    fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.sorted.len();
        self.sorted[at] = f64::from_bits(self.sorted[at].to_bits() ^ 1);
        true
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        let (block, buckets, grain) = (self.block, self.buckets, self.grain);
        let pivots = pivots(&self.keys, buckets);
        let source = Zipped(Rows::new(&mut self.keys, block), Rows::new(&mut self.ends, buckets));
        j.for_blocks(source, grain, |blocks| {
            for ((_, keys), (_, ends)) in blocks {
                sort(keys);
                cut(keys, &pivots, ends);
            }
        });
        let (keys, ends) = (&self.keys[..], &self.ends[..]);
        let bucket_ends = bucket_ends(&mut j, ends, buckets, grain);
        if let Some(places) = &self.places {
            transpose(&mut j, Blocks { keys, block, ends, buckets }, places, &bucket_ends, grain, &mut self.sorted);
        }
        let is_gathered = self.places.is_none();
        j.for_blocks(Pieces::new(&mut self.sorted, &bucket_ends), grain, |pieces| {
            for (bucket, piece) in pieces {
                if is_gathered {
                    gather(keys, block, ends.chunks_exact(buckets), bucket, piece);
                }
                sort(piece);
            }
        });
        Answer::Sorted(self.sorted.len())
    }
}

/// Sorts keys. Out of line, so that all executors run the same instructions.
#[inline(never)]
fn sort(keys: &mut [f64]) {
    keys.sort_unstable_by(f64::total_cmp);
}

/// Returns the first keys of all buckets but the first.
fn pivots(keys: &[f64], buckets: usize) -> Vec<f64> {
    let pick = |index| keys[(hash(0x5a, index) % keys.len() as u64) as usize];
    let mut sample: Vec<f64> = (0..(buckets * OVERSAMPLING) as u64).map(pick).collect();
    sort(&mut sample);
    sample.into_iter().step_by(OVERSAMPLING).skip(1).collect()
}

/// Finds where in sorted keys the buckets end.
fn cut(keys: &[f64], pivots: &[f64], ends: &mut [u32]) {
    let mut at = 0;
    let (last, others) = ends.split_last_mut().expect("there is a bucket");
    for (end, pivot) in others.iter_mut().zip(pivots) {
        while at < keys.len() && keys[at] < *pivot {
            at += 1;
        }
        *end = at as u32;
    }
    *last = keys.len() as u32;
}

/// Finds where in the whole the buckets end.
fn bucket_ends<J: ForkJoin>(j: &mut J, ends: &[u32], buckets: usize, grain: Grain) -> Vec<usize> {
    let add = |mut left: Vec<usize>, right: Vec<usize>| {
        left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
        left
    };
    // Summing a bucket's ends in all blocks gives its end in the whole.
    let sum = |mut sum: Vec<usize>, blocks: std::ops::Range<usize>| {
        for ends in ends[blocks.start * buckets..blocks.end * buckets].chunks_exact(buckets) {
            sum.iter_mut().zip(ends).for_each(|(sum, &end)| *sum += end as usize);
        }
        sum
    };
    j.fold_blocks(0..ends.len() / buckets, grain, vec![0; buckets], sum, add)
}

/// Sorted blocks of keys, cut into the pieces of the buckets.
#[derive(Clone, Copy)]
struct Blocks<'k> {
    keys: &'k [f64],
    /// Keys in a block other than the last.
    block: usize,
    /// For each block and each bucket, where in the block the bucket's keys end.
    ends: &'k [u32],
    buckets: usize,
}

impl<'k> Blocks<'k> {
    fn count(self) -> usize {
        self.ends.len() / self.buckets
    }

    #[inline]
    fn piece(self, block: usize, bucket: usize) -> &'k [f64] {
        let ends = &self.ends[block * self.buckets..][..self.buckets];
        let start = if bucket == 0 { 0 } else { ends[bucket - 1] };
        &self.keys[block * self.block..][start as usize..ends[bucket] as usize]
    }
}

/// Where the keys go. Only [`transpose`] makes one.
struct To(*mut f64);

// SAFETY: threads write to disjoint parts of what it points to.
unsafe impl Sync for To {}

/// Brings each bucket's pieces together, in the order of the blocks. `places` is scratch space.
fn transpose<J: ForkJoin>(
    j: &mut J,
    from: Blocks<'_>,
    places: &[AtomicUsize],
    bucket_ends: &[usize],
    grain: Grain,
    to: &mut [f64],
) {
    let (blocks, buckets) = (from.count(), from.buckets);
    assert_eq!((places.len(), bucket_ends.len()), (blocks * buckets, buckets), "a place for each piece");
    assert!(bucket_ends.last() == Some(&from.keys.len()) && to.len() == from.keys.len(), "all keys are in buckets");
    // Relaxed, all: loops and recursions are ordered, and in each a place has one thread.
    by_halves(j, 0..blocks, 0..buckets, &|block, bucket| {
        places[bucket * blocks + block].store(from.piece(block, bucket).len(), Ordering::Relaxed);
    });
    j.for_blocks(0..buckets, grain, |range: Range<usize>| {
        for bucket in range {
            let mut place = if bucket == 0 { 0 } else { bucket_ends[bucket - 1] };
            for here in &places[bucket * blocks..][..blocks] {
                let size = here.load(Ordering::Relaxed);
                here.store(place, Ordering::Relaxed);
                place += size;
            }
            assert_eq!(place, bucket_ends[bucket], "the pieces of a bucket fill it");
        }
    });
    let to = To(to.as_mut_ptr());
    by_halves(j, 0..blocks, 0..buckets, &|block, bucket| {
        let (piece, to) = (from.piece(block, bucket), &to);
        let place = places[bucket * blocks + block].load(Ordering::Relaxed);
        // SAFETY: the places are running sums of the sizes of all pieces, bucket by bucket, each of which was seen to
        // end where the next one begins, and the last one at the end of `to`. So each piece has room there that is no
        // other's; the source is another slice.
        unsafe { piece.as_ptr().copy_to_nonoverlapping(to.0.add(place), piece.len()) };
    });
}

/// Calls `each` with every block and every bucket, after halving the larger range.
fn by_halves<J: ForkJoin>(
    j: &mut J,
    blocks: Range<usize>,
    buckets: Range<usize>,
    each: &(impl Fn(usize, usize) + Sync),
) {
    const LEAF: usize = 64;
    fn halves(range: &Range<usize>) -> [Range<usize>; 2] {
        let middle = usize::midpoint(range.start, range.end);
        [range.start..middle, middle..range.end]
    }
    if blocks.len() <= LEAF && buckets.len() <= LEAF {
        return blocks.for_each(|block| buckets.clone().for_each(|bucket| each(block, bucket)));
    }
    let [first, second] = if buckets.len() > blocks.len() {
        halves(&buckets).map(|half| (blocks.clone(), half))
    } else {
        halves(&blocks).map(|half| (half, buckets.clone()))
    };
    j.join(
        move |mut j| by_halves(&mut j, first.0, first.1, each),
        move |mut j| by_halves(&mut j, second.0, second.1, each),
    );
}

/// Gathers a bucket's pieces from all blocks.
fn gather<'e>(keys: &[f64], block: usize, ends: impl Iterator<Item = &'e [u32]>, bucket: usize, mut place: &mut [f64]) {
    for (keys, ends) in keys.chunks(block).zip(ends) {
        let start = if bucket == 0 { 0 } else { ends[bucket - 1] as usize };
        let piece = &keys[start..ends[bucket] as usize];
        let (here, rest) = place.split_at_mut(piece.len());
        here.copy_from_slice(piece);
        place = rest;
    }
}
