//! Unrolled functions compute the same as plain ones, with a fraction of the real calls.

use filch_macros::inline_recursion;
use std::any::type_name_of_val;
use std::cell::{Cell, RefCell};
#[cfg(target_arch = "x86_64")]
use std::collections::BTreeSet;
use std::fmt::{Debug, Display};

/// The same recursion for every number of levels.
macro_rules! for_levels {
    ($check:ident: $($level:ident $levels:literal),*) => {
        $(#[test]
        fn $level() {
            #[inline_recursion($levels)]
            fn fib(n: u32) -> u64 {
                if n < 2 { n.into() } else { fib(n - 1) + fib(n - 2) }
            }
            assert_eq!(fib(20), 6765);

            // The names of their closures identify the copies: each is nested in the previous one.
            #[inline_recursion($levels)]
            fn descend(n: usize, copies: &RefCell<Vec<String>>) -> usize {
                let here = || ();
                copies.borrow_mut().push(type_name_of_val(&here).to_owned());
                if n == 0 { 0 } else { 1 + descend(n - 1, copies) }
            }
            let copies = RefCell::default();
            assert_eq!(descend(39, &copies), 39);
            $check(&copies.take(), $levels);

            // All levels of one real call share one frame.
            #[cfg(target_arch = "x86_64")]
            {
                #[inline_recursion($levels)]
                fn frames(n: usize, seen: &mut BTreeSet<usize>) -> usize {
                    seen.insert(stack_pointer());
                    let below = if n == 0 { 0 } else { frames(n - 1, seen) };
                    std::hint::black_box(below) + 1
                }
                let mut seen = BTreeSet::new();
                assert_eq!(frames(39, &mut seen), 40);
                assert_eq!(seen.len(), 40usize.div_ceil($levels));
            }
        })*
    };
}

for_levels! { copies_take_turns: one_level 1, two_levels 2, three_levels 3, four_levels 4, seven_levels 7 }

fn copies_take_turns(copies: &[String], levels: usize) {
    for (call, copy) in copies.iter().enumerate() {
        assert_eq!(copy.matches("descend").count(), 1 + call % levels, "logical call {call} ran in {copy}");
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn stack_pointer() -> usize {
    let pointer;
    // SAFETY: the instruction only copies a register.
    unsafe { std::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

#[test]
fn sixteen_levels_of_a_linear_recursion() {
    #[inline_recursion(16)]
    fn sum(n: u64) -> u64 {
        if n == 0 { 0 } else { n + sum(n - 1) }
    }
    assert_eq!(sum(1000), 500_500);
}

#[derive(Clone, Copy)]
struct Handle<'a> {
    forks: &'a Cell<u32>,
    depth: u32,
}

impl<'a> Handle<'a> {
    fn join<A, B>(self, a: impl FnOnce(Handle<'a>) -> A, b: impl FnOnce(Handle<'a>) -> B) -> (A, B) {
        self.forks.set(self.forks.get() + 1);
        (a(Handle { depth: self.depth + 1, ..self }), b(self))
    }
}

#[test]
fn handles_by_value_through_closures() {
    #[inline_recursion(3)]
    fn fib(w: Handle<'_>, n: u32) -> u64 {
        assert!(w.depth < 20);
        if n < 2 {
            return n.into();
        }
        let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
        a + b
    }
    let forks = Cell::new(0);
    assert_eq!(fib(Handle { forks: &forks, depth: 0 }, 15), 610);
    assert_eq!(forks.get(), 986);
}

/// Documentation, visibility and other attributes stay on the function.
#[inline_recursion(3)]
#[must_use]
#[allow(clippy::needless_lifetimes, clippy::extra_unused_type_parameters)]
pub fn longest<'a, 'b: 'a, T, const MINIMUM: usize>(mut items: &'b [&'a [T]], mut best: &'a [T]) -> &'a [T]
where
    T: PartialEq + Debug,
{
    let Some((first, rest)) = items.split_first() else { return best };
    items = rest;
    if first.len() >= MINIMUM && first.len() > best.len() {
        best = first;
    }
    longest::<T, MINIMUM>(items, best)
}

#[test]
fn generics_lifetimes_and_turbofish() {
    assert_eq!(longest::<u8, 2>(&[&[1], &[], &[1, 2, 3], &[4, 5, 6], &[7, 8]], &[]), [1, 2, 3]);
    assert_eq!(longest::<u8, 4>(&[&[1], &[1, 2, 3]], &[]), []);
}

#[inline_recursion(3)]
fn apply(n: u32, each: impl Fn(u32) + Copy, (mut a, _): (u32, u32)) -> u32 {
    each(n);
    a += 1;
    if n == 0 { a } else { apply(n - 1, each, (a, 0)) }
}

#[test]
fn impl_trait_arguments_and_patterns() {
    let total = Cell::new(0);
    assert_eq!(apply(10, |n| total.set(total.get() + n), (0, 0)), 11);
    assert_eq!(total.get(), 55);
}

#[inline_recursion(3)]
fn shown(n: u32) -> impl Display {
    if n == 0 { String::from(".") } else { format!("{n}{}", shown(n - 1)) }
}

#[test]
fn impl_trait_results() {
    assert_eq!(shown(5).to_string(), "54321.");
}

/// Counts how deep a copy of a function of this module is nested, by the name of its closure.
fn nesting(value: &impl Sized, name: &str) -> usize {
    type_name_of_val(value).matches(&format!("::{name}")).count()
}

#[inline_recursion(2)]
fn in_macros(n: usize) -> Vec<usize> {
    let here = || ();
    let copy = nesting(&here, "in_macros");
    if n == 0 {
        return vec![copy];
    }
    assert!(!in_macros(n - 1).is_empty(), "{:?}", in_macros(0));
    [vec![copy], in_macros(n - 1)].concat()
}

#[inline_recursion(2)]
fn through_self(n: usize) -> Vec<usize> {
    let here = || ();
    let mut copies = vec![nesting(&here, "through_self")];
    if n > 0 {
        let through_self = |_: usize| -> Vec<usize> { unreachable!("`self::` must not mean the local name") };
        let _ = &through_self;
        copies.extend(vec![self::through_self(n - 1)].concat());
    }
    copies
}

#[inline_recursion(2)]
fn through_nested_items(n: usize) -> Vec<usize> {
    fn below(n: usize) -> Vec<usize> {
        through_nested_items(n - 1)
    }
    let here = || ();
    let copy = vec![nesting(&here, "through_nested_items")];
    if n == 0 { copy } else { [copy, below(n)].concat() }
}

#[inline_recursion(2)]
fn as_a_value(n: usize) -> Vec<usize> {
    let here = || ();
    let copy = vec![nesting(&here, "as_a_value")];
    let below: fn(usize) -> Vec<usize> = as_a_value;
    if n == 0 { copy } else { [copy, below(n - 1)].concat() }
}

#[test]
fn every_way_to_name_the_function_is_redirected() {
    for copies in [in_macros(5), through_self(5), through_nested_items(5), as_a_value(5)] {
        assert_eq!(copies, [1, 2, 1, 2, 1, 2]);
    }
}

#[inline_recursion(3)]
#[allow(clippy::redundant_closure_call)]
fn shadowed(n: u32) -> u32 {
    if n == 0 {
        return 0;
    }
    let by_local = {
        let shadowed = |n: u32| n * 100;
        shadowed(n)
    };
    let by_parameter = (|shadowed: fn(u32) -> u32| shadowed(n))(|n| n * 10_000);
    let by_item = {
        fn shadowed(n: u32) -> u32 {
            n * 1_000_000
        }
        shadowed(n)
    };
    assert_eq!((by_local, by_parameter, by_item), (n * 100, n * 10_000, n * 1_000_000));
    1 + shadowed(n - 1)
}

#[inline_recursion(3)]
fn item_of_its_name(n: u32) -> u32 {
    fn item_of_its_name(n: u32) -> u32 {
        n * 2
    }
    item_of_its_name(n)
}

#[test]
fn other_bindings_of_the_name_are_left_alone() {
    assert_eq!(shadowed(7), 7);
    assert_eq!(item_of_its_name(21), 42);
}

#[inline_recursion(3)]
fn reborrowing<'a>(path: &mut Vec<&'a str>, words: &[&'a str]) -> usize {
    #![allow(clippy::needless_return)]
    if let [first, rest @ ..] = words {
        path.push(first);
        return reborrowing(path, rest) + first.len();
    }
    return 0;
}

/// # Safety
/// `from` and the `n` elements after it must be readable.
#[inline_recursion(3)]
unsafe fn raw_sum(from: *const u64, n: usize) -> u64 {
    // SAFETY: the caller guarantees this element and those after it.
    unsafe { if n == 0 { *from } else { *from + raw_sum(from.add(1), n - 1) } }
}

#[inline_recursion(2)]
extern "C" fn foreign(n: u32) -> u32 {
    if n == 0 { 0 } else { 2 + foreign(n - 1) }
}

#[inline_recursion(2)]
#[inline(always)]
fn own_hint(n: u32) -> u32 {
    if n == 0 { 0 } else { 2 + own_hint(n - 1) }
}

#[inline_recursion(2)]
fn r#loop(n: u32) -> u32 {
    if n == 0 { 0 } else { 2 + r#loop(n - 1) }
}

#[inline_recursion(2)]
#[track_caller]
fn caller_line(n: u32) -> u32 {
    if n == 0 { std::panic::Location::caller().line() } else { caller_line(n - 1) }
}

#[inline_recursion(3)]
#[expect(clippy::manual_range_contains, reason = "the function fulfils it; the copies need not")]
fn expecting(n: u32) -> u32 {
    if n >= 1 && n <= 9 { 1 + expecting(n - 1) } else { 0 }
}

#[test]
fn all_kinds_of_functions() {
    let mut path = Vec::new();
    assert_eq!(reborrowing(&mut path, &["to", "be", "or", "not"]), 9);
    assert_eq!(path, ["to", "be", "or", "not"]);
    let numbers = [1, 2, 3, 4, 5];
    // SAFETY: the array has one element and four after it.
    assert_eq!(unsafe { raw_sum(numbers.as_ptr(), 4) }, 15);
    assert_eq!(foreign(9), 18);
    assert_eq!(own_hint(9), 18);
    assert_eq!(r#loop(9), 18);
    assert_eq!(caller_line(0), line!());
    assert_eq!(expecting(9), 9);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn target_features() {
    #[inline_recursion(3)]
    #[target_feature(enable = "sse2")]
    fn count(n: u32) -> u32 {
        if n == 0 { 0 } else { 1 + count(n - 1) }
    }
    // SAFETY: every x86-64 processor has SSE2.
    assert_eq!(unsafe { count(10) }, 10);
}

#[test]
fn panics_pass_through_all_levels() {
    #[inline_recursion(3)]
    fn fall(n: u32) -> u32 {
        if n == 0 { std::panic::resume_unwind(Box::new("bottom")) } else { 1 + fall(n - 1) }
    }
    let payload = std::panic::catch_unwind(|| fall(10)).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"bottom"));
}

/// The branches of a fork.
#[inline(never)]
fn both<A, B>(a: impl FnOnce() -> A, b: impl FnOnce() -> B) -> (A, B) {
    (a(), b())
}

/// There is only one real call, even if the compiler considers it too large.
#[cfg(target_arch = "x86_64")]
#[test]
fn branches_are_inlined_too() {
    #[inline(always)]
    fn both<A, B>(a: impl FnOnce() -> A, b: impl FnOnce() -> B) -> (A, B) {
        (a(), b())
    }

    #[inline_recursion(4)]
    fn frames(n: usize, seen: &RefCell<BTreeSet<usize>>) -> usize {
        seen.borrow_mut().insert(stack_pointer());
        if n == 0 {
            return 1;
        }
        let (a, b) = both(move || frames(n - 1, seen), move || frames(n - 1, seen));
        std::hint::black_box(a) + b
    }
    let seen = RefCell::default();
    assert_eq!(frames(7, &seen), 1 << 7);
    assert_eq!(seen.take().len(), 2);
}

#[test]
fn branches_may_take_any_form() {
    #[inline_recursion(3)]
    fn longest<'a, const N: usize>(words: &'a mut [[u8; N]], _mark: &u8) -> Option<&'a mut [u8; N]> {
        let count = words.len();
        if count < 2 {
            return words.first_mut();
        }
        let (left, right) = words.split_at_mut(count / 2);
        let (a, b): (Option<_>, Option<_>) = both(
            || longest::<N>(left, _mark),
            #[inline]
            move || -> Option<&'a mut [u8; N]> { longest::<N>(right, _mark) },
        );
        let (a, b) = (a?, b?);
        Some(if a >= b { a } else { b })
    }
    let mut words = [*b"ab", *b"xy", *b"cd", *b"zz", *b"aa"];
    *longest(&mut words, &0).expect("some") = *b"!!";
    assert_eq!(&words[3], b"!!");

    #[inline_recursion(2)]
    fn compare(n: u32) -> u32 {
        let total = |f: fn(u32, u32) -> u32| f(1, 2);
        if n == 0 { total(|a, b| a + b) } else { both(move || 1 << compare(n - 1), || n).0 }
    }
    assert_eq!(compare(1), 8);
}

#[test]
fn panics_pass_through_branches() {
    struct Count<'c>(&'c Cell<u32>);
    impl Drop for Count<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[inline_recursion(3)]
    fn descend(n: u32, dropped: &Cell<u32>) -> u32 {
        let count = Count(dropped);
        assert!(n != 0, "the end");
        let (a, b) = both(move || descend(n - 1, dropped), move || n);
        drop(count);
        a + b
    }
    let dropped = Cell::new(0);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| descend(10, &dropped)));
    assert_eq!(*panic.expect_err("it panics").downcast::<&str>().expect("its own payload"), "the end");
    assert_eq!(dropped.get(), 11);
}
