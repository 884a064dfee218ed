//! A process with several threads gets its barriers ready while nobody waits for them. This is the only test of its
//! process, whose threads find the barriers unregistered.

use std::thread;
use std::time::{Duration, Instant};

use filch_memory::{Asymmetric, Native};

#[test]
fn barriers_become_quick_although_none_is_executed() {
    if !Native::prepare_barriers() {
        eprintln!("skipped: this system has no barriers");
        return;
    }
    let since = Instant::now();
    // Several threads ask at once, and one of them begins.
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !Native::barriers_are_quick() {
                    assert!(since.elapsed() < Duration::from_secs(60), "nobody sees to the barriers");
                    thread::sleep(Duration::from_millis(1));
                }
                Native::heavy_barrier();
            });
        }
    });
    assert!(Native::barriers_are_quick(), "they stay so");
    Native::await_barriers();
    Native::await_barriers();
}
