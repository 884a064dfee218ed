//! Typed parameters. The code that reads one also declares its name, help and bounds.

use std::borrow::Cow;
use std::cell::RefCell;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::time::Duration;

use filch_catalogue::values::{self, Parsed, Share};
use filch_catalogue::{Knob, Takes, Values};
use filch_queue::Amount;

/// Set values, and a list of the parameters that were read.
///
/// ```
/// use filch_catalogue::Values;
/// use filch_runner::schedulers::Reader;
///
/// let set = [("spare".to_owned(), "4".to_owned())];
/// let reader = Reader::of(Values::of(&set));
/// assert_eq!(reader.number("spare", "slots that stay free", 1, 0..=100), Ok(4));
/// assert_eq!(reader.asked()[0].name, "spare");
/// ```
#[derive(Debug)]
pub struct Reader<'v> {
    set: Values<'v>,
    asked: RefCell<Vec<Knob>>,
}

impl<'v> Reader<'v> {
    /// Returns a reader of these values.
    pub fn of(set: Values<'v>) -> Self {
        Self { set, asked: RefCell::default() }
    }

    /// Returns all parameters read so far.
    pub fn asked(&self) -> Vec<Knob> {
        self.asked.borrow().clone()
    }

    /// Returns the set values.
    pub(crate) fn set(&self) -> Values<'v> {
        self.set
    }

    pub(crate) fn note(&self, name: &'static str, help: &'static str, takes: Takes) {
        self.asked.borrow_mut().push(Knob::new(name, help, takes));
    }

    fn ask<T>(
        &self,
        (name, help, takes): (&'static str, &'static str, Takes),
        default: T,
        read: impl FnOnce(&str) -> Parsed<T>,
    ) -> Parsed<T> {
        self.note(name, help, takes);
        self.set.get_or(name, default, read)
    }

    /// Reads a number within bounds.
    ///
    /// # Errors
    /// The error in the value, a sentence without its subject; so for all methods below.
    pub fn number(
        &self,
        name: &'static str,
        help: &'static str,
        default: usize,
        bounds: RangeInclusive<usize>,
    ) -> Parsed<usize> {
        let (least, most) = bounds.into_inner();
        self.ask((name, help, Takes::Number(least, most)), default, values::number(least, most))
    }

    /// Reads a number within bounds, or a word, which gives `None`.
    ///
    /// # Errors
    /// See [`Reader::number`].
    pub fn number_or(
        &self,
        name: &'static str,
        help: &'static str,
        default: Option<usize>,
        bounds: RangeInclusive<usize>,
        word: &'static str,
    ) -> Parsed<Option<usize>> {
        let (least, most) = bounds.into_inner();
        let takes = Takes::NumberOr(least, most, Cow::Borrowed(word));
        self.ask((name, help, takes), default, values::number_or(least, most, word))
    }

    /// Reads a positive number, if it is set.
    ///
    /// # Errors
    /// See [`Reader::number`].
    pub fn positive(&self, name: &'static str, help: &'static str) -> Parsed<Option<NonZeroU32>> {
        self.note(name, help, Takes::Number(1, values::MOST_POSITIVE));
        self.set.get(name, values::positive)
    }

    /// Reads one of these words.
    ///
    /// # Errors
    /// See [`Reader::number`].
    pub fn word<T: Copy>(&self, name: &'static str, help: &'static str, default: T, words: &[(&str, T)]) -> Parsed<T> {
        let all: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
        self.ask((name, help, Takes::Words(all.join(", ").into())), default, values::word(words))
    }

    /// Reads an amount of tasks.
    ///
    /// # Errors
    /// See [`Reader::number`].
    pub fn amount(&self, name: &'static str, help: &'static str, default: Amount) -> Parsed<Amount> {
        self.ask((name, help, Takes::Share), default, |text| {
            Ok(match values::share(text)? {
                Share::One => Amount::One,
                Share::Half => Amount::Half,
                Share::All => Amount::All,
                Share::AllButOne => Amount::AllButOne,
                Share::UpTo(most) => Amount::UpTo(most),
            })
        })
    }

    /// Reads a time.
    ///
    /// # Errors
    /// See [`Reader::number`].
    pub fn time(&self, name: &'static str, help: &'static str, default: Duration) -> Parsed<Duration> {
        self.ask((name, help, Takes::Time), default, values::duration)
    }

    /// Reads a time between two ticks, if it is set.
    ///
    /// # Errors
    /// See [`Reader::number`].
    pub fn period(&self, name: &'static str, help: &'static str) -> Parsed<Option<Duration>> {
        self.note(name, help, Takes::Period);
        self.set.get(name, values::period)
    }
}
