//! With filch, in closure style.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use filch::Stop;

use super::{Node, Sack};

/// Returns the largest value that can be carried, or what was found by the deadline, or the first value of at least
/// `goal`.
pub fn best(sack: &Sack, goal: u64, deadline: Instant) -> u64 {
    let (best, stop) = (AtomicU64::new(0), Stop::at(deadline));
    branch(sack, goal, &best, &stop, sack.root());
    best.into_inner()
}

fn branch(sack: &Sack, goal: u64, best: &AtomicU64, stop: &Stop, node: Node) {
    if best.fetch_max(node.value, Relaxed).max(node.value) >= goal {
        stop.stop();
    } else if !stop.is_stopped() && sack.bound(node) > best.load(Relaxed) {
        let (with, without) = sack.children(node);
        let search = move |node| branch(sack, goal, best, stop, node);
        filch::join(move || with.map(search), move || search(without));
    }
}
