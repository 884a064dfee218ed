//! Parameters as the user writes them.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use filch_catalogue::{Knob, POOLS, PoolTuning, QUEUES, Tuning, list_queues};
use filch_queue::chase_lev_asym::Fences;
use filch_queue::dsq::{Contention, Copying};
use filch_queue::lace::Moves;
use filch_queue::pdq::{receiver, sender};
use filch_queue::{Amount, Answers, BlockSize, CrossTaking, Prefetch, Revocation, dsq, lace, pad_ws, wsq};
use filch_runner::schedulers::{Common, ForPool, ForQueue, PoolOptions, SHORT_BLOCKS, Tunable};

fn tuning(queue: &'static str, rest: &str) -> Tuning {
    Tuning::parse(queue, rest).unwrap_or_else(|error| panic!("{queue}:{rest}: {error:?}"))
}

fn knobs(queue: &str) -> Vec<Knob> {
    QUEUES.iter().find(|row| row.name == queue).expect("a listed queue").knobs()
}

fn refused(queue: &'static str, rest: &str) -> String {
    Tuning::parse(queue, rest).expect_err(rest)
}

#[test]
fn parameters_reach_the_queue() {
    let blocks = tuning("bwos-l", "block=64:capacity=1_000");
    assert_eq!(blocks.to_string(), "bwos-l:block=64:capacity=1_000");
    let entries = NonZeroUsize::new(64).expect("not 0");
    assert_eq!(blocks.apply(), Ok((BlockSize::Entries(entries), with_capacity(1000))));
    assert_eq!(tuning("bwos-f", "block=sqrt").apply(), Ok((BlockSize::SquareRoot, Common::default())));
    let pdq = tuning("pdq-s-told", "delta=5us:steal=all-but-one");
    assert_eq!(
        pdq.apply(),
        Ok((sender::Params { share: Amount::AllButOne, gap: Duration::from_micros(5) }, Common::default()))
    );
    assert!(
        pdq.steals_many()
            && !tuning("pdq-s-told", "steal=one").steals_many()
            && !tuning("pdq-s-told", "").steals_many()
    );
    let three = Amount::UpTo(NonZeroU32::new(3).expect("not 0"));
    assert_eq!(tuning("pdq-r-async", "steal=3").apply(), Ok((receiver::Params { share: three }, Common::default())));
    let lace = lace::Policies { grow: Amount::One, shrink: Amount::All, steal: Amount::All, moves: Moves::HalfStores };
    assert_eq!(
        tuning("lace", "grow=one:shrink=all:steal=all:moves=half-stores").apply(),
        Ok((lace, Common::default()))
    );
    let (padws, _) = tuning("padws", "block=4:cross=each:revocation=off:prefetch=always:answers=polled:keep=2:poll=8")
        .apply::<pad_ws::Params>()
        .expect("valid parameters");
    assert_eq!(padws.block_size, BlockSize::Entries(NonZeroUsize::new(4).expect("not 0")));
    let delegation = padws.delegation;
    assert_eq!((delegation.cross_taking, delegation.revocation), (CrossTaking::Each, Revocation::Off));
    assert_eq!((delegation.prefetch, delegation.answers), (Prefetch::Always, Answers::Polled));
    assert_eq!((delegation.keep, delegation.poll_every.get()), (2, 8));
    let dsq = dsq::Params { steal: Amount::All, copying: Copying::Deferred, contention: Contention::Retry };
    assert_eq!(tuning("dsq", "steal=all:copying=deferred:contention=retry").apply(), Ok((dsq, Common::default())));
    assert_eq!(tuning("chase-lev-asym", "fences=symmetric").apply(), Ok((Fences::Symmetric, Common::default())));
    assert_eq!(tuning("wsq", "spare=0").apply(), Ok((wsq::Params { spare: 0 }, Common::default())));
}

#[test]
fn invalid_settings_are_refused() {
    assert!(refused("bwos-l", "blck=64").contains("did you mean `block`"));
    assert!(refused("chase-lev", "block=64").contains("capacity"));
    assert!(refused("chase-lev", "capacity").contains("NAME=VALUE"));
    assert_eq!(refused("bwos-l", "block=0"), "bwos-l: block=`0` is not a number from 1 to 65536, and not sqrt");
    assert!(refused("bwos-l", "steal=half").contains("its thieves take one task at a time"));
    assert!(refused("pdq-r-async", "steal=most").contains("is not one of one, half, all, all-but-one, or a number"));
    assert!(refused("wsq", "steal=all").contains("one or half"));
    for queue in ["idem-lifo", "padws"] {
        assert!(refused(queue, "end=homes").contains("end cannot be set: there is no choice"));
    }
    assert!(refused("locked", "capacity=0").contains("is not a number from 1"));
    for (time, words) in [("30", "write it as"), ("us", "at most an hour"), ("2h", "write it as"), ("99999s", "hour")] {
        assert!(refused("pdq-s-told", &format!("delta={time}")).contains(words), "{time}");
    }
}

/// Every parameter accepts one of these.
const VALUES: [&str; 26] = [
    "waits",
    "half-stores",
    "chunk",
    "oldest",
    "homes",
    "transfers",
    "polled",
    "128",
    "give-up",
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
    "next",
    "spin",
    "flag",
    "together",
];

/// Sets a parameter, and what it needs.
fn set(knob: &Knob, value: &str) -> String {
    let needed = match knob.name {
        "every" | "ticks" => "interrupts=flag:",
        "first" => "steal=half:",
        _ => "",
    };
    format!("{needed}{}={value}", knob.name)
}

/// Every parameter of a queue accepts some value.
#[test]
fn every_knob_can_be_turned() {
    for queue in list_queues() {
        for knob in knobs(queue) {
            let fits = |value: &&str| Tuning::parse(queue, &set(&knob, value)).is_ok();
            assert!(VALUES.iter().any(fits), "{queue}: {}", knob.name);
            assert!(!fits(&"nonsense"), "{queue}: {}", knob.name);
        }
    }
}

fn with_capacity(capacity: usize) -> Common {
    Common { capacity: Some(capacity), ..Common::default() }
}

/// The common settings of a pool without parameters of its own.
fn common(pool: &'static str, rest: &str) -> Result<Common, String> {
    Ok(PoolTuning::parse(pool, rest)?.apply::<()>(PoolOptions::of(2))?.1.common)
}

/// The pool's own settings.
fn own<S: Tunable>(pool: &'static str, rest: &str) -> S {
    let apply = |tuning: PoolTuning| tuning.apply::<S>(PoolOptions::of(2));
    PoolTuning::parse(pool, rest).and_then(apply).unwrap_or_else(|error| panic!("{pool}:{rest}: {error}")).0
}

#[test]
fn pools_accept_the_parameters_of_their_queues_and_more() {
    use filch::pool::{
        Clock, First, Haul, HeartbeatSettings, Period, QueueSettings, Sharing, SplitSettings, WoolSettings,
    };
    use filch::{Idle, Leaps, OnLoss, Victims};
    use filch_queue::{BwosL, ChaseLev, Lace, PdqSTold};

    let dealt: QueueSettings<PdqSTold> = own("pdq-s-told", "delta=100us:capacity=64");
    assert_eq!(dealt.params.gap, Duration::from_micros(100));
    let lace: QueueSettings<Lace> = own("lace", "steal=half:grow=one");
    assert_eq!((lace.params.steal, lace.params.grow), (Amount::Half, Amount::One));
    let many = |rest| PoolTuning::parse("lace", rest).map(|tuning| tuning.steals_many());
    assert_eq!((many("steal=half"), many("steal=one"), many("")), (Ok(true), Ok(false), Ok(false)));
    let first = |rest| tuning("lace", rest).haul();
    let all = Haul::from(usize::MAX);
    assert_eq!(
        ["steal=2:first=oldest", "steal=2", ""].map(first),
        [Ok(Some(all.first(First::Oldest))), Ok(Some(all)), Ok(None)]
    );
    let blocks: QueueSettings<BwosL> = own("bwos-l", "block=64");
    assert_eq!(blocks.params, BlockSize::Entries(NonZeroUsize::new(64).expect("not 0")));
    let split: SplitSettings = own("split", "moves=half-stores");
    assert_eq!(split, SplitSettings::default().moves(Moves::HalfStores));
    let share = |rest| own::<SplitSettings>("split", rest);
    let amounts = [Amount::Half, Amount::One, Amount::All].map(Sharing::OnRequest);
    let shared = |share| SplitSettings::default().share(share);
    assert_eq!(["share=half", "share=one", "share=all"].map(share), amounts.map(shared));
    assert_eq!(["share=grain", ""].map(share), [Sharing::ByGrain; 2].map(shared));
    let wool =
        ["chunk=1:privatise=20", "chunk=1:privatise=20:share=chunk"].map(|rest| own::<WoolSettings>("wool", rest));
    let sparing = WoolSettings::default().chunk(NonZeroU32::MIN).privatise_after(NonZeroU32::new(20).expect("not 0"));
    assert_eq!(wool, [sparing, sparing.by_chunks()]);
    let slow: HeartbeatSettings<ChaseLev, Clock> = own("heartbeat", "beat=1ms");
    assert_eq!(
        format!("{slow:?}"),
        format!("{:?}", HeartbeatSettings::<ChaseLev>::of(Period(Duration::from_millis(1)), ()))
    );
    let split = common("split", "victims=last:idle=spin:loss=give-up:capacity=100").expect("valid parameters");
    assert_eq!((split.victims, split.idle, split.capacity), (Victims::Last, Idle::Spin, Some(100)));
    assert_eq!(split.on_loss, OnLoss::GiveUp);
    let untouched = common("split", "").expect("valid parameters");
    assert_eq!(
        untouched,
        Common { victims: Victims::Random, idle: Idle::Sleep, on_loss: OnLoss::TryAgain, capacity: None }
    );
    let leaps = |rest| {
        let applied = PoolTuning::parse("split", rest).expect(rest).apply::<()>(PoolOptions::of(2));
        applied.expect(rest).1.leaps
    };
    let three = Leaps::After(NonZeroU32::new(3).expect("it is not 0"));
    assert_eq!(["", "leaps=3", "leaps=adaptive"].map(leaps), [Leaps::ByStrategy, three, Leaps::Adaptive]);
    // Lists accept the same.
    let list = tuning("the", "victims=last:idle=spin:loss=give-up:capacity=100");
    assert_eq!(list.apply(), Ok(((), split)));
}

#[test]
fn a_pools_defaults_can_be_overridden() {
    let tuning = |rest| PoolTuning::parse("bwos-l", rest).expect(rest).by_default(SHORT_BLOCKS);
    let block = |rest| {
        let (blocks, settings) = tuning(rest).apply::<BlockSize>(PoolOptions::of(1)).expect(rest);
        (blocks, settings.common.capacity)
    };
    let entries = |count| BlockSize::Entries(NonZeroUsize::new(count).expect("not 0"));
    assert_eq!(block(""), (entries(4), Some(8192)));
    assert_eq!(block("block=16"), (entries(16), Some(8192)));
    assert_eq!(block("capacity=100:block=sqrt"), (BlockSize::SquareRoot, Some(100)));
    for pool in POOLS.iter() {
        assert!(PoolTuning::parse(pool.name, pool.defaults).is_ok(), "{}", pool.name);
    }
}

/// Every parameter of a pool accepts some value.
#[test]
fn every_knob_of_every_pool_can_be_turned() {
    for pool in POOLS.iter() {
        for knob in pool.knobs() {
            let fits = |value: &&str| PoolTuning::parse(pool.name, &set(&knob, value)).is_ok();
            assert!(VALUES.iter().any(fits), "{}: {}", pool.name, knob.name);
            assert!(!fits(&"nonsense"), "{}: {}", pool.name, knob.name);
        }
    }
}

#[test]
fn refusals_of_pool_settings_give_the_reason() {
    for (pool, rest, words) in [
        ("split", "steal=half", "split: steal cannot be set: its thieves take one task at a time"),
        ("chase-lev", "steal=all", "one task at a time"),
        ("wsq", "steal=all", "one or half"),
        ("wsq", "first=oldest", "wsq: first needs steal"),
        ("split", "first=oldest", "split: first cannot be set: its thieves take one task at a time"),
        ("chase-lev", "end=homes", "chase-lev: end cannot be set"),
        ("split", "block=4", "there is no parameter of split called `block`"),
        ("heartbeat", "beat=0", "beat=`0` is not a positive time"),
        ("heartbeat-on-request", "beat=1ms", "called `beat`"),
        ("wool", "chunk=0", "is not a number from 1"),
        ("split", "victims=first", "is not one of random, last, next"),
        ("split", "idle=dance", "is not one of sleep, spin"),
        ("split", "leaps=0", "is not a number from 1 to 1048576, and not adaptive"),
        ("split", "capacity=0", "is not a number from 1"),
        ("splitt", "", "did you mean `split`"),
    ] {
        let said = PoolTuning::parse(pool, rest).map(drop).expect_err(rest);
        assert!(said.contains(words), "{said}");
    }
    assert!(refused("chase-lev", "leaps=1").contains("wait for no other"));
    for rest in ["every=1ms", "interrupts=signal"] {
        let said = refused("chase-lev", rest);
        assert!(said.contains("cannot be set: tasks of worklists and jobs answer thieves themselves"), "{said}");
    }
}

/// δ is at least the distance that follows from the stated facts about processor and program.
#[cfg(target_arch = "x86_64")]
#[test]
fn delta_follows_from_bound_and_stores() {
    use filch_queue::Delta;

    let delta = |rest| -> Option<usize> { tuning("thep", rest).apply::<Delta>().expect(rest).0.get() };
    assert_eq!(delta(""), Some(Delta::ASSUMED_BOUND / 2));
    assert_eq!((delta("delta=100"), delta("delta=infinite")), (Some(100), None));
    // The paper's values: half of a Westmere's 33 entries, and 4 for a program that stores more.
    assert_eq!((delta("bound=33"), delta("bound=33:stores=8")), (Some(17), Some(4)));
    assert_eq!(delta("bound=33:stores=32"), Some(1));
    assert_eq!((delta("delta=4:bound=8"), delta("stores=8:delta=5:bound=33")), (Some(4), Some(5)));
    for (rest, words) in [
        ("delta=4", "thep: delta=`4` is too near: with 192 pending stores, one in 2 of which lowers the tail"),
        ("delta=4", "less than 96"),
        ("bound=33:delta=16", "less than 17"),
        ("bound=33:stores=8:delta=3", "one in 9"),
        ("delta=0", "is not a number from 1"),
        ("delta=far", "and not infinite"),
        ("bound=0", "is not a number from 1"),
    ] {
        for said in [refused("thep", rest), PoolTuning::parse("thep", rest).map(drop).expect_err(rest)] {
            assert!(said.contains(words), "{said}");
        }
    }
}

#[test]
fn interrupts_reach_the_pool() {
    use filch::Interrupts;

    let interrupts = |rest| {
        let tuning = PoolTuning::parse("pdq-r-async", rest)?;
        Ok::<_, String>(tuning.apply::<receiver::Params>(PoolOptions::of(1))?.1.interrupts)
    };
    assert_eq!(interrupts(""), Ok(None));
    assert_eq!(interrupts("interrupts=off"), Ok(None));
    assert_eq!(interrupts("interrupts=flag"), Ok(Some(Interrupts::flag())));
    let seldom = Interrupts::signal().every(Duration::from_millis(2));
    assert_eq!(interrupts("every=2ms:interrupts=signal"), Ok(Some(seldom)));
    assert_eq!(interrupts("interrupts=flag:ticks=always"), Ok(Some(Interrupts::flag().steady())));
    let soon = Interrupts::by_thieves().every(Duration::from_micros(50));
    assert_eq!(interrupts("interrupts=thieves:every=50us"), Ok(Some(soon)));
    let caller_works = |rest| {
        PoolTuning::parse("wool", rest)?
            .apply::<filch::pool::WoolSettings>(PoolOptions::of(1))
            .map(|all| all.1.caller_works)
    };
    assert_eq!(["", "caller=works", "caller=waits"].map(caller_works), [Ok(true), Ok(true), Ok(false)]);
    for (rest, words) in [
        ("interrupts=yes", "is not one of off, flag, signal, thieves"),
        ("every=2ms", "every needs interrupts"),
        ("ticks=always", "ticks needs interrupts"),
        ("interrupts=thieves:ticks=always", "ticks needs interrupts=flag or"),
        ("interrupts=off:every=2ms", "every needs interrupts"),
        ("interrupts=flag:every=0", "not a positive time"),
        ("block=4", "there is no parameter of pdq-r-async called `block`"),
    ] {
        let said = interrupts(rest).expect_err(rest);
        assert!(said.contains(words), "{said}");
    }
}
