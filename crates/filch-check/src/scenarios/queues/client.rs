//! What owner and thieves of a queue do, as in `++|+- ss c2`.
//!
//! What must always hold: two clients that are shown alike do the same.

use super::ends::Ends;

/// What the owner does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Pushes the next task.
    Push,
    /// Pops.
    Pop,
    /// Looks for requests.
    Poll,
}

/// A client of a queue.
#[derive(Clone, Debug)]
pub struct Client {
    /// Of the queue.
    pub capacity: usize,
    /// Tasks that lie in the queue at the start.
    pub before: usize,
    /// What the owner does.
    pub owner: Vec<Act>,
    /// How often each thief tries to steal.
    pub thieves: Vec<usize>,
    /// How many tasks a thief asks for, if it asks for several.
    pub most: Option<usize>,
    /// Whether a thief takes back its last request when it has tried often enough.
    pub withdraws: bool,
    /// Whether each operation has its turn: for a queue that hides its steps behind a lock which is not the memory's.
    pub in_turns: bool,
    /// Whether the queue must be as good as new in the end, and not only usable, and answer as it promises: all but one with a known
    /// mistake, of which the first harm must be the one that is looked for, and a twin, which promises no more than it has to.
    pub leaves_new: bool,
    pub(super) ends: Ends,
}

impl Client {
    /// A client whose owner does what the letters say: `+` push, `-` pop, `.` poll.
    ///
    /// # Panics
    /// On any other letter.
    pub fn new(capacity: usize, before: usize, owner: &str, thieves: &[usize]) -> Self {
        let act = |letter| match letter {
            '+' => Act::Push,
            '-' => Act::Pop,
            '.' => Act::Poll,
            _ => panic!("an owner pushes (+), pops (-) and polls (.)"),
        };
        let owner = owner.chars().map(act).collect();
        Self {
            capacity,
            before,
            owner,
            thieves: thieves.to_vec(),
            most: None,
            withdraws: false,
            in_turns: false,
            leaves_new: true,
            ends: Ends::default(),
        }
    }

    /// The same client, whose thieves ask for up to `most` tasks in each attempt.
    #[must_use]
    pub fn asking_for(self, most: usize) -> Self {
        Self { most: Some(most), ..self }
    }

    /// The same client, whose thieves take back their last request.
    #[must_use]
    pub fn withdrawing(self) -> Self {
        Self { withdraws: true, ..self }
    }

    /// The same client of a twin, or of a queue with a known mistake.
    #[must_use]
    pub fn of_twin(self) -> Self {
        Self { leaves_new: false, ..self }
    }

    /// The same client of a queue whose operations are single steps, which the checker could not exchange.
    #[must_use]
    pub fn in_turns(self) -> Self {
        Self { in_turns: true, ..self }
    }
}

impl std::fmt::Display for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letter = |act: &Act| match act {
            Act::Push => '+',
            Act::Pop => '-',
            Act::Poll => '.',
        };
        let owner: String = self.owner.iter().map(letter).collect();
        let (before, bar) = ("+".repeat(self.before), if self.before > 0 { "|" } else { "" });
        write!(f, "{before}{bar}{owner}")?;
        for steals in &self.thieves {
            let steal = self.most.map_or_else(|| "s".to_owned(), |most| format!("s{most}"));
            write!(f, " {}{}", steal.repeat(*steals), if self.withdraws { "q" } else { "" })?;
        }
        write!(f, " c{}", self.capacity)
    }
}
