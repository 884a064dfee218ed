//! Threads of our own: the standard library's, except in the child of a `fork()`.
//!
//! A thread that the standard library starts registers its stack in a table behind a lock, for the message about an
//! overflow. A process may be forked while another thread holds that lock. In the child nobody ever releases the lock,
//! and each thread that the standard library starts there waits for ever. So in a child this module starts the system's
//! threads directly.
//!
//! Nor does this module leave a thread's end to the standard library, which lets a thread run on by `pthread_detach`.
//! With glibc that call reads the other thread's memory, which that thread, if it is just ending, may have given back:
//! one of some hundred thousand calls crashed, where threads with large stacks ended together. So a thread that nobody
//! will join detaches itself.
//!
//! Invariants.
//! * A child of a process with pools never calls the standard library to start a thread.
//! * Each thread is joined, or detaches itself; of a [`Thread`]'s handle and the thread's own end, the later one acts.

use std::io;
use std::sync::Arc;
use std::thread::Builder;
use std::time::Duration;

use filch_memory::{Atomic, Memory, Native, Ordering};

#[cfg(all(unix, not(miri)))]
use bare::System;
#[cfg(any(not(unix), miri))]
use plain::System;

/// Sleeps for a fixed short time.
pub(crate) fn nap() {
    const NAP: Duration = Duration::from_micros(100);
    std::thread::sleep(NAP);
}

/// A multiple of the size of a page, on every system.
#[cfg(all(unix, not(miri)))]
pub(crate) const LARGEST_PAGE: usize = 64 << 10;

/// What a thread does.
type Work = Box<dyn FnOnce() + Send>;

/// A thread that this library, or its host, has started. Dropping it lets the thread run on; if the thread has run its
/// body, waits until it has destroyed its thread-local values.
#[derive(Debug)]
pub struct Thread {
    /// Taken by the join.
    system: Option<System>,
    end: Arc<End>,
}

/// How a thread ends, which it and its handle tell each other.
#[derive(Debug)]
struct End {
    state: <Native as Memory>::AtomicU32,
}

impl End {
    /// The thread runs its body, and there is a handle.
    const RUNS: u32 = 0;
    /// The thread has run its body, and may be joined.
    const HAS_RUN: u32 = 1;
    /// As [`End::HAS_RUN`], but the body has panicked.
    const HAS_PANICKED: u32 = 2;
    /// There is no handle any more.
    const LET_GO: u32 = 3;
}

/// On the thread itself: ends its body when dropped, also by a panic.
struct Ending(Arc<End>);

impl Drop for Ending {
    fn drop(&mut self) {
        let state = if std::thread::panicking() { End::HAS_PANICKED } else { End::HAS_RUN };
        // Release: pairs with the load in `is_finished`.
        if self.0.state.swap(state, Ordering::Release) == End::LET_GO {
            System::detach_this_thread();
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        let Some(system) = self.system.take() else { return };
        // Relaxed: the thread, or the join, uses nothing else that this thread wrote.
        if self.end.state.swap(End::LET_GO, Ordering::Relaxed) != End::RUNS {
            system.reap();
        }
    }
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
        let end = Arc::new(End { state: Atomic::new(End::RUNS) });
        let ending = Ending(Arc::clone(&end));
        let body: Work = Box::new(move || {
            let _ending = ending;
            body();
        });
        let system = System::start(name, stack_size, body)?;
        Ok(Self { system: Some(system), end })
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
        self.end.state.load(Ordering::Acquire) == End::HAS_RUN
    }

    /// Waits until the thread has ended. Everything that it did happens before the return. A panic in its body fails a
    /// debug assertion here, and is otherwise dropped; in the child of a `fork()` it has ended the process.
    pub fn join(mut self) {
        self.system.take().expect("only this call takes it").join();
        // Relaxed: the join has acquired it.
        let has_panicked = self.end.state.load(Ordering::Relaxed) == End::HAS_PANICKED;
        debug_assert!(!has_panicked, "threads of our own abort rather than panic");
    }

    /// Returns the system's name of the thread, which must not end before the last use of the name.
    #[cfg(unix)]
    pub(crate) fn name(&self) -> Name {
        self.system.as_ref().expect("only a join takes it").name()
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

/// A thread as the standard library knows it, where its way to let a thread run on is good.
#[cfg(any(not(unix), miri))]
mod plain {
    use std::io;
    use std::thread::JoinHandle;

    use super::{Thread, Work};

    #[derive(Debug)]
    pub(super) struct System(JoinHandle<()>);

    impl System {
        pub(super) fn start(name: Option<String>, stack_size: Option<usize>, body: Work) -> io::Result<Self> {
            Thread::builder(name, stack_size).spawn(body).map(Self)
        }

        #[cfg(unix)]
        pub(super) fn name(&self) -> super::Name {
            super::Name(std::os::unix::thread::JoinHandleExt::as_pthread_t(&self.0))
        }

        pub(super) fn join(self) {
            drop(self.0.join());
        }

        /// Does nothing: dropping the handle lets the thread run on.
        pub(super) fn reap(self) {}

        /// Does nothing, as above.
        pub(super) fn detach_this_thread() {}
    }
}

#[cfg(all(unix, not(miri)))]
mod bare {
    use std::ffi::{CString, c_int, c_void};
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::unix::thread::JoinHandleExt;
    use std::ptr::null_mut;

    use super::{LARGEST_PAGE, Name, Thread, Work};
    use crate::machine::process;

    /// What a new thread takes over from the thread that starts it.
    struct Life {
        name: Option<CString>,
        body: Work,
    }

    /// A thread of the system's, of the process with this number, neither joined nor detached.
    #[derive(Debug)]
    pub(super) struct System {
        name: Name,
        process: u32,
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

    impl System {
        #[allow(
            clippy::unnecessary_cast,
            reason = "with musl, the standard library and the crate libc have different types for it"
        )]
        pub(super) fn start(name: Option<String>, stack_size: Option<usize>, body: Work) -> io::Result<Self> {
            let name = if process::is_child() {
                Self::start_bare(name, stack_size, body)?
            } else {
                Name(Thread::builder(name, stack_size).spawn(body)?.into_pthread_t() as libc::pthread_t)
            };
            Ok(Self { name, process: process::current() })
        }

        fn start_bare(name: Option<String>, stack_size: Option<usize>, body: Work) -> io::Result<Name> {
            let name = name.map(|name| CString::new(name).expect("a thread's name has no zero bytes"));
            let mut attributes = Attributes::new()?;
            if let Some(bytes) = stack_size {
                attributes.set_stack_size(bytes)?;
            }
            let life = Box::into_raw(Box::new(Life { name, body }));
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
            Ok(Name(unsafe { pthread.assume_init() }))
        }

        pub(super) const fn name(&self) -> Name {
            self.name
        }

        pub(super) fn join(self) {
            // SAFETY: the thread is neither joined nor detached, and will not be.
            let error = unsafe { libc::pthread_join(self.name.0, null_mut()) };
            assert_eq!(error, 0, "a thread is joined once, and not by itself");
        }

        /// Frees what the system holds of a thread that has run its body.
        pub(super) fn reap(self) {
            // SAFETY: the call has no preconditions.
            let this = unsafe { libc::pthread_self() };
            if self.process != process::current() {
                // The thread is in another process, and so is its end.
            } else if this == self.name.0 {
                // A destructor of a thread-local value drops the handle.
                Self::detach_this_thread();
            } else {
                self.join();
            }
        }

        /// Lets the current thread end without a join. Nobody else joins or detaches it.
        pub(super) fn detach_this_thread() {
            // SAFETY: the thread is alive, and was started to be joined or detached.
            unsafe { libc::pthread_detach(libc::pthread_self()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::mpsc::channel;

    use super::*;

    fn start(body: impl FnOnce() + Send + 'static) -> Thread {
        Thread::start(None, None, body).unwrap()
    }

    #[test]
    fn a_handle_may_be_dropped_at_any_time() {
        let (go, goes) = channel::<()>();
        let (tell, told) = channel();
        drop(start(move || tell.send(goes.recv()).unwrap()));
        go.send(()).unwrap();
        assert_eq!(told.recv().unwrap(), Ok(()), "it runs on");
        let thread = start(|| ());
        while !thread.is_finished() {
            nap();
        }
        drop(thread);
    }

    #[test]
    fn a_thread_may_hold_its_own_handle() {
        thread_local!(static OWN: RefCell<Option<Thread>> = const { RefCell::new(None) });
        let (give, own) = channel();
        let (tell, told) = channel::<()>();
        give.send(start(move || {
            OWN.set(Some(own.recv().unwrap()));
            // Until the body has ended, nobody else has the sender.
            drop(tell);
        }))
        .unwrap();
        assert!(told.recv().is_err(), "it ends, and drops the handle after its body");
    }

    #[test]
    fn threads_that_end_together_may_be_let_go() {
        const ROUNDS: usize = if cfg!(miri) { 3 } else { 500 };
        for _ in 0..ROUNDS {
            let threads = [(); 4].map(|()| start(|| ()));
            while !threads.iter().all(Thread::is_finished) {
                std::hint::spin_loop();
            }
        }
    }
}
