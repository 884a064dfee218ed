//! The content of a queue.

use core::num::NonZeroUsize;
use core::ptr::{self, NonNull};

/// A unit of deferred work: a non-null word, either a pointer to a job or a number.
///
/// ```
/// use core::num::NonZeroUsize;
/// use core::ptr::NonNull;
/// use filch_queue::Task;
///
/// let job = String::from("wash up");
/// let task = Task::from_ptr(NonNull::from(&job));
/// // SAFETY: the task names `job`, which is alive and not borrowed mutably.
/// assert_eq!(unsafe { task.as_ptr::<String>().as_ref() }, "wash up");
///
/// let node = Task::from_id(NonZeroUsize::new(42).unwrap());
/// assert_eq!(node.id().get(), 42);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Task(NonNull<()>);

// SAFETY: a task is only a name; no safe operation on it touches what it names. Code that dereferences the pointer has
// its own obligations, among them to be on a thread where that is allowed.
unsafe impl Send for Task {}
// SAFETY: as for Send; a shared task offers only copies of the name.
unsafe impl Sync for Task {}

impl Task {
    /// Returns the task that a pointer names, for instance a job.
    ///
    /// ```
    /// # use core::ptr::NonNull;
    /// # use filch_queue::Task;
    /// let job = 5_u32;
    /// assert_eq!(Task::from_ptr(NonNull::from(&job)).as_ptr(), NonNull::from(&job));
    /// ```
    #[inline]
    pub const fn from_ptr<T>(ptr: NonNull<T>) -> Self {
        Self(ptr.cast())
    }

    /// Returns the task that a number names, for instance a node of a graph. It must not be dereferenced.
    ///
    /// ```
    /// # use core::num::NonZeroUsize;
    /// # use filch_queue::Task;
    /// let node = NonZeroUsize::new(7).unwrap();
    /// assert_eq!(Task::from_id(node).id(), node);
    /// ```
    #[inline]
    pub const fn from_id(id: NonZeroUsize) -> Self {
        Self(NonNull::without_provenance(id))
    }

    /// Returns the pointer given to [`Task::from_ptr`], with its provenance.
    ///
    /// ```
    /// # use core::ptr::NonNull;
    /// # use filch_queue::Task;
    /// let job = 5_u32;
    /// let task = Task::from_ptr(NonNull::from(&job));
    /// // SAFETY: the task names `job`.
    /// assert_eq!(unsafe { *task.as_ptr::<u32>().as_ref() }, 5);
    /// ```
    #[inline]
    pub const fn as_ptr<T>(self) -> NonNull<T> {
        self.0.cast()
    }

    /// Returns the number given to [`Task::from_id`], or the address of the pointer.
    ///
    /// ```
    /// # use core::num::NonZeroUsize;
    /// # use filch_queue::Task;
    /// assert_eq!(Task::from_id(NonZeroUsize::MIN).id().get(), 1);
    /// ```
    #[inline]
    pub fn id(self) -> NonZeroUsize {
        self.0.addr()
    }

    /// Returns the content of a slot as a task, if it holds one.
    #[inline]
    pub(crate) fn from_word(word: *mut ()) -> Option<Self> {
        NonNull::new(word).map(Self)
    }

    /// Returns the word that a slot holds.
    #[inline]
    pub(crate) const fn word(self) -> *mut () {
        self.0.as_ptr()
    }

    /// The word of a slot that holds no task.
    pub(crate) const NO_WORD: *mut () = ptr::null_mut();
}
