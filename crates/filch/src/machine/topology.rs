//! Which processors are near each other, which share a core, and which are fast, from the files of Linux.
//!
//! Invariant: if a file cannot be read, processors count as alike in what the file would tell.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// A kind of processor core, on machines that have several: see [`Builder::pin_to`](crate::Builder::pin_to).
///
/// ```
/// use filch::{CoreKind, ThreadPool};
///
/// let pool = ThreadPool::builder().pin_to(CoreKind::Performance).build()?;
/// println!("{} workers", pool.workers());
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CoreKind {
    /// The fastest cores; all cores of a machine whose cores are alike.
    Performance,
    /// All other cores.
    Efficiency,
}

/// Where a processor is: its memory node, and its last-level cache, named by the first processor that shares it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) node: usize,
    cache: usize,
}

/// Returns the places of the processors. `root` is the directory of `sys`.
pub(crate) fn places(root: &Path, processors: impl Iterator<Item = usize>) -> Vec<Place> {
    let nodes: Vec<(usize, List)> = entries(&root.join("sys/devices/system/node"), "node")
        .filter_map(|(node, directory)| Some((node, read_list(&directory.join("cpulist"))?)))
        .collect();
    let place = |processor| {
        let node = nodes.iter().find(|(_, processors)| processors.has(processor)).map_or(0, |(node, _)| *node);
        Place { node, cache: last_cache(root, processor).unwrap_or(0) }
    };
    processors.map(place).collect()
}

/// Returns the first of the processors that share this one's cache of the highest level.
fn last_cache(root: &Path, processor: usize) -> Option<usize> {
    let caches = entries(&directory(root, processor).join("cache"), "index");
    let caches = caches.filter_map(|(_, cache)| {
        let level = fs::read_to_string(cache.join("level")).ok()?.trim().parse::<u32>().ok()?;
        Some((level, read_list(&cache.join("shared_cpu_list"))?.first()?))
    });
    caches.max_by_key(|(level, _)| *level).map(|(_, first)| first)
}

/// Returns, for each of these processors, how many of those before it are on the same core.
pub(crate) fn places_on_cores(root: &Path, processors: &[usize]) -> Vec<usize> {
    let place = |(index, processor): (usize, &usize)| {
        let siblings = read_list(&directory(root, *processor).join("topology/thread_siblings_list"));
        let is_sibling = |other: &&usize| siblings.as_ref().is_some_and(|siblings| siblings.has(**other));
        processors[..index].iter().filter(is_sibling).count()
    };
    processors.iter().enumerate().map(place).collect()
}

/// Returns the kinds of the processors, from the list of Intel's systems or from the capacities that Arm's state.
pub(crate) fn kinds(root: &Path, processors: &[usize]) -> Vec<CoreKind> {
    let capacity = |processor: &usize| {
        let text = fs::read_to_string(directory(root, *processor).join("cpu_capacity")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let capacities: Vec<Option<u64>> = processors.iter().map(capacity).collect();
    let most = capacities.iter().flatten().max();
    let slow = read_list(&root.join("sys/devices/cpu_atom/cpus"));
    let is_slow = |(processor, capacity): (&usize, &Option<u64>)| {
        slow.as_ref().is_some_and(|slow| slow.has(*processor)) || capacity.as_ref().is_some_and(|own| Some(own) < most)
    };
    let kind = |is_slow| if is_slow { CoreKind::Efficiency } else { CoreKind::Performance };
    processors.iter().zip(&capacities).map(|processor| kind(is_slow(processor))).collect()
}

fn directory(root: &Path, processor: usize) -> PathBuf {
    root.join(format!("sys/devices/system/cpu/cpu{processor}"))
}

/// Returns the entries of a directory whose names are `name` and a number, with that number.
fn entries(directory: &Path, name: &'static str) -> impl Iterator<Item = (usize, PathBuf)> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().filter_map(move |entry| {
        let number = entry.file_name().to_str()?.strip_prefix(name)?.parse().ok()?;
        Some((number, entry.path()))
    })
}

/// A list of processors, such as `0-3,8`.
struct List(Vec<RangeInclusive<usize>>);

fn read_list(file: &Path) -> Option<List> {
    let text = fs::read_to_string(file).ok()?;
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    Some(List(text.trim().split(',').filter_map(range).collect()))
}

impl List {
    fn has(&self, processor: usize) -> bool {
        self.0.iter().any(|range| range.contains(&processor))
    }

    fn first(&self) -> Option<usize> {
        self.0.iter().map(|range| *range.start()).min()
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;
    use crate::machine::described::{Described, two_nodes_and_four_caches};

    fn place(node: usize, cache: usize) -> Place {
        Place { node, cache }
    }

    #[test]
    fn two_nodes_and_four_caches_are_told_apart() {
        let machine = two_nodes_and_four_caches("two nodes");
        let caches = [(0, 0), (0, 2), (1, 4), (1, 6)].map(|(node, cache)| place(node, cache));
        // The second half are the siblings of the first: they share all caches.
        let expected: Vec<Place> = (0..16).map(|processor: usize| caches[processor % 8 / 2]).collect();
        assert_eq!(places(machine.root(), 0..16), expected);
        // A thread may use only some processors, in any order.
        assert_eq!(places(machine.root(), [15, 0].into_iter()), [caches[3], caches[0]]);
        // An offline processor keeps only its directory, and the others do not share with it.
        machine.remove("sys/devices/system/cpu/cpu0/cache");
        for sharing in [1, 8, 9] {
            machine.write(&format!("sys/devices/system/cpu/cpu{sharing}/cache/index3/shared_cpu_list"), "1,8-9\n");
        }
        machine.write("sys/devices/system/node/node0/cpulist", "1-3,8-11\n");
        assert_eq!(
            places(machine.root(), [1, 2, 8, 9].into_iter()),
            [place(0, 1), caches[1], place(0, 1), place(0, 1)]
        );
        assert_eq!(places(machine.root(), [0].into_iter()), [Place::default()]);
    }

    #[test]
    fn the_last_cache_is_that_of_the_highest_level() {
        let machine = Described::new("one cache");
        assert_eq!(places(machine.root(), 0..3), [Place::default(); 3], "without any file");
        for processor in 0..4 {
            machine.cache(processor, 0, 1, &processor.to_string());
            machine.cache(processor, 1, 3, "0-3");
            machine.cache(processor, 2, 2, &format!("{}-{}", processor / 2 * 2, processor / 2 * 2 + 1));
        }
        assert_eq!(places(machine.root(), 0..4), [place(0, 0); 4]);
        // Without a third level, as on many Arm machines.
        (0..4).for_each(|processor| machine.remove(&format!("sys/devices/system/cpu/cpu{processor}/cache/index1")));
        assert_eq!(places(machine.root(), 0..4), [0, 0, 2, 2].map(|cache| place(0, cache)));
        machine.write("sys/devices/system/cpu/cpu0/cache/index2/level", "two");
        machine.write("sys/devices/system/cpu/cpu1/cache/index2/shared_cpu_list", "");
        assert_eq!(
            places(machine.root(), 0..2),
            [0, 1].map(|cache| place(0, cache)),
            "the next highest that can be read"
        );
    }

    #[test]
    fn processors_of_a_core_are_counted_among_those_given() {
        let machine = two_nodes_and_four_caches("siblings");
        assert_eq!(places_on_cores(machine.root(), &[0, 1, 8, 9, 2]), [0, 0, 1, 1, 0]);
        assert_eq!(places_on_cores(machine.root(), &[9, 1, 8]), [0, 1, 0], "processor 0 is not given");
        machine.remove("sys/devices/system/cpu/cpu8/topology");
        assert_eq!(places_on_cores(machine.root(), &[0, 1, 8, 9]), [0, 0, 0, 1], "of 8 nothing is known");
    }

    #[test]
    fn kinds_are_those_of_intel_or_by_capacity() {
        use CoreKind::{Efficiency, Performance};
        let machine = Described::new("kinds");
        assert_eq!(kinds(machine.root(), &[0, 1]), [Performance; 2]);
        machine.write("sys/devices/cpu_core/cpus", "0-1\n");
        machine.write("sys/devices/cpu_atom/cpus", "2-3,5\n");
        assert_eq!(kinds(machine.root(), &[5, 0, 3, 1]), [Efficiency, Performance, Efficiency, Performance]);
        let machine = Described::new("capacities");
        for (processor, capacity) in [446, 446, 871, 1024].into_iter().enumerate() {
            machine.write(&format!("sys/devices/system/cpu/cpu{processor}/cpu_capacity"), &format!("{capacity}\n"));
        }
        assert_eq!(kinds(machine.root(), &[0, 1, 2, 3]), [Efficiency, Efficiency, Efficiency, Performance]);
        // Only the processors that the thread may use are compared.
        assert_eq!(kinds(machine.root(), &[0, 1]), [Performance; 2]);
    }
}
