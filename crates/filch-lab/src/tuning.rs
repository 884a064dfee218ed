//! Queues with other parameters than the default ones, as people write them: `bwos-l:block=64:capacity=4096`.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use filch_queue::chase_lev_asym::Fences;
use filch_queue::dsq::{Contention, Copying};
use filch_queue::pdq::{receiver, sender};
use filch_queue::{Amount, BlockSize, CrossTaking, Delegation, Prefetch, Revocation, dsq, lace, pad_ws, wsq};

use crate::error::{Result, unknown, usage};
use crate::queues::{ListUser, QUEUES, knobs, with_list};

/// A queue for worklists and what is set of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tuning {
    pub(crate) queue: &'static str,
    set: Vec<(String, String)>,
}

/// A parameter: its name, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Knob {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
}

/// The parameters of every queue.
pub(crate) const CAPACITY: Knob =
    Knob { name: "capacity", help: "tasks that a queue has room for at first, or at all" };
/// That of queues from which several tasks can be stolen at once.
pub(crate) const STEAL: Knob =
    Knob { name: "steal", help: "what a thief takes: one, half, all, all-but-one or a number" };

/// The parameters of a queue's own.
pub(crate) trait Tunable: Default {
    const KNOBS: &'static [Knob] = &[];

    /// Sets one of them, or says which values there are.
    fn set(&mut self, _knob: &str, _value: &str) -> std::result::Result<(), String> {
        Ok(())
    }

    /// Has a thief of several tasks take so many, if the queue can.
    fn steals(&mut self, amount: Amount) -> bool {
        amount == Amount::Half
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.queue)?;
        self.set.iter().try_for_each(|(name, value)| write!(f, ":{name}={value}"))
    }
}

impl Tuning {
    /// Of a queue in the table that worklists can use, with all parameters set as the rest of a name says.
    pub(crate) fn parse(queue: &'static str, rest: &str) -> Result<Self> {
        struct Nothing;
        impl ListUser for Nothing {
            type Output = ();
            fn exactly_once<Q: filch_queue::Queue>(self, _: filch::worklist::Worklist<Q>) {}
            fn at_least_once<Q: filch_queue::Queue>(self, _: filch::worklist::Worklist<Q>) {}
        }
        let known: Vec<&str> = knobs(queue).iter().map(|knob| knob.name).collect();
        let mut set = Vec::new();
        for text in rest.split(':').filter(|text| !text.is_empty()) {
            let (name, value) = crate::verbs::assignment(text)?;
            if !known.contains(&name.as_str()) {
                return Err(unknown(&format!("parameter of {queue} called"), &name, &known));
            }
            set.push((name, value));
        }
        let tuning = Self { queue, set };
        with_list(&tuning, 1, Nothing).map_err(usage)?;
        Ok(tuning)
    }

    /// The parameters, and the capacity if it is set.
    pub(crate) fn apply<P: Tunable>(&self) -> std::result::Result<(P, Option<usize>), String> {
        const MOST: usize = 1 << 20;
        let (mut params, mut capacity) = (P::default(), None);
        for (name, value) in &self.set {
            let done = if *name == CAPACITY.name {
                number(value, 1, MOST).map(|number| capacity = Some(number))
            } else if *name == STEAL.name {
                match amount(value) {
                    Ok(Amount::One) => Ok(()),
                    Ok(amount) if params.steals(amount) => Ok(()),
                    Ok(_) => Err("is not what its thieves can take: one or half".to_owned()),
                    Err(why) => Err(why),
                }
            } else {
                params.set(name, value)
            };
            done.map_err(|why| format!("{}: {name}=`{value}` {why}", self.queue))?;
        }
        Ok((params, capacity))
    }

    /// Whether thieves take several tasks at once.
    pub(crate) fn steals_many(&self) -> bool {
        let steal = self.set.iter().rev().find(|(name, _)| name == STEAL.name);
        steal.is_some_and(|(_, value)| amount(value) != Ok(Amount::One))
    }
}

/// The queues that worklists can use, for messages.
pub(crate) fn list_queues() -> Vec<&'static str> {
    let can = |queue: &&filch_queue::Promises| crate::queues::why_not(queue).is_none();
    QUEUES.iter().filter(can).map(|queue| queue.name).collect()
}

type Parsed<T> = std::result::Result<T, String>;

fn number(text: &str, least: usize, most: usize) -> Parsed<usize> {
    let number = text.replace('_', "").parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("is not a number from {least} to {most}"))
}

fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Parsed<T> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
        format!("is not one of {}", all.join(", "))
    })
}

fn amount(text: &str) -> Parsed<Amount> {
    let words =
        [("one", Amount::One), ("half", Amount::Half), ("all", Amount::All), ("all-but-one", Amount::AllButOne)];
    let up_to = || text.parse().ok().and_then(NonZeroU32::new).map(Amount::UpTo);
    word(text, &words).or_else(|why| up_to().ok_or(format!("{why}, or a number")))
}

fn duration(text: &str) -> Parsed<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: fn(u64) -> Duration = match &text[digits..] {
        "ns" => Duration::from_nanos,
        "us" | "µs" => Duration::from_micros,
        "ms" => Duration::from_millis,
        "s" => Duration::from_secs,
        "" if text == "0" => Duration::from_nanos,
        _ => return Err("is not a time: write it as 500ns, 30us or 2ms".to_owned()),
    };
    // No more than an hour, so that no sum of times is out of range.
    let time = text[..digits].parse().ok().map(unit).filter(|&time| time <= Duration::from_secs(3600));
    time.ok_or_else(|| "is not a time of at most an hour".to_owned())
}

impl Tunable for () {}

impl Tunable for BlockSize {
    const KNOBS: &'static [Knob] = &[Knob { name: "block", help: "tasks in a block, or sqrt: by the capacity" }];

    fn set(&mut self, _: &str, value: &str) -> Parsed<()> {
        *self = if value == "sqrt" {
            Self::SquareRoot
        } else {
            let entries = number(value, 1, 1 << 16).map_err(|why| format!("{why}, and not sqrt"))?;
            Self::Entries(NonZeroUsize::new(entries).expect("1 at least"))
        };
        Ok(())
    }
}

impl Tunable for Fences {
    const KNOBS: &'static [Knob] = &[Knob { name: "fences", help: "asymmetric or symmetric" }];

    fn set(&mut self, _: &str, value: &str) -> Parsed<()> {
        *self = word(value, &[("asymmetric", Self::Asymmetric), ("symmetric", Self::Symmetric)])?;
        Ok(())
    }
}

impl Tunable for lace::Policies {
    const KNOBS: &'static [Knob] = &[
        Knob { name: "grow", help: "what the owner shares when asked: as steal" },
        Knob { name: "shrink", help: "what it takes back: as steal" },
    ];

    fn set(&mut self, knob: &str, value: &str) -> Parsed<()> {
        *(if knob == "grow" { &mut self.grow } else { &mut self.shrink }) = amount(value)?;
        Ok(())
    }

    fn steals(&mut self, amount: Amount) -> bool {
        self.steal = amount;
        true
    }
}

impl Tunable for wsq::Params {
    const KNOBS: &'static [Knob] = &[Knob { name: "spare", help: "slots that a full queue leaves free" }];

    fn set(&mut self, _: &str, value: &str) -> Parsed<()> {
        self.spare = number(value, 0, 1 << 16)?;
        Ok(())
    }
}

impl Tunable for dsq::Params {
    const KNOBS: &'static [Knob] =
        &[Knob { name: "copying", help: "locked or deferred" }, Knob { name: "contention", help: "wait or retry" }];

    fn set(&mut self, knob: &str, value: &str) -> Parsed<()> {
        if knob == "copying" {
            self.copying = word(value, &[("locked", Copying::Locked), ("deferred", Copying::Deferred)])?;
        } else {
            self.contention = word(value, &[("wait", Contention::Wait), ("retry", Contention::Retry)])?;
        }
        Ok(())
    }

    fn steals(&mut self, amount: Amount) -> bool {
        self.steal = amount;
        true
    }
}

impl Tunable for Delegation {
    const KNOBS: &'static [Knob] = &[
        Knob { name: "cross", help: "whose grants an idle thief takes: off, one or each" },
        Knob { name: "revocation", help: "grants that the owner takes back: off or when-needed" },
        Knob { name: "prefetch", help: "when thieves ask: when-nothing-is-open or always" },
        Knob { name: "keep", help: "tasks that the owner does not grant" },
        Knob { name: "poll", help: "at which of its operations the owner looks for requests" },
    ];

    fn set(&mut self, knob: &str, value: &str) -> Parsed<()> {
        match knob {
            "cross" => {
                let words = [("off", CrossTaking::Off), ("one", CrossTaking::One), ("each", CrossTaking::Each)];
                self.cross_taking = word(value, &words)?;
            }
            "revocation" => {
                self.revocation = word(value, &[("off", Revocation::Off), ("when-needed", Revocation::WhenNeeded)])?;
            }
            "prefetch" => {
                let words = [("when-nothing-is-open", Prefetch::WhenNothingIsOpen), ("always", Prefetch::Always)];
                self.prefetch = word(value, &words)?;
            }
            "keep" => self.keep = number(value, 0, 1 << 16)? as u32,
            _ => self.poll_every = NonZeroU32::new(number(value, 1, 1 << 16)? as u32).expect("1 at least"),
        }
        Ok(())
    }
}

impl Tunable for pad_ws::Params {
    const KNOBS: &'static [Knob] = {
        let [block] = BlockSize::KNOBS else { unreachable!() };
        let [cross, revocation, prefetch, keep, poll] = Delegation::KNOBS else { unreachable!() };
        &[*block, *cross, *revocation, *prefetch, *keep, *poll]
    };

    fn set(&mut self, knob: &str, value: &str) -> Parsed<()> {
        if knob == "block" { self.block_size.set(knob, value) } else { self.delegation.set(knob, value) }
    }
}

impl Tunable for receiver::Params {
    fn steals(&mut self, amount: Amount) -> bool {
        self.share = amount;
        true
    }
}

impl Tunable for sender::Params {
    const KNOBS: &'static [Knob] = &[Knob { name: "delta", help: "mean time between two deals, as 30us" }];

    fn set(&mut self, _: &str, value: &str) -> Parsed<()> {
        self.gap = duration(value)?;
        Ok(())
    }

    fn steals(&mut self, amount: Amount) -> bool {
        self.share = amount;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn tuning(queue: &'static str, rest: &str) -> Tuning {
        Tuning::parse(queue, rest).unwrap_or_else(|error| panic!("{queue}:{rest}: {error:?}"))
    }

    fn refused(queue: &'static str, rest: &str) -> String {
        match Tuning::parse(queue, rest) {
            Err(Error::Usage(why)) => why,
            other => panic!("{queue}:{rest}: {other:?}"),
        }
    }

    #[test]
    fn parameters_are_what_they_say() {
        let blocks = tuning("bwos-l", "block=64:capacity=1_000");
        assert_eq!(blocks.to_string(), "bwos-l:block=64:capacity=1_000");
        let entries = NonZeroUsize::new(64).expect("it is not 0");
        assert_eq!(blocks.apply(), Ok((BlockSize::Entries(entries), Some(1000))));
        assert_eq!(tuning("bwos-f", "block=sqrt").apply(), Ok((BlockSize::SquareRoot, None)));
        let pdq = tuning("pdq-s", "delta=5us:steal=all-but-one");
        assert_eq!(pdq.apply(), Ok((sender::Params { share: Amount::AllButOne, gap: Duration::from_micros(5) }, None)));
        assert!(pdq.steals_many() && !tuning("pdq-s", "steal=one").steals_many() && !tuning("pdq-s", "").steals_many());
        let three = Amount::UpTo(NonZeroU32::new(3).expect("it is not 0"));
        assert_eq!(tuning("pdq-r", "steal=3").apply(), Ok((receiver::Params { share: three }, None)));
        let lace = lace::Policies { grow: Amount::One, shrink: Amount::All, steal: Amount::All };
        assert_eq!(tuning("lace", "grow=one:shrink=all:steal=all").apply(), Ok((lace, None)));
        let (padws, _) = tuning("padws", "block=4:cross=each:revocation=off:prefetch=always:keep=2:poll=8")
            .apply::<pad_ws::Params>()
            .expect("all are right");
        assert_eq!(padws.block_size, BlockSize::Entries(NonZeroUsize::new(4).expect("it is not 0")));
        let delegation = padws.delegation;
        assert_eq!((delegation.cross_taking, delegation.revocation), (CrossTaking::Each, Revocation::Off));
        assert_eq!((delegation.prefetch, delegation.keep, delegation.poll_every.get()), (Prefetch::Always, 2, 8));
        let dsq = dsq::Params { steal: Amount::All, copying: Copying::Deferred, contention: Contention::Retry };
        assert_eq!(tuning("dsq", "steal=all:copying=deferred:contention=retry").apply(), Ok((dsq, None)));
        assert_eq!(tuning("chase-lev-asym", "fences=symmetric").apply(), Ok((Fences::Symmetric, None)));
        assert_eq!(tuning("wsq", "spare=0").apply(), Ok((wsq::Params { spare: 0 }, None)));
    }

    #[test]
    fn what_cannot_be_set_is_refused() {
        assert!(refused("bwos-l", "blck=64").contains("did you mean `block`"));
        assert!(refused("chase-lev", "block=64").contains("capacity"));
        assert!(refused("chase-lev", "capacity").contains("NAME=VALUE"));
        assert_eq!(refused("bwos-l", "block=0"), "bwos-l: block=`0` is not a number from 1 to 65536, and not sqrt");
        assert!(refused("bwos-l", "steal=half").contains("there is no parameter of bwos-l called `steal`"));
        assert!(refused("pdq-r", "steal=most").contains("is not one of one, half, all, all-but-one, or a number"));
        assert!(refused("wsq", "steal=all").contains("one or half"));
        assert!(refused("locked", "capacity=0").contains("is not a number from 1"));
        for (time, words) in
            [("30", "write it as"), ("us", "at most an hour"), ("2h", "write it as"), ("99999s", "hour")]
        {
            assert!(refused("pdq-s", &format!("delta={time}")).contains(words), "{time}");
        }
    }

    /// No queue is without a value for a parameter that it lists.
    #[test]
    fn every_knob_can_be_turned() {
        const VALUES: [&str; 13] = [
            "1",
            "one",
            "off",
            "always",
            "locked",
            "wait",
            "symmetric",
            "sqrt",
            "30us",
            "half",
            "deferred",
            "each",
            "retry",
        ];
        for queue in list_queues() {
            for knob in knobs(queue) {
                let fits = |value: &&str| Tuning::parse(queue, &format!("{}={value}", knob.name)).is_ok();
                assert!(VALUES.iter().any(fits), "{queue}: {}", knob.name);
                assert!(!fits(&"nonsense"), "{queue}: {}", knob.name);
            }
        }
    }
}
