//! What can be looped over.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::iter;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use filch::iter::{ChunksMut, bridge};
use filch::{
    Divisible, Worker, for_each, for_each_init, map_reduce, map_reduce_fixed, map_reduce_init, try_map_reduce,
};

use crate::common::watchdog;
use crate::{LENGTHS, POOLS, agree, gives, shredded};

#[test]
fn ranges_and_slices_can_be_cut_anywhere() {
    let _watched = watchdog("ranges and slices can be cut anywhere");
    agree!('a'..'x' => .rev());
    agree!('\u{d000}'..='\u{e010}' => .rev());
    agree!(0..=u8::MAX => .rev());
    agree!(i8::MIN..=i8::MAX => .enumerate());
    agree!(5..=5_u64 => .rev());
    #[allow(clippy::reversed_empty_ranges, reason = "an empty one")]
    {
        agree!(6..=5_i32 => .rev());
    }
    assert_eq!((0..=u64::MAX).length(), usize::MAX, "there is one more");
    let (left, right) = (0..=u64::MAX).cut(usize::MAX);
    assert_eq!((left.end(), right), (&(u64::MAX - 1), u64::MAX..=u64::MAX));
    for n in LENGTHS {
        let v: Vec<usize> = (0..n).collect();
        agree!(v.iter() => .rev());
        for size in [1, 2, 5, n + 1] {
            agree!(v.chunks(size) => .enumerate().rev());
            agree!(v.chunks_exact(size) => .enumerate().rev());
            agree!(v.rchunks(size) => .enumerate().rev());
            agree!(v.rchunks_exact(size) => .enumerate().rev());
            agree!(v.windows(size) => .enumerate().rev());
            let mut again = v.clone();
            assert!(shredded(ChunksMut::new(&mut again, size)).into_iter().eq(v.chunks(size)));
            assert!(shredded(ChunksMut::exact(&mut again, size)).into_iter().eq(v.chunks_exact(size)));
        }
        let mut again = v.clone();
        assert!(shredded(again.iter_mut()).into_iter().eq(&v));
    }
}

#[test]
fn collections_can_be_looped_over() {
    let _watched = watchdog("collections can be looped over");
    for n in LENGTHS {
        let v: Vec<usize> = (0..n).collect();
        agree!(v.clone() => .rev());
        agree!(&v => .rev());
        agree!(v.clone().into_boxed_slice() => .rev());
        let boxed = v.clone().into_boxed_slice();
        agree!(&boxed => .rev());
        let deque: VecDeque<usize> = v.iter().copied().collect();
        agree!(&deque => .rev());
        agree!(deque.clone() => .rev());
        let list: LinkedList<usize> = v.iter().copied().collect();
        agree!(&list => .rev());
        agree!(list.clone() => .rev());
        let tree: BTreeSet<usize> = v.iter().copied().collect();
        agree!(&tree => .rev());
        agree!(tree.clone() => .rev());
        let map: BTreeMap<usize, usize> = v.iter().map(|x| (*x, x * x)).collect();
        agree!(&map => .rev());
        agree!(map.clone() => .rev());
        let set: HashSet<usize> = v.iter().copied().collect();
        agree!(&set => .map(|x| x + 1));
        let hashed: HashMap<usize, usize> = v.iter().map(|x| (*x, x * x)).collect();
        agree!(&hashed => .map(|(x, y)| x + y));
        gives!(|par| par!(hashed.clone()).collect::<HashMap<_, _>>(), hashed);
        gives!(|par| par!(set.clone()).collect::<HashSet<_>>(), set);
        let heap: BinaryHeap<usize> = v.iter().copied().collect();
        agree!(&heap => .map(|x| x + 1));
        gives!(|par| par!(heap.clone()).sum::<usize>(), v.iter().sum::<usize>());
        let mut twice = (v.clone(), deque, list, map, hashed, v.clone().into_boxed_slice());
        filch::par(&mut twice.0).for_each(|x| *x *= 2);
        filch::par(&mut twice.1).for_each(|x| *x *= 2);
        filch::par(&mut twice.2).for_each(|x| *x *= 2);
        filch::par(&mut twice.3).for_each(|(_, x)| *x *= 2);
        filch::par(&mut twice.4).for_each(|(_, x)| *x *= 2);
        filch::par(&mut twice.5).for_each(|x| *x *= 2);
        assert!(twice.0.iter().eq(&twice.1) && twice.1.iter().eq(&twice.2) && twice.0.iter().eq(&twice.5));
        assert!(twice.3.iter().all(|(x, y)| *y == 2 * x * x && twice.4[x] == *y));
        assert_eq!(twice.0, v.iter().map(|x| 2 * x).collect::<Vec<_>>());
    }
    agree!([3, 1, 2] => .rev());
    agree!(&[3, 1, 2] => .rev());
    let mut array = [1, 2, 3];
    filch::par(&mut array).for_each(|x| *x += 1);
    assert_eq!(array, [2, 3, 4]);
}

#[test]
fn loops_take_the_same_sources() {
    let _watched = watchdog("loops take the same sources");
    let mut v: Vec<u64> = (0..100).collect();
    for_each(&mut v, |x| *x += 1);
    assert_eq!(map_reduce(&v, 0, |x| *x, |a, b| a + b), 5050);
    assert_eq!(map_reduce_fixed(v.clone(), 0, |x| x, |a, b| a + b), 5050);
    assert_eq!(try_map_reduce(bridge(v.iter()), 0, |x| x.checked_sub(1).ok_or(()), |a, b| a + b), Ok(4950));
    let odd = filch::par(&v).filter(|x| **x % 2 == 1);
    assert_eq!(map_reduce(odd, 0, |x| *x, |a, b| a + b), 2500);
    for_each_init(&mut v, || 1, |one, x| *x -= *one);
    assert_eq!(map_reduce_init(bridge(v.clone()), || 2, 0, |two, x| *two * x, |a, b| a + b), 9900);
}

#[test]
fn loops_whose_bodies_get_the_handle_take_the_same_sources() {
    let _watched = watchdog("loops whose bodies get the handle take the same sources");
    let fork = |mut w: Worker<'_>, x: u64| w.join(|_| x, |_| 1).0;
    let mut sums = BTreeSet::new();
    for pool in POOLS.iter() {
        let mut v: Vec<u64> = (0..2000).collect();
        pool.run(|mut w| w.for_each_with(&mut v, |w, x| *x = fork(w, *x + 1)));
        let odd = || filch::par(&v).filter(|x| **x % 2 == 1).copied();
        assert_eq!(pool.run(|mut w| w.map_reduce_with(odd(), 0, fork, |a, b| a + b)), 1_000_000);
        let check = |w: Worker<'_>, x: u64| if fork(w, x) < 2000 { Ok(x) } else { Err(x) };
        assert_eq!(pool.run(|mut w| w.try_map_reduce_with(odd(), 0, check, |a, b| a + b)), Ok(1_000_000));
        let all = || bridge(v.clone());
        assert_eq!(pool.run(|mut w| w.try_for_each_with(all(), |w, x| check(w, x).map(drop))), Err(2000));
        // The tree is the same on all pools, in both styles, and its halves are not those of a sum from the left.
        let inverse = |w: Worker<'_>, x: &u64| 1.0 / fork(w, *x) as f64;
        let sum: f64 = pool.run(|mut w| w.map_reduce_fixed_with(&v, 0.0, inverse, |a, b| a + b));
        let closures = pool.install(|| map_reduce_fixed(&v, 0.0, |x| 1.0 / *x as f64, |a, b| a + b));
        sums.extend([sum.to_bits(), closures.to_bits()]);
        assert_ne!(sum, v.iter().map(|x| 1.0 / *x as f64).sum::<f64>());
    }
    assert_eq!(sums.len(), 1);
}

#[test]
fn drawn_sources_can_be_chained() {
    let _watched = watchdog("drawn sources can be chained");
    for n in LENGTHS.into_iter().chain([20_000]) {
        let expected: Vec<usize> = (0..n).chain(0..n / 2).chain(0..n).collect();
        gives!(|par| par!(bridge(0..n)).chain(0..n / 2).chain(bridge(0..n)).collect::<Vec<_>>(), expected);
        gives!(|par| par!(0..n).chain(bridge(0..n / 2)).chain(0..n).collect::<Vec<_>>(), expected);
        let is_large = |i: &usize| *i * 2 >= n;
        gives!(|par| par!(bridge(0..n / 3)).chain(bridge(0..)).find_first(is_large), {
            (0..n / 3).chain(0..).find(is_large)
        });
    }
}

#[test]
fn bridges_keep_the_order_and_draw_each_item_once() {
    let _watched = watchdog("bridges keep the order and draw each item once");
    for n in LENGTHS.into_iter().chain([20_000]) {
        let drawn = AtomicUsize::new(0);
        let items = || (0..n).inspect(|_| _ = drawn.fetch_add(1, Relaxed));
        gives!(both: |par| par!(bridge(items())).collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
        assert_eq!(drawn.into_inner(), 6 * n, "three pools, two styles");
        gives!(|par| par!(bridge(0..n)).filter(|i| i % 3 == 0).map(|i| i * i).collect::<Vec<_>>(), {
            (0..n).filter(|i| i % 3 == 0).map(|i| i * i).collect::<Vec<_>>()
        });
        gives!(|par| par!(bridge(0..n)).flat_map(|i| [i; 2]).map_init(|| 1, |one, i| i + *one).sum::<usize>(), {
            (0..n).sum::<usize>() * 2 + 2 * n
        });
    }
}

/// Where a lock is held while user code runs, each of these waits for itself.
#[test]
fn bridges_do_not_lock_up() {
    let _watched = watchdog("bridges do not lock up");
    // An iterator that forks, in a loop whose items loop over bridges, too.
    let forking = |n: u64| (0..n).map(|i| filch::join(|| i, || filch::par(0..i % 50).sum::<u64>()));
    let nested = |(i, sum): (u64, u64)| i + sum + filch::par(bridge(forking(5))).map(|(i, sum)| i + sum).sum::<u64>();
    let serial = |n: u64| (0..n).map(|i| (i, (0..i % 50).sum::<u64>()));
    let inner: u64 = serial(5).map(|(i, sum)| i + sum).sum();
    let expected: u64 = serial(300).map(|(i, sum)| i + sum + inner).sum();
    for pool in POOLS.iter() {
        assert_eq!(pool.install(|| filch::par(bridge(forking(300))).map(nested).sum::<u64>()), expected);
        // Four threads outside, at once.
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    assert_eq!(pool.install(|| filch::par(bridge(forking(100))).map(nested).count()), 100);
                });
            }
        });
    }
    // A long stream of items does not make the stack deep.
    let pool = filch::ThreadPool::builder().workers(2).stack_size(filch::MIN_STACK_SIZE).build().unwrap();
    let slow = iter::from_fn({
        let mut i = 0_u32;
        move || {
            i += 1;
            (0..100).for_each(|_| std::hint::spin_loop());
            (i < 100_000).then_some(i)
        }
    });
    assert_eq!(pool.install(|| filch::par(bridge(slow)).count()), 99_999);
}
