//! What the header and the library agree on: sizes, offsets and numbers, as one table.
//!
//! The table stands in `include/filch.h` too, where C asserts it of its own types; a test writes and compares that
//! part. Its hash is [`ABI`], which a program passes when it starts a pool, so a program that was compiled with another
//! library's header learns it then.

use std::fmt::Write as _;
use std::mem::offset_of;

use filch::inside::host::LAYOUT;
use filch::jobs::Job;

use crate::jobs::CAPTURES;
use crate::pool::Settings;

/// Changes with what the functions and macros mean, where the table does not.
const REVISION: usize = 1;

/// How a fork has ended, as `filch_pop_` returns it: nobody has run the task.
pub const UNRUN: usize = 0;
/// The result is ready.
pub const DONE: usize = 1;
/// The task has unwound.
pub const THROWN: usize = 2;

/// How a call is made: on a worker of the pool,
pub const RUN: usize = 0;
/// on a worker of a new frame,
pub const NEW_FRAME: usize = 1;
/// or on all workers of a new frame.
pub const TOGETHER: usize = 2;

const OURS: [(&str, usize); 15] = [
    ("REVISION", REVISION),
    ("UNRUN", UNRUN),
    ("DONE", DONE),
    ("THROWN", THROWN),
    ("RUN_", RUN),
    ("NEW_FRAME_", NEW_FRAME),
    ("TOGETHER_", TOGETHER),
    ("SETTINGS_SIZE", size_of::<Settings>()),
    ("SETTINGS_WORKERS", offset_of!(Settings, workers)),
    ("SETTINGS_STACK_SIZE", offset_of!(Settings, stack_size)),
    ("SETTINGS_TASK_CAPACITY", offset_of!(Settings, task_capacity)),
    ("SETTINGS_WAIT", offset_of!(Settings, wait)),
    ("SETTINGS_PIN", offset_of!(Settings, pin)),
    ("JOB_SIZE", size_of::<Job<'_>>()),
    ("JOB_CAPTURES", 8 * CAPTURES),
];

fn table() -> impl Iterator<Item = (&'static str, usize)> {
    LAYOUT.into_iter().chain(OURS)
}

/// The version of the agreement.
pub const ABI: u32 = {
    let (mut hash, mut list) = (0x811c_9dc5, 0);
    while list < 2 {
        let rows: &[(&str, usize)] = if list == 0 { &LAYOUT } else { &OURS };
        let mut row = 0;
        while row < rows.len() {
            hash = mix(hash, rows[row].0.as_bytes());
            hash = mix(hash, &(rows[row].1 as u64).to_le_bytes());
            row += 1;
        }
        list += 1;
    }
    hash
};

/// One step of the FNV-1a hash for each byte.
const fn mix(mut hash: u32, bytes: &[u8]) -> u32 {
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

/// Returns the part of the header that has the table.
pub fn header() -> String {
    let mut text = String::new();
    for (name, value) in table() {
        writeln!(text, "#define FILCH_{name} {value}").expect("a string takes all");
    }
    writeln!(text, "#define FILCH_ABI {ABI:#010x}u").expect("a string takes all");
    text
}
