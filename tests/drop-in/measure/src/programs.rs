//! Small programs on rayon, each with a check of its answer. They measure the rayon-core with which they are linked;
//! [`runs`] has the arguments.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rayon::prelude::*;

mod numbers;
mod runs;
use numbers::numbers;
use runs::Row;

const PROGRAMS: &[Row<()>] = &[
    ("fib 32 (join)", 5, || Box::new(|| assert_eq!(fib(black_box(32)), 2_178_309))),
    ("sum of 10^4", 2000, || sum(10_000)),
    ("sum of 10^5", 500, || sum(100_000)),
    ("sum of 10^6", 100, || sum(1_000_000)),
    ("sum of 10^7", 10, || sum(10_000_000)),
    ("max of 10^4, in a pool", 20, || maxima_in_pool(10_000)),
    ("sums of short rows", 30, short_rows),
    ("sort 10^6", 5, sort),
    ("quicksort 10^6 (join)", 5, || {
        let input = numbers(1_000_000);
        Box::new(move || {
            let mut v = input.clone();
            quicksort(&mut v);
            assert!(v.is_sorted());
        })
    }),
    ("matmul 256", 10, matmul),
    ("filter, collect 2*10^6", 10, filter),
    ("nbody 1500", 5, nbody),
    ("mandelbrot 384", 5, mandelbrot),
    ("10^5 spawns in a scope", 10, || {
        Box::new(|| {
            let sum = AtomicU64::new(0);
            rayon::scope(|s| {
                for n in 0..100_000 {
                    let sum = &sum;
                    s.spawn(move |_| {
                        sum.fetch_add(n, Ordering::Relaxed);
                    });
                }
            });
            assert_eq!(sum.into_inner(), 4_999_950_000);
        })
    }),
    ("a chain of 3*10^5 spawns", 10, || Box::new(|| chain_of_spawns(300_000))),
    ("a chain of 3*10^5 spawns in a scope", 10, || {
        Box::new(|| {
            fn chain<'s>(s: &rayon::Scope<'s>, left: u32, ends: &'s AtomicU64) {
                if left == 0 {
                    ends.fetch_add(1, Ordering::Relaxed);
                } else {
                    s.spawn(move |s| chain(s, left - 1, ends));
                }
            }
            let ends = AtomicU64::new(0);
            rayon::scope(|s| chain(s, 300_000, &ends));
            assert_eq!(ends.into_inner(), 1);
        })
    }),
    // One idle second, after some work.
    ("idle", 1, || {
        assert_eq!(fib(20), 6765);
        Box::new(|| thread::sleep(Duration::from_secs(1)))
    }),
    // One second with a little work every two milliseconds, on otherwise idle threads.
    ("a trickle", 1, || {
        let v: Vec<u64> = (0..2000).collect();
        Box::new(move || {
            for _ in 0..500 {
                assert_eq!(v.par_iter().sum::<u64>(), 1_999_000);
                thread::sleep(Duration::from_millis(2));
            }
        })
    }),
    // A sequential program with an occasional short fork: shows the cost of the pool's other threads.
    ("one busy thread", 1, || {
        let busy = |time: Duration| {
            let start = Instant::now();
            while start.elapsed() < time {
                std::hint::spin_loop();
            }
        };
        Box::new(move || {
            rayon::scope(|_| {
                for _ in 0..2000 {
                    busy(Duration::from_micros(200));
                    rayon::join(|| busy(Duration::from_micros(5)), || busy(Duration::from_micros(5)));
                }
            });
        })
    }),
];

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Each spawned task spawns the next.
fn chain_of_spawns(length: u32) {
    fn chain(left: u32, end: mpsc::Sender<()>) {
        if left == 0 {
            end.send(()).expect("the chain's end is awaited");
        } else {
            rayon::spawn(move || chain(left - 1, end));
        }
    }
    let (end, ended) = mpsc::channel();
    rayon::spawn(move || chain(length, end));
    ended.recv().expect("the chain has an end");
}

fn mix(x: u64) -> u64 {
    (x ^ (x >> 31)).wrapping_mul(0x7FB5_D329_728E_A185)
}

fn sum(count: usize) -> Box<dyn FnMut()> {
    let v = numbers(count);
    let expected = v.iter().fold(0_u64, |sum, &x| sum.wrapping_add(mix(x)));
    Box::new(move || {
        let sum = v.par_iter().map(|&x| mix(x)).reduce(|| 0, u64::wrapping_add);
        assert_eq!(sum, expected);
    })
}

/// A sequence of a hundred short loops on a thread of the pool: shows the cost of splitting and joining without
/// entering the pool.
fn maxima_in_pool(count: usize) -> Box<dyn FnMut()> {
    let v = numbers(count);
    let expected = v.iter().map(|&x| mix(x)).max();
    Box::new(move || {
        rayon::scope(|_| {
            for _ in 0..100 {
                assert_eq!(v.par_iter().map(|&x| mix(x)).max(), expected);
            }
        });
    })
}

/// Nested loops: 1000 rows of 200 items, all in parallel.
fn short_rows() -> Box<dyn FnMut()> {
    let rows: Vec<Vec<u64>> = (0..1000).map(|_| numbers(200)).collect();
    let expected = 1000 * (rows[0].iter().map(|x| x % 1000).sum::<u64>());
    Box::new(move || {
        let sum: u64 = rows.par_iter().map(|row| row.par_iter().map(|x| x % 1000).sum::<u64>()).sum();
        assert_eq!(sum, expected);
    })
}

fn sort() -> Box<dyn FnMut()> {
    let input = numbers(1_000_000);
    Box::new(move || {
        let mut v = input.clone();
        v.par_sort_unstable();
        assert!(v.is_sorted());
    })
}

fn quicksort(v: &mut [u64]) {
    if v.len() <= 32 {
        return v.sort_unstable();
    }
    let last = v.len() - 1;
    v.swap(last / 2, last);
    let mut middle = 0;
    for i in 0..last {
        if v[i] <= v[last] {
            v.swap(i, middle);
            middle += 1;
        }
    }
    v.swap(middle, last);
    let (left, right) = v.split_at_mut(middle);
    rayon::join(|| quicksort(left), || quicksort(&mut right[1..]));
}

fn matmul() -> Box<dyn FnMut()> {
    const N: usize = 256;
    let a: Vec<f64> = (0..N * N).map(|i| (i % 7) as f64).collect();
    let b: Vec<f64> = (0..N * N).map(|i| (i % 5) as f64).collect();
    let row_by_column = |row: usize, column: usize| (0..N).map(|k| a[row * N + k] * b[k * N + column]).sum::<f64>();
    let corners =
        [(0, 0), (N - 1, N - 1), (3, 200)].map(|(row, column)| (row * N + column, row_by_column(row, column)));
    Box::new(move || {
        let mut c = vec![0.0; N * N];
        c.par_chunks_mut(N).zip(a.par_chunks(N)).for_each(|(row, a)| {
            for (k, &x) in a.iter().enumerate() {
                for (c, &y) in row.iter_mut().zip(&b[k * N..][..N]) {
                    *c += x * y;
                }
            }
        });
        assert!(corners.iter().all(|&(at, expected)| c[at] == expected));
    })
}

fn filter() -> Box<dyn FnMut()> {
    let v = numbers(2_000_000);
    let expected = v.iter().filter(|&&x| x % 3 == 0).count();
    Box::new(move || {
        let third: Vec<u64> = v.par_iter().copied().filter(|x| x % 3 == 0).map(mix).collect();
        assert_eq!(third.len(), expected);
    })
}

fn nbody() -> Box<dyn FnMut()> {
    let bodies: Vec<[f64; 3]> =
        numbers(1500).iter().map(|&x| [x & 0xFF, x >> 8 & 0xFF, x >> 16 & 0xFF].map(|x| x as f64)).collect();
    let force = move |bodies: &[[f64; 3]], a: &[f64; 3]| {
        bodies.iter().fold([0.0; 3], |sum, b| {
            let d = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01;
            let scale = 1.0 / (r2 * r2.sqrt());
            [sum[0] + d[0] * scale, sum[1] + d[1] * scale, sum[2] + d[2] * scale]
        })
    };
    let expected = force(&bodies, &bodies[700]);
    Box::new(move || {
        let forces: Vec<[f64; 3]> = bodies.par_iter().map(|a| force(&bodies, a)).collect();
        assert_eq!(forces[700], expected);
    })
}

/// Rows of very different cost.
fn mandelbrot() -> Box<dyn FnMut()> {
    const N: usize = 384;
    let escape = |row: usize, column: usize| {
        let c = (column as f64 * 3.0 / N as f64 - 2.0, row as f64 * 2.0 / N as f64 - 1.0);
        let mut z = (0.0_f64, 0.0_f64);
        let mut steps = 0_u64;
        while steps < 500 && z.0 * z.0 + z.1 * z.1 < 4.0 {
            z = (z.0 * z.0 - z.1 * z.1 + c.0, 2.0 * z.0 * z.1 + c.1);
            steps += 1;
        }
        steps
    };
    let row = move |row: usize| (0..N).map(|column| escape(row, column)).sum::<u64>();
    let expected: u64 = (0..N).map(row).sum();
    Box::new(move || assert_eq!((0..N).into_par_iter().map(row).sum::<u64>(), expected))
}

fn main() -> ExitCode {
    runs::run(PROGRAMS)
}
