//! Counts of events inside the queues, such as granted requests, made on cold paths.

use alloc::sync::Arc;

use filch_memory::{Atomic, Memory, Native, Ordering};

/// A count with one writer.
#[derive(Debug)]
pub struct Count(<Native as Memory>::AtomicU64);

impl Default for Count {
    fn default() -> Self {
        Self(Atomic::new(0))
    }
}

impl Count {
    /// Adds one. Only one thread at a time may call this.
    #[inline]
    pub fn bump(&self) {
        self.add(1);
    }

    /// Adds `more`. Only one thread at a time may call this.
    #[inline]
    pub fn add(&self, more: u64) {
        // Relaxed, and no read–modify–write: there is one writer, and readers want a statistic, or have another edge.
        self.0.store(self.0.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    /// Subtracts an event that was counted in advance. Only the thread that adds may call this.
    #[cfg(feature = "std")]
    pub(crate) fn take_back(&self) {
        // Relaxed: as in `add`.
        self.0.store(self.0.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    /// The count so far.
    pub fn get(&self) -> u64 {
        // Relaxed: as in `add`.
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// One worker's counts, at its own queue and at its victims'. Each algorithm makes only some of them. A
        /// scheduler [gives them](crate::Owner::count_in) to the worker's handles.
        ///
        /// ```
        /// use std::sync::Arc;
        /// use filch_queue::{Adws, Counts, Queue, Thief};
        ///
        /// let counts = Arc::new(Counts::default());
        /// let (_owner, mut thieves) = <Adws as Queue>::make(8, 1, &Default::default());
        /// thieves[0].count_in(&counts);
        /// assert_eq!(thieves[0].steal(), filch_queue::Steal::Pending);
        /// assert_eq!(counts.read().retries, 1);
        /// ```
        #[derive(Debug, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $name: Count,)+
        }

        impl Counts {
            /// The counts so far.
            pub fn read(&self) -> Counted {
                Counted { $($name: self.$name.get(),)+ }
            }
        }

        /// The values of [`Counts`] at one time, between two times, or summed over workers.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counted {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl Counted {
            /// Each count and its name, in a fixed order.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$((stringify!($name), self.$name),)+].into_iter()
            }

            /// Returns the sums of these counts and `more`.
            #[must_use]
            pub fn plus(&self, more: &Self) -> Self {
                Self { $($name: self.$name + more.$name,)+ }
            }

            /// Returns the counts since `earlier`.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                // Saturating: `earlier` may include an event counted in advance and taken back since.
                Self { $($name: self.$name.saturating_sub(earlier.$name),)+ }
            }
        }
    };
}

counts! {
    /// As a thief: attempts that ended with a request and no answer yet.
    retries,
    /// As a thief: tasks taken that the owner had granted to another thief.
    crossings,
    /// As an owner: checks for requests that found some.
    polls,
    /// As an owner: tasks given to a thief on request.
    grants,
    /// As an owner: requests answered with nothing.
    declined,
    /// As an owner: granted tasks that it took back before a thief collected them.
    revocations,
    /// As an owner: attempts to deal a task to an idle worker.
    deals_tried,
    /// As an owner: attempts to deal that succeeded.
    deals,
    /// As an owner: times that it shared private tasks.
    grows,
    /// As an owner: times that it synchronised to take shared tasks back, even if thieves were faster.
    shrinks,
}

/// Where a handle counts: nowhere until `count_in`.
#[derive(Debug, Default)]
pub(crate) struct Counting(Option<Arc<Counts>>);

impl Counting {
    pub(crate) fn count_in(&mut self, counts: &Arc<Counts>) {
        self.0 = Some(Arc::clone(counts));
    }

    #[inline]
    pub(crate) fn of(&self, which: impl Fn(&Counts) -> &Count) -> Option<&Count> {
        self.0.as_deref().map(which)
    }

    pub(crate) fn add(&self, which: impl Fn(&Counts) -> &Count, more: usize) {
        if let Some(count) = self.of(which) {
            count.add(more as u64);
        }
    }

    pub(crate) fn count(&self, which: impl Fn(&Counts) -> &Count) {
        self.add(which, 1);
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    /// A reader may come in between.
    #[test]
    fn what_is_counted_back_is_nothing() {
        let counts = Counts::default();
        counts.grants.bump();
        let early = counts.read();
        counts.grants.take_back();
        assert_eq!(counts.read(), Counted::default());
        assert_eq!(counts.read().since(&early), Counted::default());
    }
}
