use filch_macros::inline_recursion;

#[inline_recursion(2)]
async fn later(n: u32) -> u32 {
    if n == 0 { 0 } else { Box::pin(later(n - 1)).await }
}

#[inline_recursion(2)]
const fn constant(n: u32) -> u32 {
    if n == 0 { 0 } else { constant(n - 1) }
}

#[inline_recursion(2)]
fn leaf(n: u32) -> u32 {
    n.leaf()
}

#[inline_recursion(2)]
fn parameter(n: u32, parameter: fn(u32) -> u32) -> u32 {
    parameter(n)
}

#[inline_recursion(2)]
fn counted(n: u32) -> u32 {
    static CALLS: std::sync::Mutex<u32> = std::sync::Mutex::new(0);
    *CALLS.lock().unwrap() += 1;
    if n == 0 { 0 } else { counted(n - 1) }
}

#[inline_recursion(2)]
fn counted_per_thread(n: u32) -> u32 {
    thread_local! { static CALLS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) } }
    if n == 0 { CALLS.get() } else { counted_per_thread(n - 1) }
}

#[inline_recursion(2)]
struct NotAFunction;

trait Leaf {
    fn leaf(self) -> u32;
}

impl Leaf for u32 {
    fn leaf(self) -> u32 {
        self
    }
}

fn main() {
    let _ = later(1);
    leaf(1);
    parameter(1, |n| n);
    counted(1);
    counted_per_thread(1);
    constant(1);
    NotAFunction;
}
