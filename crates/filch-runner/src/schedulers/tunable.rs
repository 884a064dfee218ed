//! The parameters of each queue and pool. The code that reads a value also declares its name, meaning and range.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use filch::pool::{Beat, HeartbeatSettings, Period, QueueSettings, Sharing, SplitSettings, WoolSettings};
use filch_queue::chase_lev_asym::Fences;
use filch_queue::dsq::{Contention, Copying};
use filch_queue::lace::Moves;
use filch_queue::pdq::{one_step, receiver, sender};
use filch_queue::{
    Amount, Answers, BlockSize, CrossTaking, Delegation, Prefetch, Queue, Revocation, dsq, lace, pad_ws, wsq,
};

#[cfg(target_arch = "x86_64")]
use filch_catalogue::Takes;
use filch_catalogue::values::Parsed;
#[cfg(target_arch = "x86_64")]
use filch_catalogue::values::{ASSUMED_BOUND, MOST_DISTANT, distance};
use filch_catalogue::{Knob, STEAL, STEAL_HELP, Values};

use super::values::Reader;

/// The parameters of one queue or pool.
///
/// ```
/// use filch_catalogue::Values;
/// use filch_queue::BlockSize;
/// use filch_runner::schedulers::{Reader, Tunable};
///
/// assert_eq!(BlockSize::knobs()[0].name, "block");
/// let set = [("block".to_owned(), "sqrt".to_owned())];
/// assert_eq!(BlockSize::tuned(&Reader::of(Values::of(&set))), Ok(BlockSize::SquareRoot));
/// assert_eq!(BlockSize::tuned(&Reader::of(Values::of(&[]))), Ok(BlockSize::default()));
/// ```
pub trait Tunable: Sized {
    /// Returns all parameters: those that `tuned` reads when nothing is set.
    fn knobs() -> Vec<Knob> {
        let reader = Reader::of(Values::of(&[]));
        // Defaults are valid.
        let _ = Self::tuned(&reader);
        reader.asked()
    }

    /// Reads the parameters from these values; unset ones have their defaults.
    ///
    /// # Errors
    /// The error in a value: a sentence without its subject.
    fn tuned(values: &Reader<'_>) -> Result<Self, String>;
}

/// Reads `steal`, for queues that accept any amount.
fn steal(from: &Reader<'_>, default: Amount) -> Parsed<Amount> {
    from.amount(STEAL, STEAL_HELP, default)
}

impl Tunable for () {
    fn tuned(_: &Reader<'_>) -> Parsed<Self> {
        Ok(())
    }
}

impl Tunable for BlockSize {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        let default = match Self::default() {
            Self::SquareRoot => None,
            Self::Entries(entries) => Some(entries.get()),
        };
        let block =
            from.number_or("block", "tasks per block, or sqrt: of the capacity", default, 1..=1 << 16, "sqrt")?;
        Ok(block.and_then(NonZeroUsize::new).map_or(Self::SquareRoot, Self::Entries))
    }
}

impl Tunable for Fences {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        let words = [("asymmetric", Self::Asymmetric), ("symmetric", Self::Symmetric)];
        from.word("fences", "asymmetric or symmetric", Self::default(), &words)
    }
}

impl Tunable for lace::Policies {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        let default = Self::default();
        Ok(Self {
            grow: from.amount("grow", "how much the owner shares on request: as steal", default.grow)?,
            shrink: from.amount("shrink", "how much the owner takes back: as steal", default.shrink)?,
            steal: steal(from, default.steal)?,
            moves: Moves::tuned(from)?,
        })
    }
}

impl Tunable for Moves {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        let words = [("updates", Self::Updates), ("half-stores", Self::HalfStores)];
        from.word(
            "moves",
            "how the owner moves split: updates, or half-stores, as in Lace's figure 4",
            Self::default(),
            &words,
        )
    }
}

impl Tunable for SplitSettings {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        let words = [
            ("grain", Sharing::ByGrain),
            ("half", Sharing::OnRequest(Amount::Half)),
            ("one", Sharing::OnRequest(Amount::One)),
            ("all", Sharing::OnRequest(Amount::All)),
        ];
        let help = "what the owner shares: by the grain of its tasks, or the first one and, on request, half of the private ones, as in Lace's \
                    figure 4, one or all; without a private task it takes as much back";
        Ok(Self::default().moves(Moves::tuned(from)?).share(from.word("share", help, Sharing::default(), &words)?))
    }
}

impl Tunable for wsq::Params {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        let help = "slots that a full queue keeps free";
        Ok(Self { spare: from.number("spare", help, Self::default().spare, 0..=1 << 16)? })
    }
}

impl Tunable for dsq::Params {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        let default = Self::default();
        let copying = [("locked", Copying::Locked), ("deferred", Copying::Deferred)];
        let contention = [("wait", Contention::Wait), ("retry", Contention::Retry)];
        Ok(Self {
            steal: steal(from, default.steal)?,
            copying: from.word("copying", "locked or deferred", default.copying, &copying)?,
            contention: from.word("contention", "wait or retry", default.contention, &contention)?,
        })
    }
}

impl Tunable for Delegation {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        let default = Self::default();
        let cross = [("off", CrossTaking::Off), ("one", CrossTaking::One), ("each", CrossTaking::Each)];
        let revocation = [("off", Revocation::Off), ("when-needed", Revocation::WhenNeeded)];
        let prefetch = [("when-nothing-is-open", Prefetch::WhenNothingIsOpen), ("always", Prefetch::Always)];
        let answers = [("later", Answers::Later), ("polled", Answers::Polled)];
        Ok(Self {
            cross_taking: from.word(
                "cross",
                "which thieves' grants an idle thief takes: off, one or each",
                default.cross_taking,
                &cross,
            )?,
            revocation: from.word(
                "revocation",
                "whether the owner takes grants back: off or when-needed",
                default.revocation,
                &revocation,
            )?,
            prefetch: from.word(
                "prefetch",
                "when thieves request: when-nothing-is-open or always",
                default.prefetch,
                &prefetch,
            )?,
            answers: from.word(
                "answers",
                "what a thief does that has asked: it comes back later, or they are polled for",
                default.answers,
                &answers,
            )?,
            keep: from.number("keep", "tasks that the owner does not grant", default.keep as usize, 0..=1 << 16)?
                as u32,
            poll_every: from
                .number(
                    "poll",
                    "the owner looks for requests at every n-th operation",
                    default.poll_every.get() as usize,
                    1..=1 << 16,
                )
                .map(|every| NonZeroU32::new(every as u32).expect("1 at least"))?,
            ..default
        })
    }
}

impl Tunable for pad_ws::Params {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        Ok(Self { block_size: BlockSize::tuned(from)?, delegation: Delegation::tuned(from)? })
    }
}

impl Tunable for receiver::Params {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        Ok(Self { share: steal(from, Self::default().share)? })
    }
}

impl Tunable for sender::Params {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        let default = Self::default();
        Ok(Self { share: steal(from, default.share)?, gap: gap(from, default.gap)? })
    }
}

impl Tunable for one_step::Params {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        Ok(Self { gap: gap(from, Self::default().gap)? })
    }
}

/// The time between two deals.
fn gap(from: &Reader<'_>, default: Duration) -> Parsed<Duration> {
    from.time("delta", "mean time between two deals, such as 30us", default)
}

#[cfg(target_arch = "x86_64")]
const _: () = assert!(ASSUMED_BOUND == filch_queue::Delta::ASSUMED_BOUND);

/// δ follows from the stated facts about processor and program. They cannot be checked; if they are false, tasks run
/// twice.
#[cfg(target_arch = "x86_64")]
impl Tunable for filch_queue::Delta {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        let number = Takes::Number(1, MOST_DISTANT);
        from.note(
            "bound",
            "most pending stores of a processor: unchecked, and if it is too small, tasks run twice; 192 by default; or measured: by `filch probe store-buffer`, with a margin",
            number.clone(),
        );
        from.note(
            "stores",
            "fewest stores of the program between two pops: unchecked; 1 by default, the queue's own",
            number,
        );
        from.note(
            "delta",
            "the thieves' distance from the owner in tasks, at least bound / (stores + 1), the default; or infinite",
            Takes::Distance,
        );
        Ok(match distance(&from.set())? {
            // SAFETY: the user vouches for the stated bound of the processor and stores of the program. The default
            // bound is an assumption that the list of parameters states: no x86-64 processor is known to hold that many
            // pending stores.
            Some(delta) => unsafe { Self::new(delta) },
            None => Self::INFINITE,
        })
    }
}

impl<Q: Queue<Params: Tunable>> Tunable for QueueSettings<Q> {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        Q::Params::tuned(from).map(Self::of)
    }
}

impl Tunable for WoolSettings {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        let chunk =
            from.positive("chunk", "slots made public at once when thieves have taken all public ones; 4 by default")?;
        let after = from.positive(
            "privatise",
            "the owner takes slots back after this many public tasks in a row were not stolen; 500 by default",
        )?;
        let with_chunk = chunk.map_or_else(Self::default, |chunk| Self::default().chunk(chunk));
        let with_both = after.map_or(with_chunk, |after| with_chunk.privatise_after(after));
        let help = "what is public before thieves ask: by the grain of tasks, or a chunk, as in Wool";
        let words = [("grain", with_both), ("chunk", with_both.by_chunks())];
        from.word("share", help, with_both, &words)
    }
}

impl Tunable for Period {
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        let beat = from.period("beat", "the time between two beats; 100us by default")?;
        Ok(beat.map_or_else(Self::default, Self))
    }
}

impl<Q, B> Tunable for HeartbeatSettings<Q, B>
where
    Q: Queue<Params: Tunable>,
    B: Beat<Settings: Tunable>,
{
    fn tuned(from: &Reader<'_>) -> Parsed<Self> {
        Ok(Self::of(B::Settings::tuned(from)?, Q::Params::tuned(from)?))
    }
}
