//! The named experiments, one file each.

mod ablations;
mod cutoff;
mod fence_free;
mod forks;
mod lace;
mod padws;
mod placement;
mod private;
mod runtimes;
pub(crate) mod usual;
mod wsq;

use filch_protocol::cores;

use crate::error::{Result, usage};
use crate::experiment::Experiment;

/// Two workers, and as many as there are processors, up to the number of a document.
fn two_and_all(most: usize) -> Vec<usize> {
    two_and(cores().clamp(2, most))
}

fn two_and(all: usize) -> Vec<usize> {
    if all == 2 { vec![2] } else { vec![2, all] }
}

/// Two workers, twice as many, and so on, up to all processors or the number of a document: for curves.
fn up_to_all(most: usize) -> Vec<usize> {
    doubling(cores().clamp(2, most))
}

fn doubling(to: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(2_usize), |workers| workers.checked_mul(2));
    powers.take_while(|&workers| workers < to).chain([to]).collect()
}

/// Returns all experiments.
pub(crate) fn all() -> Vec<Experiment> {
    let own = vec![usual::experiment(), forks::experiment(), cutoff::experiment(), placement::experiment()];
    let runtimes = vec![runtimes::experiment(), runtimes::programs()];
    let documents =
        [lace::all(), padws::all(), private::all(), fence_free::all(), wsq::all(), runtimes, ablations::all()];
    own.into_iter().chain(documents.into_iter().flatten()).collect()
}

/// Returns the experiment of this name.
pub(crate) fn find(name: &str) -> Result<Experiment> {
    let all = all();
    let names: Vec<&str> = all.iter().filter_map(|experiment| experiment.name).collect();
    let unknown = || usage(filch_catalogue::unknown("experiment", name, &names));
    all.iter().find(|experiment| experiment.name == Some(name)).cloned().ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::COLUMNS;
    use crate::experiment::claim::Claim;
    use crate::experiment::plan::{Cell, Plan};
    use crate::experiment::quantity::{Measure, Pick};
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
    fn columns_and_plots_are_those_that_there_are() {
        for experiment in all() {
            let plotted =
                experiment.plots.iter().filter_map(|plot| if let Plot::Swept(of) = plot { Some(of) } else { None });
            for name in experiment.columns.iter().chain(plotted) {
                assert!(COLUMNS.iter().any(|column| column.name == *name), "{name}");
            }
            let has_plot = experiment.plots.iter().any(|plot| matches!(plot, Plot::Swept(_)));
            assert_eq!(experiment.sweep.is_some(), has_plot, "a sweep without its plot, or the reverse");
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
                    assert!(names.iter().all(|name| is_there(&Pick::any(name), &anywhere)), "{:?}", experiment.name);
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

    #[test]
    fn curves_double_their_workers_and_end_with_all() {
        assert_eq!(doubling(2), [2]);
        assert_eq!(doubling(8), [2, 4, 8]);
        assert_eq!(doubling(30), [2, 4, 8, 16, 30]);
        assert_eq!(up_to_all(30).last(), Some(&cores().clamp(2, 30)));
    }

    #[test]
    fn names_find_experiments() {
        assert!(all().iter().all(|experiment| find(experiment.name.unwrap_or_default()).is_ok()));
        assert!(matches!(find("fork"), Err(crate::error::Error::Usage(why)) if why.contains("did you mean `forks`")));
    }
}
