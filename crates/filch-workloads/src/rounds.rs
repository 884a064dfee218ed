//! Rounds over the vertices or edges of a graph that are left: what the programs by deterministic reservations have in common.

use crate::Grain;
use crate::graph::Input;
use crate::params::{ParamError, Settings};

/// The graph, and how many of its vertices or edges are a task.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) input: Input,
    grain: usize,
}

impl Choice {
    pub(crate) fn parse(name: &'static str, settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self { input: Input::parse(name, settings)?, grain: settings.whole("grain", 0, 1 << 32, "")? as usize })
    }

    pub(crate) fn values(&self) -> Vec<String> {
        self.input.values().into_iter().chain([self.grain.to_string()]).collect()
    }

    pub(crate) fn grain(&self, advice: usize) -> Grain {
        Grain::from_param(self.grain, advice)
    }
}

/// Vertices or edges of a round, when there are so many at first.
fn prefix(n: usize) -> usize {
    (n / 50).max(200)
}

/// Runs rounds over prefixes of `all` until nothing is left: `round` gets vertices or edges and gives those to try again.
pub(crate) fn rounds(all: &[u32], mut round: impl FnMut(&[u32]) -> Vec<u32>) {
    let size = prefix(all.len());
    let (mut active, mut rest) = (Vec::with_capacity(size), all);
    while !active.is_empty() || !rest.is_empty() {
        let (fresh, later) = rest.split_at(size.saturating_sub(active.len()).min(rest.len()));
        active.extend_from_slice(fresh);
        rest = later;
        active = round(&active);
    }
}

/// One list after the other.
pub(crate) fn append(mut left: Vec<u32>, right: Vec<u32>) -> Vec<u32> {
    left.extend(right);
    left
}
