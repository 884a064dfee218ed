//! The queens problem as the public comparison of C++ runtimes has it: a task receives its board, an array of a
//! constant length, by value, and first looks which columns of the next row are free.

use filch_catalogue::ParamError;
use filch_catalogue::programs;
use filch_catalogue::programs::nqueens::Params;
use filch_catalogue::programs::queens::SOLUTIONS;

use crate::ForkJoin;
use crate::answer::{Answer, expect};
use crate::spec::{Forks, Prepare, Runs};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        Ok(Instance { params: *self })
    }
}

/// The program; it needs no memory.
#[derive(Debug)]
pub struct Instance {
    params: Params,
}

impl Runs for Instance {
    fn serial(&mut self) -> Answer {
        Answer::Number(match self.params.n {
            8 => serial(0, [0; 8]),
            10 => serial(0, [0; 10]),
            12 => serial(0, [0; 12]),
            _ => serial(0, [0; 14]),
        })
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &Answer::Number(SOLUTIONS[self.params.n - 1]))
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        programs::Params::tasks(&self.params)
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        Answer::Number(match self.params.n {
            8 => nqueens(j, 0, [0; 8]),
            10 => nqueens(j, 0, [0; 10]),
            12 => nqueens(j, 0, [0; 12]),
            _ => nqueens(j, 0, [0; 14]),
        })
    }
}

/// Returns whether no queen of the filled rows attacks this column of the next row.
#[inline]
fn is_free(filled: &[u8], column: u8) -> bool {
    // A slice whose length the loop runs to: with the first of a longer array it takes a fifth longer.
    filled.iter().enumerate().all(|(row, &other)| {
        let apart = other.abs_diff(column);
        apart != 0 && usize::from(apart) != filled.len() - row
    })
}

/// Returns the free columns of the next row, and their number.
#[inline]
fn free_columns<const N: usize>(board: &[u8; N], rows: usize) -> ([u8; N], usize) {
    let filled = &board[..rows];
    let (mut columns, mut count) = ([0; N], 0);
    for column in 0..N as u8 {
        if is_free(filled, column) {
            columns[count] = column;
            count += 1;
        }
    }
    (columns, count)
}

/// The fork–join program: counts the ways to complete a board of which `rows` are filled.
///
/// ```
/// use filch_workloads::{Serial, nqueens::nqueens};
///
/// assert_eq!(nqueens(Serial, 0, [0; 8]), 92);
/// ```
pub fn nqueens<J: ForkJoin, const N: usize>(mut j: J, rows: usize, board: [u8; N]) -> u64 {
    if rows == N {
        return 1;
    }
    let (columns, count) = free_columns(&board, rows);
    let columns = columns.into_iter().take(count);
    let complete = |j: J::Branch<'_>, column| {
        let mut child = board;
        child[rows] = column;
        nqueens(j, rows + 1, child)
    };
    j.fork_all(columns, complete, 0, |sum, ways| sum + ways)
}

/// The sequential program.
fn serial<const N: usize>(rows: usize, board: [u8; N]) -> u64 {
    if rows == N {
        return 1;
    }
    let (columns, count) = free_columns(&board, rows);
    columns.into_iter().take(count).fold(0, |sum, column| {
        let mut child = board;
        child[rows] = column;
        sum + serial(rows + 1, child)
    })
}
