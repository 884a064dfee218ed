//! The named experiments: the files of the folder `experiments` in the repository, which the program has in itself, and
//! the default of `compare`.

pub(crate) mod usual;

use std::path::Path;
use std::sync::LazyLock;

use crate::error::{Result, usage};
use crate::experiment::Experiment;
use crate::experiment::file;
use crate::experiment::paper::DOCUMENTS;
use crate::export::json;

// `FILES: &[(&str, &str)]`: each file's name without its ending, and its text.
include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

static ALL: LazyLock<Vec<Experiment>> = LazyLock::new(|| {
    let file =
        |&(id, text): &(&str, &str)| file::read(id, text).unwrap_or_else(|why| panic!("experiments/{id}.toml, {why}"));
    let mut all: Vec<Experiment> = FILES.iter().map(file).chain([usual::experiment()]).collect();
    all.sort_by_key(place);
    all
});

/// Where an experiment stands among all: after its document's, by its name, `fig10` after `fig7`.
fn place(experiment: &Experiment) -> (usize, &'static str, u32, &'static str) {
    let of = |name| DOCUMENTS.iter().position(|document| document.name == name);
    let document = experiment.paper.and_then(|paper| of(paper.document.name)).unwrap_or(DOCUMENTS.len());
    let name = experiment.name.unwrap_or_default();
    let (head, rest) = name.split_at(name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len()));
    let (number, tail) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    (document, head, number.parse().unwrap_or(0), tail)
}

/// Returns all experiments that the program has in itself.
pub(crate) fn all() -> Vec<Experiment> {
    ALL.clone()
}

/// Returns the experiment of this name, or the one in this file.
pub(crate) fn find(name: &str) -> Result<Experiment> {
    let path = Path::new(name);
    if path.extension().is_some_and(|ending| ending == "toml") {
        return read(path);
    }
    let names: Vec<&str> = ALL.iter().filter_map(|experiment| experiment.name).collect();
    let unknown = || usage(filch_catalogue::unknown("experiment", name, &names));
    ALL.iter().find(|experiment| experiment.name == Some(name)).cloned().ok_or_else(unknown)
}

/// Reads a user's experiment, whose name is that of the file.
fn read(path: &Path) -> Result<Experiment> {
    let shown = path.display();
    let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if ALL.iter().any(|experiment| experiment.name == Some(id)) {
        return Err(usage(format!("{shown}: {id} is an experiment of filch's; give the file another name")));
    }
    let read = file::read_and_check(id, &json::text(path)?).map_err(|why| usage(format!("{shown}, {why}")))?;
    Ok(Experiment { file: Some(file::keep(shown.to_string())), ..read })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::claim::Claim;
    use crate::experiment::paper::{Table, is_quotient};
    use crate::experiment::plan::{Cell, Plan};
    use crate::experiment::quantity::{At, Measure, Pick};
    use crate::experiment::{Plot, Sweep};
    use crate::flags::Size;

    #[test]
    fn every_experiment_can_be_planned_in_every_size_that_fits() {
        for experiment in all() {
            let name = experiment.name.expect("a name");
            assert!(experiment.question.ends_with('?') && !experiment.workers.is_empty(), "{name}");
            if experiment.probe.is_some() {
                assert!(experiment.entries.is_empty(), "{name}");
                continue;
            }
            for size in [Size::Quick, Size::Small] {
                let plan = Plan::new(&experiment, size).unwrap_or_else(|error| panic!("{name}: {error:?}"));
                assert!(plan.cells.len() > plan.programs.len(), "{name}");
                assert_eq!(plan.left_out.iter().filter(|why| !why.contains("cannot be bound")).count(), 0, "{name}");
            }
        }
    }

    #[test]
    fn files_name_what_there_is() {
        for (id, text) in FILES {
            let read = file::read_and_check(id, text).unwrap_or_else(|why| panic!("{id}, {why}"));
            let has_plot = read.plots.iter().any(|plot| matches!(plot, Plot::Swept(_)));
            assert_eq!(read.sweep.is_some(), has_plot, "{id}: a sweep without its plot, or the reverse");
        }
    }

    #[test]
    fn claims_speak_of_what_is_measured() {
        for experiment in all() {
            let plan = Plan::new(&experiment, Size::Quick).expect("a plan");
            let sweep = experiment.sweep.as_ref();
            let is_there = |pick: &Pick, claim: &Claim| {
                // Another machine may measure what this one lacks.
                let workers = pick.workers.or(claim.workers).filter(|_| claim.needs.is_none());
                let of_claim = pick.program.map_or(claim.programs.to_vec(), |program| vec![program]);
                let meant = |cell: &Cell| {
                    let who = cell.scheduler.identity(cell.placement);
                    let (program, who, value) = Sweep::apart(sweep, &plan.ids[cell.program], &who);
                    let title = program.to_string();
                    pick.who == who.to_string()
                        && pick.at.takes(value.as_deref())
                        && workers.is_none_or(|workers| workers == cell.workers)
                        && (of_claim.is_empty() || of_claim.iter().any(|start| title.starts_with(start)))
                };
                plan.cells.iter().any(meant)
            };
            for claim in &experiment.claims {
                assert!(is_there(&claim.of, claim), "{:?}: {}", experiment.name, claim.text);
                if let Measure::OverBest(_, names) = claim.measure {
                    // An unrolled program is compared with the plain one.
                    let anywhere = Claim { programs: &[], ..claim.clone() };
                    assert!(
                        names.iter().all(|name| is_there(&Pick::new(name, At::Any), &anywhere)),
                        "{:?}",
                        experiment.name
                    );
                }
                if let Measure::Over(_, over) | Measure::MeanOver(_, over) | Measure::Beyond(_, over) = &claim.measure {
                    assert!(is_there(over, claim), "{:?}: {}", experiment.name, claim.text);
                }
            }
        }
    }

    #[test]
    fn a_claim_is_known_by_its_words() {
        for experiment in all() {
            let mut words: Vec<&str> = experiment.claims.iter().map(|claim| claim.text).collect();
            words.sort_unstable();
            assert!(words.windows(2).all(|pair| pair[0] != pair[1]), "{:?}: {words:?}", experiment.name);
        }
    }

    /// What a document prints must agree with itself, or the experiment says where it does not.
    #[test]
    fn printed_ratios_that_do_not_follow_are_those_named() {
        let mut wrong = Vec::new();
        for row in table("lace-fig5").rows {
            let (program, serial) = (row[0], row[1]);
            for (pool, cells) in ["Lace", "private", "Wool"].into_iter().zip(row[2..].chunks(4)) {
                assert!(is_quotient(cells[3], cells[0], cells[1]), "T1/T48 of {program} on {pool}");
                if !is_quotient(cells[2], serial, cells[1]) {
                    wrong.push(format!("{program} {pool}"));
                }
            }
        }
        let named = [
            "fib 50 Lace",
            "fib 50 private",
            "uts T2L Lace",
            "uts T2L private",
            "uts T2L Wool",
            "uts T3L Lace",
            "uts T3L private",
            "uts T3L Wool",
            "queens 15 private",
        ];
        assert_eq!(wrong, named);
    }

    /// So does the overhead, as far as it is printed.
    #[test]
    fn the_speedups_of_the_job_queue_follow_from_its_times() {
        for row in table("wsq-table").rows {
            assert!(is_quotient(row[4], row[2], row[3]), "{row:?}");
            let number = |cell: &str| cell.parse::<u32>().expect("a number");
            assert!(row[5].is_empty() || number(row[3]) - number(row[2]) == number(row[5]), "{row:?}");
        }
    }

    /// Returns the first table that an experiment's document prints.
    fn table(id: &str) -> &'static Table {
        &find(id).expect("an experiment").paper.expect("a document").tables[0]
    }

    #[test]
    fn names_find_experiments() {
        assert!(all().iter().all(|experiment| find(experiment.name.unwrap_or_default()).is_ok()));
        assert!(matches!(find("fork"), Err(crate::error::Error::Usage(why)) if why.contains("did you mean `forks`")));
    }
}
