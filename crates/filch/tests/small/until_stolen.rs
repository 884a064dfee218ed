//! Makes first branches wait until the second has been stolen, however their pool shares.

use std::thread;

use crate::any::{Bulk, Handle, Thing};
use crate::common::wait_for;

/// More than a worker of these pools can fork without sharing the oldest.
const MANY_FORKS: usize = 12;
/// How often to look for a thief with that many forks in progress.
const LOOKS: usize = 20;

pub(crate) fn by_handle(w: &mut dyn Handle, is_stolen: &(dyn Fn() -> bool + Sync)) {
    fn forks(w: &mut dyn Handle, more: usize, is_stolen: &(dyn Fn() -> bool + Sync)) -> Thing {
        if more > 0 && !is_stolen() {
            w.join(Bulk::None, Box::new(|w| forks(w, more - 1, is_stolen)), Box::new(|_| Thing::default()));
        } else {
            look(is_stolen, || w.poll());
        }
        Thing::default()
    }
    wait_for("a steal", || {
        forks(w, MANY_FORKS, is_stolen);
        is_stolen()
    });
}

pub(crate) fn by_closures(is_stolen: &(dyn Fn() -> bool + Sync)) {
    fn forks(more: usize, is_stolen: &(dyn Fn() -> bool + Sync)) {
        if more > 0 && !is_stolen() {
            filch::join(|| forks(more - 1, is_stolen), || ());
        } else {
            look(is_stolen, filch::poll);
        }
    }
    wait_for("a steal", || {
        forks(MANY_FORKS, is_stolen);
        is_stolen()
    });
}

fn look(is_stolen: &dyn Fn() -> bool, mut poll: impl FnMut()) {
    for _ in 0..LOOKS {
        if is_stolen() {
            return;
        }
        poll();
        thread::yield_now();
    }
}
