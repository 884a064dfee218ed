//! What a worker notes for a [timeline](crate::timeline), if anybody records one.

use super::home::Home;
use crate::timeline::{Activity, Note};

#[cfg(feature = "timeline")]
impl Home {
    /// Notes something about the worker, which is the current thread, if anybody records.
    #[inline]
    pub(crate) fn note(&self, note: Note) {
        // A signal handler notes nothing, since it may have interrupted a note.
        if let Some(recorders) = self.common.recorders.get()
            && !self.is_interrupted.get()
        {
            recorders.note(self.index, note);
        }
    }

    /// Notes that an activity begins or ends.
    #[inline(always)]
    pub(crate) fn turn(&self, begins: bool, activity: Activity) {
        /// Out of line, so that the note, which lies in memory, is not part of a frame that stays while jobs run.
        #[cold]
        #[inline(never)]
        fn note(home: &Home, begins: bool, activity: Activity) {
            home.note(if begins { Note::Begins(activity) } else { Note::Ends(activity) });
        }
        if self.common.recorders.get().is_some() {
            note(self, begins, activity);
        }
    }
}

#[cfg(not(feature = "timeline"))]
impl Home {
    #[inline(always)]
    pub(crate) fn note(&self, _: Note) {}

    #[inline(always)]
    pub(crate) fn turn(&self, _begins: bool, _: Activity) {}
}
