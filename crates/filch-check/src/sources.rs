//! The checked source files, for naming what lies at a line of one.

/// Path from the workspace's `crates` folder, and text.
pub(crate) const SOURCES: &[(&str, &str)] = &[
    ("filch-queue/src/blocks.rs", include_str!("../../filch-queue/src/blocks.rs")),
    ("filch-queue/src/bwos_l.rs", include_str!("../../filch-queue/src/bwos_l.rs")),
    ("filch-queue/src/bwos_f.rs", include_str!("../../filch-queue/src/bwos_f.rs")),
    ("filch-queue/src/delegation.rs", include_str!("../../filch-queue/src/delegation.rs")),
    ("filch-queue/src/pad_ws.rs", include_str!("../../filch-queue/src/pad_ws.rs")),
    ("filch-queue/src/adws.rs", include_str!("../../filch-queue/src/adws.rs")),
    ("filch-queue/src/chase_lev.rs", include_str!("../../filch-queue/src/chase_lev.rs")),
    ("filch-queue/src/abp.rs", include_str!("../../filch-queue/src/abp.rs")),
    ("filch-queue/src/chase_lev_asym.rs", include_str!("../../filch-queue/src/chase_lev_asym.rs")),
    ("filch-queue/src/idempotent/lifo.rs", include_str!("../../filch-queue/src/idempotent/lifo.rs")),
    ("filch-queue/src/idempotent/fifo.rs", include_str!("../../filch-queue/src/idempotent/fifo.rs")),
    ("filch-queue/src/idempotent/deque.rs", include_str!("../../filch-queue/src/idempotent/deque.rs")),
    ("filch-queue/src/one_exposed.rs", include_str!("../../filch-queue/src/one_exposed.rs")),
    ("filch-queue/src/pdq/mod.rs", include_str!("../../filch-queue/src/pdq/mod.rs")),
    ("filch-queue/src/pdq/receiver.rs", include_str!("../../filch-queue/src/pdq/receiver.rs")),
    ("filch-queue/src/pdq/sender.rs", include_str!("../../filch-queue/src/pdq/sender.rs")),
    ("filch-queue/src/growing.rs", include_str!("../../filch-queue/src/growing.rs")),
    ("filch-queue/src/spin_lock.rs", include_str!("../../filch-queue/src/spin_lock.rs")),
    ("filch-queue/src/the.rs", include_str!("../../filch-queue/src/the.rs")),
    ("filch-queue/src/fence_free.rs", include_str!("../../filch-queue/src/fence_free.rs")),
    ("filch-queue/src/ff_the.rs", include_str!("../../filch-queue/src/ff_the.rs")),
    ("filch-queue/src/ff_cl.rs", include_str!("../../filch-queue/src/ff_cl.rs")),
    ("filch-queue/src/thep.rs", include_str!("../../filch-queue/src/thep.rs")),
    ("filch-queue/src/slots.rs", include_str!("../../filch-queue/src/slots.rs")),
    ("filch-queue/src/dsq.rs", include_str!("../../filch-queue/src/dsq.rs")),
    ("filch-queue/src/hendler_shavit.rs", include_str!("../../filch-queue/src/hendler_shavit.rs")),
    ("filch-queue/src/wsq.rs", include_str!("../../filch-queue/src/wsq.rs")),
    ("filch-queue/src/lace/mod.rs", include_str!("../../filch-queue/src/lace/mod.rs")),
    ("filch-queue/src/lace/index.rs", include_str!("../../filch-queue/src/lace/index.rs")),
    ("filch/src/protocol/beat.rs", include_str!("../../filch/src/protocol/beat.rs")),
    ("filch/src/protocol/ticks.rs", include_str!("../../filch/src/protocol/ticks.rs")),
    ("filch/src/protocol/seize.rs", include_str!("../../filch/src/protocol/seize.rs")),
    ("filch/src/protocol/limits.rs", include_str!("../../filch/src/protocol/limits.rs")),
    ("filch/src/protocol/state.rs", include_str!("../../filch/src/protocol/state.rs")),
    ("filch/src/protocol/sleep/mod.rs", include_str!("../../filch/src/protocol/sleep/mod.rs")),
    ("filch/src/protocol/latch.rs", include_str!("../../filch/src/protocol/latch.rs")),
    ("filch/src/protocol/lineage.rs", include_str!("../../filch/src/protocol/lineage.rs")),
    ("filch/src/protocol/rounds.rs", include_str!("../../filch/src/protocol/rounds.rs")),
    ("filch/src/protocol/termination.rs", include_str!("../../filch/src/protocol/termination.rs")),
    ("filch/src/protocol/wool.rs", include_str!("../../filch/src/protocol/wool.rs")),
    ("filch-check/src/scenarios/lineage.rs", include_str!("scenarios/lineage.rs")),
    ("filch-check/src/scenarios/rounds.rs", include_str!("scenarios/rounds.rs")),
    ("filch-check/src/scenarios/seize.rs", include_str!("scenarios/seize.rs")),
    ("filch-check/src/scenarios/runtime.rs", include_str!("scenarios/runtime.rs")),
    ("filch-check/src/twins/twin.rs", include_str!("twins/twin.rs")),
    ("filch-check/src/twins/abp.rs", include_str!("twins/abp.rs")),
    ("filch-check/src/twins/adws.rs", include_str!("twins/adws.rs")),
    ("filch-check/src/twins/bwos.rs", include_str!("twins/bwos.rs")),
    ("filch-check/src/twins/bwos_f.rs", include_str!("twins/bwos_f.rs")),
    ("filch-check/src/twins/chase_lev.rs", include_str!("twins/chase_lev.rs")),
    ("filch-check/src/twins/chase_lev_asym.rs", include_str!("twins/chase_lev_asym.rs")),
    ("filch-check/src/twins/idempotent.rs", include_str!("twins/idempotent.rs")),
    ("filch-check/src/twins/one_exposed.rs", include_str!("twins/one_exposed.rs")),
    ("filch-check/src/twins/the.rs", include_str!("twins/the.rs")),
    ("filch-check/src/twins/ff_the.rs", include_str!("twins/ff_the.rs")),
    ("filch-check/src/twins/ff_cl.rs", include_str!("twins/ff_cl.rs")),
    ("filch-check/src/twins/thep.rs", include_str!("twins/thep.rs")),
    ("filch-check/src/twins/dsq.rs", include_str!("twins/dsq.rs")),
    ("filch-check/src/twins/hendler_shavit.rs", include_str!("twins/hendler_shavit.rs")),
    ("filch-check/src/twins/wsq.rs", include_str!("twins/wsq.rs")),
    ("filch-check/src/twins/lace.rs", include_str!("twins/lace.rs")),
    ("filch-check/src/twins/pdq.rs", include_str!("twins/pdq.rs")),
    ("filch-check/src/twins/wool.rs", include_str!("twins/wool.rs")),
    ("filch-check/src/twins/lineage.rs", include_str!("twins/lineage.rs")),
    ("filch-check/src/twins/search.rs", include_str!("twins/search.rs")),
    ("filch-check/src/twins/termination.rs", include_str!("twins/termination.rs")),
];

/// The text of a source line, if the file is one of ours.
pub(crate) fn line_of(file: &str, line: u32) -> Option<&'static str> {
    let file = file.replace('\\', "/");
    let (_, text) = SOURCES.iter().find(|(path, _)| file.ends_with(path))?;
    text.lines().nth(line as usize - 1)
}

/// A name for what is made at a place in a source file: the field that it initialises.
pub(crate) fn name_of(file: &str, line: u32, column: u32) -> String {
    let named = line_of(file, line).and_then(|text| {
        let before = text.get(..column as usize - 1)?;
        let (start, _) = before.rsplit_once(": ")?;
        let name: String = start.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let name: String = name.chars().rev().collect();
        (!name.is_empty()).then_some(name)
    });
    named.unwrap_or_else(|| format!("{}:{line}", file.rsplit(['/', '\\']).next().unwrap_or(file)))
}

/// The lines of the file that ask for an ordering, comments aside, by number and with the number at which their
/// statement begins.
pub(crate) fn orderings_in(file: &str) -> Vec<(u32, u32)> {
    let file = file.replace('\\', "/");
    let Some((_, text)) = SOURCES.iter().find(|(path, _)| file.ends_with(path)) else { return Vec::new() };
    let mut begin = 1;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split("//").next().unwrap_or_default().trim();
        if ["Acquire", "Release", "AcqRel", "SeqCst"].iter().any(|order| line.contains(&format!("Ordering::{order}"))) {
            found.push((number, begin));
        }
        if line.is_empty() || line.ends_with([';', '{', '}']) {
            begin = number + 1;
        }
    }
    found
}
