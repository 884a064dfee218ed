//! The attribute [`#[inline_recursion(N)]`](macro@inline_recursion): several levels of a recursion in one real call.
//!
//! # Why
//!
//! A C compiler inlines a small recursive function into itself a few times; rustc and LLVM do not. For ordinary
//! recursion that costs little. For fork–join it costs a lot, since a fork is cheap only where the compiler sees both
//! sides of it. A function pays for its spilled registers, its frame, its call and its return once per *real* call. If
//! it forks once per real call, it pays for them at every fork. With N levels in one real call it pays once for the
//! 2^N - 1 forks of a binary recursion.
//!
//! The price is code size: each call in the body becomes a copy of the body, so a function that calls itself twice
//! grows to 2^N - 1 bodies. Two to four levels are usually best; more levels lose in instruction-cache misses what they
//! save in calls. Measure.
//!
//! # How
//!
//! Name resolution redirects the calls. Every level declares the next one under the *same* name inside its own body,
//! and the last level imports the public function under that name. With N = 3:
//!
//! ```
//! #[inline(never)]
//! fn fib(n: u32) -> u64 {
//!     use fib as public;
//!     {
//!         #[inline(always)]
//!         fn fib(n: u32) -> u64 {
//!             #[inline(always)]
//!             fn fib(n: u32) -> u64 {
//!                 use public as fib;
//!                 if n < 2 { n.into() } else { fib(n - 1) + fib(n - 2) }
//!             }
//!             if n < 2 { n.into() } else { fib(n - 1) + fib(n - 2) }
//!         }
//!         if n < 2 { n.into() } else { fib(n - 1) + fib(n - 2) }
//!     }
//! }
//! assert_eq!(fib(20), 6765);
//! ```
//!
//! In a function that forks, the recursive calls are in closures. A closure that is an argument of a call and itself
//! uses the function becomes `#[inline(always)]`, since the compiler considers one with a few levels too large to
//! inline. Panics of all levels leave the function through one place, so calls that do not fork need not save
//! registers.
//!
//! So a call is redirected exactly when the compiler would take it for a recursive call: in closures and in macro
//! arguments as anywhere else, but not where a local variable or a nested item has taken the name. All copies keep the
//! positions of the source, so an error in the body is reported once, at its place in the source.

mod unroll;

use proc_macro::TokenStream;

/// Executes `N` levels of a function's recursion in each real call (`N` from 1 to 16; 1 leaves the function unchanged).
///
/// The function contains `N - 1` hidden copies of itself, nested in its body, that are always inlined; the last copy
/// calls the function. See the [crate's documentation](crate) for the reason and the price.
///
/// ```
/// use filch_macros::inline_recursion;
///
/// /// Three levels in each real call: a call with n = 30 includes those with 29 and 28, and with 28, 27, 27 and 26.
/// #[inline_recursion(3)]
/// fn fib(n: u32) -> u64 {
///     if n < 2 { n.into() } else { fib(n - 1) + fib(n - 2) }
/// }
///
/// assert_eq!(fib(20), 6765);
/// ```
///
/// # What is redirected
///
/// Every use of the function's name that the compiler resolves to the function: `f(…)`, `f::<T>(…)`, `f` as a value,
/// and `self::f`, in the body, its closures, nested items and macro arguments. A path such as `crate::tree::f`, or a
/// glob import of `f` in the body, names the public function and makes a real call.
///
/// ```
/// # use filch_macros::inline_recursion;
/// fn both<A, B>(a: impl FnOnce() -> A, b: impl FnOnce() -> B) -> (A, B) {
///     (a(), b())
/// }
///
/// #[inline_recursion(4)]
/// pub fn sum<'a, T: Copy + Into<u64>>(items: &'a [T]) -> u64 {
///     match items {
///         [] => 0,
///         [one] => (*one).into(),
///         _ => {
///             let (left, right) = items.split_at(items.len() / 2);
///             let (a, b) = both(|| sum::<T>(left), || sum::<T>(right));
///             a + b
///         }
///     }
/// }
///
/// assert_eq!(sum(&[1u8, 2, 3, 4, 5]), 15);
/// ```
///
/// # Attributes
///
/// The function becomes `#[inline(never)]` unless it has its own `#[inline]` attribute. The copies inherit `#[allow]`,
/// `#[must_use]`, `#[track_caller]` and `#[target_feature]` (with which Rust permits only a hint to inline). All other
/// attributes apply only to the function. Lints report on the function, not on the copies.
///
/// # What is rejected
///
/// Methods and other associated functions (move the recursion into a free function, and call that from the method),
/// `async fn`, `const fn`, variadic functions, parameters with the function's name, functions that never use their own
/// name, and bodies with a `static` or `thread_local!`, since every copy would have its own.
///
/// ```compile_fail
/// # struct Tree;
/// impl Tree {
///     #[filch_macros::inline_recursion(2)]
///     fn depth(&self) -> usize { // error: needs a free function
///         self.depth()
///     }
/// }
/// ```
///
/// # What differs from the plain function
///
/// If closures are inlined, a panic is caught and resumed once per real call, and an exception of another language ends
/// the process. `f as fn(_)` inside the body is the address of a copy. Backtraces show `f::f` for a copy. rustc does
/// not detect that a function recurses unconditionally. A function declared inside a block must not use `self::f` for
/// *another* function `f` of the enclosing module: that would be taken for a recursive call.
#[proc_macro_attribute]
pub fn inline_recursion(levels: TokenStream, function: TokenStream) -> TokenStream {
    unroll::expand(levels.into(), &function.into()).into()
}

/// The example of the README compiles and runs as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
