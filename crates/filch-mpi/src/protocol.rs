//! What a rank says to others: requests for work, answers, lifelines, and the end.
//!
//! **Papers.** James Dinan and others, *Dynamic Load Balancing of Unbalanced Computations Using Message Passing*, IPDPS
//! 2007 (requests and answers as messages); Vijay Saraswat and others, *Lifeline-based Global Load Balancing*, PPoPP
//! 2011 (what a rank does when its requests were refused); Friedemann Mattern, *Algorithms for Distributed Termination
//! Detection*, Distributed Computing 2, 1987 (two waves that count messages).
//!
//! **Idea.** A rank without work asks a victim. A victim with work gives a part of it; one without refuses. A rank that
//! was refused a few times asks its *lifelines*, a few fixed ranks: one that refuses remembers it, and sends work as
//! soon as it has some. After that the rank is silent.
//!
//! **The end.** Rank 0, when it is without work, sends a wave down a binary tree. A rank reports, when it and all ranks
//! below it are without work, how many counted messages it has sent and received. If as many were received by the first
//! of two waves as were sent by the second, there was no work and no counted message between the waves.
//!
//! **Why.** Let t be a time between two waves, which do not overlap. Counts never fall, so the first wave's sum of
//! received messages is at most the sum at t, that is at most the sum of sent ones at t, and that is at most the second
//! wave's. If the outer two are equal, all are: at t no counted message is on its way, and no rank has received one
//! since it reported. It was without work then, and only a counted message gives it work; so no rank has work at t.
//!
//! **Leaving.** After the end requests may still be on their way. A rank answers them until rank 0 says that nobody
//! waits for an answer: a third wave. So when a rank is [done](Rank::is_done), no message to it is left.
//!
//! **Deaths.** Ranks that [survive](Rank::surviving) others do not form trees: each reports to rank 0, which must live.
//! It [hears](Rank::lose) who is dead, and tells all others, who from then on ignore the dead: their messages, and what
//! was counted to and from them. They do again what they gave to the dead. So each task runs at least once, and its
//! result is with a living rank. A wave belongs to the set of dead that rank 0 knew when it began; answers from before
//! a rank knew them are void. What is said above then holds among the living, who alone give work.
//!
//! **Order.** Nothing here needs messages to arrive in the order in which they were sent, not even between the same two
//! ranks.
//!
//! Pure: no transport, no threads, no clock. The tests explore all states of three ranks with every order of messages.

/// The dead ranks, in the order in which rank 0 has heard of them.
pub type Dead = Vec<usize>;

/// A message between two ranks. `B` is a bag of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Message<B> {
    /// "Give me work", and, to a lifeline, "or remember that I have none".
    Request {
        /// Whether the receiver is a lifeline of the sender.
        is_lifeline: bool,
    },
    /// The answer of a rank that has no work to give.
    Nothing,
    /// The answer of a rank that has. Counted.
    Work(B),
    /// Work that was not asked for just now: for a rank that the sender remembered, or for the rank that a task belongs
    /// to. Counted.
    Push(B),
    /// What the sender's tasks tell others. Counted, so that none is left at the end.
    Hint(Hint),
    /// Rank 0 asks for counts. As in what it says below, with all that are dead.
    Wave(Dead),
    /// The counted messages of a rank and those below it.
    Report {
        /// The number of dead when it answered.
        epoch: usize,
        /// How many they have sent.
        sent: u64,
        /// How many they have received.
        received: u64,
    },
    /// There is no work any more.
    Stop(Dead),
    /// The sender, and those below it, wait for no answer; with the number of dead.
    Settled(usize),
    /// Nobody waits for an answer.
    Leave(Dead),
    /// A rank has died.
    Died(Dead),
    /// A task of the sender has panicked.
    Abort,
}

/// What a rank tells others beside work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hint {
    /// The bound that its tasks know.
    pub bound: u64,
    /// The number of tasks it has run.
    pub tasks: u64,
}

/// Messages to send, with their receivers.
pub type Outbox<B> = Vec<(usize, Message<B>)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Works,
    /// There is no work, but answers may be missing.
    Stops,
    /// As `Stops`, and it has said that none is missing here and below.
    Settles,
    Done,
    /// This rank's task has panicked.
    Aborted(usize),
}

/// A wave that this rank has not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Wave {
    missing: usize,
    sent: u64,
    received: u64,
}

/// A known mistake, for the tests, which must notice it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mistake {
    /// The end after one wave whose sums agree.
    OneWave,
    /// A rank with work reports.
    ReportsWithWork,
    /// Received work is counted, but the rank believes itself without work.
    CountsBeforeWork,
    /// Work that is pushed to a lifeline is not counted as sent.
    PushUncounted,
    /// A rank leaves at the end, with answers missing.
    LeavesAtStop,
    /// A refused lifeline is forgotten.
    ForgetsLifelines,
    /// A request that arrives after the end is not answered.
    SilentAfterEnd,
    /// What was counted to and from the dead stays.
    CountsDead,
    /// An answer to a wave from before a death counts.
    OldReports,
    /// A rank that has reported its end stays so after a death.
    StaysAtEnd,
    /// An answer of the dead is waited for.
    WaitsForDead,
}

/// One rank's part of the protocol.
///
/// ```
/// use filch_mpi::protocol::{Message, Rank};
///
/// let (mut busy, mut idle, mut out) = (Rank::new(0, 2), Rank::new(1, 2), Vec::new());
/// busy.set_active(true, &mut out);
/// idle.ask(0, false, &mut out);
/// assert_eq!(out.pop(), Some((0, Message::Request { is_lifeline: false })));
/// busy.receive(1, Message::Request { is_lifeline: false }, &mut out);
/// assert_eq!(busy.wanted(), Some(1));
/// busy.give(1, "half", &mut out);
/// assert_eq!(out.pop(), Some((1, Message::Work("half"))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rank {
    me: usize,
    size: usize,
    /// Whether it has work.
    is_active: bool,
    /// Whom it has asked, without an answer.
    asked: Option<usize>,
    /// The lifelines that have been asked and have not given since, by dimension.
    hangs_on: u64,
    /// Ranks that wait for an answer, and those that it remembers.
    pending: Vec<usize>,
    remembered: Vec<usize>,
    /// Counted messages, by the other rank.
    sent: Vec<u64>,
    received: Vec<u64>,
    wave: Option<Wave>,
    /// The received messages in the last wave.
    last: Option<u64>,
    /// Ranks below that have not settled.
    unsettled: usize,
    phase: Phase,
    /// Whether it survives others.
    survives: bool,
    dead: Dead,
    /// The dead of whom [`take_lost`](Self::take_lost) has not told.
    lost: Vec<usize>,
    #[cfg(test)]
    mistake: Option<Mistake>,
}

impl Rank {
    /// Creates rank `me` of `size`, without work.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn new(me: usize, size: usize) -> Self {
        assert!(me < size, "rank {me} of {size}");
        let mut rank = Self {
            me,
            size,
            is_active: false,
            asked: None,
            hangs_on: 0,
            pending: Vec::new(),
            remembered: Vec::new(),
            sent: vec![0; size],
            received: vec![0; size],
            wave: None,
            last: None,
            unsettled: 0,
            phase: Phase::Works,
            survives: false,
            dead: Vec::new(),
            lost: Vec::new(),
            #[cfg(test)]
            mistake: None,
        };
        rank.unsettled = rank.below().len();
        rank
    }

    #[cfg(test)]
    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "the tests use it")]
    fn makes(&self, _: Mistake) -> bool {
        false
    }

    /// As [`new`](Self::new), of ranks that go on when others than rank 0 die.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn surviving(me: usize, size: usize) -> Self {
        let mut rank = Self { survives: true, ..Self::new(me, size) };
        rank.unsettled = rank.below().len();
        rank
    }

    /// Whether a report is from before a death.
    fn is_void(&self, epoch: usize) -> bool {
        if self.makes(Mistake::OldReports) {
            return self.wave.is_none_or(|wave| wave.missing == 0);
        }
        epoch != self.dead.len()
    }

    /// The ranks that are not known to be dead, besides this one.
    pub fn others(&self) -> impl Iterator<Item = usize> {
        (0..self.size).filter(|rank| *rank != self.me && !self.dead.contains(rank))
    }

    /// The ranks below it in the tree.
    fn below(&self) -> Vec<usize> {
        match (self.survives, self.me) {
            (true, 0) => self.others().collect(),
            (true, _) => Vec::new(),
            (false, me) => [2 * me + 1, 2 * me + 2].into_iter().filter(|&rank| rank < self.size).collect(),
        }
    }

    fn above(&self) -> usize {
        if self.survives { 0 } else { (self.me - 1) / 2 }
    }

    fn tell_below<B>(&self, message: impl Fn() -> Message<B>, out: &mut Outbox<B>) {
        out.extend(self.below().into_iter().map(|rank| (rank, message())));
    }

    /// Whether it may still get work.
    pub fn is_working(&self) -> bool {
        self.phase == Phase::Works
    }

    /// Whether the run is over for it, and no message to it is left.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// The rank whose task has panicked.
    pub fn aborted_by(&self) -> Option<usize> {
        match self.phase {
            Phase::Aborted(by) => Some(by),
            _ => None,
        }
    }

    /// Whether it has work, as far as it was told.
    pub fn is_active(&self) -> bool {
        self.is_active
    }

    /// Whether it may ask for work: it has none, and no answer is missing.
    pub fn may_ask(&self) -> bool {
        self.is_working() && !self.is_active && self.asked.is_none()
    }

    /// Says whether it has work. Work that [`receive`](Self::receive) returns is reported by that call, so this comes
    /// later.
    pub fn set_active<B>(&mut self, is_active: bool, out: &mut Outbox<B>) {
        self.is_active = is_active;
        if !is_active {
            self.refuse(out);
            self.advance(out);
        }
    }

    /// Asks a victim for work.
    pub fn ask<B>(&mut self, victim: usize, is_lifeline: bool, out: &mut Outbox<B>) {
        debug_assert!(self.may_ask() && victim != self.me, "a request at the wrong time");
        if let Some(line) = self.line(victim).filter(|_| is_lifeline) {
            self.hangs_on |= 1 << line;
        }
        self.asked = Some(victim);
        out.push((victim, Message::Request { is_lifeline }));
    }

    /// The line to a rank: the dimension of the hypercube that leads there, or the last one, to rank 0.
    fn line(&self, other: usize) -> Option<u32> {
        const LAST: u32 = u64::BITS - 1;
        let across = self.me ^ other;
        if across.is_power_of_two() { Some(across.trailing_zeros()) } else { (other == 0).then_some(LAST) }
    }

    /// The next lifeline to ask: a neighbour in the hypercube that it does not hang on. Each rank but 0 has a neighbour
    /// with a smaller number, so work reaches everybody; after a death, rank 0 is everybody's lifeline.
    pub fn lifeline(&self) -> Option<usize> {
        let dimensions = usize::BITS - (self.size - 1).leading_zeros();
        let near = (0..dimensions).map(|dimension| self.me ^ 1 << dimension);
        let root = (self.me != 0 && !self.dead.is_empty()).then_some(0);
        let is_free = |rank: &usize| self.line(*rank).is_some_and(|line| self.hangs_on & 1 << line == 0);
        near.chain(root).filter(is_free).find(|rank| *rank < self.size && !self.dead.contains(rank))
    }

    /// The rank to give work to, if there is some to spare.
    pub fn wanted(&self) -> Option<usize> {
        self.pending.first().or(self.remembered.first()).copied().filter(|_| self.is_active)
    }

    /// Whether a rank waits for an answer.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Gives work to a rank that [wants](Self::wanted) some.
    pub fn give<B>(&mut self, to: usize, bag: B, out: &mut Outbox<B>) {
        if let Some(at) = self.pending.iter().position(|&rank| rank == to) {
            self.pending.remove(at);
            self.remembered.retain(|&rank| rank != to);
            self.sent[to] += 1;
            out.push((to, Message::Work(bag)));
        } else {
            self.remembered.retain(|&rank| rank != to);
            self.push(to, bag, out);
        }
    }

    /// Sends work to a rank that has not asked for it.
    pub fn push<B>(&mut self, to: usize, bag: B, out: &mut Outbox<B>) {
        self.sent[to] += u64::from(!self.makes(Mistake::PushUncounted));
        out.push((to, Message::Push(bag)));
    }

    /// Tells all others. Only with work.
    pub fn hint<B>(&mut self, hint: Hint, out: &mut Outbox<B>) {
        for rank in self.others().collect::<Vec<_>>() {
            self.hint_to(rank, hint, out);
        }
    }

    /// Tells another rank. Only with work.
    pub fn hint_to<B>(&mut self, to: usize, hint: Hint, out: &mut Outbox<B>) {
        self.sent[to] += 1;
        out.push((to, Message::Hint(hint)));
    }

    /// Refuses all requests: there is nothing to give now.
    pub fn refuse<B>(&mut self, out: &mut Outbox<B>) {
        out.extend(self.pending.drain(..).map(|rank| (rank, Message::Nothing)));
    }

    /// Ends the run for all ranks without an answer.
    pub fn abort<B>(&mut self, out: &mut Outbox<B>) {
        self.phase = Phase::Aborted(self.me);
        out.extend((0..self.size).filter(|&rank| rank != self.me).map(|rank| (rank, Message::Abort)));
    }

    /// Receives a message. Returns work that it brings; then the rank has work.
    pub fn receive<B>(&mut self, from: usize, message: Message<B>, out: &mut Outbox<B>) -> Option<B> {
        if self.dead.contains(&from) {
            return None;
        }
        if let Message::Wave(dead) | Message::Stop(dead) | Message::Leave(dead) | Message::Died(dead) = &message {
            if dead.len() < self.dead.len() {
                return None;
            }
            self.learn(dead);
        }
        let mut work = None;
        match message {
            Message::Request { is_lifeline } => self.requested(from, is_lifeline, out),
            Message::Nothing => self.asked = None,
            Message::Work(bag) => {
                self.asked = None;
                work = Some(bag);
            }
            Message::Push(bag) => work = Some(bag),
            Message::Hint(_) => self.received[from] += 1,
            Message::Wave(_) => self.start_wave(out),
            Message::Settled(epoch) if epoch != self.dead.len() => {}
            Message::Report { epoch, .. } if self.is_void(epoch) => {}
            Message::Report { sent, received, .. } => {
                let wave = self.wave.as_mut().expect("a report answers a wave");
                wave.missing -= 1;
                wave.sent += sent;
                wave.received += received;
            }
            Message::Stop(_) => self.stop(out),
            Message::Settled(_) => self.unsettled -= 1,
            Message::Leave(_) => self.leave(out),
            Message::Died(_) => {}
            Message::Abort => self.phase = Phase::Aborted(from),
        }
        if work.is_some() {
            self.received[from] += 1;
            self.is_active |= !self.makes(Mistake::CountsBeforeWork);
            if let Some(line) = self.line(from) {
                self.hangs_on &= !(1 << line);
            }
        }
        self.advance(out);
        work
    }

    /// Rank 0 hears that a rank has died, and tells the others. Then what was given to it has to be done again:
    /// [`take_lost`](Self::take_lost).
    ///
    /// # Panics
    /// Unless this is rank 0 of ranks that survive others.
    pub fn lose<B>(&mut self, rank: usize, out: &mut Outbox<B>) {
        assert!(self.survives && self.me == 0 && rank != 0, "rank 0 hears who is dead");
        if self.dead.contains(&rank) {
            return;
        }
        let dead = [&self.dead[..], &[rank]].concat();
        self.learn(&dead);
        self.tell_below(|| Message::Died(dead.clone()), out);
        self.advance(out);
    }

    /// The number of ranks that it knows to be dead.
    pub fn epoch(&self) -> usize {
        self.dead.len()
    }

    /// Returns a rank that is newly known to be dead: what this rank has ever given to it is this rank's work now.
    pub fn take_lost(&mut self) -> Option<usize> {
        self.lost.pop()
    }

    fn learn(&mut self, dead: &[usize]) {
        if dead.len() == self.dead.len() {
            return;
        }
        self.lost.extend(&dead[self.dead.len()..]);
        self.dead = dead.to_vec();
        // With what was given to the dead. It reports only when it has been told that there is none.
        self.is_active = true;
        self.wave = None;
        self.last = None;
        self.unsettled = self.below().len();
        if !self.makes(Mistake::StaysAtEnd) && matches!(self.phase, Phase::Stops | Phase::Settles | Phase::Done) {
            self.phase = Phase::Works;
        }
        if self.asked.is_some_and(|rank| self.dead.contains(&rank)) && !self.makes(Mistake::WaitsForDead) {
            self.asked = None;
        }
        self.pending.retain(|rank| !dead.contains(rank));
        self.remembered.retain(|rank| !dead.contains(rank));
        // Who hung on one of the dead asks again.
        self.hangs_on = 0;
        if !self.makes(Mistake::CountsDead) {
            for &rank in dead {
                self.sent[rank] = 0;
                self.received[rank] = 0;
            }
        }
    }

    fn requested<B>(&mut self, from: usize, is_lifeline: bool, out: &mut Outbox<B>) {
        if is_lifeline
            && self.is_working()
            && !self.makes(Mistake::ForgetsLifelines)
            && !self.remembered.contains(&from)
        {
            self.remembered.push(from);
        }
        if self.is_active {
            self.pending.push(from);
        } else if self.is_working() || !self.makes(Mistake::SilentAfterEnd) {
            out.push((from, Message::Nothing));
        }
    }

    fn start_wave<B>(&mut self, out: &mut Outbox<B>) {
        self.wave = Some(Wave { missing: self.below().len(), sent: 0, received: 0 });
        self.tell_below(|| Message::Wave(self.dead.clone()), out);
    }

    fn stop<B>(&mut self, out: &mut Outbox<B>) {
        self.phase = Phase::Stops;
        self.tell_below(|| Message::Stop(self.dead.clone()), out);
    }

    fn leave<B>(&mut self, out: &mut Outbox<B>) {
        self.phase = Phase::Done;
        self.tell_below(|| Message::Leave(self.dead.clone()), out);
    }

    /// Does what it waited for, if it need not wait any longer.
    fn advance<B>(&mut self, out: &mut Outbox<B>) {
        let is_root = self.me == 0;
        let may_report = !self.is_active || self.makes(Mistake::ReportsWithWork);
        // A lone rank ends here by itself, after two waves.
        while self.is_working() && may_report {
            if is_root && self.wave.is_none() {
                self.start_wave(out);
            }
            let Some(Wave { sent, received, .. }) = self.wave.take_if(|wave| wave.missing == 0) else { break };
            let (sent, received) = (sent + self.sent.iter().sum::<u64>(), received + self.received.iter().sum::<u64>());
            if !is_root {
                out.push((self.above(), Message::Report { epoch: self.dead.len(), sent, received }));
                break;
            }
            let before = if self.makes(Mistake::OneWave) { Some(received) } else { self.last };
            self.last = Some(received);
            if before == Some(sent) {
                self.stop(out);
            }
        }
        let is_settled = self.asked.is_none() && self.unsettled == 0;
        if self.phase == Phase::Stops && (is_settled || self.makes(Mistake::LeavesAtStop)) {
            self.phase = Phase::Settles;
            if is_root {
                self.leave(out);
            } else {
                out.push((self.above(), Message::Settled(self.dead.len())));
            }
        }
    }
}

#[cfg(test)]
mod model;
