//! The graph of a recording, in the order in which its one worker ran it: [`Graph`] has the grammar of its text.
//!
//! While it is recorded, it is bytes: each mark of the text, and after it the number that belongs to it, seven bits a
//! byte. A strand has its ticks, after the mark [`STRAND`], and its region before it, if any.
//!
//! A fork whose branches are not both long enough to be worth a theft is left out: its branches become parts of the
//! strand around it, so that the tape grows with the time that is recorded, not with the forks.
//!
//! Invariant: the tape without `pending` is a beginning of a graph, and a fork is left out only if no job has begun or
//! been awaited since.

use std::fmt;
use std::mem::{replace, take};

/// The number of the region outside all regions that the user has named.
pub(super) const OUTSIDE: usize = 0;

/// The mark of a strand, which has none in the text, and of what is no longer there.
const STRAND: u8 = b'+';
const NOTHING: u8 = b' ';

/// The graph of a [recording](crate::scale::Measured), as a text: what had to run after what.
///
/// | text | says |
/// | --- | --- |
/// | `120` | a strand of this [length][Scale]; strands in a row add up |
/// | `(` A `\|` B `)` | a fork of the branches A and B, and their join |
/// | `s3` | spawns job 3 |
/// | `[3` A `]` | job 3, where the one worker ran it: it begins after its spawn, and what surrounds it does not wait |
/// | `{` A `}` | waits for all jobs within |
/// | `t3` | waits for job 3 |
/// | `r2` | the strands that follow in the text are in the second [region](crate::scale::region); `r0`: in none |
///
/// Between numbers there are spaces. A job that was never spawned came from outside.
///
/// ```
/// thread_local!(static NOW: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
/// let spin = |ticks| NOW.set(NOW.get() + ticks);
/// let recording = filch::scale::Recording::new().clock(|| NOW.get());
/// let measured = recording.measure(|| {
///     spin(5);
///     filch::join(|| spin(20), || spin(30));
///     filch::scope(|s| s.spawn(|_| spin(40)));
/// });
/// assert_eq!(measured.scale.graph().unwrap().to_string(), "5(20|30)s0{[0 40]}");
/// ```
///
/// [Scale]: crate::scale::Scale
#[derive(Clone)]
pub struct Graph {
    tape: Vec<u8>,
    /// Ticks per unit of the text.
    rate: f64,
    /// Shorter branches were left out; in ticks while the graph is written.
    pub(super) least: u64,
    /// How many forks were left out.
    pub(super) left_out: u64,
    /// The regions' names, in the order of their numbers.
    pub(super) regions: Vec<&'static str>,
}

/// The marks of a tape, and their numbers.
struct Marks<'t>(std::slice::Iter<'t, u8>);

impl Iterator for Marks<'_> {
    type Item = (u8, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let mark = *self.0.next()?;
        let mut number = 0;
        if matches!(mark, STRAND | b'r' | b's' | b'[' | b't') {
            for (byte, shift) in self.0.by_ref().zip((0..).step_by(7)) {
                number |= u64::from(byte & 0x7F) << shift;
                if byte & 0x80 == 0 {
                    break;
                }
            }
        }
        Some((mark, number))
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NONE: u64 = OUTSIDE as u64;
        // What is not written yet: a strand in this region, and waits, which may be for nothing.
        let (mut ticks, mut region, mut waits) = (0, NONE, 0);
        // The region that is written, that of the next strand, and whether a digit comes last.
        let (mut named, mut next, mut is_digit) = (NONE, NONE, false);
        // A strand in another region ends the last one.
        for (mark, number) in Marks(self.tape.iter()).chain([(b'r', u64::MAX), (STRAND, 0)]) {
            match mark {
                NOTHING => continue,
                b'r' => {
                    next = number;
                    continue;
                }
                STRAND if next == region => {
                    ticks += number;
                    next = NONE;
                    continue;
                }
                _ => {}
            }
            let length = (take(&mut ticks) as f64 / self.rate).round() as u64;
            if length > 0 {
                f.write_str(&"{".repeat(take(&mut waits)))?;
                if named != region {
                    named = region;
                    write!(f, "r{region}")?;
                    is_digit = true;
                }
                write!(f, "{}{length}", if is_digit { " " } else { "" })?;
                is_digit = true;
            }
            match mark {
                STRAND => (ticks, region) = (number, replace(&mut next, NONE)),
                b'{' => waits += 1,
                b'}' if waits > 0 => waits -= 1,
                _ => {
                    write!(f, "{}{}", "{".repeat(take(&mut waits)), char::from(mark))?;
                    is_digit = matches!(mark, b's' | b'[' | b't');
                    if is_digit {
                        write!(f, "{number}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("bytes", &self.tape.len()).finish_non_exhaustive()
    }
}

/// Where a fork stands on the tape.
pub(super) struct Place {
    /// The length of the tape before the fork, and the strand that was pending there.
    before: usize,
    pending: u64,
    /// The place of the parenthesis, and of the bar.
    opening: usize,
    bar: usize,
    is_left_out: bool,
}

/// Writes a [`Graph`].
pub(super) struct Tape {
    graph: Graph,
    /// A strand that is not on the tape, in ticks, and its region.
    pending: u64,
    region: usize,
    /// The length of the tape when a job was last mentioned.
    sealed: usize,
    /// The length of the tape from which on more forks are left out; 0 if it is given up.
    most: usize,
    /// Where the last job begins, if it has not ended.
    begun: usize,
    jobs: u64,
}

impl Tape {
    /// Branches of fewer than `least` ticks are left out; a unit of the text has so many ticks.
    pub(super) fn new(least: u64, rate: f64) -> Self {
        const MOST: usize = 128 << 20;
        let graph = Graph { tape: Vec::new(), rate, least, left_out: 0, regions: Vec::new() };
        Self { graph, pending: 0, region: OUTSIDE, sealed: 0, most: MOST, begun: usize::MAX, jobs: 0 }
    }

    /// Returns what has been written, without the job that asks for it, if it has remained short enough to be kept.
    pub(super) fn end(mut self, regions: &[&'static str]) -> Option<Graph> {
        self.flush();
        if self.graph.regions.is_empty() {
            self.graph.regions = regions.to_vec();
        }
        self.graph.tape.truncate(self.begun);
        self.graph.least = (self.graph.least as f64 / self.graph.rate).round() as u64;
        (self.most > 0).then_some(self.graph)
    }

    #[inline]
    pub(super) fn strand(&mut self, ticks: u64, region: usize) {
        if region != self.region {
            self.flush();
            self.region = region;
        }
        self.pending += ticks;
    }

    /// Writes the pending strand.
    #[inline]
    fn flush(&mut self) {
        if self.pending > 0 {
            let ticks = take(&mut self.pending);
            if self.region != OUTSIDE {
                self.numbered(b'r', self.region as u64);
            }
            self.numbered(STRAND, ticks);
        }
    }

    fn push(&mut self, byte: u8) {
        if self.graph.tape.len() >= self.most {
            self.shrink();
        }
        if self.most > 0 {
            self.graph.tape.push(byte);
        }
    }

    fn numbered(&mut self, mark: u8, mut number: u64) {
        self.push(mark);
        while number >= 0x80 {
            self.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.push(number as u8);
    }

    /// Has the tape grow more slowly. One that grows nevertheless is given up: its end would be missing.
    #[cold]
    fn shrink(&mut self) {
        const STEP: usize = 32 << 20;
        const GIVEN_UP: usize = 512 << 20;
        if self.most == 0 {
            return;
        }
        self.graph.least = (2 * self.graph.least).max(1);
        self.most += STEP;
        if self.most > GIVEN_UP {
            self.most = 0;
            self.graph.tape = Vec::new();
        }
    }

    fn mark(&mut self, mark: u8) {
        self.flush();
        self.push(mark);
    }

    pub(super) fn fork(&mut self) -> Place {
        let (before, pending) = (self.graph.tape.len(), self.pending);
        self.flush();
        let opening = self.graph.tape.len();
        self.mark(b'(');
        Place { before, pending, opening, bar: 0, is_left_out: false }
    }

    /// Leaves a fork out unless this branch, the tape since `from`, is long enough.
    fn is_short(&mut self, from: usize, work: u64) -> bool {
        let is_short = work < self.graph.least && from >= self.sealed;
        self.graph.left_out += u64::from(is_short);
        is_short
    }

    /// Leaves out a fork of two strands if the first, of so many ticks, is short: returns whether.
    #[inline]
    pub(super) fn leaves_out(&mut self, first: u64) -> bool {
        let is_short = first < self.graph.least;
        self.graph.left_out += u64::from(is_short);
        is_short
    }

    /// The first branch of this fork has ended; it has this work.
    pub(super) fn second(&mut self, place: &mut Place, work: u64) {
        if self.is_short(place.before, work) {
            self.graph.tape.truncate(place.before);
            self.pending = place.pending + work;
            place.is_left_out = true;
            return;
        }
        self.flush();
        place.bar = self.graph.tape.len();
        self.mark(b'|');
    }

    /// The second branch has ended, too; it has this work.
    pub(super) fn join(&mut self, place: &Place, work: u64) {
        if place.is_left_out {
            return;
        }
        if self.is_short(place.bar, work) {
            self.graph.tape.truncate(place.bar);
            self.pending = work;
            self.open(place);
        } else {
            self.mark(b')');
        }
    }

    /// Takes the parenthesis back.
    pub(super) fn open(&mut self, place: &Place) {
        if let Some(mark) = self.graph.tape.get_mut(place.opening) {
            *mark = NOTHING;
        }
    }

    /// Writes that the current strand spawns a job, and returns the job's number.
    pub(super) fn spawns(&mut self) -> u64 {
        let job = self.new_job();
        self.job(b's', job);
        job
    }

    /// Writes that the current strand spawns this job, whose number comes from elsewhere.
    pub(super) fn spawns_this(&mut self, job: u64) {
        self.job(b's', job);
    }

    /// Names the regions, whose numbers change.
    pub(super) fn name(&mut self, regions: &[&'static str]) {
        self.graph.regions = regions.to_vec();
    }

    /// Closes what is open.
    pub(super) fn close(&mut self) {
        self.flush();
        let mut open = Vec::new();
        for (mark, _) in Marks(self.graph.tape.iter()) {
            match mark {
                b'(' => open.push("|)"),
                b'[' => open.push("]"),
                b'{' => open.push("}"),
                b'|' => _ = open.last_mut().map(|last| *last = ")"),
                b')' | b']' | b'}' => _ = open.pop(),
                _ => {}
            }
        }
        open.into_iter().rev().flat_map(str::bytes).for_each(|end| self.mark(end));
        (self.sealed, self.begun) = (self.graph.tape.len(), usize::MAX);
    }

    pub(super) fn new_job(&mut self) -> u64 {
        self.jobs += 1;
        self.jobs - 1
    }

    /// A spawn, a job's beginning, or a wait for its end.
    fn job(&mut self, mark: u8, job: u64) {
        self.flush();
        self.numbered(mark, job);
        self.sealed = self.graph.tape.len();
    }

    pub(super) fn job_begins(&mut self, job: u64) {
        self.flush();
        self.begun = self.graph.tape.len();
        self.job(b'[', job);
    }

    pub(super) fn job_ends(&mut self) {
        self.mark(b']');
        (self.sealed, self.begun) = (self.graph.tape.len(), usize::MAX);
    }

    pub(super) fn awaits(&mut self, job: u64) {
        self.job(b't', job);
    }

    pub(super) fn wait_begins(&mut self) {
        self.mark(b'{');
    }

    pub(super) fn wait_ends(&mut self) {
        self.mark(b'}');
    }
}
