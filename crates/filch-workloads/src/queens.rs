//! The queens problem: all ways to place n queens on an n × n board so that none attacks another.
//!
//! As in Lace, a task copies its parent's board, adds a queen, and forks for each safe column of the next row. The
//! board is an array of columns, as in the sources, not a set of bits: a task takes some hundred nanoseconds.

use filch_catalogue::ParamError;
use filch_catalogue::programs;
use filch_catalogue::programs::queens::{LARGEST, Params, SOLUTIONS};

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

impl Instance {
    /// The number of queens and of rows.
    pub fn n(&self) -> usize {
        self.params.n
    }
}

impl Runs for Instance {
    fn serial(&mut self) -> Answer {
        Answer::Number(serial(&Board::new(self.params.n)))
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
        Answer::Number(queens(j, &Board::new(self.params.n)))
    }
}

/// The first rows of a board, as the column of the queen in each.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    columns: [u8; LARGEST],
    rows: u8,
    size: u8,
}

impl Board {
    /// Creates the empty board with `size` rows and columns, at most 20.
    pub fn new(size: usize) -> Self {
        assert!((1..=LARGEST).contains(&size), "boards have from 1 to {LARGEST} rows");
        Self { columns: [0; LARGEST], rows: 0, size: size as u8 }
    }

    /// The number of rows and columns.
    pub fn size(&self) -> usize {
        self.size.into()
    }

    /// The columns of the queens, row by row.
    pub fn columns(&self) -> &[u8] {
        &self.columns[..usize::from(self.rows)]
    }

    /// Whether there is a queen in each row.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.rows == self.size
    }

    /// Returns the boards with a safe queen in the next row.
    ///
    /// # Panics
    /// If the board is full.
    #[inline]
    pub fn children(&self) -> impl Iterator<Item = Self> {
        (0..self.size).filter(|&column| self.is_safe(column)).map(|column| self.with(column))
    }

    fn is_safe(&self, column: u8) -> bool {
        is_safe(&self.columns[..usize::from(self.rows)], column)
    }

    /// Returns the board with a queen in the next row.
    ///
    /// # Panics
    /// If the board is full.
    #[inline]
    pub fn with(&self, column: u8) -> Self {
        let mut child = *self;
        child.columns[usize::from(self.rows)] = column;
        child.rows += 1;
        child
    }
}

/// Returns whether no queen in `columns` attacks one in the next row.
#[inline]
fn is_safe(columns: &[u8], column: u8) -> bool {
    columns.iter().rev().zip(1..).all(|(&other, distance)| other.abs_diff(column) != distance && other != column)
}

/// The fork–join program: counts the ways to complete `board`.
///
/// ```
/// use filch_workloads::{Serial, queens::{Board, queens}};
///
/// assert_eq!(queens(Serial, &Board::new(8)), 92);
/// ```
pub fn queens<J: ForkJoin>(mut j: J, board: &Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    let columns = (0..board.size).filter(|&column| board.is_safe(column));
    j.fork_all(columns, |j, column| queens(j, &board.with(column)), 0, |sum, ways| sum + ways)
}

/// The sequential program. It too copies a board per child: the copy is part of the source's program, which sets the
/// grain.
fn serial(board: &Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    board.children().fold(0, |ways, child| ways + serial(&child))
}
