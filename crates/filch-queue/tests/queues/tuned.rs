//! Queues with parameters other than the default.

use core::num::{NonZeroU32, NonZeroUsize};
#[cfg(feature = "std")]
use core::time::Duration;

use filch_memory::Memory;
use filch_queue::dsq::{Contention, Copying};
use filch_queue::lace::Moves;
use filch_queue::{
    Adws, Amount, BlockSize, BwosF, BwosL, CrossTaking, Delegation, Dsq, Lace, PadWs, PdqR2Async, Prefetch, Promises,
    Queue, Wsq, WsqPacked, dsq, lace, pad_ws, pdq, wsq,
};

macro_rules! tuned {
    ($($(#[$doc:meta])* $name:ident: $queue:ty, $params:expr $(, $promise:ident: $kept:expr)?;)*) => {
        $($(#[$doc])*
        pub(crate) struct $name;

        // SAFETY: the underlying queue keeps the promises.
        unsafe impl<M: Memory> Queue<M> for $name {
            type Owner = <$queue as Queue<M>>::Owner;
            type Thief = <$queue as Queue<M>>::Thief;
            type Params = ();

            const PROMISES: Promises = Promises { $($promise: $kept,)? ..<$queue as Queue<M>>::PROMISES };
            const WITHDRAWS: bool = <$queue as Queue<M>>::WITHDRAWS;

            fn make(capacity: usize, thieves: usize, (): &()) -> (Self::Owner, Vec<Self::Thief>) {
                <$queue as Queue<M>>::make(capacity, thieves, &$params)
            }
        })*
    };
}

#[cfg(feature = "std")]
tuned! {
    /// Tries to deal at each operation, as much as possible.
    EagerPdqS: filch_queue::PdqS, pdq::sender::Params { share: Amount::All, gap: Duration::ZERO };
    /// Deals whenever possible, as much as possible.
    EagerPdqSTold: filch_queue::PdqSTold, pdq::sender::Params { share: Amount::All, gap: Duration::ZERO },
        answers_by_clock: false;
    /// Tries to deal at each operation, in one step.
    EagerPdqSAtOnce: filch_queue::PdqSAtOnce, pdq::one_step::Params { gap: Duration::ZERO };
    /// Deals whenever possible, in one step.
    EagerPdqSOneStep: filch_queue::PdqSOneStep, pdq::one_step::Params { gap: Duration::ZERO }, answers_by_clock: false;
}

tuned! {
    /// Gives all tasks but one.
    GenerousPdqR2Async: PdqR2Async, pdq::receiver::Params { share: Amount::AllButOne };
    /// No spare slots, so that a push meets thieves at its slot.
    TightWsq: Wsq, wsq::Params { spare: 0 };
    /// As above.
    TightWsqPacked: WsqPacked, wsq::Params { spare: 0 };
    /// Every parameter differs from the paper.
    EagerDsq: Dsq,
        dsq::Params { steal: Amount::All, copying: Copying::Deferred, contention: Contention::Retry };
    /// All tasks move at once.
    LaceAll: Lace, lace::Policies { grow: Amount::All, shrink: Amount::All, steal: Amount::All, moves: Moves::Updates };
    /// Tasks move one by one.
    LaceOne: Lace, lace::Policies { grow: Amount::One, shrink: Amount::One, steal: Amount::One, moves: Moves::Updates };
    /// As the paper prints it for x86.
    LaceHalves: Lace, lace::Policies { moves: Moves::HalfStores, ..lace::Policies::default() };
    /// Blocks of one task.
    ShortBwosL: BwosL, BlockSize::Entries(NonZeroUsize::MIN);
    /// Blocks of one task.
    ShortBwosF: BwosF, BlockSize::Entries(NonZeroUsize::MIN);
    /// Thieves ask all the time, and look at all cells.
    EagerPadWs: PadWs, pad_ws::Params {
        block_size: BlockSize::Entries(NonZeroUsize::MIN),
        delegation: Delegation {
            cross_taking: CrossTaking::Each,
            prefetch: Prefetch::Always,
            ..Delegation::default()
        },
    };
    /// Granted tasks come back only to the owner.
    ReservedPadWs: PadWs, pad_ws::Params {
        delegation: Delegation {
            cross_taking: CrossTaking::Off,
            prefetch: Prefetch::Always,
            poll_every: NonZeroU32::new(3).unwrap(),
            keep: 1,
            ..Delegation::default()
        },
        ..pad_ws::Params::default()
    };
    /// Thieves look at all cells.
    EagerAdws: Adws, Delegation { cross_taking: CrossTaking::Each, ..Delegation::default() };
    /// Each thief has a word for its requests.
    RungAdws: Adws, Delegation { thieves_per_word: NonZeroU32::MIN, ..Delegation::default() };
    /// Granted tasks come back only to the owner.
    ReservedAdws: Adws, Delegation {
        cross_taking: CrossTaking::Off,
        poll_every: NonZeroU32::new(3).unwrap(),
        ..Delegation::default()
    };
}
