//! Rounds over the vertices or edges of a graph that are left: what the programs by deterministic reservations have in common.

/// Vertices or edges of a round, when there are so many at first.
fn prefix(n: usize) -> usize {
    (n / 50).max(200)
}

/// Runs rounds over prefixes of `all` until nothing is left: `round` gets vertices or edges and gives those to try again.
pub(crate) fn rounds(all: &[u32], mut round: impl FnMut(&[u32]) -> Vec<u32>) {
    let size = prefix(all.len());
    let (mut active, mut rest) = (Vec::with_capacity(size), all);
    while !active.is_empty() || !rest.is_empty() {
        let (fresh, later) = rest.split_at(size.saturating_sub(active.len()).min(rest.len()));
        active.extend_from_slice(fresh);
        rest = later;
        active = round(&active);
    }
}

/// One list after the other.
pub(crate) fn append(mut left: Vec<u32>, right: Vec<u32>) -> Vec<u32> {
    left.extend(right);
    left
}
