//! The log entries of workers' notes, and the spans and marks drawn from them.

use std::time::Duration;

use super::activity::{Act, Activity, Note};
use super::tracks::{Mark, Span, Track};
use crate::protocol::log::{Entry, Noted};

impl Note {
    /// The bits from this one up hold the number of a worker.
    const SHIFT: u32 = 8;
    const ENDS: u64 = 1 << 6;
    const DOES: u64 = 1 << 7;

    /// Returns the entry of this note.
    pub(super) fn at(self, time: Duration) -> Entry {
        let code = match self {
            Self::Begins(activity) => code_of(activity),
            Self::Ends(activity) => code_of(activity) | Self::ENDS,
            Self::Does(act) => act as u64 | Self::DOES,
        };
        [time.as_nanos() as u64, code]
    }

    fn of(code: u64) -> Option<Self> {
        let low = code & (Self::ENDS - 1);
        if code & Self::DOES != 0 {
            return [Act::Shares, Act::TakesBack, Act::Wakes]
                .into_iter()
                .find(|act| *act as u64 == low)
                .map(Self::Does);
        }
        let owner = (code >> Self::SHIFT) as usize;
        let activity = match low {
            0 => Activity::Call,
            1 => Activity::Task { owner },
            2 => Activity::Job,
            3 => Activity::Waiting,
            4 => Activity::Idle,
            5 => Activity::Asleep,
            _ => return None,
        };
        Some(if code & Self::ENDS == 0 { Self::Begins(activity) } else { Self::Ends(activity) })
    }
}

const fn code_of(activity: Activity) -> u64 {
    match activity {
        Activity::Call => 0,
        Activity::Task { owner } => 1 | (owner as u64) << Note::SHIFT,
        Activity::Job => 2,
        Activity::Waiting => 3,
        Activity::Idle => 4,
        Activity::Asleep => 5,
    }
}

/// The spans and marks of a track so far.
struct Drawing {
    track: Track,
    /// The indices of the spans that have not ended, outermost first.
    open: Vec<usize>,
    now: Duration,
}

impl Drawing {
    fn begin(&mut self, activity: Activity) {
        self.open.push(self.track.spans.len());
        self.track.spans.push(Span { activity, start: self.now, end: self.now });
    }

    fn innermost(&self) -> Option<Activity> {
        self.open.last().map(|&span| self.track.spans[span].activity)
    }

    fn end_innermost(&mut self) {
        if let Some(span) = self.open.pop() {
            self.track.spans[span].end = self.now;
        }
    }

    /// Ends idleness and sleep, if nothing else has begun within.
    fn end_rest(&mut self) {
        while matches!(self.innermost(), Some(Activity::Idle | Activity::Asleep)) {
            self.end_innermost();
        }
    }

    /// Adds a span that had begun before the recording, around all others.
    fn had_begun(&mut self, activity: Activity) {
        self.track.spans.insert(0, Span { activity, start: Duration::ZERO, end: self.now });
        self.open.iter_mut().for_each(|span| *span += 1);
    }

    fn take(&mut self, note: Note) {
        match note {
            Note::Does(act) => self.track.marks.push(Mark { at: self.now, act }),
            // Whoever takes a seat finds its worker idle already.
            Note::Begins(Activity::Idle) if self.innermost() == Some(Activity::Idle) => {}
            Note::Begins(activity @ (Activity::Idle | Activity::Asleep)) => self.begin(activity),
            Note::Begins(activity) => {
                self.end_rest();
                self.begin(activity);
            }
            Note::Ends(Activity::Idle) => {
                if self.track.spans.is_empty() {
                    self.had_begun(Activity::Idle);
                }
                self.end_rest();
            }
            Note::Ends(Activity::Asleep) => match self.innermost() {
                Some(Activity::Asleep) => self.end_innermost(),
                None if self.track.spans.is_empty() => self.had_begun(Activity::Asleep),
                _ => {}
            },
            Note::Ends(activity) => {
                self.end_rest();
                match self.innermost() {
                    Some(innermost) if innermost == activity => self.end_innermost(),
                    None => self.had_begun(activity),
                    // Its end was lost.
                    Some(_) => {}
                }
            }
        }
    }
}

/// Draws a worker's notes as a track from `start` on the clock of the entries. The worker may be idle at first.
pub(super) fn draw(noted: Noted, start: Duration, length: Duration, is_idle: bool) -> Track {
    let track = Track { lost: noted.lost, ..Track::default() };
    let mut drawing = Drawing { track, open: Vec::new(), now: Duration::ZERO };
    if is_idle {
        drawing.begin(Activity::Idle);
    }
    for [at, code] in noted.entries {
        drawing.now = Duration::from_nanos(at).saturating_sub(start).min(length);
        if let Some(note) = Note::of(code) {
            drawing.take(note);
        }
    }
    // Nothing is known after the last note if there was no room for more.
    if drawing.track.lost == 0 {
        drawing.now = length;
    }
    while !drawing.open.is_empty() {
        drawing.end_innermost();
    }
    drawing.track
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: Activity = Activity::Waiting;
    const TASK: Activity = Activity::Task { owner: 300 };
    use Note::{Begins, Ends};

    fn drawn(is_idle: bool, notes: &[(u64, Note)]) -> Vec<(Activity, u64, u64)> {
        let entries = notes.iter().map(|&(at, note)| note.at(Duration::from_nanos(at + 1000))).collect();
        let (start, length) = (Duration::from_nanos(1000), Duration::from_nanos(100));
        let track = draw(Noted { entries, lost: 0 }, start, length, is_idle);
        let nanos = |time: Duration| time.as_nanos() as u64;
        track.spans.iter().map(|span| (span.activity, nanos(span.start), nanos(span.end))).collect()
    }

    #[test]
    fn every_note_has_a_code_of_its_own() {
        let activities = [Activity::Call, TASK, Activity::Job, WAITS, Activity::Idle, Activity::Asleep];
        let acts = [Act::Shares, Act::TakesBack, Act::Wakes].map(Note::Does);
        let notes = activities.map(|activity| [Begins(activity), Ends(activity)]).concat();
        for note in notes.into_iter().chain(acts) {
            let [at, code] = note.at(Duration::from_nanos(7));
            assert_eq!((at, Note::of(code)), (7, Some(note)));
        }
    }

    #[test]
    fn spans_are_nested() {
        let notes = [
            (10, Ends(Activity::Idle)),
            (10, Begins(TASK)),
            (20, Begins(WAITS)),
            (25, Begins(Activity::Idle)),
            (30, Begins(Activity::Asleep)),
            (40, Ends(Activity::Asleep)),
            (45, Ends(Activity::Idle)),
            (50, Ends(WAITS)),
            (60, Ends(TASK)),
            (70, Begins(Activity::Idle)),
            (80, Begins(Activity::Asleep)),
        ];
        let expected = [
            (Activity::Idle, 0, 10),
            (TASK, 10, 60),
            (WAITS, 20, 50),
            (Activity::Idle, 25, 45),
            (Activity::Asleep, 30, 40),
            (Activity::Idle, 70, 100),
            (Activity::Asleep, 80, 100),
        ];
        assert_eq!(drawn(true, &notes), expected);
        assert_eq!(drawn(false, &notes), expected, "it had become idle before the recording");
    }

    #[test]
    fn what_had_begun_before_the_recording_begins_with_it() {
        let notes = [(10, Begins(TASK)), (20, Ends(TASK)), (30, Ends(WAITS)), (40, Ends(Activity::Job))];
        let expected = [(Activity::Job, 0, 40), (WAITS, 0, 30), (TASK, 10, 20)];
        assert_eq!(drawn(false, &notes), expected);
    }

    /// A guest takes the seat while the worker's own thread sleeps.
    #[test]
    fn work_ends_idleness() {
        let notes = [
            (10, Begins(Activity::Asleep)),
            (20, Ends(Activity::Idle)),
            (20, Begins(Activity::Call)),
            (50, Ends(Activity::Call)),
            (50, Begins(Activity::Idle)),
            (60, Ends(Activity::Asleep)),
            (70, Begins(Activity::Job)),
        ];
        let expected = [
            (Activity::Idle, 0, 20),
            (Activity::Asleep, 10, 20),
            (Activity::Call, 20, 50),
            (Activity::Idle, 50, 70),
            (Activity::Job, 70, 100),
        ];
        assert_eq!(drawn(true, &notes), expected);
    }
}
