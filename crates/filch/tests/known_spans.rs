//! The work and span of classical programs are what their recurrences say, to the unit: each counts its own steps.

use std::cell::Cell;

use filch::scale::{Recording, Scale};

thread_local!(static STEPS: Cell<u64> = const { Cell::new(0) });

fn step(steps: u64) {
    STEPS.set(STEPS.get() + steps);
}

/// Returns the work and the span of `f`, in steps.
fn steps(f: impl FnOnce() + Send) -> (u64, u64) {
    let Scale { work, span, .. } = Recording::new().clock(|| STEPS.get()).measure(f).scale;
    (work, span)
}

/// A step a call. With F for Fibonacci's numbers, T1(n) = 2 F(n + 1) − 1, and T∞(n) = n.
#[test]
fn fib() {
    fn fib(n: u64) -> u64 {
        step(1);
        if n < 2 {
            return n;
        }
        let (a, b) = filch::join(|| fib(n - 1), || fib(n - 2));
        a + b
    }
    assert_eq!(steps(|| assert_eq!(fib(21), 10_946)), (2 * 17_711 - 1, 21));
}

/// A step for each column that is tried. A board of 8 rows has so many ways to place queens in its first rows, and the
/// way to a solution tries all columns of all rows.
#[test]
fn queens() {
    fn queens(board: &[usize], size: usize) -> usize {
        if board.len() == size {
            return 1;
        }
        let is_safe = |column: &usize| {
            step(1);
            board.iter().rev().zip(1..).all(|(queen, rows)| queen.abs_diff(*column) != rows && queen != column)
        };
        let safe: Vec<usize> = (0..size).filter(is_safe).collect();
        filch::fork_all(safe, |column| queens(&[board, &[column]].concat(), size), 0, |a, b| a + b)
    }
    let placed: u64 = [1, 8, 42, 140, 344, 568, 550, 312].iter().sum();
    assert_eq!(steps(|| assert_eq!(queens(&[], 8), 92)), (8 * placed, 8 * 8));
}

/// By quarters, a step for a multiplication with its addition. In place, the products that add to the same quarter
/// follow one another: T1(n) = n³, T∞(n) = 2 T∞(n / 2) = n. Into a sum of two matrices they do not, and additions, by
/// quarters too, are steps: T1(n) = 8 T1(n / 2) + n² = 2 n³ − n², T∞(n) = T∞(n / 2) + 1 = lg n + 1.
#[test]
fn matmul() {
    fn four(f: impl Fn() + Sync) {
        filch::join(|| filch::join(&f, &f), || filch::join(&f, &f));
    }
    fn in_place(n: u64) {
        if n == 1 {
            return step(1);
        }
        four(|| in_place(n / 2));
        four(|| in_place(n / 2));
    }
    fn add(n: u64) {
        if n == 1 { step(1) } else { four(|| add(n / 2)) }
    }
    fn into_sum(n: u64) {
        if n == 1 {
            return step(1);
        }
        let four_products = || four(|| into_sum(n / 2));
        filch::join(four_products, four_products);
        add(n);
    }
    let n = 16;
    assert_eq!(steps(|| in_place(n)), (n.pow(3), n));
    assert_eq!(steps(|| into_sum(n)), (2 * n.pow(3) - n.pow(2), u64::from(n.ilog2()) + 1));
}

/// Cilksort on 2ᵏ keys such that each merge divides into equal halves; a step for each key that a search looks at. A
/// merge of 2ᵏ keys takes ∑ j 2ᵏ⁻ʲ = 2ᵏ⁺¹ − k − 2 steps, of which k + … + 1 = k (k + 1) / 2 follow one another; and the
/// sums of these over all levels are 2ᵏ⁺¹ (k − 2) + k + 4 and k (k + 1) (k + 2) / 6.
#[test]
fn cilksort() {
    fn merge(a: &[u64], b: &[u64], merged: &mut [u64]) {
        if let ([a], [b]) = (a, b) {
            step(1);
            merged.copy_from_slice(&[*a.min(b), *a.max(b)]);
            return;
        }
        let middle = a.len() / 2;
        let below = b.partition_point(|key| *key < a[middle]);
        step(u64::from(b.len().ilog2()) + 1);
        let (low, high) = merged.split_at_mut(middle + below);
        filch::join(|| merge(&a[..middle], &b[..below], low), || merge(&a[middle..], &b[below..], high));
    }
    fn sort(keys: &mut [u64]) {
        if keys.len() == 1 {
            return;
        }
        let (left, right) = keys.split_at_mut(keys.len() / 2);
        filch::join(|| sort(left), || sort(right));
        let mut merged = vec![0; 2 * left.len()];
        merge(left, right, &mut merged);
        keys.copy_from_slice(&merged);
    }
    let k = 10;
    // The left half has the even keys, in the order of such an array of half the size.
    let mut keys: Vec<u64> = (0..1 << k).map(|n: u64| n.reverse_bits() >> (u64::BITS as u64 - k)).collect();
    let found = steps(|| sort(&mut keys));
    assert!(keys.is_sorted());
    assert_eq!(found, ((2 << k) * (k - 2) + k + 4, k * (k + 1) * (k + 2) / 6));
}

/// Steps in time over a plate, a step for each point: the columns of one are parallel.
#[test]
fn heat() {
    let (times, columns, points) = (20, 50, 30);
    let all = || (0..times).for_each(|_| filch::for_each(0..columns, |_| step(points)));
    assert_eq!(steps(all), (times * columns * points, times * points));
}
