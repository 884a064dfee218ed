//! Parameters, and their values as people write them, between colons: how each kind is read.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A parameter: its name, what it means, and which values it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knob {
    /// What it is set by.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
    /// Its values.
    pub takes: Takes,
}

impl Knob {
    /// Of these parts.
    pub const fn new(name: &'static str, help: &'static str, takes: Takes) -> Self {
        Self { name, help, takes }
    }
}

/// Which values a parameter takes.
///
/// ```
/// use filch_catalogue::{Takes, Values};
///
/// let takes = Takes::Words("locked, deferred".into());
/// assert_eq!(takes.check("deferred", &Values::of(&[])), Ok(()));
/// assert_eq!(takes.check("soon", &Values::of(&[])), Err("is not one of locked, deferred".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Takes {
    /// One of these, which stand between commas.
    Words(Cow<'static, str>),
    /// A number from the first to the second.
    Number(usize, usize),
    /// A number from the first to the second, or the word.
    NumberOr(usize, usize, Cow<'static, str>),
    /// A time.
    Time,
    /// A time between two ticks.
    Period,
    /// How many of several tasks.
    Share,
    /// One of several tasks, or half of them.
    OneOrHalf,
    /// How far thieves keep away from an owner: see [`distance`].
    Distance,
}

impl Takes {
    /// Whether this text is such a value, where others have `values`.
    ///
    /// # Errors
    /// What is wrong with it: the end of a sentence.
    pub fn check(&self, text: &str, values: &Values<'_>) -> Parsed<()> {
        match self {
            Self::Words(words) => {
                let words: Vec<(&str, ())> = words.split(", ").map(|word| (word, ())).collect();
                word(&words)(text)
            }
            &Self::Number(least, most) => number(least, most)(text).map(drop),
            Self::NumberOr(least, most, word) => number_or(*least, *most, word)(text).map(drop),
            Self::Time => duration(text).map(drop),
            Self::Period => period(text).map(drop),
            Self::Share => share(text).map(drop),
            Self::OneOrHalf => match share(text)? {
                Share::One | Share::Half => Ok(()),
                _ => Err("is not what its thieves can take: one or half".to_owned()),
            },
            Self::Distance => distance_of(text, values).map(drop),
        }
    }
}

/// What is set of something, by name. Where a name stands twice, the last one counts.
///
/// ```
/// use filch_catalogue::Values;
///
/// let set = [("n".to_owned(), "4".to_owned()), ("n".to_owned(), "many".to_owned())];
/// let number = |text: &str| text.parse::<u32>().map_err(|_| "is not a number".to_owned());
/// assert_eq!(Values::of(&set[..1]).get("n", number), Ok(Some(4)));
/// assert_eq!(Values::of(&set).get("n", number), Err("n=`many` is not a number".to_owned()));
/// assert_eq!(Values::of(&set).get("m", number), Ok(None));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Values<'v>(&'v [(String, String)]);

impl<'v> Values<'v> {
    /// Names and values.
    pub fn of(set: &'v [(String, String)]) -> Self {
        Self(set)
    }

    /// The value of this name, as `read` reads it, if it is set.
    ///
    /// # Errors
    /// What `read` says of the value, after what is set.
    pub fn get<T>(&self, name: &str, read: impl FnOnce(&str) -> Parsed<T>) -> Parsed<Option<T>> {
        let Some((_, value)) = self.0.iter().rev().find(|(known, _)| known == name) else { return Ok(None) };
        read(value).map(Some).map_err(|why| format!("{name}=`{value}` {why}"))
    }

    /// As [`Values::get`], or else `default`.
    ///
    /// # Errors
    /// As [`Values::get`].
    pub fn get_or<T>(&self, name: &str, default: T, read: impl FnOnce(&str) -> Parsed<T>) -> Parsed<T> {
        Ok(self.get(name, read)?.unwrap_or(default))
    }
}

/// A value, or what is wrong with the text: the end of a sentence.
pub type Parsed<T> = Result<T, String>;

/// A name and a value, from `NAME=VALUE`.
///
/// ```
/// assert_eq!(filch_catalogue::assignment("n=40"), Ok(("n".into(), "40".into())));
/// assert!(filch_catalogue::assignment("n").is_err());
/// ```
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err(format!("`{text}` sets nothing: write it as NAME=VALUE, for example n=40")),
    }
}

/// A number within these bounds.
pub fn number(least: usize, most: usize) -> impl Fn(&str) -> Parsed<usize> {
    move |text| {
        let number = text.replace('_', "").parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| format!("is not a number from {least} to {most}"))
    }
}

/// The largest number that is just a number.
pub const MOST_POSITIVE: usize = 1 << 30;

/// A number from 1 up.
pub fn positive(text: &str) -> Parsed<NonZeroU32> {
    Ok(NonZeroU32::new(number(1, MOST_POSITIVE)(text)? as u32).expect("1 at least"))
}

/// One of these words.
pub fn word<T: Copy>(words: &[(&str, T)]) -> impl Fn(&str) -> Parsed<T> {
    move |text| {
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|&(_, value)| value).ok_or_else(|| {
            let all: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
            format!("is not one of {}", all.join(", "))
        })
    }
}

/// How many of several tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// One.
    One,
    /// Half, rounded up.
    Half,
    /// All.
    All,
    /// All but one, or the only one.
    AllButOne,
    /// So many.
    UpTo(NonZeroU32),
}

/// How many of several tasks: a word, or a number.
pub fn share(text: &str) -> Parsed<Share> {
    let words = [("one", Share::One), ("half", Share::Half), ("all", Share::All), ("all-but-one", Share::AllButOne)];
    let up_to = || text.parse().ok().and_then(NonZeroU32::new).map(Share::UpTo);
    word(&words)(text).or_else(|why| up_to().ok_or(format!("{why}, or a number")))
}

/// A number within these bounds; `None` for the word.
pub fn number_or(least: usize, most: usize, word: &str) -> impl Fn(&str) -> Parsed<Option<usize>> {
    move |text| {
        if text == word {
            return Ok(None);
        }
        number(least, most)(text).map(Some).map_err(|why| format!("{why}, and not {word}"))
    }
}

/// What nobody vouches for is assumed of every x86-64 processor: so many stores may be pending.
pub const ASSUMED_BOUND: usize = 128;

/// The largest of the numbers that say how far thieves keep away.
pub const MOST_DISTANT: usize = 1 << 20;

/// How far thieves keep away from an owner that does without its fence, in tasks; `None` is for ever. At least as far as follows from how
/// many stores may be pending (`bound`) and how many others the program makes between two pops (`stores`): ⌈S / (x + 1)⌉, section 4 of
/// Morrison and Afek (2014).
///
/// # Errors
/// If one of the values is wrong, or `delta` too near for the others: a sentence without its subject.
pub fn distance(values: &Values<'_>) -> Parsed<Option<usize>> {
    let least = least_distance(values)?.0;
    values.get_or("delta", Some(least), |text| distance_of(text, values))
}

/// And how many stores there are to a pop, with the queue's own.
fn least_distance(values: &Values<'_>) -> Parsed<(usize, usize, usize)> {
    let bound = values.get_or("bound", ASSUMED_BOUND, number(1, MOST_DISTANT))?;
    let stores = values.get_or("stores", 1, number(1, MOST_DISTANT))?;
    Ok((bound.div_ceil(stores + 1), bound, stores + 1))
}

fn distance_of(text: &str, values: &Values<'_>) -> Parsed<Option<usize>> {
    // Another's fault is told of the other.
    let Ok((least, bound, every)) = least_distance(values) else { return Ok(None) };
    match number_or(1, MOST_DISTANT, "infinite")(text)? {
        Some(delta) if delta < least => Err(format!(
            "is too near: where {bound} stores may be pending, and one in {every} lowers the tail, tasks would be run twice for less than \
             {least}. If your processors hold fewer stores, or your program makes more of them between two pops, vouch for it by \
             bound= and stores="
        )),
        other => Ok(other),
    }
}

/// A time of at most an hour.
pub fn duration(text: &str) -> Parsed<Duration> {
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

/// A time between two ticks.
pub fn period(text: &str) -> Parsed<Duration> {
    match duration(text) {
        Ok(Duration::ZERO) => Err("is no time between two ticks".to_owned()),
        other => other,
    }
}
