//! Recordings of a pool: who records, and the workers' logs.
//!
//! Invariant: only a worker's current thread notes something in its log. Overlapping recordings are one recording to
//! the workers, and each has its part of that one.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use filch_memory::Native;
use filch_queue::Padded;

use super::activity::Note;
use super::notes::draw;
use super::tracks::{Timeline, Track};
use crate::protocol::log::{Log, Recorder, Recording};

/// The recordings of a pool.
pub(crate) struct Recorders {
    recorder: Recorder<Native>,
    born: Instant,
    logs: Box<[Padded<Log<Native>>]>,
    going_on: Mutex<GoingOn>,
}

#[derive(Default)]
struct GoingOn {
    recording: Option<Recording>,
    count: usize,
}

/// Where a recording begins.
pub(crate) struct Beginning {
    recording: Recording,
    at: Duration,
    /// Per worker, the number of entries before, and whether the worker is idle.
    before: Vec<(usize, bool)>,
}

impl Recorders {
    /// Room for a million notes per worker, 16 MiB, of which a recording takes what it needs.
    const PIECE: usize = 1 << 12;
    const PIECES: usize = 1 << 8;

    /// The recordings of a pool of this many workers.
    pub(crate) fn new(workers: usize) -> Self {
        let logs = (0..workers).map(|_| Padded(Log::new(Self::PIECE, Self::PIECES))).collect();
        Self { recorder: Recorder::default(), born: Instant::now(), logs, going_on: Mutex::default() }
    }

    /// Notes what `worker` does. The current thread is that worker.
    #[cold]
    #[inline(never)]
    pub(crate) fn note(&self, worker: usize, note: Note) {
        self.logs[worker].note(&self.recorder, || note.at(self.born.elapsed()));
    }

    fn going_on(&self) -> MutexGuard<'_, GoingOn> {
        self.going_on.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `f`, and returns the workers' timeline meanwhile; `is_idle` says whether a worker is idle.
    pub(crate) fn record<R>(&self, is_idle: impl Fn(usize) -> bool, f: impl FnOnce() -> R) -> (R, Timeline) {
        let beginning = self.begin(is_idle);
        let _ends = Ends(self);
        let result = f();
        (result, self.read(&beginning))
    }

    /// Begins a recording, which goes on until somebody ends it; `is_idle` says whether a worker is idle.
    pub(crate) fn begin(&self, is_idle: impl Fn(usize) -> bool) -> Beginning {
        let mut going_on = self.going_on();
        let recording = *going_on.recording.get_or_insert_with(|| self.recorder.begin());
        going_on.count += 1;
        drop(going_on);
        let at = self.born.elapsed();
        // In this order: if a worker that is idle now ends its idleness, that note comes after the entries before.
        let before = self.logs.iter().enumerate().map(|(worker, log)| (log.len(recording), is_idle(worker)));
        Beginning { recording, at, before: before.collect() }
    }

    /// Returns the timeline since `beginning`.
    pub(crate) fn read(&self, beginning: &Beginning) -> Timeline {
        let length = self.born.elapsed() - beginning.at;
        let read = |(log, &(before, is_idle)): (&Padded<Log<Native>>, &(usize, bool))| -> Track {
            draw(log.read(beginning.recording, before), beginning.at, length, is_idle)
        };
        Timeline { length, workers: self.logs.iter().zip(&beginning.before).map(read).collect() }
    }
}

/// When dropped, ends a recording, which nobody reads any more.
struct Ends<'r>(&'r Recorders);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let mut going_on = self.0.going_on();
        going_on.count -= 1;
        if going_on.count == 0 {
            self.0.recorder.end();
            going_on.recording = None;
        }
    }
}
