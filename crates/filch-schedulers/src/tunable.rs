//! The parameters of each queue and pool: their names, what they mean, and which values they take.

use std::num::{NonZeroU32, NonZeroUsize};

use filch::pool::{Beat, HeartbeatSettings, Period, QueueSettings, WoolSettings};
use filch_queue::chase_lev_asym::Fences;
use filch_queue::dsq::{Contention, Copying};
use filch_queue::pdq::{receiver, sender};
use filch_queue::{Amount, BlockSize, CrossTaking, Delegation, Prefetch, Queue, Revocation, dsq, lace, pad_ws, wsq};

use crate::values::{Knob, Parsed, Values, amount, duration, number, period, positive, word};

/// The parameters of a queue's or a pool's own.
///
/// ```
/// use filch_queue::BlockSize;
/// use filch_schedulers::{Tunable, Values};
///
/// assert_eq!(BlockSize::knobs()[0].name, "block");
/// let set = [("block".to_owned(), "sqrt".to_owned())];
/// assert_eq!(BlockSize::tuned(&Values::of(&set)), Ok(BlockSize::SquareRoot));
/// assert_eq!(BlockSize::tuned(&Values::of(&[])), Ok(BlockSize::default()));
/// ```
pub trait Tunable: Sized {
    /// Whether a thief that takes several tasks takes as many as `steal` says. Otherwise the queue says how many: half, more or less.
    const TAKES_ANY_AMOUNT: bool = false;

    /// What there is to set.
    fn knobs() -> Vec<Knob> {
        Vec::new()
    }

    /// With these values; what is not set is as by default.
    ///
    /// # Errors
    /// What is wrong with a value: a sentence without its subject.
    fn tuned(values: &Values<'_>) -> Result<Self, String>;
}

/// What takes `steal`, of those that take any amount.
fn steal(values: &Values<'_>, default: Amount) -> Parsed<Amount> {
    values.get_or("steal", default, amount)
}

impl Tunable for () {
    fn tuned(_: &Values<'_>) -> Parsed<Self> {
        Ok(())
    }
}

impl Tunable for BlockSize {
    fn knobs() -> Vec<Knob> {
        vec![Knob { name: "block", help: "tasks in a block, or sqrt: by the capacity" }]
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        values.get_or("block", Self::default(), |text| {
            if text == "sqrt" {
                return Ok(Self::SquareRoot);
            }
            let entries = number(1, 1 << 16)(text).map_err(|why| format!("{why}, and not sqrt"))?;
            Ok(Self::Entries(NonZeroUsize::new(entries).expect("1 at least")))
        })
    }
}

impl Tunable for Fences {
    fn knobs() -> Vec<Knob> {
        vec![Knob { name: "fences", help: "asymmetric or symmetric" }]
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        let words = [("asymmetric", Self::Asymmetric), ("symmetric", Self::Symmetric)];
        values.get_or("fences", Self::default(), word(&words))
    }
}

impl Tunable for lace::Policies {
    const TAKES_ANY_AMOUNT: bool = true;

    fn knobs() -> Vec<Knob> {
        vec![
            Knob { name: "grow", help: "what the owner shares when asked: as steal" },
            Knob { name: "shrink", help: "what it takes back: as steal" },
        ]
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        let default = Self::default();
        Ok(Self {
            grow: values.get_or("grow", default.grow, amount)?,
            shrink: values.get_or("shrink", default.shrink, amount)?,
            steal: steal(values, default.steal)?,
        })
    }
}

impl Tunable for wsq::Params {
    fn knobs() -> Vec<Knob> {
        vec![Knob { name: "spare", help: "slots that a full queue leaves free" }]
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        Ok(Self { spare: values.get_or("spare", Self::default().spare, number(0, 1 << 16))? })
    }
}

impl Tunable for dsq::Params {
    const TAKES_ANY_AMOUNT: bool = true;

    fn knobs() -> Vec<Knob> {
        vec![Knob { name: "copying", help: "locked or deferred" }, Knob { name: "contention", help: "wait or retry" }]
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        let default = Self::default();
        let copying = [("locked", Copying::Locked), ("deferred", Copying::Deferred)];
        let contention = [("wait", Contention::Wait), ("retry", Contention::Retry)];
        Ok(Self {
            steal: steal(values, default.steal)?,
            copying: values.get_or("copying", default.copying, word(&copying))?,
            contention: values.get_or("contention", default.contention, word(&contention))?,
        })
    }
}

impl Tunable for Delegation {
    fn knobs() -> Vec<Knob> {
        vec![
            Knob { name: "cross", help: "whose grants an idle thief takes: off, one or each" },
            Knob { name: "revocation", help: "grants that the owner takes back: off or when-needed" },
            Knob { name: "prefetch", help: "when thieves ask: when-nothing-is-open or always" },
            Knob { name: "keep", help: "tasks that the owner does not grant" },
            Knob { name: "poll", help: "at which of its operations the owner looks for requests" },
        ]
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        let default = Self::default();
        let cross = [("off", CrossTaking::Off), ("one", CrossTaking::One), ("each", CrossTaking::Each)];
        let revocation = [("off", Revocation::Off), ("when-needed", Revocation::WhenNeeded)];
        let prefetch = [("when-nothing-is-open", Prefetch::WhenNothingIsOpen), ("always", Prefetch::Always)];
        let poll = |text: &str| {
            let every = number(1, 1 << 16)(text)?;
            Ok(NonZeroU32::new(every as u32).expect("1 at least"))
        };
        Ok(Self {
            cross_taking: values.get_or("cross", default.cross_taking, word(&cross))?,
            revocation: values.get_or("revocation", default.revocation, word(&revocation))?,
            prefetch: values.get_or("prefetch", default.prefetch, word(&prefetch))?,
            keep: values.get_or("keep", default.keep as usize, number(0, 1 << 16))? as u32,
            poll_every: values.get_or("poll", default.poll_every, poll)?,
        })
    }
}

impl Tunable for pad_ws::Params {
    fn knobs() -> Vec<Knob> {
        [BlockSize::knobs(), Delegation::knobs()].concat()
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        Ok(Self { block_size: BlockSize::tuned(values)?, delegation: Delegation::tuned(values)? })
    }
}

impl Tunable for receiver::Params {
    const TAKES_ANY_AMOUNT: bool = true;

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        Ok(Self { share: steal(values, Self::default().share)? })
    }
}

impl Tunable for sender::Params {
    const TAKES_ANY_AMOUNT: bool = true;

    fn knobs() -> Vec<Knob> {
        vec![Knob { name: "delta", help: "mean time between two deals, as 30us" }]
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        let default = Self::default();
        Ok(Self { share: steal(values, default.share)?, gap: values.get_or("delta", default.gap, duration)? })
    }
}

/// δ follows from what is said of the processor and of the program. Nobody can check that: with a false statement tasks are run twice.
#[cfg(target_arch = "x86_64")]
impl Tunable for filch_queue::Delta {
    fn knobs() -> Vec<Knob> {
        vec![
            Knob {
                name: "bound",
                help: "stores that may be pending in a processor, which you vouch for: with too few, tasks are run twice; 128 by default",
            },
            Knob {
                name: "stores",
                help: "other stores that the program makes at least between two pops, which you vouch for; 1 by default: the queue's own",
            },
            Knob {
                name: "delta",
                help: "tasks that thieves keep away from the owner, at least bound / (stores + 1), which is the default; or infinite",
            },
        ]
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        const MOST: usize = 1 << 20;
        let bound = values.get_or("bound", Self::ASSUMED_BOUND, number(1, MOST))?;
        let stores = values.get_or("stores", 1, number(1, MOST))?;
        // ⌈S / (x + 1)⌉: the paper's section 4.
        let least = bound.div_ceil(stores + 1);
        let delta = values.get_or("delta", Some(least), |text| {
            if text == "infinite" {
                return Ok(None);
            }
            let delta = number(1, MOST)(text).map_err(|why| format!("{why}, and not infinite"))?;
            if delta >= least {
                return Ok(Some(delta));
            }
            Err(format!(
                "is too near: where {bound} stores may be pending, and one in {} lowers the tail, tasks would be run twice for less than \
                 {least}. If your processors hold fewer stores, or your program makes more of them between two pops, vouch for it by \
                 bound= and stores=",
                stores + 1
            ))
        })?;
        Ok(match delta {
            // SAFETY: what whoever sets it has stated of the processor and the program; and for the default bound an assumption that the
            // list of parameters states: no x86-64 processor is documented to hold that many pending stores.
            Some(delta) => unsafe { Self::new(delta) },
            None => Self::INFINITE,
        })
    }
}

impl<Q: Queue<Params: Tunable>> Tunable for QueueSettings<Q> {
    const TAKES_ANY_AMOUNT: bool = <Q::Params as Tunable>::TAKES_ANY_AMOUNT;

    fn knobs() -> Vec<Knob> {
        Q::Params::knobs()
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        Q::Params::tuned(values).map(Self::of)
    }
}

impl Tunable for WoolSettings {
    fn knobs() -> Vec<Knob> {
        vec![
            Knob {
                name: "chunk",
                help: "slots that become public at once, when thieves have taken all that are; 4 by default",
            },
            Knob {
                name: "privatise",
                help: "public tasks in a row that nobody stole, after which the owner takes slots back; 500 by default",
            },
        ]
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        Ok(Self { chunk: values.get("chunk", positive)?, privatise_after: values.get("privatise", positive)? })
    }
}

impl Tunable for Period {
    fn knobs() -> Vec<Knob> {
        vec![Knob { name: "beat", help: "the time between two beats, as 100us, which is the default" }]
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        Ok(values.get("beat", period)?.map_or_else(Self::default, Self))
    }
}

impl<Q, B> Tunable for HeartbeatSettings<Q, B>
where
    Q: Queue<Params: Tunable>,
    B: Beat<Settings: Tunable>,
{
    fn knobs() -> Vec<Knob> {
        [B::Settings::knobs(), Q::Params::knobs()].concat()
    }

    fn tuned(values: &Values<'_>) -> Parsed<Self> {
        Ok(Self { beat: B::Settings::tuned(values)?, queue: Q::Params::tuned(values)? })
    }
}
