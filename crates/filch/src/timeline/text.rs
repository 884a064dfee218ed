//! Timelines as text, for a terminal.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::activity::Activity;
use super::tracks::{Timeline, Track};

/// The number of columns for the time.
const COLUMNS: usize = 60;

/// The least part of a column in which the worker worked, in eighths, and the sign for that part.
const SHADES: [(f64, char); 4] = [(7.0, '█'), (5.0, '▓'), (3.0, '▒'), (1.0, '░')];
/// The sign for a column in which the worker hardly worked, but did not sleep all the time.
const AWAKE: char = '·';

/// Returns a sign for each column of the time.
fn strip(track: &Track, length: Duration) -> String {
    let column = length.as_secs_f64() / COLUMNS as f64;
    // Per column, how long the worker worked, and was awake without work.
    let mut columns = [[0.0; 2]; COLUMNS];
    track.each_innermost(|activity, from, to| {
        if activity == Activity::Asleep {
            return;
        }
        let (from, to) = (from.as_secs_f64() / column, to.as_secs_f64() / column);
        for (index, parts) in columns.iter_mut().enumerate().take(to.ceil() as usize).skip(from as usize) {
            let part = to.min((index + 1) as f64) - from.max(index as f64);
            parts[usize::from(!activity.is_work())] += part;
        }
    });
    let sign = |[working, awake]: [f64; 2]| {
        let shade = SHADES.into_iter().find(|(eighths, _)| working * 8.0 >= *eighths).map(|(_, sign)| sign);
        shade.unwrap_or(if working + awake > 1.0 / 16.0 { AWAKE } else { ' ' })
    };
    columns.into_iter().map(sign).collect()
}

/// A percentage.
struct Part(Duration, Duration);

impl Display for Part {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(part, whole) = self;
        write!(f, "{:3.0} %", 100.0 * part.as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE))
    }
}

/// A row per worker: when it worked (the darker, the more), and the share of each kind of activity.
///
/// ```
/// let pool = filch::ThreadPool::new(2)?;
/// let (_, timeline) = pool.record(|| pool.install(|| filch::join(|| 1, || 2)));
/// println!("{timeline}");
/// # Ok::<(), filch::BuildError>(())
/// ```
impl Display for Timeline {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let digits = self.workers.len().saturating_sub(1).to_string().len();
        let length = format!("{:.2?}", self.length);
        writeln!(f, "{:width$}0{length:>rest$}", "", width = digits + 9, rest = COLUMNS - 1)?;
        for (worker, track) in self.workers.iter().enumerate() {
            let times = track.times();
            let of = |part| Part(part, self.length);
            let count =
                |is: fn(usize, Activity) -> bool| track.spans.iter().filter(|span| is(worker, span.activity)).count();
            let stolen = count(|worker, activity| matches!(activity, Activity::Task { owner } if owner != worker));
            writeln!(
                f,
                "worker {worker:>digits$}  {}  works {}, waits {}, looks {}, sleeps {}; forks of others {stolen}",
                strip(track, self.length),
                of(times.working),
                of(times.waiting),
                of(times.looking),
                of(times.asleep),
            )?;
            if track.lost > 0 {
                writeln!(f, "{:width$}{} notes lost: the end is not known", "", track.lost, width = digits + 9)?;
            }
        }
        write!(f, "{:width$}█ works, {AWAKE} awake without work", "", width = digits + 9)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tracks::Span;
    use super::*;

    #[test]
    fn a_column_is_as_dark_as_the_worker_worked() {
        let millis = Duration::from_millis;
        let span = |activity, start, end| Span { activity, start: millis(start), end: millis(end) };
        let spans = vec![
            span(Activity::Idle, 0, 160),
            span(Activity::Asleep, 80, 160),
            span(Activity::Call, 160, 405),
            span(Activity::Waiting, 240, 320),
            span(Activity::Task { owner: 1 }, 260, 300),
        ];
        let track = Track { spans, ..Track::default() };
        let strip = strip(&track, millis(80 * COLUMNS as u64));
        assert_eq!(strip.trim_end(), "· █▒█");
        assert_eq!(strip.chars().count(), COLUMNS);
        let timeline = Timeline { length: millis(80 * COLUMNS as u64), workers: vec![track] };
        let expected = "          0                                                      4.80s\n\
                        worker 0  · █▒█                                                         works   4 %, waits   1 %, \
                        looks   2 %, sleeps   2 %; forks of others 1\n          █ works, · awake without work";
        assert_eq!(timeline.to_string(), expected);
    }
}
