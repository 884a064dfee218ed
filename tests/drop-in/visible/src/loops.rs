//! How rayon's loops are split on one thread: rayon decides by what `join_context` tells it.

use std::sync::Mutex;

use rayon::prelude::*;

use crate::{Group, pool, say};

pub const GROUPS: &[Group] = &[("loop.one_thread", on_one_thread), ("loop.panic", panics)];

/// The number of parts, each of which `fold` begins anew.
fn parts(items: u32) -> usize {
    (0..items).into_par_iter().fold(|| 0_u32, |n, _| n + 1).map(|_| 1).sum()
}

fn on_one_thread() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first");
    let one = pool(1);
    for items in [1, 10, 1000] {
        say(format!("loop.one_thread.parts_of_{items}.inside"), one.install(|| parts(items)));
        say(format!("loop.one_thread.parts_of_{items}.from_main"), parts(items));
    }
    let order = Mutex::new(Vec::new());
    one.install(|| (0..12).into_par_iter().with_max_len(1).for_each(|n| order.lock().expect("no panic").push(n)));
    say("loop.one_thread.order", format!("{:?}", order.into_inner().expect("no panic")));
    let bridged = Mutex::new(Vec::new());
    one.install(|| (0..12).par_bridge().for_each(|n| bridged.lock().expect("no panic").push(n)));
    say("loop.one_thread.bridge", format!("{:?}", bridged.into_inner().expect("no panic")));
    say(
        "loop.one_thread.find_any",
        format!("{:?}", one.install(|| (0..1000).into_par_iter().find_any(|n| n % 7 == 6))),
    );
    let nested = one.install(|| (0..4).into_par_iter().map(|n| parts(10 * n)).collect::<Vec<_>>());
    say("loop.one_thread.nested_parts", format!("{nested:?}"));
}

fn panics() {
    std::panic::set_hook(Box::new(|_| ()));
    let one = pool(1);
    let ran = Mutex::new(Vec::new());
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        one.install(|| {
            (0..6_u32).into_par_iter().with_max_len(1).for_each(|n| {
                ran.lock().expect("panics elsewhere").push(n);
                if n == 2 {
                    std::panic::resume_unwind(Box::new(n));
                }
            });
        });
    }));
    let payload = ended.expect_err("an item panics").downcast_ref::<u32>().copied();
    say("loop.panic.payload", format!("{payload:?}"));
    say("loop.panic.ran", format!("{:?}", ran.into_inner().expect("panics elsewhere")));
}
