//! What a step touches: enough to tell whether two of them depend on each other.
//!
//! What must always hold: two steps whose footprints do not depend on each other can be exchanged, if neighbours.

use super::thread::Entry;
use super::{Machine, Op};

/// What a process's next step touches, in the present state: enough to tell whether two of them depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Footprint {
    /// Nothing that others touch.
    Private,
    Read(u32),
    /// `store`: of which thread's buffer it is a drain, and of which store.
    Write(u32, Option<(usize, u32)>),
    /// A load served by the own buffer.
    Forward(usize, u32),
    /// A move into the extra entry of a thread.
    Move(usize),
    All,
}

impl Footprint {
    /// Whether the order of the two matters. Both belong to different processes and are enabled.
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
    /// Whether the process can take a step now.
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

    pub(crate) fn enabled(&self) -> u16 {
        (0..self.processes()).filter(|&process| self.is_enabled(process)).fold(0, |set, process| set | 1 << process)
    }

    /// What the process's next step touches. Precondition: it is enabled.
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
