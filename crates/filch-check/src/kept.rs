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
        file: "filch/src/protocol/sleep/mod.rs",
        line: "self.word.store(ASLEEP, Ordering::Release);",
        kind: Kind::Store,
        to: Some(Ordering::Relaxed),
        reason: STALE_WANTED,
    },
    Kept {
        file: "filch/src/protocol/sleep/mod.rs",
        line: "self.word.load(Ordering::Acquire) == ASLEEP && wants(self.wanted.load(Ordering::Relaxed))",
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
        line: "while self.word.load(Ordering::Acquire) == ASLEEP {",
        kind: Kind::Load,
        to: Some(Ordering::Relaxed),
        reason: WOKEN,
    },
    Kept {
        file: "filch/src/protocol/sleep/mod.rs",
        line: "let asleep = self.word.swap(AWAKE, Ordering::AcqRel) == ASLEEP;",
        kind: Kind::Update,
        to: Some(Ordering::Acquire),
        reason: WOKEN,
    },
    Kept {
        file: "filch/src/protocol/sleep/mod.rs",
        line: "let asleep = self.word.swap(AWAKE, Ordering::AcqRel) == ASLEEP;",
        kind: Kind::Update,
        to: Some(Ordering::Release),
        reason: "keeps the count of sleepers from passing below zero, which costs others a look for nobody",
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

const STALE_WANTED: &str = "lets a waker see what is wanted along with the mark; one that sees the mark alone wakes nobody, and \
                            then the sleeper's last look finds the work: a round lost, no work";

const FENCES: &str = "on TSO, counting oneself is a locked instruction and drains the buffer, so one fence is enough there; C11 \
                      needs each (argued in sleep/README.md), in programs larger than loom explores in time";

const WOKEN: &str = "what came before a wake-up is seen without it, after one more round: whoever wakes looks at the queues and \
                     at its task again, and announces itself before it trusts what it saw";

const MARKED: &str = "the owner marks its place asleep before its thief wakes it: loom's updates always read the newest mark, and \
                      the fence of the sleep protocol, of which this component does not know, releases too";

const SLOT_BEFORE_TAKE: &str = "C11 lets the owner's store of a slot be seen before its take that came first, and a swap \
                                succeed on the word from before that take; loom's updates see the newest value";

const LOWERING: &str = "a relaxed store would end the release of the puts before; loom raises false alarms on the clients that \
                        would show it";
