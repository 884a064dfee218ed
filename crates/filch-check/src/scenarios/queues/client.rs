//! What the owner and the thieves of a queue do, as in `++|+- ss c2`.
//!
//! Invariant: two clients that are displayed alike do the same.

use super::ends::Ends;

/// An act of the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Pushes the next task.
    Push,
    /// Pushes so many at once.
    PushMany(usize),
    /// Pops.
    Pop,
    /// Looks for requests.
    Poll,
}

/// A client of a queue.
#[derive(Clone, Debug)]
pub struct Client {
    /// The queue's capacity.
    pub capacity: usize,
    /// The number of tasks in the queue at the start.
    pub before: usize,
    /// The owner's acts.
    pub owner: Vec<Act>,
    /// How often each thief tries to steal.
    pub thieves: Vec<usize>,
    /// The number of tasks that a thief asks for at once, if several.
    pub most: Option<usize>,
    /// Whether a thief withdraws its last request after its last attempt.
    pub withdraws: bool,
    /// Whether thieves begin when they see that the owner has ended. That alone orders nothing.
    pub told: bool,
    /// Whether operations take turns, for a queue whose steps are hidden behind a lock that is not the memory's.
    pub in_turns: bool,
    /// Whether the queue must answer as it promises and be as good as new in the end, not only usable. False for a
    /// queue with a known mistake, whose first harm must be the expected one, and for a twin, which promises no more
    /// than it must.
    pub leaves_new: bool,
    pub(super) ends: Ends,
}

impl Client {
    /// Makes a client whose owner acts by letter: `+` pushes, a digit pushes so many tasks at once, `-` pops, `.`
    /// polls.
    ///
    /// # Panics
    /// On any other letter.
    pub fn new(capacity: usize, before: usize, owner: &str, thieves: &[usize]) -> Self {
        let act = |letter| match letter {
            '+' => Act::Push,
            '-' => Act::Pop,
            '.' => Act::Poll,
            digit => match digit.to_digit(10) {
                Some(tasks) => Act::PushMany(tasks as usize),
                None => panic!("an owner pushes (+, or so many at once), pops (-) and polls (.)"),
            },
        };
        let owner = owner.chars().map(act).collect();
        Self {
            capacity,
            before,
            owner,
            thieves: thieves.to_vec(),
            most: None,
            withdraws: false,
            told: false,
            in_turns: false,
            leaves_new: true,
            ends: Ends::default(),
        }
    }

    /// Makes the thieves ask for up to `most` tasks in each attempt.
    #[must_use]
    pub fn asking_for(self, most: usize) -> Self {
        Self { most: Some(most), ..self }
    }

    /// Makes the thieves withdraw their last request.
    #[must_use]
    pub fn withdrawing(self) -> Self {
        Self { withdraws: true, ..self }
    }

    /// Makes the thieves wait for the owner's end.
    #[must_use]
    pub fn told(self) -> Self {
        Self { told: true, ..self }
    }

    /// Makes it the client of a twin, or of a queue with a known mistake.
    #[must_use]
    pub fn of_twin(self) -> Self {
        Self { leaves_new: false, ..self }
    }

    /// Makes it the client of a queue whose operations are single steps, which the checker cannot exchange by itself.
    #[must_use]
    pub fn in_turns(self) -> Self {
        Self { in_turns: true, ..self }
    }
}

impl std::fmt::Display for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letter = |act: &Act| match act {
            Act::Push => "+".to_owned(),
            Act::PushMany(tasks) => tasks.to_string(),
            Act::Pop => "-".to_owned(),
            Act::Poll => ".".to_owned(),
        };
        let owner: String = self.owner.iter().map(letter).collect();
        let (before, bar) = ("+".repeat(self.before), if self.before > 0 { "|" } else { "" });
        write!(f, "{before}{bar}{owner}")?;
        for steals in &self.thieves {
            let steal = self.most.map_or_else(|| "s".to_owned(), |most| format!("s{most}"));
            write!(f, " {}{}", steal.repeat(*steals), if self.withdraws { "q" } else { "" })?;
        }
        write!(f, " c{}{}", self.capacity, if self.told { " told" } else { "" })
    }
}
