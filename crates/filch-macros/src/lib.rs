//! The attribute [`#[inline_recursion(N)]`](macro@inline_recursion): several levels of a recursion in one real call.
//!
//! # Why
//!
//! A C compiler inlines a small recursive function into itself a few times; rustc and LLVM do not. For ordinary
//! recursion that costs little. For fork–join it costs a lot, because a fork is cheap only where the compiler sees
//! both sides of it: the bookkeeping of a level (spilled registers, the frame, the call and the return) is paid once
//! per *real* call, so a function that forks once per real call pays it at every fork. With N levels in one real call
//! it is paid once for the 2^N - 1 forks of a binary recursion.
//!
//! The price is code: each call in the body becomes a copy of the body, so a function that calls itself twice grows to
//! 2^N - 1 bodies. Two to four levels are usually best; beyond that the instruction cache pays back what the calls
//! saved. Measure.
//!
//! # How
//!
//! Name resolution does the redirecting. Every level declares the next one under the *same* name inside its own body,
//! and the last level imports the public function back under that name. With N = 3:
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
//! In a function that forks, the recursive calls are in closures. A closure that is an argument of a call and itself uses the
//! function is made `#[inline(always)]`, since one that holds a few levels is too large for the compiler's taste; and
//! panics of all levels leave the function through one place, which lets calls that do not fork go without saving registers.
//!
//! So a call is redirected exactly when the compiler itself would have taken it for a recursive call: in closures and
//! in the arguments of macros as anywhere else, and not where a local variable or a nested item has taken the name.
//! All copies keep the positions of the source, so an error in the body is reported once, where it was written.

mod unroll;

use proc_macro::TokenStream;

/// Executes `N` levels of a function's recursion in each real call (`N` from 1 to 16; 1 leaves the function as it is).
///
/// The function is followed, inside its own body, by `N - 1` hidden copies of itself that are always inlined; the
/// last of them calls the function again. See the [crate's documentation](crate) for the reason and the price.
///
/// ```
/// use filch_macros::inline_recursion;
///
/// /// Three levels in each real call: a call with n = 30 stands for itself, for 29 and 28, and for 28, 27, 27 and 26.
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
/// and also `self::f`, in the body, its closures, nested items and macro arguments. A path such as `crate::tree::f`,
/// or a glob import in the body that brings `f` in, names the public function and really calls it.
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
/// The function becomes `#[inline(never)]` unless it has an `#[inline]` attribute of its own. The copies take over
/// `#[allow]`, `#[must_use]`, `#[track_caller]` and `#[target_feature]` (with which Rust permits no more than a hint
/// to inline); all other attributes belong to the function alone. Lints report on the function, not on the copies.
///
/// # What is rejected
///
/// Methods and other associated functions (write the recursion as a free function, and call it from the method),
/// `async fn`, `const fn`, variadic functions, parameters that have the function's name, functions that never use
/// their own name, and bodies with a `static` or `thread_local!`, of which every copy would have its own.
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
/// In a function with such closures a panic is caught and resumed once per real call, and an exception of another language
/// ends the process. `f as fn(_)` inside the body is the address of a copy; backtraces show `f::f` for a copy; rustc no longer sees
/// that a function recurses unconditionally. A function declared inside a block must not use `self::f` for *another*
/// function `f` of the enclosing module: that would be taken for a recursive call.
#[proc_macro_attribute]
pub fn inline_recursion(levels: TokenStream, function: TokenStream) -> TokenStream {
    unroll::expand(levels.into(), &function.into()).into()
}
