//! A checksum of an answer.

/// Returns a number that depends on all parts and their order.
pub(crate) fn checksum<T: Into<u64>>(parts: impl IntoIterator<Item = T>) -> u64 {
    parts.into_iter().fold(0, |sum: u64, part| sum.wrapping_mul(31).wrapping_add(part.into()))
}
