//! Mistakes in the fence-free deques, and δ that are too small for them.

use filch_queue::fence_free::Delta;
use filch_queue::{FfCl, FfThe, Queue};

use super::THE;
use crate::harm::Harm;
use crate::scenarios::fence_free::thieves_of_each_other;
use crate::scenarios::queues::Client;
use crate::sites::Slip;
use crate::tso::{Processor, Tso};
use crate::twins::mutant::{Mutant, buffer, merging, mutant, protocol};

const FENCE_FREE: &str = "filch-queue/src/fence_free.rs";
const FF_THE: &str = "filch-queue/src/ff_the.rs";
const FF_CL: &str = "filch-queue/src/ff_cl.rs";
const THEP: &str = "filch-queue/src/thep.rs";

/// A thief that is not sure looks at the echo once: the explorer tries that look at every moment.
type Thep = filch_queue::Thep<0>;
/// Likewise, with the number apart.
type ThepApart = filch_queue::Thep<0, true>;

/// δ that a buffer of `entries` entries needs, with the place beyond it counted: half of them are stores of T.
fn delta_for(processor: Processor) -> usize {
    (processor.buffer + usize::from(processor.coalesces)).div_ceil(2)
}

fn with_delta(delta: usize) -> Delta {
    // SAFETY: it runs on the machine alone.
    unsafe { Delta::new(delta) }
}

/// A mistake, if there is one, and δ: that of the mutant, and of the control.
fn row<Q: Queue<Tso, Params = Delta>>(
    (name, slip): (&str, Option<Slip>),
    [delta, needed]: [usize; 2],
    client: Client,
    processor: Processor,
    harm: Harm,
    shows: &'static str,
) -> Mutant {
    let name = format!("{name}-s{}{}-d{delta}", processor.buffer, if processor.coalesces { "b" } else { "" });
    let params = [with_delta(delta), with_delta(needed)];
    let mutant = mutant::<Q>(&name, params, client, processor, harm, shows);
    Mutant { delta: Some((delta as i64, needed as i64)), slip, ..mutant }
}

/// δ too small by one, on every machine. `more`: how many tasks the thief takes before the one that it must not.
fn small_delta<Q: Queue<Tso, Params = Delta>>(more: usize) -> impl Iterator<Item = Mutant> {
    let machines = [1, 2, 3, 4].map(buffer).into_iter().chain([1, 2, 3].map(merging));
    machines.map(move |processor| {
        let delta = delta_for(processor);
        let client = client(delta, more);
        let shows =
            "one more pop than δ allows for hides in the store buffer, and a thief takes what the owner has taken";
        row::<Q>(("small-delta", None), [delta - 1, delta], client, processor, Harm::Twice, shows)
    })
}

/// Nothing between two stores of T, so that they merge: on these machines, with these δ.
fn merged<Q: Queue<Tso, Params = Delta>>(
    (name, slip): (&str, Slip),
    more: usize,
    machines: &[(Processor, usize)],
) -> impl Iterator<Item = Mutant> {
    machines.iter().map(move |&(processor, delta)| {
        let client = client(4 - more, more);
        let shows = "stores of T merge on their way to memory, so a short buffer hides many pops, and no δ is enough";
        row::<Q>((name, Some(slip)), [delta; 2], client, processor, Harm::Twice, shows)
    })
}

/// H read before T.
fn head_first<Q: Queue<Tso, Params = Delta>>(slip: Slip, more: usize) -> impl Iterator<Item = Mutant> {
    [2, 4].map(buffer).into_iter().map(move |processor| {
        let delta = delta_for(processor);
        let client = client(delta + 1, more);
        let shows = "H is read one pop too early, which counts like one more hidden pop";
        row::<Q>(("head-first", Some(slip)), [delta; 2], client, processor, Harm::Twice, shows)
    })
}

/// An owner that pops so often, and a thief that takes `more` tasks, and one too many.
fn client(pops: usize, more: usize) -> Client {
    Client::new(pops + more, pops + more, &"-".repeat(pops), &[1 + more])
}

pub(super) fn mutants() -> Vec<Mutant> {
    [ff_the(), ff_cl(), thep()].concat()
}

fn no_pad() -> Slip {
    Slip::left_out((FENCE_FREE, "store", "self.0.store"))
}

fn ff_the() -> Vec<Mutant> {
    let row = row::<FfThe>;
    let machines = [(merging(1), 1), (merging(1), 2), (merging(1), 3), (merging(2), 3), (merging(3), 3)];
    let mut all: Vec<Mutant> = small_delta::<FfThe>(0).collect();
    all.extend(merged::<FfThe>(("no-pad", no_pad()), 0, &machines));
    let shows = "every entry of the store buffer can hold a store of T, and not every second one";
    for (processor, delta) in [(buffer(2), 1), (buffer(4), 3)] {
        let (client, deltas) = (client(delta + 1, 0), [delta, delta_for(processor)]);
        all.push(row(("no-pad", Some(no_pad())), deltas, client, processor, Harm::Twice, shows));
    }
    let head_first_slip = Slip::swapped((FF_THE, "lower", "tail.store"), (THE, "head_of_pop", "index.load"));
    all.extend(head_first::<FfThe>(head_first_slip, 0));
    let shows = "a push goes by a claim that is given back, and overwrites the oldest task";
    let slip = Slip::altered((THE, "make_room", "index.load"), |head| head + 1);
    let client = Client::new(1, 0, "+++", &[1]);
    all.push(row(("no-spare-slot", Some(slip)), [1; 2], client, buffer(1), Harm::Lost, shows));
    all
}

fn ff_cl() -> Vec<Mutant> {
    let machines = [(merging(1), 1), (merging(1), 2), (merging(2), 2), (merging(3), 2)];
    let mut all: Vec<Mutant> = small_delta::<FfCl>(1).collect();
    all.extend(merged::<FfCl>(("no-pad", no_pad()), 1, &machines));
    all.extend(head_first::<FfCl>(Slip::swapped((FF_CL, "pop", "tail.store"), (FF_CL, "pop", "head.load")), 1));
    let shows = "a push overwrites the oldest task";
    let slip = Slip::altered((FF_CL, "make_room", "head.load"), |head| head + 1);
    let client = Client::new(1, 0, "++", &[]);
    all.push(row::<FfCl>(("overfull-by-one", Some(slip)), [1; 2], client, buffer(1), Harm::Lost, shows));
    all
}

fn thep() -> Vec<Mutant> {
    let row = |name, slip, client, harm, shows| row::<Thep>((name, Some(slip)), [1; 2], client, buffer(1), harm, shows);
    let machines = [(merging(1), 1), (merging(1), 2), (merging(1), 3), (merging(2), 3), (merging(3), 3)];
    let mut all: Vec<Mutant> = small_delta::<Thep>(0).collect();
    all.extend(merged::<Thep>(("no-echo", Slip::left_out((THEP, "pop", "echo.store"))), 0, &machines));
    all.extend(head_first::<Thep>(Slip::swapped((THEP, "pop", "tail.store"), (THEP, "pop", "word.load")), 0));
    all.push(row(
        "no-wait",
        // The number of the first claim.
        Slip::altered((THEP, "await_echo", "echo.load"), |_| 1),
        Client::new(1, 1, "-", &[1]),
        Harm::Twice,
        "a thief that is not sure takes a task that the owner has taken",
    ));
    all.push(row(
        "number-used-again",
        Slip::altered((THEP, "steal", "word.store(pack(beside, head), "), |word| word - (1 << 32)),
        Client::new(2, 2, "--", &[2]),
        Harm::Twice,
        "the echo of a claim that was given back is taken for that of the next one",
    ));
    all.push(row(
        "no-spare-slot",
        Slip::altered((THEP, "make_room", "word.load"), |head| head + 1),
        Client::new(1, 0, "+++", &[1]),
        Harm::Lost,
        "a push goes by a claim that is given back, and overwrites the oldest task",
    ));
    all.extend(of_an_owner_at_rest());
    all.push(self::row::<ThepApart>(
        (
            "number-first",
            Some(Slip::swapped(
                (THEP, "steal", "word.store(pack(beside, head.wrapping"),
                (THEP, "steal", "number.store"),
            )),
        ),
        [1; 2],
        Client::new(2, 2, "--", &[1]),
        buffer(1),
        Harm::Twice,
        "a pop echoes a claim that is only announced, and the next one does not see it",
    ));
    all
}

/// Of an owner that polls, so that no thief waits for it.
fn of_an_owner_at_rest() -> [Mutant; 2] {
    let silent = |silent| thieves_of_each_other::<Tso>(silent);
    [
        row::<Thep>(
            ("no-fence-after-rest", Some(Slip::left_out((THEP, "get_up", "M::fence")))),
            [1; 2],
            Client::new(1, 1, ".-", &[1]),
            buffer(2),
            Harm::Twice,
            "an owner's pop after its rest overtakes the end of that rest, and neither side sees the other",
        ),
        protocol(
            "thep",
            ("silent", true),
            "two owners, a task each",
            Harm::Hang,
            "two owners that do not poll before they steal wait for each other's next pop",
            silent,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::{client, no_pad, with_delta};
    use crate::scenarios::queues::program;
    use crate::tso::{Bounds, Tso, Verdict, explore};
    use filch_queue::FfThe;

    /// Section 4: a pop stores T once and lowers it by one, so all S entries of a buffer may hold a store of T.
    #[test]
    fn without_its_pad_ff_the_wants_the_distance_of_a_whole_buffer() {
        for entries in 1..=4 {
            let bounds = Bounds { slip: Some(no_pad()), ..Bounds::buffer(entries) };
            let is_right = |delta| {
                let client = client(entries + 1, 0);
                let program = || program::<Tso, FfThe>(&client, &with_delta(delta));
                matches!(explore(&program, &bounds, &mut |_| ()).verdict, Verdict::Passed)
            };
            assert!(is_right(entries), "δ = S = {entries}");
            assert!(!is_right(entries - 1), "δ = S - 1 = {}", entries - 1);
        }
    }
}
