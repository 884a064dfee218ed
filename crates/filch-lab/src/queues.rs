//! The one table of queues without a scheduler: a new queue is a row here.

use filch_queue::{Promises, Queue};

#[cfg(target_arch = "x86_64")]
use crate::pools::Bounded;

/// Code that works with a queue whatever its type. The queue is made with its default parameters.
pub(crate) trait QueueUser {
    type Output;

    fn with<Q: Queue>(self) -> Self::Output;
}

macro_rules! queues {
    ($($(#[$cfg:meta])* $queue:ty;)+) => {
        /// What the queues promise, their names included.
        pub(crate) const QUEUES: &[Promises] = &[$($(#[$cfg])* <$queue as Queue>::PROMISES),+];

        /// Lets `user` have the queue of this name, if there is one.
        pub(crate) fn with_queue<U: QueueUser>(name: &str, user: U) -> Option<U::Output> {
            $($(#[$cfg])*
            if name == <$queue as Queue>::PROMISES.name {
                return Some(user.with::<$queue>());
            })+
            None
        }
    };
}

// To add a queue, add its type: its name and whatever else is asked of it come from its promises. Where its default
// parameters are not the ones to test, wrap it in a queue that chooses others, as `Bounded` does.
queues! {
    filch_queue::ChaseLev;
    filch_queue::ChaseLevAsym;
    filch_queue::Abp;
    filch_queue::The;
    #[cfg(target_arch = "x86_64")]
    Bounded<filch_queue::FfThe>;
    #[cfg(target_arch = "x86_64")]
    Bounded<filch_queue::FfCl>;
    #[cfg(target_arch = "x86_64")]
    Bounded<filch_queue::Thep>;
    #[cfg(target_arch = "x86_64")]
    Bounded<filch_queue::PatientThep>;
    filch_queue::Lace;
    filch_queue::Dsq;
    filch_queue::HendlerShavit;
    filch_queue::Wsq;
    filch_queue::BwosL;
    filch_queue::BwosF;
    filch_queue::PadWs;
    filch_queue::Adws;
    filch_queue::OneExposed;
    filch_queue::PdqR;
    filch_queue::PdqR2;
    filch_queue::PdqS;
    filch_queue::IdempotentLifo;
    filch_queue::IdempotentFifo;
    filch_queue::IdempotentDeque;
    filch_queue::Locked;
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Name;

    impl QueueUser for Name {
        type Output = &'static str;

        fn with<Q: Queue>(self) -> &'static str {
            Q::PROMISES.name
        }
    }

    #[test]
    fn every_name_leads_to_its_queue() {
        for (row, queue) in QUEUES.iter().enumerate() {
            assert_eq!(with_queue(queue.name, Name), Some(queue.name));
            assert!(QUEUES[..row].iter().all(|other| other.name != queue.name), "{} stands twice", queue.name);
        }
        assert_eq!(with_queue("no-such-queue", Name), None);
    }
}
