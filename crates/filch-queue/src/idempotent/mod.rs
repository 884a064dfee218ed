//! Idempotent work stealing: three pools whose owner neither fences nor swaps, because a task may be taken twice.
//!
//! **Paper.** Maged M. Michael, Martin T. Vechev and Vijay A. Saraswat, *Idempotent Work Stealing*, PPoPP 2009,
//! <https://doi.org/10.1145/1504176.1504186>, figures 1 to 3: [`lifo`], [`fifo`] and [`deque`].
//!
//! **Idea.** The owner announces its puts and takes with one plain store of an index word; thieves swap that word. The
//! owner's store may overwrite the swap of a thief that came in between, and so bring back tasks that the thief has
//! taken: they are taken again, perhaps several times. It never hides a task. This suits tasks that may be done twice.
//!
//! The number of times that a task is taken has no fixed bound: each operation of the owner can bring back tasks that
//! were taken while it ran, and the same thief may take them again.

pub mod deque;
pub mod fifo;
pub mod lifo;

pub use deque::IdempotentDeque;
pub use fifo::IdempotentFifo;
pub use lifo::IdempotentLifo;
