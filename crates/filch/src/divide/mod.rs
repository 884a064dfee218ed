//! How a loop splits itself.
//!
//! A loop halves its items, and lends the second half while it works on the first: until there is a half for each
//! worker. Then it lends all but its next block, so that thieves can take any items not begun, however long an item
//! takes. Once a block was short, the loop lends half of its rest only where fewer tasks are shared than workers look
//! for some, and otherwise runs block after block, of some microseconds each. So there is no grain to tune. (Tzannes,
//! Caragea, Barua, Vishkin, *Lazy Binary-Splitting*, PPoPP 2010; there an empty deque triggers the split.)
//!
//! A short loop would spend more on its first halves and looks at the clock than on its items. So a loop within a block
//! of several items of another loop, whose last block was short, begins with a block of some of its items, and lends
//! nothing: together these loops take about as long as that block, and then the outer loop lends far more. If they do
//! not, the loop goes on as any other.
//!
//! Where thieves leave some of the newest tasks to their owner, a half could not be stolen until as many other tasks
//! lie above it. So the loop pushes that many empty tasks over the lent half, and works below them on its own half
//! until thieves can take no more.
//!
//! Invariant: each item is mapped once, and results are reduced in the order of the items.

pub(crate) mod block_size;
pub(crate) mod divisible;
pub(crate) mod forker;
pub(crate) mod run;
