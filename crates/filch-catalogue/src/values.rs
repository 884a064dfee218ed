//! Parameters, their values as the user writes them, and the parsers of each type of value.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A parameter: its name, meaning and values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knob {
    /// Its name in `NAME=VALUE`.
    pub name: &'static str,
    /// Its meaning.
    pub help: &'static str,
    /// Its valid values.
    pub takes: Takes,
}

impl Knob {
    /// Returns a parameter of these parts.
    pub const fn new(name: &'static str, help: &'static str, takes: Takes) -> Self {
        Self { name, help, takes }
    }
}

/// The valid values of a parameter.
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
    /// One of these words, which are separated by commas.
    Words(Cow<'static, str>),
    /// A number from the first to the second.
    Number(usize, usize),
    /// A number from the first to the second, or the word.
    NumberOr(usize, usize, Cow<'static, str>),
    /// A time.
    Time,
    /// A time between two ticks.
    Period,
    /// An amount of tasks.
    Share,
    /// One task, or half of all.
    OneOrHalf,
    /// The distance of thieves from an owner: see [`distance`].
    Distance,
}

impl Takes {
    /// Checks a value, beside the other parameters' `values`.
    ///
    /// # Errors
    /// The error: the end of a sentence.
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
                _ => Err("must be one or half: its thieves cannot take another amount".to_owned()),
            },
            Self::Distance => distance_of(text, values).map(drop),
        }
    }
}

/// Settings by name. If a name occurs twice, the last value counts.
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
    /// Wraps names and values.
    pub fn of(set: &'v [(String, String)]) -> Self {
        Self(set)
    }

    /// Returns the value of this name, as `read` parses it, if it is set.
    ///
    /// # Errors
    /// The error of `read`, preceded by the setting.
    pub fn get<T>(&self, name: &str, read: impl FnOnce(&str) -> Parsed<T>) -> Parsed<Option<T>> {
        let Some((_, value)) = self.0.iter().rev().find(|(known, _)| known == name) else { return Ok(None) };
        read(value).map(Some).map_err(|why| format!("{name}=`{value}` {why}"))
    }

    /// Like [`Values::get`], with a default.
    ///
    /// # Errors
    /// See [`Values::get`].
    pub fn get_or<T>(&self, name: &str, default: T, read: impl FnOnce(&str) -> Parsed<T>) -> Parsed<T> {
        Ok(self.get(name, read)?.unwrap_or(default))
    }
}

/// A value, or the error in the text: the end of a sentence.
pub type Parsed<T> = Result<T, String>;

/// Parses `NAME=VALUE`.
///
/// ```
/// assert_eq!(filch_catalogue::assignment("n=40"), Ok(("n".into(), "40".into())));
/// assert!(filch_catalogue::assignment("n").is_err());
/// ```
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err(format!("`{text}` is not a setting: write NAME=VALUE, for example n=40")),
    }
}

/// Parses a number within bounds.
pub fn number(least: usize, most: usize) -> impl Fn(&str) -> Parsed<usize> {
    move |text| {
        let number = text.replace('_', "").parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| format!("is not a number from {least} to {most}"))
    }
}

/// The largest number of parameters that are merely positive.
pub const MOST_POSITIVE: usize = 1 << 30;

/// Parses a positive number.
pub fn positive(text: &str) -> Parsed<NonZeroU32> {
    Ok(NonZeroU32::new(number(1, MOST_POSITIVE)(text)? as u32).expect("at least 1"))
}

/// Parses one of these words.
pub fn word<T: Copy>(words: &[(&str, T)]) -> impl Fn(&str) -> Parsed<T> {
    move |text| {
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|&(_, value)| value).ok_or_else(|| {
            let all: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
            format!("is not one of {}", all.join(", "))
        })
    }
}

/// An amount of tasks.
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
    /// Up to this many.
    UpTo(NonZeroU32),
}

/// Parses an amount of tasks: a word, or a number.
pub fn share(text: &str) -> Parsed<Share> {
    let words = [("one", Share::One), ("half", Share::Half), ("all", Share::All), ("all-but-one", Share::AllButOne)];
    let up_to = || text.parse().ok().and_then(NonZeroU32::new).map(Share::UpTo);
    word(&words)(text).or_else(|why| up_to().ok_or(format!("{why}, or a number")))
}

/// Parses a number within bounds; `None` for the word.
pub fn number_or(least: usize, most: usize, word: &str) -> impl Fn(&str) -> Parsed<Option<usize>> {
    move |text| {
        if text == word {
            return Ok(None);
        }
        number(least, most)(text).map(Some).map_err(|why| format!("{why}, and not {word}"))
    }
}

/// The pending stores that are assumed for every x86-64 processor unless the user sets another number: no fewer than
/// follow from any documented store buffer, with the margin of a measured one.
pub const ASSUMED_BOUND: usize = 192;

/// The largest number in the parameters of [`distance`].
pub const MOST_DISTANT: usize = 1 << 20;

/// The distance of thieves from an owner without a fence, in tasks; `None` is infinite. It is at least ⌈S / (x + 1)⌉,
/// where S is the number of stores that may be pending (`bound`), and x is the number of the program's other stores
/// between two pops (`stores`): section 4 of Morrison and Afek (2014).
///
/// # Errors
/// A sentence without its subject, if a value is wrong, or `delta` too near for the others.
pub fn distance(values: &Values<'_>) -> Parsed<Option<usize>> {
    let least = least_distance(values)?.0;
    values.get_or("delta", Some(least), |text| distance_of(text, values))
}

/// Returns the least distance, the bound, and the stores per pop, the queue's own included.
fn least_distance(values: &Values<'_>) -> Parsed<(usize, usize, usize)> {
    let bound = values.get_or("bound", ASSUMED_BOUND, number(1, MOST_DISTANT))?;
    let stores = values.get_or("stores", 1, number(1, MOST_DISTANT))?;
    Ok((bound.div_ceil(stores + 1), bound, stores + 1))
}

fn distance_of(text: &str, values: &Values<'_>) -> Parsed<Option<usize>> {
    // An error in another parameter is reported for that parameter.
    let Ok((least, bound, every)) = least_distance(values) else { return Ok(None) };
    match number_or(1, MOST_DISTANT, "infinite")(text)? {
        Some(delta) if delta < least => Err(format!(
            "is too near: with {bound} pending stores, one in {every} of which lowers the tail, tasks may run twice if it is less than \
             {least}. If your processors hold fewer stores, or your program makes more of them between two pops, declare \
             this with bound= and stores=, which cannot be checked"
        )),
        other => Ok(other),
    }
}

/// Parses a time of at most an hour.
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
    // The limit keeps all sums of times in range.
    let time = text[..digits].parse().ok().map(unit).filter(|&time| time <= Duration::from_secs(3600));
    time.ok_or_else(|| "is not a time of at most an hour".to_owned())
}

/// Parses a time between two ticks.
pub fn period(text: &str) -> Parsed<Duration> {
    match duration(text) {
        Ok(Duration::ZERO) => Err("is not a positive time".to_owned()),
        other => other,
    }
}
