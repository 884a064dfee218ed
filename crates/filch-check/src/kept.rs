//! The orderings that are stronger than any scenario needs, with the reason.
//!
//! What must always hold: an entry stands for a weakening that passes; one that does not is reported as stale.

use filch_memory::Ordering;

use crate::sites::{Kind, Weakening};

/// A weakening that nothing notices, and why it is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The end of the source file's path.
    pub file: &'static str,
    /// The text of the line, without the space around it.
    pub line: &'static str,
    /// What the operation is.
    pub kind: Kind,
    /// The weaker ordering; `None`: leaving a fence out.
    pub to: Option<Ordering>,
    /// Why the source asks for more.
    pub reason: &'static str,
}

impl Kept {
    pub(crate) fn is_in(&self, file: &str) -> bool {
        file.replace('\\', "/").ends_with(self.file)
    }

    pub(crate) fn is_for(&self, line: &str, weakening: &Weakening) -> bool {
        self.is_in(weakening.site.file)
            && self.line == line
            && self.kind == weakening.site.kind
            && self.to == weakening.to
    }
}

/// What `filch check --weaken` has come to for a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The queue or protocol.
    pub subject: &'static str,
    /// Weakenings that make a scenario fail.
    pub necessary: usize,
    /// Weakenings that nothing notices, and that are not made for a reason in [`KEPT`].
    pub kept: usize,
}

const fn settled(subject: &'static str, necessary: usize, kept: usize) -> Settled {
    Settled { subject, necessary, kept }
}

/// Of all subjects; those that share a protocol count it each.
pub const SETTLED: &[Settled] = &[
    settled("locked", 0, 0),
    settled("the", 9, 3),
    settled("chase-lev", 9, 2),
    settled("chase-lev-fixed", 7, 2),
    settled("bwos-l", 4, 12),
    settled("bwos-f", 2, 2),
    settled("padws", 4, 12),
    settled("adws", 2, 6),
    settled("lace", 3, 2),
    settled("wsq", 2, 0),
    settled("dsq", 4, 4),
    settled("hendler-shavit", 3, 0),
    settled("abp", 8, 2),
    settled("chase-lev-asym", 11, 3),
    settled("idem-lifo", 4, 3),
    settled("idem-fifo", 4, 2),
    settled("idem-de", 4, 3),
    settled("one-exposed", 5, 0),
    settled("pdq-r", 4, 0),
    settled("pdq-r2", 4, 0),
    settled("pdq-s", 4, 0),
    #[cfg(target_arch = "x86_64")]
    settled("ff-the", 11, 3),
    #[cfg(target_arch = "x86_64")]
    settled("ff-cl", 6, 3),
    #[cfg(target_arch = "x86_64")]
    settled("thep", 9, 3),
    #[cfg(target_arch = "x86_64")]
    settled("patient-thep", 9, 3),
    settled("runtime", 32, 19),
    settled("guest", 32, 19),
    settled("seize", 32, 19),
    settled("wool", 32, 19),
    settled("beat", 32, 19),
    settled("ticks", 32, 19),
    settled("termination", 4, 2),
    settled("rounds", 4, 0),
    settled("jobs", 9, 2),
];

/// All of them.
pub const KEPT: &[Kept] = &[
    Kept {
        file: "filch-queue/src/abp.rs",
        line: "let (_, top) = unpack(self.shared.age.swap(pack(self.tag, 0), Ordering::AcqRel));",
        kind: Kind::Update,
        to: Some(Ordering::Release),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/abp.rs",
        line: "match shared.age.compare_exchange(age, pack(tag, top + 1), Ordering::Release, Ordering::Relaxed) {",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/chase_lev_asym.rs",
        line: "let top = self.shared.top.load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/chase_lev_asym.rs",
        line: "match shared.top.compare_exchange(top, top + 1, Ordering::Release, Ordering::Relaxed) {",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/chase_lev_asym.rs",
        line: "self.shared.bottom.store(b + 1, Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: "a light barrier is no fence that would release the pushes before; here it is taken for one",
    },
    Kept {
        file: "filch-queue/src/idempotent/lifo.rs",
        line: "self.array().publish(tail as usize, task);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: SLOT_BEFORE_TAKE,
    },
    Kept {
        file: "filch-queue/src/idempotent/lifo.rs",
        line: "let task = shared.tasks.current().read_published(tail as usize);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: SLOT_BEFORE_TAKE,
    },
    Kept {
        file: "filch-queue/src/idempotent/lifo.rs",
        line: "self.shared.anchor.store(pack(tail, self.tag), Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: LOWERING,
    },
    Kept {
        file: "filch-queue/src/idempotent/fifo.rs",
        line: "self.ring().publish(self.tail as usize, task);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: SLOT_BEFORE_TAKE,
    },
    Kept {
        file: "filch-queue/src/idempotent/fifo.rs",
        line: "let task = shared.tasks.current().read_published(head as usize);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: SLOT_BEFORE_TAKE,
    },
    Kept {
        file: "filch-queue/src/idempotent/deque.rs",
        line: "self.ring().publish((head + size) as usize, task);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: SLOT_BEFORE_TAKE,
    },
    Kept {
        file: "filch-queue/src/idempotent/deque.rs",
        line: "self.shared.anchor.store(anchor.pack(), Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: LOWERING,
    },
    Kept {
        file: "filch-queue/src/idempotent/deque.rs",
        line: "let task = shared.tasks.current().read_published(head as usize);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: SLOT_BEFORE_TAKE,
    },
    Kept {
        file: "filch-queue/src/dsq.rs",
        line: "Copying::Locked => thieves.tail.load(Ordering::Acquire),",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/dsq.rs",
        line: "let copied = thieves.copied.load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/dsq.rs",
        line: "thieves.tail.store(new, Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/dsq.rs",
        line: "thieves.copied.fetch_add(i64::from(count), Ordering::Release);",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/chase_lev.rs",
        line: "let top = self.shared.top.load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/chase_lev.rs",
        line: "match shared.top.compare_exchange(top, top + 1, Ordering::Release, Ordering::Relaxed) {",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/lace/index.rs",
        line: "let word = self.word.load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: "only what the compare-and-swap took is used, and that one acquires; costs nothing on x86-64",
    },
    Kept {
        file: "filch-queue/src/lace/index.rs",
        line: "shared.word.fetch_add(pack(0, back), Ordering::Release);",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: "the tasks in between were published before, and updates continue that release; on a cold path",
    },
    Kept {
        file: "filch-queue/src/ff_cl.rs",
        line: "let head = self.shared.head.load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/ff_cl.rs",
        line: "match shared.head.compare_exchange(head, head + 1, Ordering::Release, Ordering::Relaxed) {",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/ff_cl.rs",
        line: "let head = shared.head.load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: "keeps the compiler from exchanging it with the load of T, which the machines here execute as written; on C11, where \
                 it would tell, the owner's missing fence tells first",
    },
    Kept {
        file: "filch-queue/src/thep.rs",
        line: "let (_, head) = unpack(self.shared.head.word.load(Ordering::Acquire));",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/thep.rs",
        line: "shared.head.word.store(pack(s, head.wrapping_add(1)), Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/thep.rs",
        line: "shared.head.word.store(pack(s, head), Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/blocks.rs",
        line: "block.done.fetch_add(1, Ordering::Release);",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/blocks.rs",
        line: "self.blocks[self.shape.place_of_slot(slot)].done.fetch_add(1, Ordering::Release);",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/blocks.rs",
        line: "let is_settled = done.load(Ordering::Acquire) == front;",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/blocks.rs",
        line: "let mut oldest = self.sblk.load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: PASSED_BY,
    },
    Kept {
        file: "filch-queue/src/blocks.rs",
        line: "let word = block.spos.load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: PASSED_BY,
    },
    Kept {
        file: "filch-queue/src/blocks.rs",
        line: "oldest = match self.sblk.compare_exchange(oldest, oldest + 1, Ordering::Release, Ordering::Acquire) {",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: PASSED_BY,
    },
    Kept {
        file: "filch-queue/src/blocks.rs",
        line: "oldest = match self.sblk.compare_exchange(oldest, oldest + 1, Ordering::Release, Ordering::Acquire) {",
        kind: Kind::Failure,
        to: Some(Ordering::Relaxed),
        reason: PASSED_BY,
    },
    Kept {
        file: "filch-queue/src/blocks.rs",
        line: "block.spos.store(Mark { round: shape.round(next), index: CLOSED }.word(), Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: PASSED_BY,
    },
    Kept {
        file: "filch-queue/src/blocks.rs",
        line: "spos.store(mark.word(), Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: PASSED_BY,
    },
    Kept {
        file: "filch-queue/src/bwos_f.rs",
        line: "if !is_read || block.stolen.load(Ordering::Acquire) != over {",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/bwos_f.rs",
        line: "block.stolen.fetch_add(1, Ordering::Release);",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/delegation.rs",
        line: "let requests = desk.requests(word).load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: ANSWERED,
    },
    Kept {
        file: "filch-queue/src/delegation.rs",
        line: "requests.fetch_or(bit, Ordering::Release);",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: ANSWERED,
    },
    Kept {
        file: "filch-queue/src/delegation.rs",
        line: "requests.fetch_and(!bit, Ordering::Release);",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: ANSWERED,
    },
    Kept {
        file: "filch-queue/src/adws.rs",
        line: "let cells = (0..shared.desk.thieves()).map(|cell| shared.desk.answer(cell, Ordering::Acquire));",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/adws.rs",
        line: "desk.copied(cell, answer, Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/adws.rs",
        line: "let Some(answer) = self.desk.answer(&self.shared.desk, Ordering::Acquire) else { return Steal::Pending };",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/the.rs",
        line: "self.head.index.store(head + 1, Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/the.rs",
        line: "self.head.index.store(head, Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch-queue/src/the.rs",
        line: "let head = self.shared.head.index.load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: LOAD_BUFFERING,
    },
    Kept {
        file: "filch/src/protocol/seize.rs",
        line: "let turns = self.turns.load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: STALE_LIMITS,
    },
    Kept {
        file: "filch/src/protocol/seize.rs",
        line: "if turns % 2 != 0 || self.claim.compare_exchange(FREE, claim, Ordering::Acquire, Ordering::Relaxed).is_err() {",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: UNSEEN_BARRIER,
    },
    Kept {
        file: "filch/src/protocol/sleep/mod.rs",
        line: "self.word.store(guest | if wanted == ANY { IDLE } else { WAITING }, Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: STALE_WANTED,
    },
    Kept {
        file: "filch/src/protocol/sleep/mod.rs",
        line: "state(self.word.load(Ordering::Acquire)) != AWAKE && wants(self.wanted.load(Ordering::Relaxed))",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: STALE_WANTED,
    },
    Kept {
        file: "filch/src/protocol/sleep/mod.rs",
        line: "M::fence(Ordering::SeqCst);",
        kind: Kind::Fence,
        to: Some(Ordering::AcqRel),
        reason: FENCES,
    },
    Kept {
        file: "filch/src/protocol/sleep/mod.rs",
        line: "M::fence(Ordering::SeqCst);",
        kind: Kind::Fence,
        to: None,
        reason: FENCES,
    },
    Kept {
        file: "filch/src/protocol/sleep/mod.rs",
        line: "let word = self.word.load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: WOKEN,
    },
    Kept {
        file: "filch/src/protocol/sleep/mod.rs",
        line: "let former = self.word.fetch_and(GUEST, Ordering::AcqRel);",
        kind: Kind::Update,
        to: Some(Ordering::Release),
        reason: "keeps the count of sleepers from passing below zero, which costs others a look or a wake-up for nobody",
    },
    Kept {
        file: "filch/src/protocol/sleep/mod.rs",
        line: "let former = self.word.fetch_and(GUEST, Ordering::AcqRel);",
        kind: Kind::Update,
        to: Some(Ordering::Acquire),
        reason: WOKEN,
    },
    Kept {
        file: "filch/src/protocol/sleep/mod.rs",
        line: "self.word.store(AWAKE, Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: SEQUENCE,
    },
    Kept {
        file: "filch/src/protocol/ticks.rs",
        line: "M::fence(Ordering::SeqCst);",
        kind: Kind::Fence,
        to: Some(Ordering::AcqRel),
        reason: TICKS,
    },
    Kept {
        file: "filch/src/protocol/ticks.rs",
        line: "M::fence(Ordering::SeqCst);",
        kind: Kind::Fence,
        to: None,
        reason: TICKS,
    },
    Kept {
        file: "filch/src/protocol/ticks.rs",
        line: "flag.store(true, Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: TICKS,
    },
    Kept {
        file: "filch/src/protocol/ticks.rs",
        line: "Some(flag.load(Ordering::Relaxed) && flag.swap(false, Ordering::Acquire))",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: TICKS,
    },
    Kept {
        file: "filch/src/protocol/termination.rs",
        line: "M::fence(Ordering::SeqCst);",
        kind: Kind::Fence,
        to: Some(Ordering::AcqRel),
        reason: "the victim's relaxed look at the stolen task lies between the two fences, so only their one order tells; to \
                 loom a fence also acquires what other threads have seen before it",
    },
    Kept {
        file: "filch/src/protocol/lineage.rs",
        line: "self.word.store(u64::from(life) << LIFE_SHIFT | if known { KNOWN } else { 0 } | 1, Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: "a relaxed store would end the release of the job before; to loom, a store after an update continues it",
    },
    Kept {
        file: "filch/src/protocol/lineage.rs",
        line: "let before = self.word.load(Ordering::Acquire);",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: "the store that may follow ends the release of the finishes before, which the end of the job has to acquire; to loom, a \
                 store after an update continues it",
    },
    Kept {
        file: "filch/src/protocol/state.rs",
        line: "self.0.store(count | OFFERED, Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: "a relaxed store would end the release of the offer; to loom, a store after an update continues it",
    },
    Kept {
        file: "filch/src/protocol/state.rs",
        line: "self.0.swap(count | kind, Ordering::AcqRel) & SLEEPS != 0",
        kind: Kind::Update,
        to: Some(Ordering::Release),
        reason: MARKED,
    },
    Kept {
        file: "filch/src/protocol/state.rs",
        line: "word & SLEEPS != 0 || self.0.compare_exchange(word, word | SLEEPS, Ordering::Release, Ordering::Relaxed).is_ok()",
        kind: Kind::Update,
        to: Some(Ordering::Relaxed),
        reason: MARKED,
    },
];

const LOAD_BUFFERING: &str = "keeps a thief's read of its slot before the owner's next use of the slot: without it, C11 \
                              lets the read return the later task, which is load buffering, and loom has none";

const TICKS: &str = "TSO keeps the clock's two stores in order, and what an owner sees after them; C11 does not, and loom cannot \
                     run the scenario";

const STALE_WANTED: &str = "lets a waker see what is wanted along with the mark; one that sees the mark alone wakes nobody, and \
                            then the sleeper's last look finds the work: a round lost, no work";

const FENCES: &str = "on TSO, counting oneself is a locked instruction and drains the buffer, so one fence is enough there; C11 \
                      needs each (argued in sleep/README.md), in programs larger than loom explores in time";

const WOKEN: &str = "what came before a wake-up is seen without it, after one more round: whoever wakes looks at the queues and \
                     at its task again, and announces itself before it trusts what it saw";

const MARKED: &str = "the owner marks its place asleep before its thief wakes it: loom's updates always read the newest mark, and \
                      the fence of the sleep protocol, of which this component does not know, releases too";

const STALE_LIMITS: &str = "who overlooks what the owner has just done to its limits may see an older request stand and write none; to go on \
                            with limits that are open takes a request, a turn of the owner and two pops more, more than loom explores";

const UNSEEN_BARRIER: &str = "the heavy barrier that follows orders the same; ThreadSanitizer knows neither it nor fences, and would report what \
                              two thieves do in turn";

const SEQUENCE: &str = "what a guest did in the seat is not seen without it by C11, where a thread's later store does not go on with \
                        the release of its update before; on loom it does";

const SLOT_BEFORE_TAKE: &str = "C11 lets the owner's store of a slot be seen before its take that came first, and a swap \
                                succeed on the word from before that take; loom's updates see the newest value";

const LOWERING: &str = "a relaxed store would end the release of the puts before; loom raises false alarms on the clients that \
                        would show it";

const ANSWERED: &str = "keeps the thief's last change of its cell before the owner's next answer: without it, C11 lets them change the cell \
                       in the other order, and the answer is lost; loom's variables change in the order of execution";

const PASSED_BY: &str = "only where delegation uses a block up above an open one can a block end twice in a round: to mistake the first end \
                         for the second takes two thieves and four blocks, more than loom explores";

#[cfg(test)]
mod tests {
    use super::KEPT;
    use crate::sources::SOURCES;

    #[test]
    fn every_line_is_in_its_file() {
        for kept in KEPT {
            let source = SOURCES.iter().find(|(path, _)| *path == kept.file).map(|(_, text)| text);
            let source = source.unwrap_or_else(|| panic!("no file {}", kept.file));
            assert!(source.lines().any(|line| line.trim() == kept.line), "{} has no line {}", kept.file, kept.line);
        }
    }
}
