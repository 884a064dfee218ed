//! Queens, as in the laboratory: a task is a board, and travels as the columns of its queens.

use filch_mpi::Wire;
use filch_workloads::Answer;
use filch_workloads::queens::Board;

use super::{Around, Program};

/// The size of the board.
pub(super) struct Queens(pub(super) usize);

pub(super) struct Task(Board);

impl Wire for Task {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let (size, columns) = (self.0.size(), self.0.columns());
        [size as u8, columns.len() as u8].encode(bytes);
        bytes.extend_from_slice(columns);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let [size, rows] = <[u8; 2]>::decode(bytes)?;
        let columns = bytes.split_off(..usize::from(rows))?;
        Some(Self(columns.iter().fold(Board::new(size.into()), |board, &column| board.with(column))))
    }
}

impl Program for Queens {
    type Task = Task;
    type State = u64;

    fn root(&self) -> Task {
        Task(Board::new(self.0))
    }

    #[inline]
    fn visit(&self, worker: &mut impl Around<Task>, count: &mut u64, Task(board): Task) {
        if board.is_full() {
            *count += 1;
        } else {
            board.children().for_each(|child| worker.push(Task(child)));
        }
    }

    fn merge(a: u64, b: u64) -> u64 {
        a + b
    }

    fn answer(&self, count: u64) -> Answer {
        Answer::Number(count)
    }
}
