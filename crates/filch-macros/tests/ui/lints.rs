//! Lints in a body are reported once, even if they are denied.

#![deny(unused_labels)]
#![forbid(path_statements)]
#![warn(unused_must_use)]

use filch_macros::inline_recursion;

#[inline_recursion(4)]
fn denied(n: u32) -> u64 {
    'nowhere: loop {
        return if n == 0 { 0 } else { denied(n - 1) };
    }
}

#[inline_recursion(4)]
fn forbidden(n: u32) -> u64 {
    n;
    if n == 0 { 0 } else { forbidden(n - 1) }
}

#[inline_recursion(4)]
#[must_use]
fn warned(n: u32) -> u64 {
    if n > 0 {
        warned(n - 1);
    }
    0
}

fn main() {
    denied(1);
    forbidden(1);
    let _ = warned(1);
}
