//! What the mutants of the fence-free queues have in common: their δ, and what they show.

use filch_queue::Queue;

use super::mutant::{Harm, Mutant, mutant};
use crate::scenarios::queues::Client;
use crate::tso::{Processor, Tso};

/// δ that a buffer of `entries` entries needs, with the place beyond it counted: half of them are stores of T.
pub(super) fn delta_for(processor: Processor) -> i64 {
    (processor.buffer + usize::from(processor.coalesces)).div_ceil(2) as i64
}

/// A twin whose parameters are a mistake and δ: that of the mutant, and of the control.
pub(super) fn fence_free<Q: Queue<Tso, Params = (P, i64)>, P: Default>(
    name: &str,
    mistake: P,
    [delta, needed]: [i64; 2],
    client: Client,
    processor: Processor,
    harm: Harm,
    shows: &'static str,
) -> Mutant {
    let name = format!("{name}-s{}{}-d{delta}", processor.buffer, if processor.coalesces { "b" } else { "" });
    let params = [(mistake, delta), (P::default(), needed)];
    Mutant { delta: Some((delta, needed)), ..mutant::<Q>(&name, params, client, processor, harm, shows) }
}

pub(super) const SMALL_DELTA: &str =
    "one more pop than δ allows for hides in the store buffer, and a thief takes what the owner has taken";
pub(super) const NO_PAD: &str =
    "stores of T merge on their way to memory, so a short buffer hides many pops, and no δ is enough";
pub(super) const ALL_OF_TAIL: &str = "every entry of the store buffer can hold a store of T, and not every second one";
pub(super) const HEAD_FIRST: &str = "H is read one pop too early, which counts like one more hidden pop";
