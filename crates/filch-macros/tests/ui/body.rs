//! Errors in a body are reported once, at their place in the source.

use filch_macros::inline_recursion;

#[inline_recursion(4)]
fn type_error(n: u32) -> u64 {
    let wrong: u64 = "n";
    if n == 0 { wrong } else { type_error(n - 1) }
}

#[inline_recursion(4)]
fn unknown_name(n: u32) -> u64 {
    if n == 0 { nothing } else { unknown_name(n - 1) }
}

#[inline_recursion(4)]
fn unknown_type(n: Nothing) -> u64 {
    unknown_type(n)
}

fn main() {}
