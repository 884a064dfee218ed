//! The measurements in terms of the sweep: each row without the swept parameter, and the parameter's value.
//!
//! Points are made from the rows alone, so lines of a file are drawn and judged like a session.

use super::Sweep;
use super::claim::RowId;
use crate::identity::{ProgramId, SchedulerId};
use crate::summary::{Program, Row};

/// A row, and its position in a sweep.
#[derive(Clone, Debug)]
pub(crate) struct Point<'p> {
    /// The whole program.
    pub(crate) of: &'p ProgramId,
    /// The program without the parameter.
    pub(crate) program: ProgramId,
    /// The scheduler without the parameter.
    pub(crate) who: SchedulerId,
    /// The parameter's value, if the program or the scheduler has it.
    pub(crate) value: Option<String>,
    pub(crate) row: &'p Row,
}

impl Point<'_> {
    /// What its runs have in common.
    pub(crate) fn id(&self) -> RowId {
        RowId { program: self.of.clone(), who: self.row.who.clone(), workers: self.row.workers }
    }
}

/// Returns all rows that have a time.
pub(crate) fn points<'p>(programs: &'p [Program], sweep: Option<&Sweep>) -> Vec<Point<'p>> {
    let each = programs.iter().flat_map(|program| program.rows.iter().map(move |row| (program, row)));
    let point = |(of, row): (&'p Program, &'p Row)| {
        let (program, who, value) = Sweep::apart(sweep, &of.id, &row.who);
        Point { of: &of.id, program, who, value, row }
    };
    each.filter(|(_, row)| row.time.is_some()).map(point).collect()
}
