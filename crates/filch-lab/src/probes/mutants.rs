//! Whether the checker finds known mistakes in queues and protocols.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::experiment::claim::{Decided, Evidence, Verdict};
use crate::experiment::origin::Origin;
use crate::experiment::probe::{Findings, Listing, Probe};
use crate::flags::Size;
use crate::runners::Executable;
use crate::stats::Estimate;

pub(super) static PROBE: Probe = Probe { program: Executable::Check, arguments, findings };

/// All mistakes in every size: none is left out because it is slow.
fn arguments(_: Size) -> Vec<String> {
    ["check", "--mutants"].map(str::to_owned).to_vec()
}

/// A known mistake.
#[derive(Debug, Deserialize)]
struct Line {
    subject: String,
    mutant: String,
    client: String,
    found: bool,
    control_passes: bool,
    executions: u64,
    control_executions: u64,
    message: Option<String>,
}

fn findings(lines: &[Value]) -> Findings {
    let lines: Vec<Line> = lines.iter().filter_map(|line| Line::deserialize(line).ok()).collect();
    let each = |text, rule: &str, is_right: fn(&Line) -> bool, what: &str| {
        let wrong: Vec<&Line> = lines.iter().filter(|line| !is_right(line)).collect();
        #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
        let count = Estimate { value: wrong.len() as f64, interval: None, rounds: 1 };
        let mut of = format!("mistakes {what}, of {}", lines.len());
        if !wrong.is_empty() {
            let names: Vec<&str> = wrong.iter().map(|line| line.mutant.as_str()).collect();
            of += &format!(" ({})", names.join(", "));
        }
        Decided {
            text,
            rule: rule.to_owned(),
            verdict: Verdict::of(lines.iter().map(|line| Ok(is_right(line)))),
            evidence: vec![Evidence { of, estimate: count, rows: Vec::new() }],
            origin: Origin::Ours,
        }
    };
    let decided = vec![
        each(
            "The checker finds every known mistake.",
            "each mistake does the harm that is expected of it",
            |line| line.found,
            "not found",
        ),
        each(
            "Without the mistake, the same program passes.",
            "no execution of the program without the mistake does harm",
            |line| line.control_passes,
            "whose program fails without them",
        ),
    ];
    Findings { decided, tables: vec![by_subject(&lines), table(&lines)], figures: Vec::new() }
}

fn by_subject(lines: &[Line]) -> Listing {
    let mut subjects: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    lines.iter().for_each(|line| subjects.entry(&line.subject).or_default().push(line));
    let row = |(subject, lines): (&str, Vec<&Line>)| {
        let found = lines.iter().filter(|line| line.found).count();
        let most = lines.iter().map(|line| line.executions).max().unwrap_or(0);
        vec![subject.to_owned(), lines.len().to_string(), found.to_string(), most.to_string()]
    };
    Listing {
        caption: "Mistakes by queue or protocol, and the most executions until one did harm.".to_owned(),
        heads: ["of", "mistakes", "found", "executions"].map(str::to_owned).to_vec(),
        rows: subjects.into_iter().map(row).collect(),
    }
}

fn table(lines: &[Line]) -> Listing {
    let row = |line: &Line| {
        let harm = line.message.clone().unwrap_or_else(|| "none".to_owned());
        vec![
            line.mutant.clone(),
            line.client.clone(),
            line.executions.to_string(),
            line.control_executions.to_string(),
            harm,
        ]
    };
    Listing {
        caption: "Each mistake, the program that shows it, executions with and without it, and the harm.".to_owned(),
        heads: ["mistake", "program", "executions", "without it", "harm"].map(str::to_owned).to_vec(),
        rows: lines.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(mutant: &str, found: bool) -> Value {
        json!({
            "subject": "chase-lev", "mutant": mutant, "client": "++|-- s", "found": found, "control_passes": true, "executions": 12,
            "control_executions": 340, "message": if found { Some("task 1 was taken twice") } else { None },
        })
    }

    #[test]
    fn one_mistake_that_is_not_found_refutes_the_claim() {
        let all = findings(&[line("chase-lev: no fence", true), line("chase-lev: no swap", true)]);
        assert!(all.decided.iter().all(|decided| decided.verdict == Verdict::Holds));
        let missed = findings(&[line("chase-lev: no fence", true), line("chase-lev: no swap", false)]);
        assert_eq!(missed.decided[0].verdict, Verdict::DoesNotHold);
        assert!(missed.decided[0].why().contains("of 2 (chase-lev: no swap): 1.00"), "{}", missed.decided[0].why());
        assert_eq!(missed.decided[1].verdict, Verdict::Holds);
        assert_eq!(missed.tables[0].rows, [["chase-lev", "2", "1", "12"]]);
    }

    #[test]
    fn no_line_shows_nothing() {
        assert!(findings(&[]).decided.iter().all(|decided| matches!(decided.verdict, Verdict::NotTestable(_))));
    }
}
