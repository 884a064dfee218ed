//! Rounds over the remaining vertices or edges of a graph, shared by the programs that use deterministic reservations.

/// Returns the number of vertices or edges in a round, given their initial number.
fn prefix(n: usize) -> usize {
    (n / 50).max(200)
}

/// Runs rounds over prefixes of `all` until nothing is left. `round` takes vertices or edges and returns those to try
/// again.
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

/// Appends a list to another.
pub(crate) fn append(mut left: Vec<u32>, right: Vec<u32>) -> Vec<u32> {
    left.extend(right);
    left
}
