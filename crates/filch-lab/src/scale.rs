//! Recorded computations, and how fast they would be on other machines.
//!
//! Invariant: a forecast's times are in its recording's units.

use filch_catalogue::protocol::Machine;
use filch_sim::forecast::{self, Graph, Outcome, Part, Pool};
use serde::{Deserialize, Serialize};

use crate::error::{Result, usage};

/// A recording, as `filch::scale::Scale` writes it. Lengths are in nanoseconds, or in units of the recording's own.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Recording {
    pub(crate) program: String,
    unit: Option<String>,
    pub(crate) work: u64,
    pub(crate) span: u64,
    pub(crate) theft: u64,
    pub(crate) burdened_span: u64,
    pub(crate) forks: u64,
    pub(crate) median_grain: u64,
    pub(crate) sentence: String,
    pub(crate) regions: Vec<Region>,
    /// The least length of strands, their number, and their sum.
    pub(crate) grains: Vec<[u64; 3]>,
    /// Forks with a shorter branch are not in the graph, and how many these are.
    #[serde(default)]
    region_names: Vec<String>,
    least_branch: Option<u64>,
    forks_left_out: Option<u64>,
    /// `None` if it was too long.
    graph: Option<String>,
    /// What moving a task costs where it was recorded; `None` if that was not measured.
    pub(crate) costs: Option<Costs>,
    /// `None` if that was not measured.
    pub(crate) capacity: Option<Capacity>,
}

/// How many times as fast a machine's processors run copies of the sequential program side by side as one of them runs
/// it: less than there are if copies take memory, caches or power from each other.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Capacity {
    pub(crate) processors: usize,
    pub(crate) times: f64,
}

/// A part of a program; the rest has no name.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Region {
    pub(crate) name: Option<String>,
    pub(crate) work: u64,
    pub(crate) span: u64,
}

/// What forks and thefts cost on a machine, in nanoseconds.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Costs {
    pub(crate) fork: f64,
    pub(crate) theft: Option<u64>,
    pub(crate) wake: Option<u64>,
    #[serde(default)]
    pub(crate) machine: Machine,
    #[serde(default)]
    pub(crate) commit: String,
}

/// The names of costs.
pub(crate) const COSTS: [&str; 3] = ["fork", "theft", "wake"];

impl Costs {
    /// Sets the cost of this name.
    pub(crate) fn set(&mut self, name: &str, nanoseconds: u32) {
        match name {
            "fork" => self.fork = nanoseconds.into(),
            "theft" => self.theft = Some(nanoseconds.into()),
            _ => self.wake = Some(nanoseconds.into()),
        }
    }
}

/// How long a computation would take under a pool's rules.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Forecast {
    pub(crate) pool: String,
    pub(crate) workers: usize,
    /// The median over some seeds, the least and the greatest.
    pub(crate) time: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The tasks that move, in the median.
    pub(crate) thefts: u64,
    /// The time of one worker over this time.
    pub(crate) speedup: f64,
}

impl Recording {
    /// Whether lengths are nanoseconds.
    pub(crate) fn is_time(&self) -> bool {
        self.unit.is_some()
    }

    /// A length as a text.
    pub(crate) fn long(&self, length: f64) -> String {
        if self.is_time() { crate::terminal::duration(length / 1e9) } else { format!("{length:.0}") }
    }

    pub(crate) fn parallelism(&self) -> f64 {
        ratio(self.work, self.span)
    }

    pub(crate) fn burdened_parallelism(&self) -> f64 {
        ratio(self.work, self.burdened_span)
    }

    /// What one worker takes: the strands and the forks.
    pub(crate) fn alone(&self, costs: &Costs) -> f64 {
        let fork = if self.is_time() { costs.fork } else { 0.0 };
        self.work as f64 + fork * self.forks as f64
    }

    fn graph(&self) -> Result<Option<Graph>> {
        let graph = self.graph.as_ref().map(|text| text.parse::<Graph>()).transpose();
        graph.map_err(|why| usage(format!("{}: {why}", self.program)))
    }

    /// Returns the parts of the critical path, each with the name of its region.
    pub(crate) fn critical_path(&self) -> Vec<(Option<&str>, Part)> {
        let name = |part: &Part| {
            let number = (part.region as usize).checked_sub(1)?;
            self.region_names.get(number).map(String::as_str).filter(|name| !name.is_empty())
        };
        // A damaged graph has been told by now.
        let graph = self.graph().ok().flatten();
        graph.map_or_else(Vec::new, |graph| graph.critical_path().into_iter().map(|part| (name(&part), part)).collect())
    }

    /// Returns how long the computation would take on so many workers each, under these pools' rules; nothing if the
    /// recording has no graph.
    pub(crate) fn forecast(&self, pools: &[Pool], workers: &[usize], costs: &Costs) -> Result<Vec<Forecast>> {
        // A guess: the time of a cache line's way, in which a thief finds that a victim has nothing; and for how long
        // a worker looks before it sleeps.
        const LOOK: f64 = 100.0;
        const PATIENCE: f64 = 50_000.0;
        // Where they cannot be measured.
        const THEFT: u64 = 5_000;
        const WAKE: u64 = 50_000;
        /// Simulated strands for each number of workers.
        const STRANDS: usize = 5_000_000;
        let Some(graph) = self.graph()? else { return Ok(Vec::new()) };
        let alone = self.alone(costs);
        // What forks cost makes all strands longer, or all else shorter.
        let stretch = if graph.work() > 0 { alone / graph.work() as f64 } else { 1.0 };
        let short = |cost: f64| if self.is_time() { (cost / stretch) as u64 } else { 0 };
        let (theft, wake) = (costs.theft.unwrap_or(THEFT), costs.wake.unwrap_or(WAKE));
        let costs = forecast::Costs {
            theft: if self.is_time() { short(theft as f64) } else { self.theft },
            look: short(LOOK),
            wake: short(wake as f64),
            patience: short(PATIENCE),
        };
        let seeds = (STRANDS / graph.strands().max(1)).clamp(1, 5) as u64;
        let of = |pool: Pool, workers: usize| {
            let machine = forecast::Machine { workers, spread: pool.spread(), costs };
            let mut runs: Vec<Outcome> = (1..=seeds).map(|seed| forecast::run(&graph, machine, seed)).collect();
            runs.sort_by_key(|run| run.time);
            let time = |index: usize| runs[index].time as f64 * stretch;
            let middle = runs.len() / 2;
            Forecast {
                pool: pool.to_string(),
                workers,
                time: time(middle),
                low: time(0),
                high: time(runs.len() - 1),
                thefts: runs[middle].thefts,
                speedup: if time(middle) > 0.0 { alone / time(middle) } else { 1.0 },
            }
        };
        Ok(pools.iter().flat_map(|&pool| workers.iter().map(move |&workers| of(pool, workers))).collect())
    }

    /// The greatest speed-up that work and span allow so many workers.
    pub(crate) fn law(&self, workers: usize) -> f64 {
        self.parallelism().min(workers as f64)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn recording(graph: &str, work: u64, span: u64) -> Recording {
        let line = format!(
            r#"{{"program":"<p>","unit":"ns","work":{work},"span":{span},"theft":5000,"burdened_span":{span},"forks":4,
            "median_grain":1024,"sentence":"More than 3 workers will not help.","least_branch":500,"forks_left_out":0,
            "regions":[{{"name":"merge","work":{work},"span":{span}}},{{"name":null,"work":0,"span":0}}],
            "grains":[[1024,3,{work}]],"graph":"{graph}"}}"#
        );
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) fn costs() -> Costs {
        let (machine, commit) = (Machine::default(), String::new());
        Costs { fork: 0.0, theft: Some(1000), wake: Some(20_000), machine, commit }
    }

    #[test]
    fn forks_cost_time_and_two_workers_share_it() {
        let recording = recording("(1000000|1000000)", 2_000_000, 1_000_000);
        let costs = Costs { fork: 50_000.0, ..costs() };
        let pools = ["split".parse().unwrap()];
        let forecast = recording.forecast(&pools, &[1, 2], &costs).unwrap();
        let [one, two] = &forecast[..] else { panic!("{forecast:?}") };
        assert!((one.time - 2_200_000.0).abs() < 10.0 && one.speedup == 1.0 && one.thefts == 0, "{one:?}");
        assert!((1_100_000.0..1_103_000.0).contains(&two.time) && two.thefts == 1, "{two:?}");
        assert!((1.99..=2.0).contains(&two.speedup) && two.low <= two.time && two.time <= two.high);
        assert_eq!((recording.law(1), recording.law(2), recording.law(64)), (1.0, 2.0, 2.0));
        let damaged = Recording { graph: Some("(1".to_owned()), ..recording };
        let why = damaged.forecast(&pools, &[1], &costs).unwrap_err().to_string();
        assert_eq!(why, "<p>: the graph is damaged: its end is missing");
    }
}
