//! `filch list scenarios`: lists the scenarios that `filch check` explores.

use std::io::Write;

use crate::error::{Result, usage};
use crate::table;
use crate::terminal::colour;

pub(crate) fn list(subjects: &[String]) -> Result {
    let heads = ["of", "what its threads do", "on", "cost"];
    let mut rows = scenarios();
    table::keep_named(&mut rows, |row| &row[0], subjects).map_err(usage)?;
    writeln!(std::io::stdout(), "{}", table::list(&heads, &rows, colour()))?;
    Ok(())
}

fn scenarios() -> Vec<Vec<String>> {
    let scenario = |scenario: &filch_check::Scenario| {
        let memories = if scenario.c11.is_ok() { "tso, c11" } else { "tso" };
        let cost = match (scenario.is_quick_on_tso, scenario.is_quick_on_c11) {
            (true, true) => "quick",
            (true, false) => "quick on tso",
            _ => "with --all",
        };
        [scenario.subject, &scenario.name, memories, cost].map(str::to_owned).to_vec()
    };
    filch_check::scenarios::all().iter().map(scenario).collect()
}
