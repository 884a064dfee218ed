//! A schedule: the process that takes each step. It replays an execution exactly.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The decisions of one execution.
///
/// Written as a list of processes, each with its number of consecutive steps: `0` is the first thread, `b0` its store
/// buffer, `e0` the entry beyond that; `0*3 b0 1` is five steps. Nonzero answers to [`choose`](super::choose) follow as
/// `?1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    pub(crate) steps: Vec<Actor>,
    pub(crate) choices: Vec<usize>,
}

/// A process, identified by its thread and role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Actor {
    /// 0 the thread, 1 its buffer, 2 the extra entry.
    pub(crate) role: usize,
    pub(crate) thread: usize,
}

const ROLES: [&str; 3] = ["", "b", "e"];

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut gap = "";
        for run in self.steps.chunk_by(|a, b| a == b) {
            write!(f, "{gap}{}{}", ROLES[run[0].role], run[0].thread)?;
            if run.len() > 1 {
                write!(f, "*{}", run.len())?;
            }
            gap = " ";
        }
        for choice in &self.choices {
            write!(f, "{gap}?{choice}")?;
            gap = " ";
        }
        Ok(())
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |word: &str| format!("`{word}` is no part of a schedule; it consists of words like 0, b1 or 2*4");
        let mut schedule = Self::default();
        for word in text.split_whitespace() {
            if let Some(choice) = word.strip_prefix('?') {
                schedule.choices.push(choice.parse().map_err(|_| wrong(word))?);
                continue;
            }
            let (actor, times) = word.split_once('*').unwrap_or((word, "1"));
            let role = match actor.as_bytes().first() {
                Some(b'b') => 1,
                Some(b'e') => 2,
                _ => 0,
            };
            let thread = actor[ROLES[role].len()..].parse().map_err(|_| wrong(word))?;
            let times = times.parse().ok().filter(|times| (1..=100_000).contains(times)).ok_or_else(|| wrong(word))?;
            schedule.steps.extend(std::iter::repeat_n(Actor { role, thread }, times));
        }
        Ok(schedule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_back_as_written() {
        let text = "0*3 b0 1 e0*2 0 ?1 ?0";
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!(schedule.steps.len(), 8);
        assert_eq!(schedule.to_string(), text);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["x", "0*", "b", "1*0", "?", "-1"] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }
}
