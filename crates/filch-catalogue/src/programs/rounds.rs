//! A graph that is processed in rounds: its parameters.

use super::grain::Grain;
use super::graph::Input;
use super::{ParamError, Settings};

/// The graph, and the number of its vertices or edges per task.
#[derive(Clone, Debug)]
pub struct Choice {
    pub input: Input,
    pub grain: Grain,
}

impl Choice {
    pub fn parse(name: &'static str, settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self { input: Input::parse(name, settings)?, grain: Grain::parse(settings)? })
    }

    pub fn values(&self) -> Vec<String> {
        self.input.values().into_iter().chain([self.grain.to_string()]).collect()
    }
}
