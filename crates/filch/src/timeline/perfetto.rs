//! Timelines for a viewer.

use std::io::{self, Write};
use std::time::Duration;

use super::activity::Activity;
use super::tracks::Timeline;

/// A time in the unit of the format, microseconds.
fn micros(time: Duration) -> String {
    let nanos = time.as_nanos();
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}

/// Writes events, separated by commas.
struct Events<W> {
    out: W,
    is_first: bool,
}

impl<W: Write> Events<W> {
    /// Writes an event of this kind on the track of a worker, with further fields.
    fn add(&mut self, kind: char, worker: usize, at: Duration, name: &str, fields: &str) -> io::Result<()> {
        let separator = if std::mem::take(&mut self.is_first) { "" } else { "," };
        let at = micros(at);
        write!(
            self.out,
            "{separator}\n{{\"ph\":\"{kind}\",\"pid\":1,\"tid\":{worker},\"ts\":{at},\"name\":\"{name}\"{fields}}}"
        )
    }
}

impl Timeline {
    /// Writes the timeline in the JSON format of Chrome's traces, for the viewer at <https://ui.perfetto.dev>: a track
    /// per worker with its spans and marks, an arrow from the owner of each stolen fork to its thief, and the number of
    /// workers that run something.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let (_, timeline) = pool.record(|| pool.install(|| filch::join(|| 1, || 2)));
    /// let mut json = Vec::new();
    /// timeline.write_perfetto(&mut json)?;
    /// assert!(json.starts_with(b"{\"displayTimeUnit\":\"ns\""));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_perfetto(&self, mut out: impl Write) -> io::Result<()> {
        write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let mut events = Events { out, is_first: true };
        let start = Duration::ZERO;
        events.add('M', 0, start, "process_name", ",\"args\":{\"name\":\"filch\"}")?;
        let mut arrows = 0;
        for (worker, track) in self.workers.iter().enumerate() {
            events.add('M', worker, start, "thread_name", &format!(",\"args\":{{\"name\":\"worker {worker}\"}}"))?;
            events.add('M', worker, start, "thread_sort_index", &format!(",\"args\":{{\"sort_index\":{worker}}}"))?;
            for span in &track.spans {
                let length = micros(span.length());
                let owner = if let Activity::Task { owner } = span.activity { Some(owner) } else { None };
                let args = owner.map_or_else(String::new, |owner| format!(",\"args\":{{\"owner\":{owner}}}"));
                events.add('X', worker, span.start, span.activity.name(), &format!(",\"dur\":{length}{args}"))?;
                if let Some(owner) = owner.filter(|&owner| owner != worker) {
                    let arrow = format!(",\"cat\":\"steal\",\"id\":{arrows}");
                    events.add('s', owner, span.start, "steal", &arrow)?;
                    events.add('f', worker, span.start, "steal", &format!("{arrow},\"bp\":\"e\""))?;
                    arrows += 1;
                }
            }
            for mark in &track.marks {
                events.add('i', worker, mark.at, mark.act.name(), ",\"s\":\"t\"")?;
            }
            if track.lost > 0 {
                let end = track.spans.iter().map(|span| span.end).max().unwrap_or(self.length);
                events.add('i', worker, end, &format!("{} notes lost", track.lost), ",\"s\":\"t\"")?;
            }
        }
        for (at, workers) in self.working() {
            events.add('C', 0, at, "workers at work", &format!(",\"args\":{{\"workers\":{workers}}}"))?;
        }
        write!(events.out, "\n]}}\n")?;
        events.out.flush()
    }
}
