//! The record of an execution, from which a history is made.

use crate::sites::Site;

/// The event of one row.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Note(String),
    Load {
        location: u32,
        value: u64,
        forwarded: bool,
    },
    /// A store into the buffer.
    Buffer {
        location: u32,
        value: u64,
    },
    /// A write straight to memory, on a machine without buffers.
    Write {
        location: u32,
        value: u64,
    },
    Move {
        location: u32,
        value: u64,
    },
    Drain {
        location: u32,
        value: u64,
    },
    Update {
        location: u32,
        old: u64,
        new: Option<u64>,
        expected: Option<u64>,
    },
    Fence,
    Barrier,
    Wait {
        location: u32,
        sleeps: bool,
    },
    Wake {
        location: u32,
        woken: usize,
    },
}

impl Act {
    /// Returns whether it is a step of a buffer rather than of its thread.
    pub(super) fn is_of_buffer(&self) -> bool {
        matches!(self, Self::Move { .. } | Self::Drain { .. })
    }

    /// Returns the location, and the values that the row shows for it.
    pub(super) fn values(&self) -> Option<(u32, [Option<u64>; 2])> {
        match *self {
            Self::Load { location, value, .. }
            | Self::Buffer { location, value }
            | Self::Write { location, value }
            | Self::Move { location, value }
            | Self::Drain { location, value } => Some((location, [Some(value), None])),
            Self::Update { location, old, new, .. } => Some((location, [Some(old), new])),
            Self::Note(_) | Self::Fence | Self::Barrier | Self::Wait { .. } | Self::Wake { .. } => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) thread: usize,
    pub(crate) act: Act,
    pub(crate) site: Option<Site>,
    /// The thread's buffer after the row, oldest first.
    pub(crate) buffer: Vec<(u32, u64)>,
}

/// The rows so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<Row>,
}
