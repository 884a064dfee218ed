//! `filch probe store-buffer`: how many stores the processor's store buffer holds, as in section 7.2 of Adam Morrison
//! and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014.
//!
//! Runs of stores alternate with a chain of computations that is longer than the stores take to leave the buffer. A run
//! that fits into the buffer costs nothing; a longer one stalls, and delays the next chain. So the time of a repetition
//! is flat up to the buffer's capacity and rises beyond it.

mod knee;
pub(crate) mod stores;

use std::io::Write;

use serde::Serialize;

use filch_catalogue::console::json::Lines;
use filch_catalogue::console::stats::quantile;
use filch_catalogue::console::store_buffer::{Measured, Model, cache};
use filch_catalogue::protocol::Machine;

use crate::error::{Result, usage};
use crate::flags::ProbeStoreBuffer;
use crate::processors::{self, Neighbour, beside, bind, neighbour};
use crate::progress::Progress;
use crate::terminal::{colour, significant};
use crate::{commit, plot, table, ticks};

use self::knee::{Agreed, Knee, NoKnee, agree, knee};
use self::stores::{LONGEST, Stores};

/// The times that each length of run is measured in a round.
const PASSES: usize = 21;
/// The repetitions of each.
const TIMES: u64 = 25;

/// What is stored where, and beside whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Setting {
    processor: usize,
    to: To,
    beside: Option<Neighbour>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum To {
    Lines,
    OneAddress,
}

impl To {
    fn name(self) -> &'static str {
        match self {
            Self::Lines => "distinct lines",
            Self::OneAddress => "one address",
        }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    probe: &'static str,
    to: To,
    processor: usize,
    busy_neighbour: Option<usize>,
    neighbour_shares_core: bool,
    rounds: usize,
    /// `None`: not measurable, for the reason.
    capacity: Option<usize>,
    exactly: usize,
    halves: usize,
    least: Option<usize>,
    greatest: Option<usize>,
    why_not: Option<&'a str>,
    documented: Option<usize>,
    /// Ticks of the time-stamp counter, for runs of 1, 2, … stores: medians over the rounds.
    ticks: &'a [f64],
    machine: Machine,
    commit: String,
}

/// The rounds of a setting.
#[derive(Default)]
struct Rounds {
    curves: Vec<Vec<f64>>,
    knees: Vec<std::result::Result<Knee, NoKnee>>,
}

impl Rounds {
    /// The median over the rounds for each length.
    fn curve(&self) -> Vec<f64> {
        (0..LONGEST).map(|at| median(self.curves.iter().map(|curve| curve[at]).collect())).collect()
    }
}

/// Measures the ticks of a repetition, for all lengths of runs: of each the fastest but one. Whatever else the core
/// runs, perhaps for another virtual machine, adds time, and takes a part of the buffer; nothing adds to it.
fn curve(setting: Setting) -> Vec<f64> {
    const FASTEST: f64 = 1.0 / (PASSES - 1) as f64;
    let mut stores = Stores::new();
    let mut time = |length| {
        let mut run = |times| match setting.to {
            To::Lines => stores.spread(length, times),
            To::OneAddress => stores.repeated(length, times),
        };
        // Until the lines are in the cache and the jump is foreseen.
        run(5);
        let start = ticks();
        run(TIMES);
        #[expect(clippy::cast_precision_loss, reason = "far below 2⁵²")]
        let each = (ticks() - start) as f64 / TIMES as f64;
        each
    };
    bind(setting.processor);
    let mut all = vec![Vec::new(); LONGEST];
    for _ in 0..PASSES {
        for (before, times) in all.iter_mut().enumerate() {
            times.push(time(before + 1));
        }
    }
    all.into_iter().map(|times| at(FASTEST, times)).collect()
}

fn median(values: Vec<f64>) -> f64 {
    at(0.5, values)
}

fn at(share: f64, mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, share)
}

/// Returns what to measure on these processors.
fn settings(processors: &[usize]) -> Vec<Setting> {
    let on = |&processor: &usize| {
        let quiet = Setting { processor, to: To::Lines, beside: None };
        let busy = neighbour(processor).map(|other| Setting { beside: Some(other), ..quiet });
        [Some(quiet), Some(Setting { to: To::OneAddress, ..quiet }), busy].into_iter().flatten()
    };
    processors.iter().flat_map(on).collect()
}

/// The first and the last of all processors, because a machine with two kinds of processors numbers one kind after the
/// other.
fn chosen(flags: &ProbeStoreBuffer) -> Result<Vec<usize>> {
    let all = processors::all();
    match &flags.processors {
        Some(asked) => match asked.iter().map(|&asked| usize::from(asked)).find(|asked| !all.contains(asked)) {
            Some(missing) => Err(usage(format!("this process may not use a processor {missing}, only {all:?}"))),
            None => Ok(asked.iter().map(|&asked| usize::from(asked)).collect()),
        },
        None => {
            let mut ends: Vec<usize> = all.first().into_iter().chain(all.last()).copied().collect();
            ends.dedup();
            if ends.is_empty() { Err(usage("the system does not tell which processors there are")) } else { Ok(ends) }
        }
    }
}

pub(crate) fn store_buffer(flags: &ProbeStoreBuffer) -> Result {
    let mut lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let settings = settings(&chosen(flags)?);
    let progress = Progress::new(!flags.output.quiet);
    let mut seen: Vec<Rounds> = settings.iter().map(|_| Rounds::default()).collect();
    for round in 0..flags.rounds as usize {
        for (setting, rounds) in settings.iter().zip(&mut seen) {
            progress.show(round, flags.rounds as usize, f64::NAN, format!("stores on processor {}", setting.processor));
            let company = || Stores::new().spread(LONGEST, TIMES);
            let other = setting.beside.map(|other| other.processor);
            let curve = beside(other, company, || curve(*setting));
            rounds.knees.push(knee(&curve));
            rounds.curves.push(curve);
        }
    }
    progress.end();
    let model = Model::here();
    let documented = model.as_ref().and_then(Model::documented);
    let verdicts: Vec<_> = seen.iter().map(|rounds| agree(&rounds.knees)).collect();
    let curves: Vec<Vec<f64>> = seen.iter().map(Rounds::curve).collect();
    if let Some(lines) = &mut lines {
        for ((setting, verdict), ticks) in settings.iter().zip(&verdicts).zip(&curves) {
            let agreed = verdict.as_ref().ok();
            lines.write(&Line {
                probe: "store-buffer",
                to: setting.to,
                processor: setting.processor,
                busy_neighbour: setting.beside.map(|other| other.processor),
                neighbour_shares_core: setting.beside.is_some_and(|other| other.shares_core),
                rounds: flags.rounds as usize,
                capacity: agreed.map(|agreed| agreed.stores),
                exactly: agreed.map_or(0, |agreed| agreed.exactly),
                halves: agreed.map_or(0, |agreed| agreed.halves),
                least: agreed.map(|agreed| agreed.range.0),
                greatest: agreed.map(|agreed| agreed.range.1),
                why_not: verdict.as_ref().err().map(String::as_str),
                documented: documented.map(|(entries, _)| entries),
                ticks,
                machine: Machine::here(),
                commit: commit(),
            })?;
        }
    }
    let kept = keep(&verdicts, model);
    if flags.output.talks(lines.as_ref()) {
        let mut out = std::io::stdout().lock();
        let rows =
            settings.iter().zip(&verdicts).zip(&curves).map(|((setting, verdict), curve)| row(setting, verdict, curve));
        let heads = ["stores to", "on", "beside", "capacity", "rounds", "flat", "per store beyond"];
        writeln!(out, "{}", table::list(&heads, &rows.collect::<Vec<_>>(), colour()))?;
        for (setting, verdict) in settings.iter().zip(&verdicts) {
            if let Err(why) = verdict {
                writeln!(out, "not measurable: {} on processor {}: {why}", setting.to.name(), setting.processor)?;
            }
        }
        let drawn: Vec<(char, &[f64])> = settings
            .iter()
            .zip(&curves)
            .filter(|(setting, _)| setting.processor == settings[0].processor)
            .map(|(setting, curve)| (mark(setting), curve.as_slice()))
            .collect();
        writeln!(
            out,
            "\nticks of the time-stamp counter by the number of stores: * lines, o one address, + lines beside a busy processor"
        )?;
        writeln!(out, "{}", plot::plot(&drawn, "stores"))?;
        if let Some((entries, design)) = documented {
            writeln!(out, "documented for this processor ({design}): {entries} entries")?;
            if verdicts.iter().flatten().any(|agreed| (2 * agreed.stores).abs_diff(entries) <= 2) {
                writeln!(
                    out,
                    "half of it is what a core has for each of two threads; a virtual machine may hide the other"
                )?;
            }
        }
        writeln!(out, "{}", kept.unwrap_or_else(|why| why))?;
    }
    Ok(())
}

/// Writes the largest capacity to the user's cache; the sentence says what became of it.
fn keep(verdicts: &[std::result::Result<Agreed, String>], model: Option<Model>) -> std::result::Result<String, String> {
    let not = |why: &str| format!("not kept for bound=measured: {why}");
    let entries = verdicts.iter().map(|verdict| verdict.as_ref().map(|agreed| agreed.stores));
    let entries: std::result::Result<Vec<usize>, _> = entries.collect();
    let entries = entries.map_err(|_| not("not every row has a capacity"))?.into_iter().max().unwrap_or(0);
    let measured =
        Measured { model: model.ok_or_else(|| not("the processor does not name itself"))?, entries, commit: commit() };
    let folder = cache().ok_or_else(|| not("the user has no cache folder"))?;
    let file = measured.write(&folder).map_err(|why| not(&why))?;
    Ok(format!("kept in {}: bound=measured of a fence-free queue is {}", file.display(), measured.bound()))
}

fn mark(setting: &Setting) -> char {
    match (setting.to, setting.beside) {
        (To::OneAddress, _) => 'o',
        (To::Lines, None) => '*',
        (To::Lines, Some(_)) => '+',
    }
}

fn row(setting: &Setting, verdict: &std::result::Result<Agreed, String>, curve: &[f64]) -> Vec<String> {
    let beside = match setting.beside {
        None => "nobody".to_owned(),
        Some(Neighbour { processor, shares_core: true }) => format!("{processor}, its sibling"),
        Some(Neighbour { processor, .. }) => format!("{processor}, no known sibling"),
    };
    let mut cells = vec![setting.to.name().to_owned(), format!("processor {}", setting.processor), beside];
    match verdict {
        Ok(agreed) => {
            let Agreed { exactly, halves, range: (least, greatest), rounds, .. } = agreed;
            cells.push(agreed.stores.to_string());
            cells.push(format!("{exactly} of {rounds}, {halves} half, all {least} to {greatest}"));
            // The curve of medians is smoother than each round's.
            let lines = knee(curve).map_or([f64::NAN; 2], |knee| [knee.flat, knee.slope]);
            cells.extend(lines.map(significant));
        }
        Err(_) => cells.push("not measurable here".to_owned()),
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_kept_without_a_capacity_in_every_row() {
        let agreed = Agreed { stores: 64, exactly: 20, halves: 0, range: (64, 64), rounds: 20 };
        let why = keep(&[Ok(agreed), Err("noise".to_owned())], Model::here()).unwrap_err();
        assert!(why.contains("not every row"), "{why}");
        assert!(keep(&[Ok(agreed)], None).unwrap_err().contains("does not name itself"));
    }

    #[test]
    fn each_processor_is_measured_alone_and_with_company() {
        let Some(&first) = processors::all().first() else { return };
        let settings = settings(&[first]);
        assert_eq!(settings.len(), if neighbour(first).is_some() { 3 } else { 2 });
        assert!(settings.iter().all(|setting| setting.processor == first));
        assert_eq!(settings.iter().filter(|setting| setting.to == To::OneAddress).count(), 1);
    }
}
