//! Values as people write them, between colons, and how each kind is read.

use std::num::NonZeroU32;
use std::time::Duration;

use filch_queue::Amount;

/// A parameter: its name, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knob {
    /// What it is set by.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
}

/// What is set of something, by name. Where a name stands twice, the last one counts.
///
/// ```
/// use filch_schedulers::Values;
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
pub(crate) type Parsed<T> = Result<T, String>;

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

/// A number within these bounds.
pub(crate) fn number(least: usize, most: usize) -> impl Fn(&str) -> Parsed<usize> {
    move |text| {
        let number = text.replace('_', "").parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| format!("is not a number from {least} to {most}"))
    }
}

/// A number from 1 up.
pub(crate) fn positive(text: &str) -> Parsed<NonZeroU32> {
    const MOST: usize = 1 << 30;
    Ok(NonZeroU32::new(number(1, MOST)(text)? as u32).expect("1 at least"))
}

/// One of these words.
pub(crate) fn word<T: Copy>(words: &[(&str, T)]) -> impl Fn(&str) -> Parsed<T> {
    move |text| {
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|&(_, value)| value).ok_or_else(|| {
            let all: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
            format!("is not one of {}", all.join(", "))
        })
    }
}

pub(crate) fn amount(text: &str) -> Parsed<Amount> {
    let words =
        [("one", Amount::One), ("half", Amount::Half), ("all", Amount::All), ("all-but-one", Amount::AllButOne)];
    let up_to = || text.parse().ok().and_then(NonZeroU32::new).map(Amount::UpTo);
    word(&words)(text).or_else(|why| up_to().ok_or(format!("{why}, or a number")))
}

pub(crate) fn duration(text: &str) -> Parsed<Duration> {
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
pub(crate) fn period(text: &str) -> Parsed<Duration> {
    match duration(text) {
        Ok(Duration::ZERO) => Err("is no time between two ticks".to_owned()),
        other => other,
    }
}
