//! Footprints: what a step touches, which decides whether two steps depend on each other.
//!
//! Invariant: two adjacent steps whose footprints do not depend on each other can be exchanged.

use super::thread::Entry;
use super::{Machine, Op};

/// What a process's next step touches in the present state, which decides whether two steps depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Footprint {
    /// Nothing that other threads touch.
    Private,
    Read(u32),
    /// A write to a location; if it is a drain, the thread whose buffer it drains, and the store.
    Write(u32, Option<(usize, u32)>),
    /// A load served by the thread's own buffer.
    Forward(usize, u32),
    /// A move into a thread's extra entry.
    Move(usize),
    All,
}

impl Footprint {
    /// Returns whether the order of the two steps matters. Both are enabled and belong to different processes.
    pub(crate) fn depends_on(self, other: Self) -> bool {
        use Footprint::{All, Forward, Move, Private, Read, Write};
        match (self, other) {
            (All, _) | (_, All) => true,
            (Private, _) | (_, Private) => false,
            (Read(a), Write(b, _)) | (Write(a, _), Read(b)) | (Write(a, _), Write(b, _)) => a == b,
            (Forward(thread, store), Write(_, drain)) | (Write(_, drain), Forward(thread, store)) => {
                drain == Some((thread, store))
            }
            (Move(thread), Write(_, drain)) | (Write(_, drain), Move(thread)) => {
                drain.is_some_and(|(drained, _)| drained == thread)
            }
            _ => false,
        }
    }
}

impl Machine {
    /// Returns whether the process can take a step now.
    #[inline]
    pub(crate) fn is_enabled(&self, process: usize) -> bool {
        let (thread, role) = self.role(process);
        let own = &self.threads[thread];
        match role {
            0 => match own.op {
                Op::Load { .. } | Op::Barrier => true,
                Op::Store { .. } => self.processor.buffer == 0 || own.buffer.len() < self.processor.buffer,
                Op::Update { .. } | Op::Wait { .. } | Op::Wake { .. } => own.is_drained(),
                Op::Run | Op::Fence | Op::Spin | Op::Asleep { .. } | Op::Done => false,
            },
            1 => match (own.buffer.front(), &own.extra) {
                (None, _) => false,
                (Some(entry), Some(extra)) => entry.replaces(extra),
                (Some(_), None) => true,
            },
            _ => own.extra.is_some(),
        }
    }

    /// Returns the first process that can take a step, if any can.
    pub(crate) fn first_enabled(&self) -> Option<usize> {
        (0..self.processes()).find(|&process| self.is_enabled(process))
    }

    /// Returns the set of the processes that can take a step.
    pub(crate) fn enabled(&self) -> u16 {
        (0..self.processes()).filter(|&process| self.is_enabled(process)).fold(0, |set, process| set | 1 << process)
    }

    /// Returns what the process's next step touches. Precondition: the process is enabled.
    pub(crate) fn footprint(&self, process: usize) -> Footprint {
        let (thread, role) = self.role(process);
        let own = &self.threads[thread];
        match role {
            0 => match own.op {
                Op::Load { location } => match own.pending(location) {
                    Some(entry) if entry.bits.is_whole() => Footprint::Forward(thread, entry.store),
                    _ => Footprint::Read(location),
                },
                Op::Store { location, .. } if self.processor.buffer == 0 => Footprint::Write(location, None),
                Op::Update { location, expected: Some(expected), .. } if self.value(location) != expected => {
                    Footprint::Read(location)
                }
                Op::Update { location, .. } | Op::Wait { location, .. } | Op::Wake { location, .. } => {
                    Footprint::Write(location, None)
                }
                Op::Barrier => Footprint::All,
                _ => Footprint::Private,
            },
            1 if self.processor.coalesces => Footprint::Move(thread),
            1 => drain(thread, own.buffer.front()),
            _ => drain(thread, own.extra.as_ref()),
        }
    }
}

fn drain(thread: usize, entry: Option<&Entry>) -> Footprint {
    entry.map_or(Footprint::Private, |entry| Footprint::Write(entry.location, Some((thread, entry.store))))
}
