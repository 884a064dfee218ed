//! What the mutants of the fence-free queues have in common.

use filch_queue::Queue;

use super::mutant::{Harm, Mutant, buffer, merging, mutant};
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

/// δ too small by one, on every machine. `more`: how many tasks the thief takes before the one that it must not.
pub(super) fn small_delta<Q: Queue<Tso, Params = (P, i64)>, P: Default>(more: usize) -> impl Iterator<Item = Mutant> {
    let machines = [1, 2, 3, 4].map(buffer).into_iter().chain([1, 2, 3].map(merging));
    machines.map(move |processor| {
        let delta = delta_for(processor);
        let client = client(delta as usize, more);
        let shows =
            "one more pop than δ allows for hides in the store buffer, and a thief takes what the owner has taken";
        fence_free::<Q, P>("small-delta", P::default(), [delta - 1, delta], client, processor, Harm::Twice, shows)
    })
}

/// Nothing between two stores of T, so that they merge: on these machines, with these δ.
pub(super) fn merged<Q: Queue<Tso, Params = (P, i64)>, P: Default + Copy>(
    name: &str,
    mistake: P,
    more: usize,
    machines: &[(Processor, i64)],
) -> impl Iterator<Item = Mutant> {
    machines.iter().map(move |&(processor, delta)| {
        let client = client(4 - more, more);
        let shows = "stores of T merge on their way to memory, so a short buffer hides many pops, and no δ is enough";
        fence_free::<Q, P>(name, mistake, [delta; 2], client, processor, Harm::Twice, shows)
    })
}

/// H read before T.
pub(super) fn head_first<Q: Queue<Tso, Params = (P, i64)>, P: Default + Copy>(
    mistake: P,
    more: usize,
) -> impl Iterator<Item = Mutant> {
    [2, 4].map(buffer).into_iter().map(move |processor| {
        let delta = delta_for(processor);
        let client = client(delta as usize + 1, more);
        let shows = "H is read one pop too early, which counts like one more hidden pop";
        fence_free::<Q, P>("head-first", mistake, [delta; 2], client, processor, Harm::Twice, shows)
    })
}

/// An owner that pops so often, and a thief that takes `more` tasks, and one too many.
pub(super) fn client(pops: usize, more: usize) -> Client {
    Client::new(pops + more, pops + more, &"-".repeat(pops), &[1 + more])
}
