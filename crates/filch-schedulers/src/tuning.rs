//! Queues with other parameters than the default ones, as people write them: `bwos-l:block=64:capacity=4096`.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use filch::Interrupts;
use filch_queue::chase_lev_asym::Fences;
use filch_queue::dsq::{Contention, Copying};
use filch_queue::pdq::{receiver, sender};
use filch_queue::{Amount, BlockSize, CrossTaking, Delegation, Prefetch, Revocation, dsq, lace, pad_ws, wsq};

use crate::unknown;

/// A queue for worklists and what is set of its parameters, as in `pdq-s:delta=50us:steal=half`.
///
/// ```
/// use filch_schedulers::Tuning;
///
/// let tuning = Tuning::parse("pdq-s", "delta=50us:steal=half")?;
/// assert_eq!(tuning.to_string(), "pdq-s:delta=50us:steal=half");
/// assert!(tuning.steals_many());
/// assert!(Tuning::parse("pdq-s", "delta=soon").unwrap_err().contains("is not a time"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    pub(crate) queue: &'static str,
    set: Vec<(String, String)>,
}

/// A parameter: its name, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knob {
    /// What it is set by.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
}

/// The parameters of every queue.
pub const CAPACITY: Knob = Knob { name: "capacity", help: "tasks that a queue has room for at first, or at all" };
/// That of queues from which several tasks can be stolen at once.
pub const STEAL: Knob = Knob { name: "steal", help: "what a thief takes: one, half, all, all-but-one or a number" };

/// The parameters of a queue's own.
///
/// ```
/// use filch_queue::BlockSize;
/// use filch_schedulers::Tunable;
///
/// let mut size = BlockSize::default();
/// assert_eq!(BlockSize::KNOBS[0].name, "block");
/// assert_eq!(size.set("block", "sqrt"), Ok(()));
/// assert_eq!(size, BlockSize::SquareRoot);
/// ```
pub trait Tunable: Default {
    /// What there is to set.
    const KNOBS: &'static [Knob] = &[];

    /// Sets one of them, or says which values there are.
    fn set(&mut self, _knob: &str, _value: &str) -> Result<(), String> {
        Ok(())
    }

    /// Has a thief of several tasks take so many, if the queue can.
    fn steals(&mut self, amount: Amount) -> bool {
        amount == Amount::Half
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_with(f, self.queue, &self.set)
    }
}

/// A pool and what is set of its parameters, as in `pdq-r:interrupts=signal:every=1ms`.
///
/// ```
/// use filch_schedulers::PoolTuning;
///
/// let pool = PoolTuning::parse("pdq-r", "interrupts=flag:every=1ms")?;
/// assert!(pool.interrupts().is_some());
/// assert_eq!(pool.to_string(), "pdq-r:interrupts=flag:every=1ms");
/// assert!(PoolTuning::parse("pdq-r", "every=1ms").is_err(), "nothing ticks");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PoolTuning {
    pool: &'static str,
    set: Vec<(String, String)>,
    interrupts: Option<Interrupts>,
}

/// The parameters of every pool.
pub const POOL_KNOBS: &[Knob] = &[
    Knob { name: "interrupts", help: "what makes workers answer thieves in long tasks: off, flag or signal" },
    Knob { name: "every", help: "the time between two interrupts, as 200us" },
];

impl fmt::Display for PoolTuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_with(f, self.pool, &self.set)
    }
}

impl PoolTuning {
    /// Of a pool in the table, with all parameters set as the rest of a name says.
    ///
    /// # Errors
    /// If there is no such parameter or value: a sentence.
    pub fn parse(pool: &'static str, rest: &str) -> Result<Self, String> {
        let set = assignments(pool, rest, POOL_KNOBS)?;
        let (mut interrupts, mut period) = (None, None);
        for (name, value) in &set {
            let words = [("off", None), ("flag", Some(Interrupts::flag())), ("signal", Some(Interrupts::signal()))];
            let done = match name.as_str() {
                "interrupts" => word(value, &words).map(|by| interrupts = by),
                _ => match duration(value) {
                    Ok(Duration::ZERO) => Err("is no time between two ticks".to_owned()),
                    other => other.map(|time| period = Some(time)),
                },
            };
            done.map_err(|why| format!("{pool}: {name}=`{value}` {why}"))?;
        }
        interrupts = match (interrupts, period) {
            (Some(by), Some(period)) => Some(by.every(period)),
            (None, Some(_)) => {
                return Err(format!("{pool}: nothing ticks without interrupts=flag or interrupts=signal"));
            }
            (by, None) => by,
        };
        Ok(Self { pool, set, interrupts })
    }

    /// What is set, by name.
    pub fn set(&self) -> &[(String, String)] {
        &self.set
    }

    /// The pool's name in the table.
    pub fn pool(&self) -> &'static str {
        self.pool
    }

    /// What interrupts long tasks.
    pub fn interrupts(&self) -> Option<Interrupts> {
        self.interrupts
    }
}

fn write_with(f: &mut fmt::Formatter<'_>, name: &str, set: &[(String, String)]) -> fmt::Result {
    f.write_str(name)?;
    set.iter().try_for_each(|(name, value)| write!(f, ":{name}={value}"))
}

/// Values of such parameters, each as `NAME=VALUE`, between colons.
fn assignments(of: &str, rest: &str, knobs: &[Knob]) -> Result<Vec<(String, String)>, String> {
    let known: Vec<&str> = knobs.iter().map(|knob| knob.name).collect();
    let mut set = Vec::new();
    for text in rest.split(':').filter(|text| !text.is_empty()) {
        let (name, value) = assignment(text)?;
        if !known.contains(&name.as_str()) {
            return Err(unknown(&format!("parameter of {of} called"), &name, &known));
        }
        set.push((name, value));
    }
    Ok(set)
}

impl Tuning {
    /// Of a queue with these parameters.
    ///
    /// # Errors
    /// If there is no such parameter: a sentence.
    pub fn of(queue: &'static str, rest: &str, knobs: &[Knob]) -> Result<Self, String> {
        Ok(Self { queue, set: assignments(queue, rest, knobs)? })
    }

    /// The parameters, and the capacity if it is set.
    ///
    /// # Errors
    /// If the queue's parameters have no such value: a sentence.
    pub fn apply<P: Tunable>(&self) -> Result<(P, Option<usize>), String> {
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

    /// The queue's name in the table.
    pub fn queue(&self) -> &'static str {
        self.queue
    }

    /// What is set, by name.
    pub fn set(&self) -> &[(String, String)] {
        &self.set
    }

    /// Whether thieves take several tasks at once.
    pub fn steals_many(&self) -> bool {
        let steal = self.set.iter().rev().find(|(name, _)| name == STEAL.name);
        steal.is_some_and(|(_, value)| amount(value) != Ok(Amount::One))
    }
}

/// A name and a value, from `NAME=VALUE`.
///
/// ```
/// assert_eq!(filch_schedulers::assignment("n=40"), Ok(("n".into(), "40".into())));
/// assert!(filch_schedulers::assignment("n").is_err());
/// ```
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err(format!("`{text}` sets nothing: write it as NAME=VALUE, for example n=40")),
    }
}

type Parsed<T> = Result<T, String>;

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
