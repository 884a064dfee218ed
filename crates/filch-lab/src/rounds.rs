//! The order of runs in a session: rounds over all cells, each in shuffled order, as many as time allows; then, while
//! there is patience, rounds over the cells that what is undecided concerns.
//!
//! [`Runner`] hides the cells, their runs and the clock, so that this is tested without a clock.

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundLimits {
    pub(crate) seed: u64,
    /// The seconds for rounds over all cells.
    pub(crate) budget: f64,
    /// The seconds after these for rounds over undecided cells.
    pub(crate) patience: f64,
    /// The minimum number of rounds, even if they take longer.
    pub(crate) at_least: usize,
    /// The maximum number of rounds over all cells, even if there is time for more.
    pub(crate) at_most: usize,
    /// The seconds that a visit fills with timed runs, so that starting a process is not most of the work.
    pub(crate) visit: f64,
}

/// One visit to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) cell: usize,
    pub(crate) round: usize,
    /// The timed runs of the visit.
    pub(crate) repeats: usize,
}

/// How a visit ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum VisitOutcome {
    /// With the typical seconds of a timed run.
    Timed(f64),
    /// The run crashed, hung or could not start.
    Broken(String),
    /// The runner refused: trying again is useless.
    Refused(String),
    /// The session must end.
    Interrupted,
}

/// Runs visits and knows the time.
pub(crate) trait Runner {
    /// Returns the seconds since the session began.
    fn clock(&self) -> f64;

    /// Runs a visit.
    fn run(&mut self, visit: Visit) -> VisitOutcome;

    /// Returns the cells whose further visits may decide something.
    fn undecided(&mut self) -> Vec<usize> {
        Vec::new()
    }

    /// Receives the progress before each visit: visits done, visits planned, seconds left.
    fn progress(&mut self, _next: Visit, _done: usize, _planned: usize, _left: f64) {}
}

/// How the session ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Finish {
    /// The completed rounds.
    pub(crate) rounds: usize,
    pub(crate) interrupted: bool,
    /// Cells that failed once and succeeded on the second try, with the reason.
    pub(crate) redone: Vec<(usize, String)>,
    /// Cells that failed twice in a round and were omitted from then on.
    pub(crate) broken: Vec<(usize, String)>,
    /// Cells that cannot run here.
    pub(crate) refused: Vec<(usize, String)>,
}

const MOST_REPEATS: usize = 10;

/// Runs a session.
pub(crate) fn execute(cells: usize, limits: &RoundLimits, runner: &mut impl Runner) -> Finish {
    let mut session = Session {
        limits,
        random: fastrand::Rng::with_seed(limits.seed),
        cells: vec![Cell::default(); cells],
        visited: (0..cells).collect(),
        rounds: limits.at_least.min(limits.at_most),
        done: 0,
        finish: Finish::default(),
    };
    session.perform(runner);
    let end = runner.clock().max(limits.budget) + limits.patience;
    // Each look is another chance of a wrong decision; since the rounds double between them, there are few.
    while limits.patience > 0.0 && !session.finish.interrupted {
        session.visited = runner.undecided();
        session.double(end - runner.clock());
        if session.rounds == session.finish.rounds {
            break;
        }
        session.perform(runner);
    }
    session.finish
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    broken: bool,
    /// The seconds of a typical timed run, once known.
    run: Option<f64>,
    /// The seconds of the last visit beyond its timed runs.
    extra: f64,
}

impl Cell {
    /// The timed runs that fill this many seconds in the next visit.
    fn repeats(&self, visit: f64) -> usize {
        match self.run {
            Some(run) if run > 0.0 => {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped below")]
                let repeats = (visit / run).ceil() as usize;
                repeats.clamp(1, MOST_REPEATS)
            }
            _ => 1,
        }
    }

    /// The expected seconds of the next visit.
    fn cost(&self, visit: f64) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "at most ten")]
        self.run.map(|run| self.extra + run * self.repeats(visit) as f64)
    }
}

struct Session<'s> {
    limits: &'s RoundLimits,
    random: fastrand::Rng,
    cells: Vec<Cell>,
    /// The cells that a round visits, unless they are broken.
    visited: Vec<usize>,
    /// The planned rounds.
    rounds: usize,
    done: usize,
    finish: Finish,
}

impl Session<'_> {
    /// Performs the planned rounds.
    fn perform(&mut self, runner: &mut impl Runner) {
        while self.finish.rounds < self.rounds {
            if !self.round(runner) {
                self.finish.interrupted = true;
                break;
            }
            self.finish.rounds += 1;
            self.extend(runner.clock());
        }
    }

    /// Visits every working cell once; false if interrupted.
    fn round(&mut self, runner: &mut impl Runner) -> bool {
        let mut order = self.working();
        self.random.shuffle(&mut order);
        let mut again: Vec<(usize, String)> = Vec::new();
        for (position, &cell) in order.iter().enumerate() {
            match self.visit(cell, &order[position..], runner) {
                VisitOutcome::Timed(_) => {}
                VisitOutcome::Broken(why) => again.push((cell, why)),
                VisitOutcome::Refused(why) => self.refuse(cell, why),
                VisitOutcome::Interrupted => return false,
            }
        }
        for (cell, why) in again {
            match self.visit(cell, &[], runner) {
                VisitOutcome::Timed(_) => self.finish.redone.push((cell, why)),
                VisitOutcome::Broken(why) => {
                    self.cells[cell].broken = true;
                    self.finish.broken.push((cell, why));
                }
                VisitOutcome::Refused(why) => self.refuse(cell, why),
                VisitOutcome::Interrupted => return false,
            }
        }
        true
    }

    fn refuse(&mut self, cell: usize, why: String) {
        self.cells[cell].broken = true;
        self.finish.refused.push((cell, why));
    }

    /// The cells of a round.
    fn working(&self) -> Vec<usize> {
        self.visited.iter().copied().filter(|&cell| !self.cells[cell].broken).collect()
    }

    /// Visits a cell, which is the first of the rest of this round.
    fn visit(&mut self, cell: usize, rest: &[usize], runner: &mut impl Runner) -> VisitOutcome {
        let visit = Visit { cell, round: self.finish.rounds, repeats: self.cells[cell].repeats(self.limits.visit) };
        let later = self.rounds.saturating_sub(self.finish.rounds + 1) * self.working().len();
        let planned = self.done + rest.len().max(1) + later;
        let left = if rest.is_empty() { 0.0 } else { self.left(rest, runner.clock()) };
        runner.progress(visit, self.done, planned, left);
        let start = runner.clock();
        let outcome = runner.run(visit);
        if let VisitOutcome::Timed(run) = outcome {
            let elapsed = runner.clock() - start;
            #[expect(clippy::cast_precision_loss, reason = "at most ten")]
            let repeats = visit.repeats as f64;
            let extra = (elapsed - run * repeats).max(0.0);
            self.cells[cell] = Cell { broken: false, run: Some(run), extra };
        }
        self.done += 1;
        outcome
    }

    /// The seconds until the end of the last planned round; new cells count as the average of the others.
    fn left(&self, rest: &[usize], clock: f64) -> f64 {
        let seen: Vec<f64> = self.cells.iter().filter_map(|cell| cell.cost(self.limits.visit)).collect();
        #[expect(clippy::cast_precision_loss, reason = "few cells")]
        let average = if seen.is_empty() { f64::NAN } else { seen.iter().sum::<f64>() / seen.len() as f64 };
        let cost = |cell: &Cell| cell.cost(self.limits.visit).unwrap_or(average);
        let this_round: f64 = rest.iter().map(|&cell| cost(&self.cells[cell])).sum();
        let rounds_after = self.rounds.saturating_sub(self.finish.rounds + 1);
        #[expect(clippy::cast_precision_loss, reason = "few rounds")]
        let later = self.working().iter().map(|&cell| cost(&self.cells[cell])).sum::<f64>() * rounds_after as f64;
        // More rounds follow while there is time.
        let planned = this_round + later;
        if self.limits.at_most > self.rounds { planned.max(self.limits.budget - clock) } else { planned }
    }

    /// The expected seconds of the next round.
    fn cost(&self) -> f64 {
        self.working().into_iter().filter_map(|cell| self.cells[cell].cost(self.limits.visit)).sum()
    }

    /// Adds as many rounds as there were, or as many as fit into these seconds.
    fn double(&mut self, seconds: f64) {
        let cost = self.cost();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of rounds; negative is none"
        )]
        let fitting = if cost > 0.0 { (seconds / cost) as usize } else { 0 };
        self.rounds += fitting.min(self.finish.rounds);
    }

    /// Adds a round if the planned ones are done and another fits into the budget.
    fn extend(&mut self, clock: f64) {
        let cost = self.cost();
        let fits = cost > 0.0 && clock + cost <= self.limits.budget;
        if self.working().is_empty() {
            self.rounds = self.finish.rounds;
        } else if self.finish.rounds == self.rounds && self.rounds < self.limits.at_most && fits {
            self.rounds += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs nothing; each cell takes its own time on a simulated clock.
    struct Mock {
        clock: f64,
        seconds: Vec<f64>,
        visits: Vec<Visit>,
        outcomes: fn(&[Visit], Visit) -> Option<VisitOutcome>,
        undecided: fn(&[Visit]) -> Vec<usize>,
    }

    impl Mock {
        fn new(seconds: &[f64]) -> Self {
            Self {
                clock: 0.0,
                seconds: seconds.to_vec(),
                visits: Vec::new(),
                outcomes: |_, _| None,
                undecided: |_| Vec::new(),
            }
        }
    }

    impl Runner for Mock {
        fn clock(&self) -> f64 {
            self.clock
        }

        fn run(&mut self, visit: Visit) -> VisitOutcome {
            let outcome = (self.outcomes)(&self.visits, visit);
            self.visits.push(visit);
            let run = self.seconds[visit.cell];
            self.clock += run * visit.repeats as f64;
            outcome.unwrap_or(VisitOutcome::Timed(run))
        }

        fn undecided(&mut self) -> Vec<usize> {
            (self.undecided)(&self.visits)
        }
    }

    fn limits(budget: f64) -> RoundLimits {
        RoundLimits { seed: 7, budget, patience: 0.0, at_least: 3, at_most: 20, visit: 0.15 }
    }

    #[test]
    fn every_round_visits_every_cell_once_in_a_new_order() {
        let mut mock = Mock::new(&[1.0; 12]);
        let finish = execute(12, &limits(1.0), &mut mock);
        assert_eq!(finish, Finish { rounds: 3, ..Finish::default() });
        let order = |round: usize| -> Vec<usize> {
            mock.visits.iter().filter(|visit| visit.round == round).map(|visit| visit.cell).collect()
        };
        for round in 0..3 {
            let mut cells = order(round);
            cells.sort_unstable();
            assert_eq!(cells, (0..12).collect::<Vec<_>>());
        }
        assert_ne!(order(0), order(1));
        assert_ne!(order(0), (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn a_seed_determines_the_order() {
        let (mut first, mut second) = (Mock::new(&[1.0; 9]), Mock::new(&[1.0; 9]));
        execute(9, &limits(1.0), &mut first);
        execute(9, &limits(1.0), &mut second);
        assert_eq!(first.visits, second.visits);
        let mut other = Mock::new(&[1.0; 9]);
        execute(9, &RoundLimits { seed: 8, ..limits(1.0) }, &mut other);
        assert_ne!(first.visits, other.visits);
    }

    #[test]
    fn rounds_fill_the_budget_and_no_more() {
        let mut mock = Mock::new(&[1.0, 2.0]);
        let finish = execute(2, &limits(16.0), &mut mock);
        assert_eq!(finish.rounds, 5);
        assert!(mock.clock <= 16.0);
    }

    #[test]
    fn a_fixed_number_of_rounds_ignores_the_budget() {
        let mut mock = Mock::new(&[1.0, 2.0]);
        let fixed = RoundLimits { at_least: 2, at_most: 2, ..limits(1000.0) };
        assert_eq!(execute(2, &fixed, &mut mock).rounds, 2);
    }

    #[test]
    fn patience_is_for_what_is_undecided() {
        let visits = |mock: &Mock, cell| mock.visits.iter().filter(|visit| visit.cell == cell).count();
        let patient = RoundLimits { at_most: 3, patience: 100.0, ..limits(0.0) };
        let mut mock = Mock::new(&[1.0; 5]);
        // Decided with a dozen visits, that is, at the second look.
        mock.undecided = |visits| {
            let many = visits.iter().filter(|visit| visit.cell == 4).count() >= 12;
            if many { Vec::new() } else { vec![1, 4] }
        };
        let finish = execute(5, &patient, &mut mock);
        assert_eq!((finish.rounds, visits(&mock, 0), visits(&mock, 1), visits(&mock, 4)), (12, 3, 12, 12));
        assert!(mock.visits.iter().filter(|visit| visit.round >= 3).all(|visit| [1, 4].contains(&visit.cell)));

        let mut never = Mock::new(&[1.0; 5]);
        never.undecided = |_| vec![1, 4];
        let finish = execute(5, &patient, &mut never);
        assert_eq!(finish.rounds, 3 + 50, "two seconds each");
        assert!((never.clock - 115.0).abs() < 1e-9, "{}", never.clock);

        let impatient = RoundLimits { patience: 0.0, ..patient };
        assert_eq!(execute(5, &impatient, &mut Mock { clock: 0.0, visits: Vec::new(), ..never }).rounds, 3);
    }

    #[test]
    fn broken_cells_decide_nothing() {
        let mut mock = Mock::new(&[1.0; 2]);
        mock.outcomes = |_, visit| (visit.cell == 1).then(|| VisitOutcome::Broken("killed".into()));
        mock.undecided = |_| vec![1];
        let finish = execute(2, &RoundLimits { at_most: 3, patience: 100.0, ..limits(0.0) }, &mut mock);
        assert_eq!((finish.rounds, mock.visits.len()), (3, 3 + 2));
    }

    #[test]
    fn short_runs_are_repeated_within_a_visit() {
        let mut mock = Mock::new(&[0.05]);
        execute(1, &RoundLimits { at_most: 3, ..limits(0.0) }, &mut mock);
        let repeats: Vec<usize> = mock.visits.iter().map(|visit| visit.repeats).collect();
        assert_eq!(repeats, [1, 3, 3]);
    }

    #[test]
    fn a_run_that_fails_once_is_redone() {
        let mut mock = Mock::new(&[1.0; 3]);
        mock.outcomes = |visits, visit| {
            let first = !visits.iter().any(|seen| seen.cell == 1);
            (visit.cell == 1 && first).then(|| VisitOutcome::Broken("killed".into()))
        };
        let finish = execute(3, &limits(0.0), &mut mock);
        assert_eq!(finish.redone, [(1, "killed".to_owned())]);
        assert!(finish.broken.is_empty());
        assert_eq!(mock.visits.len(), 10);
    }

    #[test]
    fn a_run_that_fails_twice_is_omitted() {
        let mut mock = Mock::new(&[1.0; 3]);
        mock.outcomes = |_, visit| (visit.cell == 1).then(|| VisitOutcome::Broken("killed".into()));
        let finish = execute(3, &limits(0.0), &mut mock);
        assert_eq!(finish.broken, [(1, "killed".to_owned())]);
        assert_eq!(mock.visits.iter().filter(|visit| visit.cell == 1).count(), 2);
        assert_eq!(mock.visits.len(), 2 + 2 * 3);
    }

    #[test]
    fn a_refused_run_is_not_tried_again() {
        let mut mock = Mock::new(&[1.0; 3]);
        mock.outcomes = |_, visit| (visit.cell == 1).then(|| VisitOutcome::Refused("no stack".into()));
        let finish = execute(3, &limits(0.0), &mut mock);
        assert_eq!(finish.refused, [(1, "no stack".to_owned())]);
        assert_eq!(mock.visits.len(), 1 + 2 * 3);
    }

    #[test]
    fn a_session_in_which_everything_fails_ends() {
        let mut mock = Mock::new(&[1.0; 2]);
        mock.outcomes = |_, _| Some(VisitOutcome::Broken("killed".into()));
        let finish = execute(2, &limits(100.0), &mut mock);
        assert_eq!(finish.broken.len(), 2);
        assert_eq!(mock.visits.len(), 4);
    }

    #[test]
    fn an_interrupt_ends_the_session_at_once() {
        let mut mock = Mock::new(&[1.0; 4]);
        mock.outcomes = |visits, _| (visits.len() == 5).then_some(VisitOutcome::Interrupted);
        let finish = execute(4, &limits(100.0), &mut mock);
        assert!(finish.interrupted);
        assert_eq!(finish.rounds, 1);
        assert_eq!(mock.visits.len(), 6);
    }
}
