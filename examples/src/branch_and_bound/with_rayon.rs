//! With rayon.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use super::{Node, Sack};

pub(super) fn best(sack: &Sack, goal: u64, deadline: Instant) -> u64 {
    let (best, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    branch(sack, goal, &best, deadline, &stop, sack.root());
    best.into_inner()
}

fn branch(sack: &Sack, goal: u64, best: &AtomicU64, deadline: Instant, stop: &AtomicBool, node: Node) {
    if stop.load(Relaxed) {
        return;
    }
    if best.fetch_max(node.value, Relaxed).max(node.value) >= goal || Instant::now() >= deadline {
        stop.store(true, Relaxed);
    } else if sack.bound(node) > best.load(Relaxed) {
        let (with, without) = sack.children(node);
        let search = move |node| branch(sack, goal, best, deadline, stop, node);
        rayon::join(move || with.map(search), move || search(without));
    }
}
