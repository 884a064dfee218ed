//! How a loop splits itself.
//!
//! A loop halves its items and lends the second half while it works on the first, until there is a half for each
//! worker. Then it lends all but its next block, so thieves can take any items not begun, however long an item takes.
//! Once a block was short, the loop runs block after block of some microseconds each, and lends half of its rest only
//! while there are fewer shared tasks than workers that look for work. So there is no grain to tune. (Tzannes, Caragea,
//! Barua, Vishkin, *Lazy Binary-Splitting*, PPoPP 2010; there an empty deque triggers the split.)
//!
//! A worker remembers how long the items of its last few loops took. If the items of a loop were fine, the loop runs
//! one of them, and then lends only to those who ask. If all of them would take less than some 2.5 µs, the loop lends
//! nothing, since two workers would need no less time. If the guess is wrong, thieves wait for one item.
//!
//! A short loop would spend more on its first halves and on reading the clock than on its items. So a loop nested in a
//! block of several items, in an outer loop whose last block was short, begins with a block of some of its items and
//! lends nothing. The loops nested in one block should together take no longer than the last block did; then the outer
//! loop lends far more. If they take longer, the loop goes on like any other.
//!
//! In a pool whose thieves leave the newest k tasks to their owner, a half cannot be stolen until k other tasks lie
//! above it. So the loop pushes k empty tasks over the lent half, and works on its own half inside these forks until
//! thieves can take no more.
//!
//! Invariant: each item is mapped once, and results are reduced in the order of the items.

pub(crate) mod block_size;
pub(crate) mod divisible;
pub(crate) mod forker;
#[cfg(feature = "scale")]
mod pieces;
pub(crate) mod run;
