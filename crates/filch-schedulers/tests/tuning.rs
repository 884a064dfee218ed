//! Parameters as people write them.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use filch_queue::chase_lev_asym::Fences;
use filch_queue::dsq::{Contention, Copying};
use filch_queue::pdq::{receiver, sender};
use filch_queue::{Amount, BlockSize, CrossTaking, Prefetch, Revocation, dsq, lace, pad_ws, wsq};
use filch_schedulers::{PoolTuning, Tuning, knobs, list_queues};

fn tuning(queue: &'static str, rest: &str) -> Tuning {
    Tuning::parse(queue, rest).unwrap_or_else(|error| panic!("{queue}:{rest}: {error:?}"))
}

fn refused(queue: &'static str, rest: &str) -> String {
    Tuning::parse(queue, rest).expect_err(rest)
}

#[test]
fn parameters_are_what_they_say() {
    let blocks = tuning("bwos-l", "block=64:capacity=1_000");
    assert_eq!(blocks.to_string(), "bwos-l:block=64:capacity=1_000");
    let entries = NonZeroUsize::new(64).expect("it is not 0");
    assert_eq!(blocks.apply(), Ok((BlockSize::Entries(entries), Some(1000))));
    assert_eq!(tuning("bwos-f", "block=sqrt").apply(), Ok((BlockSize::SquareRoot, None)));
    let pdq = tuning("pdq-s", "delta=5us:steal=all-but-one");
    assert_eq!(pdq.apply(), Ok((sender::Params { share: Amount::AllButOne, gap: Duration::from_micros(5) }, None)));
    assert!(pdq.steals_many() && !tuning("pdq-s", "steal=one").steals_many() && !tuning("pdq-s", "").steals_many());
    let three = Amount::UpTo(NonZeroU32::new(3).expect("it is not 0"));
    assert_eq!(tuning("pdq-r", "steal=3").apply(), Ok((receiver::Params { share: three }, None)));
    let lace = lace::Policies { grow: Amount::One, shrink: Amount::All, steal: Amount::All };
    assert_eq!(tuning("lace", "grow=one:shrink=all:steal=all").apply(), Ok((lace, None)));
    let (padws, _) = tuning("padws", "block=4:cross=each:revocation=off:prefetch=always:keep=2:poll=8")
        .apply::<pad_ws::Params>()
        .expect("all are right");
    assert_eq!(padws.block_size, BlockSize::Entries(NonZeroUsize::new(4).expect("it is not 0")));
    let delegation = padws.delegation;
    assert_eq!((delegation.cross_taking, delegation.revocation), (CrossTaking::Each, Revocation::Off));
    assert_eq!((delegation.prefetch, delegation.keep, delegation.poll_every.get()), (Prefetch::Always, 2, 8));
    let dsq = dsq::Params { steal: Amount::All, copying: Copying::Deferred, contention: Contention::Retry };
    assert_eq!(tuning("dsq", "steal=all:copying=deferred:contention=retry").apply(), Ok((dsq, None)));
    assert_eq!(tuning("chase-lev-asym", "fences=symmetric").apply(), Ok((Fences::Symmetric, None)));
    assert_eq!(tuning("wsq", "spare=0").apply(), Ok((wsq::Params { spare: 0 }, None)));
}

#[test]
fn what_cannot_be_set_is_refused() {
    assert!(refused("bwos-l", "blck=64").contains("did you mean `block`"));
    assert!(refused("chase-lev", "block=64").contains("capacity"));
    assert!(refused("chase-lev", "capacity").contains("NAME=VALUE"));
    assert_eq!(refused("bwos-l", "block=0"), "bwos-l: block=`0` is not a number from 1 to 65536, and not sqrt");
    assert!(refused("bwos-l", "steal=half").contains("there is no parameter of bwos-l called `steal`"));
    assert!(refused("pdq-r", "steal=most").contains("is not one of one, half, all, all-but-one, or a number"));
    assert!(refused("wsq", "steal=all").contains("one or half"));
    assert!(refused("locked", "capacity=0").contains("is not a number from 1"));
    for (time, words) in [("30", "write it as"), ("us", "at most an hour"), ("2h", "write it as"), ("99999s", "hour")] {
        assert!(refused("pdq-s", &format!("delta={time}")).contains(words), "{time}");
    }
}

/// No queue is without a value for a parameter that it lists.
#[test]
fn every_knob_can_be_turned() {
    const VALUES: [&str; 13] = [
        "1",
        "one",
        "off",
        "always",
        "locked",
        "wait",
        "symmetric",
        "sqrt",
        "30us",
        "half",
        "deferred",
        "each",
        "retry",
    ];
    for queue in list_queues() {
        for knob in knobs(queue) {
            let fits = |value: &&str| Tuning::parse(queue, &format!("{}={value}", knob.name)).is_ok();
            assert!(VALUES.iter().any(fits), "{queue}: {}", knob.name);
            assert!(!fits(&"nonsense"), "{queue}: {}", knob.name);
        }
    }
}

#[test]
fn pools_are_interrupted_as_they_say() {
    use filch::Interrupts;

    let interrupts = |rest| PoolTuning::parse("pdq-r", rest).map(|pool| pool.interrupts());
    assert_eq!(interrupts(""), Ok(None));
    assert_eq!(interrupts("interrupts=off"), Ok(None));
    assert_eq!(interrupts("interrupts=flag"), Ok(Some(Interrupts::flag())));
    let seldom = Interrupts::signal().every(Duration::from_millis(2));
    assert_eq!(interrupts("every=2ms:interrupts=signal"), Ok(Some(seldom)));
    for (rest, words) in [
        ("interrupts=yes", "is not one of off, flag, signal"),
        ("every=2ms", "nothing ticks"),
        ("interrupts=off:every=2ms", "nothing ticks"),
        ("interrupts=flag:every=0", "no time between"),
        ("block=4", "there is no parameter of pdq-r called `block`"),
    ] {
        let said = interrupts(rest).expect_err(rest);
        assert!(said.contains(words), "{said}");
    }
}
