use filch_macros::inline_recursion;

#[inline_recursion]
fn missing(n: u32) -> u32 {
    if n == 0 { 0 } else { missing(n - 1) }
}

#[inline_recursion(0)]
fn zero(n: u32) -> u32 {
    if n == 0 { 0 } else { zero(n - 1) }
}

#[inline_recursion(17)]
fn too_many(n: u32) -> u32 {
    if n == 0 { 0 } else { too_many(n - 1) }
}

const LEVELS: usize = 3;

#[inline_recursion(LEVELS)]
fn no_literal(n: u32) -> u32 {
    if n == 0 { 0 } else { no_literal(n - 1) }
}

#[inline_recursion(2, 3)]
fn two_numbers(n: u32) -> u32 {
    if n == 0 { 0 } else { two_numbers(n - 1) }
}

// The functions themselves are kept, so that calling them is not an error.
fn main() {
    missing(1);
    zero(1);
    too_many(1);
    no_literal(1);
    two_numbers(1);
}
