//! Parameters as the user types them: names and text in, numbers or an error message out.

use std::fmt;

use crate::names::{propose, suggest};

/// One parameter of a workload.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Its name, as in `--set n=40`.
    pub name: &'static str,
    /// Its meaning, in a few words.
    pub help: &'static str,
    /// The value used if none is given; empty if it depends on the other parameters.
    pub default: &'static str,
}

/// The reason why a workload could not be made from the given names and values.
///
/// ```
/// use filch_catalogue::Workload;
///
/// let error = Workload::new("fibb", &[]).unwrap_err();
/// assert_eq!(error.to_string(), "there is no workload `fibb`; did you mean `fib`?");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParamError {
    /// No workload has this name.
    UnknownWorkload {
        /// The name as given.
        name: String,
        /// Names that resemble it, best first; all names if none does.
        suggestions: Vec<&'static str>,
    },
    /// The workload has no parameter of this name.
    UnknownParam {
        /// The workload.
        workload: &'static str,
        /// The name as given.
        param: String,
        /// Names that resemble it, best first; all of the workload's parameters if none does.
        suggestions: Vec<&'static str>,
    },
    /// The parameter cannot have this value.
    BadValue {
        /// The workload.
        workload: &'static str,
        /// The parameter.
        param: &'static str,
        /// The value as given.
        value: String,
        /// The error: the end of a sentence that starts with the value.
        why: String,
    },
    /// The data do not fit into memory.
    TooLarge {
        /// The workload.
        workload: &'static str,
        /// The bytes of input and output.
        bytes_needed: u64,
        /// The available bytes, if the system reports them.
        bytes_available: Option<u64>,
    },
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownWorkload { name, suggestions } => {
                write!(f, "there is no workload `{name}`; {}", propose(suggestions))
            }
            Self::UnknownParam { workload, param, suggestions } => {
                write!(f, "{workload} has no parameter `{param}`; {}", propose(suggestions))
            }
            Self::BadValue { workload, param, value, why } => write!(f, "{workload}: {param}=`{value}` {why}"),
            Self::TooLarge { workload, bytes_needed, bytes_available } => {
                write!(f, "{workload} of this size needs {} of memory", Memory(*bytes_needed))?;
                match bytes_available {
                    Some(bytes) => write!(f, ", but {} are available", Memory(*bytes)),
                    None => write!(f, ", more than the system has"),
                }
            }
        }
    }
}

impl std::error::Error for ParamError {}

/// An amount of memory in bytes, printed in MiB: always in the same unit, so that amounts can be compared.
///
/// ```
/// use filch_catalogue::Memory;
///
/// assert_eq!(Memory(3 << 19).to_string(), "1.50 MiB");
/// assert_eq!(Memory(16 << 30).to_string(), "16384 MiB");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Memory(pub u64);

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
        let mebibytes = self.0 as f64 / f64::from(1 << 20);
        let digits = match mebibytes {
            _ if mebibytes >= 99.95 => 0,
            _ if mebibytes >= 9.995 => 1,
            _ => 2,
        };
        write!(f, "{mebibytes:.digits$} MiB")
    }
}

/// The given settings of one workload, whose names are all known.
pub struct Settings<'s> {
    workload: &'static str,
    params: &'static [ParamSpec],
    set: &'s [(String, String)],
}

impl<'s> Settings<'s> {
    pub fn new(
        workload: &'static str,
        params: &'static [ParamSpec],
        set: &'s [(String, String)],
    ) -> Result<Self, ParamError> {
        for (name, _) in set {
            if !params.iter().any(|param| param.name == name) {
                let suggestions = suggest(name, params.iter().map(|param| param.name));
                return Err(ParamError::UnknownParam { workload, param: name.clone(), suggestions });
            }
        }
        Ok(Self { workload, params, set })
    }

    /// Returns the value given for `name`, the last one if there are several.
    pub fn given(&self, name: &str) -> Option<&'s str> {
        self.set.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.trim())
    }

    /// Returns the value given for `name`, or its default.
    pub fn text(&self, name: &str) -> &'s str {
        let default = || self.params.iter().find(|param| param.name == name).map_or("", |param| param.default);
        self.given(name).unwrap_or_else(default)
    }

    /// Reads a whole number from `least` to `most`; `limit` gives the reason for `most`.
    pub fn whole(&self, name: &'static str, least: u64, most: u64, limit: &str) -> Result<u64, ParamError> {
        self.parse_whole(name, self.text(name), least, most, limit)
    }

    /// Reads a whole number for an optional parameter.
    pub fn whole_or(
        &self,
        name: &'static str,
        otherwise: u64,
        (least, most): (u64, u64),
        limit: &str,
    ) -> Result<u64, ParamError> {
        self.given(name).map_or(Ok(otherwise), |text| self.parse_whole(name, text, least, most, limit))
    }

    fn parse_whole(
        &self,
        name: &'static str,
        text: &str,
        least: u64,
        most: u64,
        limit: &str,
    ) -> Result<u64, ParamError> {
        let digits: String = text.chars().filter(|&c| c != '_').collect();
        let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(&digits);
        if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.bad(name, "is not a whole number"));
        }
        // A number that does not fit is far above every `most` or far below every `least`.
        let value = digits.parse::<i128>().unwrap_or(if digits.starts_with('-') { i128::MIN } else { i128::MAX });
        if value < i128::from(least) {
            return Err(self.bad(name, &format!("is too small: at least {least}")));
        }
        match u64::try_from(value) {
            Ok(value) if value <= most => Ok(value),
            _ => Err(self.bad(name, &format!("is too large: at most {most}{limit}"))),
        }
    }

    /// Reads a number from `least` to `most` for an optional parameter.
    pub fn real_or(&self, name: &'static str, otherwise: f64, (least, most): (f64, f64)) -> Result<f64, ParamError> {
        let Some(text) = self.given(name) else { return Ok(otherwise) };
        match text.parse::<f64>() {
            Ok(value) if (least..=most).contains(&value) => Ok(value),
            Ok(value) if value.is_finite() => Err(self.bad(name, &format!("is not from {least} to {most}"))),
            _ => Err(self.bad(name, "is not a number")),
        }
    }

    /// Returns the value of the given word.
    pub fn word<T: Copy>(&self, name: &'static str, text: &str, words: &[(&str, T)]) -> Result<T, ParamError> {
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        found.map(|&(_, value)| value).ok_or_else(|| {
            let all: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
            self.bad(name, &format!("is not one of {}", all.join(", ")))
        })
    }

    pub fn bad(&self, name: &'static str, why: &str) -> ParamError {
        let value = self.text(name).to_owned();
        ParamError::BadValue { workload: self.workload, param: name, value, why: why.to_owned() }
    }
}

/// Refuses data that cannot fit, before any allocation.
pub(super) fn check_memory(workload: &'static str, bytes_needed: u64) -> Result<(), ParamError> {
    match available_memory() {
        Some(bytes) if bytes_needed > bytes => {
            Err(ParamError::TooLarge { workload, bytes_needed, bytes_available: Some(bytes) })
        }
        _ => Ok(()),
    }
}

/// Linux's own estimate of the bytes that can be allocated without swapping; `None` elsewhere.
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    kib.checked_mul(1024)
}
