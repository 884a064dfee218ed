//! The processors that this process may use, and threads bound to them.

use core_affinity::CoreId;
use filch_memory::{Memory, Native, Ordering};

/// A word that several threads use.
pub(crate) type Flag = <Native as Memory>::AtomicBool;

/// Returns the numbers of all processors that this process may use.
pub(crate) fn all() -> Vec<usize> {
    let mut all: Vec<usize> = core_affinity::get_core_ids().unwrap_or_default().iter().map(|core| core.id).collect();
    all.sort_unstable();
    all
}

/// Binds this thread to a processor, if the system permits it.
pub(crate) fn bind(processor: usize) -> bool {
    core_affinity::set_for_current(CoreId { id: processor })
}

/// Another processor, for company.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour {
    pub(crate) processor: usize,
    /// Whether the system says that it shares the core; a virtual machine may hide that.
    pub(crate) shares_core: bool,
}

/// Returns the processor that shares this one's core, or else any other.
pub(crate) fn neighbour(of: usize) -> Option<Neighbour> {
    let Company { sibling, elsewhere } = company(of);
    sibling.or(elsewhere).map(|processor| Neighbour { processor, shares_core: sibling.is_some() })
}

/// Where a second thread can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Company {
    /// On the same core, as far as the system says.
    pub(crate) sibling: Option<usize>,
    /// On another core.
    pub(crate) elsewhere: Option<usize>,
}

/// Returns processors beside this one.
pub(crate) fn company(of: usize) -> Company {
    let path = format!("/sys/devices/system/cpu/cpu{of}/topology/thread_siblings_list");
    Company::among(&all(), of, &numbers(&std::fs::read_to_string(path).unwrap_or_default()))
}

impl Company {
    fn among(all: &[usize], of: usize, siblings: &[usize]) -> Self {
        let first = |shares_core: bool| {
            let fits = |processor: &usize| *processor != of && siblings.contains(processor) == shares_core;
            all.iter().copied().find(fits)
        };
        Self { sibling: first(true), elsewhere: first(false) }
    }
}

/// Parses a list as Linux writes it: `0,4-6`.
fn numbers(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.trim().split(',').filter_map(range).flatten().collect()
}

/// Runs `this` while a thread on that processor repeats `that`; without a processor, alone.
pub(crate) fn beside<T>(processor: Option<usize>, that: impl Fn() + Sync, this: impl FnOnce() -> T) -> T {
    let Some(processor) = processor else { return this() };
    let (runs, ends) = (Flag::new(false), Flag::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            bind(processor);
            // Relaxed, here and below: the flags say when, and publish nothing.
            while !ends.load(Ordering::Relaxed) {
                that();
                runs.store(true, Ordering::Relaxed);
            }
        });
        while !runs.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let _end = End(&ends);
        this()
    })
}

/// Sets a flag when it is dropped, also while unwinding: the thread beside ends in any case.
struct End<'f>(&'f Flag);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(numbers("0,4-6\n"), [0, 4, 5, 6]);
        assert_eq!(numbers("2"), [2]);
        assert!(numbers("").is_empty() && numbers("a-b").is_empty());
    }

    #[test]
    fn company_is_on_the_same_core_or_on_another() {
        let company = |all: &[usize], siblings: &[usize]| {
            let Company { sibling, elsewhere } = Company::among(all, 0, siblings);
            [sibling, elsewhere]
        };
        assert_eq!(company(&[0, 1, 2, 3], &[0, 1]), [Some(1), Some(2)]);
        assert_eq!(company(&[0, 1, 2, 3], &[0, 2]), [Some(2), Some(1)]);
        assert_eq!(company(&[0, 1], &[0]), [None, Some(1)]);
        assert_eq!(company(&[0, 1], &[0, 1]), [Some(1), None]);
        assert_eq!(company(&[0], &[0]), [None, None]);
    }

    #[test]
    fn a_neighbour_is_another_processor() {
        for processor in all() {
            let neighbour = neighbour(processor);
            assert_eq!(neighbour.is_none(), all().len() == 1);
            assert!(neighbour.is_none_or(|neighbour| neighbour.processor != processor));
        }
    }

    #[test]
    fn company_ends_with_its_host() {
        let calls = <Native as Memory>::AtomicUsize::new(0);
        // Relaxed: a count.
        let that = || calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let first = all().first().copied();
        assert!(beside(first, that, || calls.load(Ordering::Relaxed)) > 0 || first.is_none());
        assert_eq!(beside(None, || unreachable!("there is nobody"), || 3), 3);
        let panics = || beside(first, that, || panic!("the host ends early"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    }
}
