//! An owner that notes what it does, and another thread that records it now and then: a recording has what was noted
//! during it, in order.

use std::sync::Arc;

use filch::inside::protocol::log::{Log, Recorder};

use crate::{Checker, Program};

/// The owner notes `notes` things, in pieces of two, of which there are `pieces`; another thread makes `recordings`.
pub fn program<M: Checker>(notes: u64, pieces: usize, recordings: u32) -> Program {
    /// How many entries a piece has.
    const PIECE: usize = 2;
    let shared = Arc::new((Recorder::<M>::default(), Log::<M>::new(PIECE, pieces)));
    let owner = Arc::clone(&shared);
    let notes_all = move || {
        let (recorder, log) = &*owner;
        for n in 1..=notes {
            M::note(|| format!("may note {n}"));
            log.note(recorder, || [n, n]);
        }
    };
    let records = move || {
        let (recorder, log) = &*shared;
        let mut last = 0;
        for _ in 0..recordings {
            let recording = recorder.begin();
            let first = log.read(recording, 0);
            let noted = log.read(recording, 0);
            recorder.end();
            M::note(|| format!("reads {first:?}, then {noted:?}"));
            assert!(noted.entries.starts_with(&first.entries), "what was noted has changed");
            assert!(noted.entries.len() <= PIECE * pieces, "there was no room for that");
            for (before, [n, again]) in noted.entries.into_iter().enumerate() {
                assert_eq!(n, again, "an entry is half of another");
                assert!(n > last, "an entry is not of this recording, or not in order");
                assert!(before == 0 || n == last + 1, "an entry is missing");
                last = n;
            }
        }
    };
    let threads: Vec<(String, Box<dyn FnOnce()>)> =
        vec![("owner".into(), Box::new(notes_all)), ("recorder".into(), Box::new(records))];
    Program { threads, finally: Box::new(|| ()) }
}
