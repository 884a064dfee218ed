//! The findings of a session, in sentences.

use crate::columns::Unit;
use crate::stats::{Estimate, geometric_mean};
use crate::summary::{Program, Row};

/// Two times within this ratio are a tie.
const TIE: f64 = 1.02;

/// Returns the findings, the most important first.
pub(crate) fn facts(programs: &[Program], cores: usize) -> Vec<Fact> {
    let mut counts: Vec<usize> = programs.iter().flat_map(Program::worker_counts).collect();
    counts.sort_unstable();
    counts.dedup();
    let most = counts.iter().copied().filter(|&workers| workers <= cores).max();
    let shown = [most, counts.first().copied().filter(|&least| Some(least) != most)];
    let mut facts: Vec<Fact> = shown.into_iter().flatten().filter_map(|workers| fastest(programs, workers)).collect();
    facts.extend(most.and_then(|workers| rivals(programs, workers)));
    facts.extend(fork_price(programs));
    facts.extend(most.filter(|&workers| workers > 1).and_then(|workers| scaling(programs, workers)));
    facts
}

/// A prominent number, and the sentence that explains it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fact {
    pub(crate) figure: String,
    pub(crate) sentence: String,
}

fn workers_text(workers: usize) -> String {
    if workers == 1 { "one worker".to_owned() } else { format!("{workers} workers") }
}

/// The scheduler that is fastest on most programs.
fn fastest(programs: &[Program], workers: usize) -> Option<Fact> {
    let mut wins: Vec<(String, Vec<&str>)> = Vec::new();
    let mut contests = 0;
    for program in programs {
        let ranking = program.ranking(workers);
        let [best, _, ..] = ranking.as_slice() else { continue };
        contests += 1;
        let limit = best.median()? * TIE;
        for row in ranking.iter().filter(|row| row.median().is_some_and(|median| median <= limit)) {
            match wins.iter_mut().find(|(label, _)| *label == row.label) {
                Some((_, titles)) => titles.push(&program.title),
                None => wins.push((row.label.clone(), vec![&program.title])),
            }
        }
    }
    wins.sort_by_key(|(_, titles)| std::cmp::Reverse(titles.len()));
    let (label, titles) = wins.first()?;
    let others: Vec<String> = wins[1..].iter().map(|(label, titles)| format!("{label} {}", titles.len())).collect();
    let others = if others.is_empty() { String::new() } else { format!(" (others: {})", others.join(", ")) };
    let workers = workers_text(workers);
    Some(Fact {
        figure: format!("{} of {contests}", titles.len()),
        sentence: format!("programs on which {label} is the fastest or within 2 % of it, with {workers}{others}."),
    })
}

/// The time of the peers over that of filch's default pool.
fn rivals(programs: &[Program], workers: usize) -> Option<Fact> {
    let mut ratios: Vec<(String, Vec<(f64, &str)>)> = Vec::new();
    for program in programs {
        let Some(ours) = program.ours(workers) else { continue };
        for row in program.ranking(workers).iter().filter(|row| !row.who.is_filch()) {
            let ratio = Estimate::paired([&row.rounds, &ours.rounds], |[theirs, ours]| theirs / ours);
            let Some(ratio) = ratio else { continue };
            let entry = (ratio.value, program.title.as_str());
            match ratios.iter_mut().find(|(label, _)| *label == row.label) {
                Some((_, list)) => list.push(entry),
                None => ratios.push((row.label.clone(), vec![entry])),
            }
        }
    }
    let mean = |list: &[(f64, &str)]| geometric_mean(&list.iter().map(|&(ratio, _)| ratio).collect::<Vec<_>>());
    let mut means: Vec<(f64, String, (f64, &str))> = ratios
        .iter()
        .filter_map(|(label, list)| {
            let worst = list.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
            Some((mean(list)?, label.clone(), worst))
        })
        .collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (nearest, label, _) = means.first()?;
    let each = means
        .iter()
        .map(|(mean, label, (worst, title))| format!("{label} {mean:.2}× (maximum {worst:.2}× on {title})"));
    Some(Fact {
        figure: format!("{nearest:.2}×"),
        sentence: format!(
            "is the time of the nearest peer, {label}, over that of filch split, with {}, as a geometric mean: {}.",
            workers_text(workers),
            each.collect::<Vec<_>>().join("; ")
        ),
    })
}

/// The cost of a fork in the program with the finest tasks.
fn fork_price(programs: &[Program]) -> Option<Fact> {
    let program = programs.iter().filter(|program| program.ranking(1).len() > 1).max_by(|a, b| {
        let density =
            |program: &Program| program.ranking(1).first().and_then(|row| row.tasks_per_second()).unwrap_or(0.0);
        // Prefers the program that most schedulers run, then the one with the finest tasks.
        a.ranking(1).len().cmp(&b.ranking(1).len()).then(density(a).total_cmp(&density(b)))
    })?;
    let mut rows: Vec<(&Row, f64)> =
        program.ranking(1).into_iter().filter_map(|row| Some((row, row.compared.fork_seconds?.value))).collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    let ours = rows.iter().find(|(row, _)| row.who.is_default()).or_else(|| rows.first())?;
    let all = rows.iter().map(|(row, seconds)| format!("{} {}", row.label, Unit::ForkSeconds.text(*seconds)));
    Some(Fact {
        figure: Unit::ForkSeconds.text(ours.1),
        sentence: format!(
            "per fork and join over sequential {} in {}, with one worker: {}.",
            program.title,
            ours.0.label,
            all.collect::<Vec<_>>().join(", ")
        ),
    })
}

/// The share of the capacity that the default pool turns into speed-up.
fn scaling(programs: &[Program], workers: usize) -> Option<Fact> {
    let rows: Vec<(&Program, f64)> = programs
        .iter()
        .filter_map(|program| Some((program, program.ours(workers)?.compared.of_capacity?.value)))
        .collect();
    let mean = geometric_mean(&rows.iter().map(|&(_, share)| share).collect::<Vec<_>>())?;
    let (least, share) = rows.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let capacities: Vec<f64> =
        rows.iter().filter_map(|(program, _)| Some(program.capacity(workers, workers)?.sample.median)).collect();
    let capacity = geometric_mean(&capacities)?;
    Some(Fact {
        figure: format!("{:.0} %", mean * 100.0),
        sentence: format!(
            "of the machine's parallel capacity (C{workers} = {capacity:.2} on average) becomes speed-up T1/T{workers} in \
             filch split; the minimum is on {}: {:.0} %.",
            least.title,
            share * 100.0
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::summarize;
    use crate::summary::tests::session;

    #[test]
    fn the_facts_name_the_fastest_and_the_nearest_peer() {
        let facts = facts(&summarize(&session(), &[]), 2);
        assert_eq!(facts[0].figure, "1 of 1");
        assert!(
            facts[0].sentence.contains("filch split is the fastest") && facts[0].sentence.contains("with 2 workers")
        );
        let rivals = facts.iter().find(|fact| fact.sentence.contains("nearest peer")).unwrap();
        assert_eq!(rivals.figure, "3.67×");
        assert!(facts.iter().any(|fact| fact.sentence.contains("parallel capacity (C2 = 1.90")));
    }

    #[test]
    fn no_runs_give_no_facts() {
        assert_eq!(facts(&[], 2), []);
        assert!(summarize(&[], &[]).is_empty());
    }
}
