//! Messages as bytes.

use crate::Wire as _;
use crate::protocol::{Hint, Message};

pub(crate) fn encode(message: &Message<Vec<u8>>) -> Vec<u8> {
    let (kind, number, bag): (u8, [u64; 2], &[u8]) = match message {
        Message::Request { is_lifeline } => (0, [u64::from(*is_lifeline), 0], &[]),
        Message::Nothing => (1, [0; 2], &[]),
        Message::Work(bag) => (2, [0; 2], bag),
        Message::Push(bag) => (3, [0; 2], bag),
        Message::Hint(hint) => (4, [hint.bound, hint.tasks], &[]),
        Message::Wave => (5, [0; 2], &[]),
        Message::Report { sent, received } => (6, [*sent, *received], &[]),
        Message::Stop => (7, [0; 2], &[]),
        Message::Settled => (8, [0; 2], &[]),
        Message::Leave => (9, [0; 2], &[]),
        Message::Abort => (10, [0; 2], &[]),
    };
    let mut bytes = Vec::with_capacity(17 + bag.len());
    kind.encode(&mut bytes);
    number.encode(&mut bytes);
    bytes.extend_from_slice(bag);
    bytes
}

pub(crate) fn decode(bytes: &mut &[u8]) -> Option<Message<Vec<u8>>> {
    let (kind, [a, b]) = <(u8, [u64; 2])>::decode(bytes)?;
    Some(match kind {
        0 => Message::Request { is_lifeline: a != 0 },
        1 => Message::Nothing,
        2 => Message::Work(bytes.to_vec()),
        3 => Message::Push(bytes.to_vec()),
        4 => Message::Hint(Hint { bound: a, tasks: b }),
        5 => Message::Wave,
        6 => Message::Report { sent: a, received: b },
        7 => Message::Stop,
        8 => Message::Settled,
        9 => Message::Leave,
        10 => Message::Abort,
        _ => return None,
    })
}
