//! Threads of our own: the standard library's, except in the child of a `fork()`.
//!
//! A thread that the standard library starts registers its stack in a table behind a lock, for the message about an
//! overflow. A process may be forked while another thread holds that lock. In the child nobody ever releases the lock,
//! and each thread that the standard library starts there waits for ever. So in a child this module starts the system's
//! threads directly.
//!
//! Invariant: a child of a process with pools never calls the standard library to start a thread.

use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use filch_memory::{Memory, Native, Ordering};

#[cfg(all(unix, not(miri)))]
use crate::machine::process;

/// Sleeps for a fixed short time.
pub(crate) fn nap() {
    const NAP: Duration = Duration::from_micros(100);
    std::thread::sleep(NAP);
}

/// A multiple of the size of a page, on every system.
#[cfg(all(unix, not(miri)))]
pub(crate) const LARGEST_PAGE: usize = 64 << 10;

/// A thread that this library, or its host, has started. Dropping it lets the thread run on.
#[derive(Debug)]
pub struct Thread {
    kind: Kind,
    /// Whether the thread has run its body.
    is_finished: Arc<Flag>,
}

type Flag = <Native as Memory>::AtomicBool;

#[derive(Debug)]
enum Kind {
    Ordinary(JoinHandle<()>),
    #[cfg(all(unix, not(miri)))]
    Bare(bare::Thread),
}

impl Thread {
    /// Starts a thread. Its stack has `stack_size` bytes, or the size that the system prefers.
    ///
    /// In the child of a `fork()` the standard library does not know the name, and a stack's overflow ends the process
    /// without a message.
    ///
    /// ```
    /// use filch::inside::host::Thread;
    ///
    /// let thread = Thread::start(Some("helper".to_owned()), Some(64 << 10), || ())?;
    /// while !thread.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// thread.join();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// The system's error.
    ///
    /// # Panics
    /// As [`Builder::spawn`], if the name contains a zero byte.
    pub fn start(
        name: Option<String>,
        stack_size: Option<usize>,
        body: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let is_finished = Arc::new(Flag::new(false));
        let says = Arc::clone(&is_finished);
        let body = move || {
            body();
            // Release: pairs with the load in `is_finished`.
            says.store(true, Ordering::Release);
        };
        #[cfg(all(unix, not(miri)))]
        if process::is_child() {
            let kind = Kind::Bare(bare::Thread::start(name, stack_size, body)?);
            return Ok(Self { kind, is_finished });
        }
        let kind = Kind::Ordinary(Self::builder(name, stack_size).spawn(body)?);
        Ok(Self { kind, is_finished })
    }

    /// Checks the name of a worker's thread before anything is started, because the code that starts the thread later
    /// may be unable to fail.
    ///
    /// ```
    /// use filch::inside::host::Thread;
    ///
    /// Thread::check_name(0, "helper");
    /// assert!(std::panic::catch_unwind(|| Thread::check_name(1, "help\0er")).is_err());
    /// ```
    ///
    /// # Panics
    /// If the name contains a zero byte.
    pub fn check_name(worker: usize, name: &str) {
        assert!(!name.contains('\0'), "the name of worker {worker}'s thread has a zero byte: {name:?}");
    }

    /// Returns the standard library's builder of such a thread, for a thread that borrows.
    ///
    /// ```
    /// use filch::inside::host::Thread;
    ///
    /// let name = std::thread::scope(|s| {
    ///     let thread = Thread::builder(Some("helper".to_owned()), None).spawn_scoped(s, || ())?;
    ///     Ok::<_, std::io::Error>(thread.thread().name().map(str::to_owned))
    /// });
    /// assert_eq!(name?.as_deref(), Some("helper"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn builder(name: Option<String>, stack_size: Option<usize>) -> Builder {
        let builder = name.into_iter().fold(Builder::new(), Builder::name);
        stack_size.into_iter().fold(builder, Builder::stack_size)
    }

    /// Returns whether the thread has run its body. If so, everything that the body did happens before the return. The
    /// thread may still be destroying its thread-local values. A thread whose body has panicked never finishes.
    pub fn is_finished(&self) -> bool {
        self.is_finished.load(Ordering::Acquire)
    }

    /// Waits until the thread has ended. Everything that it did happens before the return. A panic in its body fails a
    /// debug assertion here, and is otherwise dropped; in the child of a `fork()` it has ended the process.
    pub fn join(self) {
        match self.kind {
            Kind::Ordinary(thread) => {
                let outcome = thread.join();
                debug_assert!(outcome.is_ok(), "threads of our own abort rather than panic");
            }
            #[cfg(all(unix, not(miri)))]
            Kind::Bare(thread) => thread.join(),
        }
    }

    /// Returns the system's name of the thread, which must not end before the last use of the name.
    #[cfg(unix)]
    #[allow(
        clippy::unnecessary_cast,
        reason = "with musl, the standard library and the crate libc have different types for it"
    )]
    pub(crate) fn name(&self) -> Name {
        Name(match &self.kind {
            Kind::Ordinary(thread) => std::os::unix::thread::JoinHandleExt::as_pthread_t(thread) as libc::pthread_t,
            #[cfg(not(miri))]
            Kind::Bare(thread) => return thread.name(),
        })
    }
}

/// The system's name of a thread, which only signals need: there is none.
#[cfg(not(unix))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Name {}

/// The system's name of a thread.
#[cfg(unix)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name(pub(crate) libc::pthread_t);

// SAFETY: a name means the same to all threads; with musl it is an address, which only the C library uses.
#[cfg(unix)]
unsafe impl Send for Name {}
// SAFETY: a shared reference lets its holder copy the name, and no more.
#[cfg(unix)]
unsafe impl Sync for Name {}

#[cfg(all(unix, not(miri)))]
mod bare {
    use std::ffi::{CString, c_int, c_void};
    use std::io;
    use std::mem::{ManuallyDrop, MaybeUninit};
    use std::ptr::null_mut;

    use super::LARGEST_PAGE;
    use super::Name;

    /// What a new thread takes over from the thread that starts it.
    struct Life {
        name: Option<CString>,
        body: Box<dyn FnOnce() + Send>,
    }

    /// A thread of the system's, neither joined nor detached. Dropping this detaches the thread.
    #[derive(Debug)]
    pub(super) struct Thread(Name);

    impl Drop for Thread {
        fn drop(&mut self) {
            // SAFETY: the type's invariant; any thread may detach another one.
            unsafe { libc::pthread_detach(self.0.0) };
        }
    }

    /// The attributes of a new thread.
    struct Attributes(MaybeUninit<libc::pthread_attr_t>);

    impl Attributes {
        fn new() -> io::Result<Self> {
            let mut attributes = MaybeUninit::uninit();
            // SAFETY: the call initializes them.
            check(unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) })?;
            Ok(Self(attributes))
        }

        fn set_stack_size(&mut self, bytes: usize) -> io::Result<()> {
            let bytes = bytes.max(libc::PTHREAD_STACK_MIN).next_multiple_of(LARGEST_PAGE);
            // SAFETY: the attributes are initialized.
            check(unsafe { libc::pthread_attr_setstacksize(self.0.as_mut_ptr(), bytes) })
        }
    }

    impl Drop for Attributes {
        fn drop(&mut self) {
            // SAFETY: they are initialized, and nobody uses them any more.
            unsafe { libc::pthread_attr_destroy(self.0.as_mut_ptr()) };
        }
    }

    fn check(error: c_int) -> io::Result<()> {
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }

    /// Ends the process if the body panics, since a panic cannot leave an `extern "C"` function.
    extern "C" fn run(life: *mut c_void) -> *mut c_void {
        // SAFETY: `start` leaked the box, for this thread alone.
        let Life { name, body } = *unsafe { Box::from_raw(life.cast::<Life>()) };
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(name) = name {
            const MOST: usize = 15;
            let bytes = name.as_bytes();
            let short = CString::new(&bytes[..bytes.len().min(MOST)]).expect("the name has no zero bytes");
            // SAFETY: the name is a C string that lives during the call; the system copies it.
            unsafe { libc::pthread_setname_np(libc::pthread_self(), short.as_ptr()) };
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        drop(name);
        body();
        null_mut()
    }

    impl Thread {
        pub(super) fn start(
            name: Option<String>,
            stack_size: Option<usize>,
            body: impl FnOnce() + Send + 'static,
        ) -> io::Result<Self> {
            let name = name.map(|name| CString::new(name).expect("a thread's name has no zero bytes"));
            let mut attributes = Attributes::new()?;
            if let Some(bytes) = stack_size {
                attributes.set_stack_size(bytes)?;
            }
            let life = Box::into_raw(Box::new(Life { name, body: Box::new(body) }));
            let mut pthread = MaybeUninit::uninit();
            // SAFETY: the attributes are initialized, and `run` takes the leaked box.
            let error = unsafe {
                libc::pthread_create(pthread.as_mut_ptr(), attributes.0.as_ptr(), run, life.cast::<c_void>())
            };
            if error != 0 {
                // SAFETY: no thread has started, so the box is still this function's.
                drop(unsafe { Box::from_raw(life) });
            }
            check(error)?;
            // SAFETY: the call has succeeded, so it has written the thread's name.
            Ok(Self(Name(unsafe { pthread.assume_init() })))
        }

        pub(super) const fn name(&self) -> Name {
            self.0
        }

        pub(super) fn join(self) {
            // SAFETY: the thread is neither joined nor detached, and will not be.
            let error = unsafe { libc::pthread_join(ManuallyDrop::new(self).0.0, null_mut()) };
            assert_eq!(error, 0, "a thread is joined once, and not by itself");
        }
    }
}
