//! What a worker notes for a [timeline](crate::timeline), if anybody records one.

use super::home::Home;
use crate::timeline::{Activity, Note};

#[cfg(feature = "timeline")]
impl Home {
    /// Notes something about the worker, which the current thread is, if anybody records that.
    #[inline]
    pub(crate) fn notes(&self, note: Note) {
        // The handler of a signal may have come in the middle of a note.
        if let Some(recorders) = self.common.recorders.get()
            && !self.is_interrupted.get()
        {
            recorders.note(self.index, note);
        }
    }

    /// Notes that an activity begins or ends.
    #[inline(always)]
    pub(crate) fn turns(&self, begins: bool, activity: Activity) {
        /// Out of line, since a note is in memory: it is not part of frames on which jobs run.
        #[cold]
        #[inline(never)]
        fn notes(home: &Home, begins: bool, activity: Activity) {
            home.notes(if begins { Note::Begins(activity) } else { Note::Ends(activity) });
        }
        if self.common.recorders.get().is_some() {
            notes(self, begins, activity);
        }
    }
}

#[cfg(not(feature = "timeline"))]
impl Home {
    #[inline(always)]
    pub(crate) fn notes(&self, _: Note) {}

    #[inline(always)]
    pub(crate) fn turns(&self, _begins: bool, _: Activity) {}
}
