//! A history: what each thread did, in columns, with the contents of the store buffers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use super::machine::Machine;
use super::record::{Act, Recorder, Row};
use crate::harm::Wrong;
use crate::sites::Site;

/// The history of one execution.
///
/// The printed form starts with memory's initial values, as far as the threads read them. It has a column for each
/// thread and a row for each event. A store goes into the thread's own buffer, shown in ⟨angle brackets⟩, oldest first,
/// and reaches memory in a later row, marked `→ memory`. In `⟨x=1 │ y=1⟩`, the stores left of the bar have left the
/// buffer for the entry beyond it. A word that packs two numbers is shown as `high:low`, an address as `&1`, `&2`, … in
/// the order of appearance. The alternate form, `{:#}`, omits the source position of each operation.
#[derive(Clone, Debug)]
pub struct History {
    threads: Vec<String>,
    start: String,
    rows: Vec<Line>,
    /// Whether stores reach memory after the last row.
    drains: bool,
    failure: Option<Wrong>,
}

#[derive(Clone, Debug)]
struct Line {
    thread: usize,
    text: String,
    site: Option<Site>,
}

impl History {
    pub(crate) fn new(recorder: Recorder, machine: &Machine, failure: Option<Wrong>) -> Self {
        let rows = in_reading_order(recorder.rows);
        let mut names = Names::new(machine, &rows);
        let start = names.start(&rows);
        let seen = rows.iter().rposition(|row| !row.act.is_of_buffer()).map_or(0, |last| last + 1);
        let describe = |row: &Row| Line {
            thread: row.thread,
            text: names.describe(row),
            site: row.site.filter(|_| !matches!(row.act, Act::Note(_)) && !row.act.is_of_buffer()),
        };
        let lines = rows[..seen].iter().map(describe).collect();
        Self { threads: recorder.names, start, rows: lines, drains: seen < rows.len(), failure }
    }

    /// Returns the failure that ended it, if any.
    pub fn failure(&self) -> Option<&Wrong> {
        self.failure.as_ref()
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Moves each note right before its thread's next act: a thread writes the note as soon as its previous act is done.
fn in_reading_order(rows: Vec<Row>) -> Vec<Row> {
    let mut ordered: Vec<Row> = Vec::with_capacity(rows.len());
    let mut held: Vec<Row> = Vec::new();
    for row in rows {
        let before = held.iter().position(|note| note.thread == row.thread && !row.act.is_of_buffer());
        ordered.extend(before.map(|at| held.remove(at)));
        if matches!(row.act, Act::Note(_)) {
            // The last of several notes in a row, if the thread acts again; otherwise the loop below places it.
            held.push(row);
        } else {
            ordered.push(row);
        }
    }
    // A thread's last note says how it ended.
    for note in held {
        let last = ordered.iter().rposition(|row| row.thread == note.thread && !row.act.is_of_buffer());
        ordered.insert(last.map_or(0, |last| last + 1), note);
    }
    ordered
}

/// The names of locations and values in one history.
struct Names<'m> {
    machine: &'m Machine,
    /// Locations that hold two numbers in one word.
    packed: BTreeSet<u32>,
    /// Addresses, in order of appearance.
    addresses: Vec<u64>,
    /// The threads with an entry beyond their buffers.
    beyond: BTreeSet<usize>,
}

impl<'m> Names<'m> {
    fn new(machine: &'m Machine, rows: &[Row]) -> Self {
        let values = rows.iter().filter_map(|row| row.act.values());
        let values =
            values.flat_map(|(location, values)| values.into_iter().flatten().map(move |value| (location, value)));
        let packed = values.filter(|&(_, value)| is_packed(value)).map(|(location, _)| location).collect();
        Self { machine, packed, addresses: Vec::new(), beyond: BTreeSet::new() }
    }

    fn location(&self, location: u32) -> String {
        let (born, before, among) = self.machine.birth(location);
        let name = crate::sources::name_of(born.file(), born.line(), born.column());
        if among > 1 { format!("{name}[{before}]") } else { name }
    }

    /// Formats a value for the reader.
    fn value(&mut self, location: u32, value: u64) -> String {
        let half = |half: u64| if half > 0xffff_f000 { (half as u32 as i32).to_string() } else { half.to_string() };
        let signed = value as i64;
        if (-4096..0).contains(&signed) {
            signed.to_string()
        } else if self.packed.contains(&location) {
            format!("{}:{}", half(value >> 32), half(value & 0xffff_ffff))
        } else if value < ADDRESSES.start {
            value.to_string()
        } else if ADDRESSES.contains(&value) {
            let known = self.addresses.iter().position(|&address| address == value);
            let index = known.unwrap_or_else(|| {
                self.addresses.push(value);
                self.addresses.len() - 1
            });
            format!("&{}", index + 1)
        } else {
            format!("{value:#x}")
        }
    }

    /// Formats memory's initial values, where a thread read them before any write.
    fn start(&mut self, rows: &[Row]) -> String {
        let mut first: BTreeMap<u32, Option<u64>> = BTreeMap::new();
        for row in rows {
            match row.act {
                Act::Load { location, value, forwarded: false } => {
                    first.entry(location).or_insert(Some(value));
                }
                Act::Update { location, old, .. } => {
                    first.entry(location).or_insert(Some(old));
                }
                Act::Write { location, .. } | Act::Drain { location, .. } => {
                    first.entry(location).or_insert(None);
                }
                _ => {}
            }
        }
        let known = first.into_iter().filter_map(|(location, value)| Some((location, value?)));
        let known =
            known.map(|(location, value)| format!("{} is {}", self.location(location), self.value(location, value)));
        known.collect::<Vec<_>>().join(", ")
    }

    fn describe(&mut self, row: &Row) -> String {
        let text = match &row.act {
            Act::Note(text) => return format!("── {text}"),
            &Act::Load { location, value, forwarded } => {
                let from = if forwarded { ", in the own buffer" } else { "" };
                format!("{} is {}{from}", self.location(location), self.value(location, value))
            }
            &Act::Buffer { location, value } | &Act::Write { location, value } => {
                format!("{} := {}", self.location(location), self.value(location, value))
            }
            &Act::Move { location, value } => {
                format!("→ beyond the buffer: {} = {}", self.location(location), self.value(location, value))
            }
            &Act::Drain { location, value } => {
                format!("→ memory: {} = {}", self.location(location), self.value(location, value))
            }
            &Act::Update { location, old, new: Some(new), .. } => {
                let (old, new) = (self.value(location, old), self.value(location, new));
                format!("{} swapped: {old} ⇒ {new}", self.location(location))
            }
            &Act::Update { location, old, expected, .. } => {
                let expected =
                    expected.map_or_else(String::new, |value| format!(", not {}", self.value(location, value)));
                let old = self.value(location, old);
                format!("{} not swapped: it is {old}{expected}", self.location(location))
            }
            Act::Fence => "fence".to_owned(),
            Act::Barrier => "barrier on all threads".to_owned(),
            Act::Wait { location, sleeps } => {
                format!("{} on {}", if *sleeps { "sleeps" } else { "does not sleep" }, self.location(*location))
            }
            Act::Wake { location, woken } => format!("wakes {woken} on {}", self.location(*location)),
        };
        match row.act {
            Act::Move { .. } => drop(self.beyond.insert(row.thread)),
            Act::Drain { .. } => drop(self.beyond.remove(&row.thread)),
            Act::Barrier => self.beyond.clear(),
            _ => {}
        }
        let mut buffer = String::new();
        for (index, &(location, value)) in row.buffer.iter().enumerate() {
            let gap = match index {
                0 => "",
                1 if self.beyond.contains(&row.thread) => " │ ",
                _ => " ",
            };
            buffer += &format!("{gap}{}={}", self.location(location), self.value(location, value));
        }
        if row.buffer.len() == 1 && self.beyond.contains(&row.thread) {
            buffer += " │";
        }
        let changed = row.act.is_of_buffer() || matches!(row.act, Act::Buffer { .. });
        if changed || !buffer.is_empty() { format!("{text}  ⟨{buffer}⟩") } else { text }
    }
}

/// The range of a process's addresses.
const ADDRESSES: std::ops::Range<u64> = 1 << 44..1 << 48;

/// Returns whether a value looks like two numbers in one word, with a nonzero upper one.
fn is_packed(value: u64) -> bool {
    (1 << 32..ADDRESSES.start).contains(&value)
}

/// Removes the line and column of each `file.rs:12:34` from a message.
fn without_lines(message: &str) -> String {
    let mut parts = message.split(".rs:");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += ".rs";
        text += part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
    }
    text
}

impl Display for History {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let cell = |row: &Line| match row.site.filter(|_| !f.alternate()) {
            Some(site) => {
                format!("{}  {}:{}", row.text, site.file().rsplit('/').next().unwrap_or_default(), site.line())
            }
            None => row.text.clone(),
        };
        let rows: Vec<(usize, String)> = self.rows.iter().map(|row| (row.thread, cell(row))).collect();
        let mut widths: Vec<usize> = self.threads.iter().map(|name| name.chars().count()).collect();
        for (thread, text) in &rows {
            widths[*thread] = widths[*thread].max(text.chars().count());
        }
        let line = |f: &mut Formatter<'_>, step: &str, cells: &dyn Fn(usize) -> String| {
            let mut text = format!("{step:>4}");
            for (column, width) in widths.iter().enumerate() {
                text += &format!("  {:<width$}", cells(column));
            }
            writeln!(f, "{}", text.trim_end())
        };
        if !self.start.is_empty() {
            writeln!(f, "      at the start: {}", self.start)?;
        }
        line(f, "", &|column| self.threads[column].clone())?;
        line(f, "", &|column| "─".repeat(widths[column]))?;
        for (index, (thread, text)) in rows.iter().enumerate() {
            line(f, &(index + 1).to_string(), &|column| if column == *thread { text.clone() } else { String::new() })?;
        }
        if self.drains {
            writeln!(f, "      then the buffers reach memory")?;
        }
        match &self.failure {
            Some(failure) if f.alternate() => writeln!(f, "      ✗ {}", without_lines(&failure.message)),
            Some(failure) => writeln!(f, "      ✗ {failure}"),
            None => Ok(()),
        }
    }
}
