//! The graph of a recording as a text, in the order in which its one worker ran it: [`Graph`] has the grammar.
//!
//! A fork whose branches are not both long enough to be worth a theft is left out: its branches become parts of the
//! strand around it, so that the text grows with the time that is recorded, not with the forks.
//!
//! Invariant: the text without `pending` is a beginning of a graph, and a fork is left out only if no job has begun or
//! been awaited since.

use std::fmt;

/// The number of the region outside all regions that the user has named.
pub(super) const OUTSIDE: usize = 0;

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
    text: String,
    /// Shorter branches were left out; in ticks while the graph is written.
    pub(super) least: u64,
    /// How many forks were left out.
    pub(super) left_out: u64,
    /// The regions' names, in the order of their numbers.
    pub(super) regions: Vec<&'static str>,
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}

/// Where a fork stands in the text.
pub(super) struct Place {
    /// The length of the text before the fork, and the strand that was pending there.
    before: usize,
    pending: u64,
    /// The place of the parenthesis, and of the bar.
    opening: usize,
    bar: usize,
    /// The regions that the text had named before the fork, and before the bar.
    named: (usize, usize),
    is_left_out: bool,
}

/// Writes a [`Graph`].
pub(super) struct Tape {
    graph: Graph,
    rate: f64,
    /// A strand that is not in the text, in ticks, and its region.
    pending: u64,
    region: usize,
    /// The region that the text has named last.
    named: usize,
    /// The length of the text when a job was last mentioned.
    sealed: usize,
    /// The length of the text from which on more forks are left out.
    most: usize,
    jobs: u64,
}

impl Tape {
    /// Branches of fewer than `least` ticks are left out; a unit of the text has so many ticks.
    pub(super) fn new(least: u64, rate: f64) -> Self {
        const MOST: usize = 128 << 20;
        let graph = Graph { text: String::new(), least, left_out: 0, regions: Vec::new() };
        Self { graph, rate, pending: 0, region: OUTSIDE, named: OUTSIDE, sealed: 0, most: MOST, jobs: 0 }
    }

    /// Returns what has been written, without the job that asks for it, if it has remained short enough to be kept.
    pub(super) fn end(mut self, regions: &[&'static str]) -> Option<Graph> {
        self.flush();
        if self.graph.regions.is_empty() {
            self.graph.regions = regions.to_vec();
        }
        let last = self.graph.text.rfind('[').filter(|&last| !self.graph.text[last..].contains(']'));
        self.graph.text.truncate(last.unwrap_or(usize::MAX));
        self.graph.text.truncate(self.graph.text.trim_end().len());
        self.graph.least = (self.graph.least as f64 / self.rate).round() as u64;
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
    fn flush(&mut self) {
        let length = (std::mem::take(&mut self.pending) as f64 / self.rate).round() as u64;
        if length > 0 && self.most > 0 {
            if self.named != self.region {
                self.named = self.region;
                self.numbered('r', self.region as u64);
            }
            if self.graph.text.as_bytes().last().is_some_and(u8::is_ascii_digit) {
                self.graph.text.push(' ');
            }
            self.number(length);
        }
        if self.graph.text.len() > self.most {
            self.shrink();
        }
    }

    fn number(&mut self, number: u64) {
        let mut power = 10_u64.pow(number.checked_ilog10().unwrap_or(0));
        while power > 0 {
            self.graph.text.push(char::from(b'0' + (number / power % 10) as u8));
            power /= 10;
        }
    }

    fn numbered(&mut self, mark: char, number: u64) {
        self.graph.text.push(mark);
        self.number(number);
    }

    /// Has the text grow more slowly. One that grows nevertheless is given up: its end would be missing.
    #[cold]
    fn shrink(&mut self) {
        const STEP: usize = 32 << 20;
        const GIVEN_UP: usize = 512 << 20;
        self.graph.least = (2 * self.graph.least).max(1);
        self.most += STEP;
        if self.most > GIVEN_UP {
            self.most = 0;
            self.graph.text = String::new();
        }
    }

    fn mark(&mut self, mark: &str) {
        self.flush();
        if self.most > 0 {
            self.graph.text += mark;
        }
    }

    /// Forgets the text from here on. Before, it named this region.
    fn cut(&mut self, from: usize, named: usize) {
        self.graph.text.truncate(from);
        self.named = named;
    }

    pub(super) fn fork(&mut self) -> Place {
        let (before, pending, named) = (self.graph.text.len(), self.pending, self.named);
        self.flush();
        let opening = self.graph.text.len();
        self.mark("(");
        Place { before, pending, opening, bar: 0, named: (named, named), is_left_out: false }
    }

    /// Leaves a fork out unless this branch, the text since `from`, is long enough.
    fn is_short(&mut self, from: usize, work: u64) -> bool {
        let is_short = work < self.graph.least && from >= self.sealed;
        self.graph.left_out += u64::from(is_short);
        is_short
    }

    /// The first branch of this fork has ended; it has this work.
    pub(super) fn second(&mut self, place: &mut Place, work: u64) {
        if self.is_short(place.before, work) {
            self.cut(place.before, place.named.0);
            self.pending = place.pending + work;
            place.is_left_out = true;
            return;
        }
        self.flush();
        (place.bar, place.named.1) = (self.graph.text.len(), self.named);
        self.mark("|");
    }

    /// The second branch has ended, too; it has this work.
    pub(super) fn join(&mut self, place: &Place, work: u64) {
        if place.is_left_out {
            return;
        }
        if self.is_short(place.bar, work) {
            self.cut(place.bar, place.named.1);
            self.pending = work;
            self.open(place);
        } else {
            self.mark(")");
        }
    }

    /// Takes the parenthesis back.
    pub(super) fn open(&mut self, place: &Place) {
        if self.most > 0 {
            self.graph.text.replace_range(place.opening..=place.opening, " ");
        }
    }

    /// Writes that the current strand spawns a job, and returns the job's number.
    pub(super) fn spawns(&mut self) -> u64 {
        let job = self.new_job();
        self.job('s', job);
        job
    }

    /// Writes that the current strand spawns this job, whose number comes from elsewhere.
    pub(super) fn spawns_this(&mut self, job: u64) {
        self.job('s', job);
    }

    /// Names the regions, whose numbers change.
    pub(super) fn name(&mut self, regions: &[&'static str]) {
        self.graph.regions = regions.to_vec();
    }

    /// Closes what is open.
    pub(super) fn close(&mut self) {
        self.flush();
        let mut open = Vec::new();
        for byte in self.graph.text.bytes() {
            match byte {
                b'(' => open.push("|)"),
                b'[' => open.push("]"),
                b'{' => open.push("}"),
                b'|' => _ = open.last_mut().map(|last| *last = ")"),
                b')' | b']' | b'}' => _ = open.pop(),
                _ => {}
            }
        }
        open.into_iter().rev().for_each(|end| self.mark(end));
        self.sealed = self.graph.text.len();
    }

    pub(super) fn new_job(&mut self) -> u64 {
        self.jobs += 1;
        self.jobs - 1
    }

    /// A spawn, a job's beginning, or a wait for its end.
    fn job(&mut self, mark: char, job: u64) {
        self.flush();
        if self.most > 0 {
            self.numbered(mark, job);
        }
        self.sealed = self.graph.text.len();
    }

    pub(super) fn job_begins(&mut self, job: u64) {
        self.job('[', job);
    }

    pub(super) fn job_ends(&mut self) {
        self.mark("]");
        self.sealed = self.graph.text.len();
    }

    pub(super) fn awaits(&mut self, job: u64) {
        self.job('t', job);
    }

    pub(super) fn wait_begins(&mut self) {
        self.mark("{");
    }

    pub(super) fn wait_ends(&mut self) {
        self.mark("}");
        if self.graph.text.ends_with("{}") {
            self.graph.text.truncate(self.graph.text.len() - 2);
        }
    }
}
