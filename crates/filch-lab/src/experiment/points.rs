//! What was measured, seen from what was swept: each row without the parameter, and the value that it had there.
//!
//! Made from the rows alone, so that lines of a file are drawn and judged as a session is.

use super::Sweep;
use crate::identity::{ProgramId, SchedulerId};
use crate::summary::{Program, Row};

/// A row, and where it stands in a sweep.
#[derive(Clone, Debug)]
pub(crate) struct Point<'p> {
    /// The program, but for the parameter.
    pub(crate) program: ProgramId,
    /// The scheduler, but for the parameter.
    pub(crate) who: SchedulerId,
    /// The parameter's value, if either of them has it.
    pub(crate) value: Option<String>,
    pub(crate) row: &'p Row,
}

/// All rows that have a time.
pub(crate) fn points<'p>(programs: &'p [Program], sweep: Option<&Sweep>) -> Vec<Point<'p>> {
    let each = programs.iter().flat_map(|program| program.rows.iter().map(move |row| (program, row)));
    let point = |(of, row): (&'p Program, &'p Row)| {
        let (program, who, value) = Sweep::apart(sweep, &of.id, &row.who);
        Point { program, who, value, row }
    };
    each.filter(|(_, row)| row.time.is_some()).map(point).collect()
}
