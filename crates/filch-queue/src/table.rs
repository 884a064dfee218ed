//! The one list of all queues. The table of schedulers, tests and benchmarks go through it.

/// Calls a macro with the table of queues.
///
/// To add a queue, add a row. The table holds the queues that this crate is compiled with. A row is
///
/// ```text
/// once bwos_f: filch_queue::BwosF, fifo;
/// ```
///
/// The first word says how worklists can use the queue:
///
/// | word | meaning |
/// |---|---|
/// | `once` | it returns each task once |
/// | `many` | it returns each task once, and its thieves can [take several at a time](crate::StealMany) |
/// | `twice` | it may return a task twice |
///
/// Then come the name of its test modules, its type, and for some queues a restriction on the use of the type:
///
/// | word | meaning |
/// |---|---|
/// | `fifo` | fork–join pools cannot use it: its owner's end is first in, first out |
/// | `delta` | by default its δ is infinite, and thieves get little or nothing: choose another (see `Delta`) |
///
/// [`Queue::PROMISES`](crate::Queue::PROMISES) says everything else about a queue, its name included.
///
/// ```
/// use filch_queue::{Queue, for_each_queue};
///
/// macro_rules! names {
///     ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
///         [$(<$queue as Queue>::PROMISES.name),+]
///     };
/// }
/// let names = for_each_queue!(names);
/// assert!(names.contains(&"bwos-f") && names.contains(&"the"));
/// ```
#[macro_export]
macro_rules! for_each_queue {
    ($then:ident) => {
        $crate::__rows! {
            $then []
            once chase_lev: $crate::ChaseLev;
            once chase_lev_asym: $crate::ChaseLevAsym;
            once chase_lev_fixed: $crate::ChaseLevFixed;
            once abp: $crate::Abp;
            once the: $crate::The;
            #[cfg(feature = "fence-free")]
            once ff_the: $crate::FfThe, delta;
            #[cfg(feature = "fence-free")]
            once ff_cl: $crate::FfCl, delta;
            #[cfg(feature = "fence-free")]
            once thep: $crate::Thep, delta;
            #[cfg(feature = "fence-free")]
            once thep_apart: $crate::ThepApart, delta;
            #[cfg(feature = "fence-free")]
            once thep_impatient: $crate::ImpatientThep, delta;
            many lace: $crate::Lace;
            many dsq: $crate::Dsq;
            many hendler_shavit: $crate::HendlerShavit;
            many wsq: $crate::Wsq;
            many wsq_packed: $crate::WsqPacked;
            once bwos_l: $crate::BwosL;
            once bwos_f: $crate::BwosF, fifo;
            once pad_ws: $crate::PadWs;
            once adws: $crate::Adws;
            once one_exposed: $crate::OneExposed;
            many pdq_r: $crate::PdqR;
            many pdq_r2: $crate::PdqR2;
            many pdq_r_async: $crate::PdqRAsync;
            many pdq_r2_async: $crate::PdqR2Async;
            #[cfg(feature = "std")]
            many pdq_s: $crate::PdqS;
            #[cfg(feature = "std")]
            once pdq_s_at_once: $crate::PdqSAtOnce;
            #[cfg(feature = "std")]
            many pdq_s_told: $crate::PdqSTold;
            #[cfg(feature = "std")]
            once pdq_s_one_step: $crate::PdqSOneStep;
            twice idem_lifo: $crate::IdempotentLifo;
            twice idem_fifo: $crate::IdempotentFifo;
            twice idem_de: $crate::IdempotentDeque;
            #[cfg(feature = "std")]
            many locked: $crate::Locked;
        }
    };
}

/// Keeps the rows whose condition holds. A `cfg` in the rows themselves would test the features of the calling crate.
#[doc(hidden)]
#[macro_export]
macro_rules! __rows {
    ($then:ident [$($kept:tt)*]) => {
        $then! { $($kept)* }
    };
    ($then:ident $kept:tt #[cfg(feature = "std")] $($rows:tt)*) => {
        $crate::__row_with_std! { $then $kept $($rows)* }
    };
    ($then:ident $kept:tt #[cfg(feature = "fence-free")] $($rows:tt)*) => {
        $crate::__row_with_fence_free! { $then $kept $($rows)* }
    };
    ($then:ident [$($kept:tt)*] $lists:ident $module:ident: $queue:ty $(, $but:ident)?; $($rows:tt)*) => {
        $crate::__rows! { $then [$($kept)* $lists $module: $queue $(, $but)?;] $($rows)* }
    };
}

#[cfg(feature = "std")]
#[doc(hidden)]
#[macro_export]
macro_rules! __row_with_std {
    ($($rows:tt)*) => {
        $crate::__rows! { $($rows)* }
    };
}

#[cfg(not(feature = "std"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __row_with_std {
    ($then:ident $kept:tt $lists:ident $module:ident: $queue:ty $(, $but:ident)?; $($rows:tt)*) => {
        $crate::__rows! { $then $kept $($rows)* }
    };
}

#[cfg(feature = "fence-free")]
#[doc(hidden)]
#[macro_export]
macro_rules! __row_with_fence_free {
    ($($rows:tt)*) => {
        $crate::__rows! { $($rows)* }
    };
}

#[cfg(not(feature = "fence-free"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __row_with_fence_free {
    ($then:ident $kept:tt $lists:ident $module:ident: $queue:ty $(, $but:ident)?; $($rows:tt)*) => {
        $crate::__rows! { $then $kept $($rows)* }
    };
}
