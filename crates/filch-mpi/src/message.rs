//! Messages as bytes.

use crate::Wire;
use crate::protocol::{Dead, Hint, Message};

pub(crate) fn encode(message: &Message<Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut kind = |kind: u8| kind.encode(&mut bytes);
    match message {
        Message::Request { is_lifeline: false } => kind(0),
        Message::Request { is_lifeline: true } => kind(1),
        Message::Nothing => kind(2),
        Message::Work(bag) => {
            kind(3);
            bytes.extend_from_slice(bag);
        }
        Message::Push(bag) => {
            kind(4);
            bytes.extend_from_slice(bag);
        }
        Message::Hint(Hint { bound, tasks }) => {
            kind(5);
            [*bound, *tasks].encode(&mut bytes);
        }
        Message::Wave(dead) => {
            kind(6);
            encode_dead(dead, &mut bytes);
        }
        Message::Report { epoch, sent, received } => {
            kind(7);
            [*epoch as u64, *sent, *received].encode(&mut bytes);
        }
        Message::Stop(dead) => {
            kind(8);
            encode_dead(dead, &mut bytes);
        }
        Message::Settled(epoch) => {
            kind(9);
            (*epoch as u64).encode(&mut bytes);
        }
        Message::Leave(dead) => {
            kind(10);
            encode_dead(dead, &mut bytes);
        }
        Message::Died(dead) => {
            kind(11);
            encode_dead(dead, &mut bytes);
        }
        Message::Abort => kind(12),
    }
    bytes
}

pub(crate) fn decode(bytes: &mut &[u8]) -> Option<Message<Vec<u8>>> {
    Some(match u8::decode(bytes)? {
        0 => Message::Request { is_lifeline: false },
        1 => Message::Request { is_lifeline: true },
        2 => Message::Nothing,
        3 => Message::Work(bytes.to_vec()),
        4 => Message::Push(bytes.to_vec()),
        5 => {
            let [bound, tasks] = Wire::decode(bytes)?;
            Message::Hint(Hint { bound, tasks })
        }
        6 => Message::Wave(decode_dead(bytes)?),
        7 => {
            let [epoch, sent, received] = Wire::decode(bytes)?;
            Message::Report { epoch: usize::try_from(epoch).ok()?, sent, received }
        }
        8 => Message::Stop(decode_dead(bytes)?),
        9 => Message::Settled(usize::try_from(u64::decode(bytes)?).ok()?),
        10 => Message::Leave(decode_dead(bytes)?),
        11 => Message::Died(decode_dead(bytes)?),
        12 => Message::Abort,
        _ => return None,
    })
}

fn encode_dead(dead: &Dead, bytes: &mut Vec<u8>) {
    dead.iter().map(|&rank| rank as u64).collect::<Vec<_>>().encode(bytes);
}

fn decode_dead(bytes: &mut &[u8]) -> Option<Dead> {
    Vec::<u64>::decode(bytes)?.into_iter().map(|rank| usize::try_from(rank).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were() {
        for message in [
            Message::Request { is_lifeline: false },
            Message::Request { is_lifeline: true },
            Message::Nothing,
            Message::Work(vec![1, 2]),
            Message::Push(Vec::new()),
            Message::Hint(Hint { bound: 1, tasks: u64::MAX }),
            Message::Wave(vec![3, 1]),
            Message::Report { epoch: 1, sent: 2, received: 3 },
            Message::Stop(Vec::new()),
            Message::Settled(4),
            Message::Leave(vec![7]),
            Message::Died(vec![5, 6]),
            Message::Abort,
        ] {
            let bytes = encode(&message);
            assert_eq!(decode(&mut &bytes[..]), Some(message));
        }
        assert_eq!(decode(&mut &[13_u8][..]), None);
    }
}
