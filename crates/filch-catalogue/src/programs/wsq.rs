//! Many small jobs: their parameters.

use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The number of jobs, and their length.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub rounds: u32,
    pub jobs: u32,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "wsq",
        summary: "many small jobs",
        source: "WSQ (injinj/WSQ)",
        params: &[
            ParamSpec { name: "k", help: "rounds per job, some 1.5 ns each", default: "100" },
            ParamSpec { name: "jobs", help: "number of jobs", default: "10000" },
        ],
        quick: &[("k", "1000")],
        compare: &[("k", "5000")],
        paper: &[("k", "100")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        let rounds = settings.whole("k", 0, 1_000_000_000, ", a second")? as u32;
        let jobs = settings.whole("jobs", 0, 10_000_000, ", which take 610 MiB")? as u32;
        Ok(Self { rounds, jobs })
    }

    fn values(&self) -> Vec<String> {
        vec![self.rounds.to_string(), self.jobs.to_string()]
    }

    fn tasks(&self) -> Option<u64> {
        Some(u64::from(self.jobs))
    }

    fn memory_bytes(&self) -> u64 {
        u64::from(self.jobs) * 64
    }
}
