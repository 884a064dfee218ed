//! The ranks of an MPI job.

use std::ffi::{c_int, c_void};
use std::thread;
use std::time::{Duration, Instant};

use crate::Transport;
use crate::transport::near;

// SAFETY: as `shim.c` declares them.
unsafe extern "C" {
    fn filch_mpi_init(rank: *mut c_int, size: *mut c_int) -> c_int;
    fn filch_mpi_nodes(nodes: *mut c_int);
    safe fn filch_mpi_finalize();
    safe fn filch_mpi_abort(status: c_int);
    fn filch_mpi_send(bytes: *const u8, count: c_int, to: c_int, tag: c_int) -> *mut c_void;
    fn filch_mpi_sent(request: *mut c_void) -> c_int;
    fn filch_mpi_probe(tag: c_int, from: *mut c_int) -> c_int;
    fn filch_mpi_receive(bytes: *mut u8, count: c_int, from: c_int, tag: c_int);
}

/// Every MPI has at least these tags.
const TAGS: u32 = 1 << 15;
const BEAT: u32 = TAGS - 1;
/// Signs of life in the time after which a rank is taken for dead.
const BEATS: u32 = 8;

/// MPI's world. One thread at a time uses it. If it is dropped by a panic, the whole job ends, unless it
/// [survives](Self::survive) that.
#[derive(Debug)]
pub struct Mpi {
    rank: c_int,
    size: c_int,
    near: Vec<usize>,
    /// Messages that MPI still reads.
    sending: Vec<(Request, Vec<u8>)>,
    beats: Option<Beats>,
}

/// The signs of life between rank 0 and each other rank.
#[derive(Debug)]
struct Beats {
    patience: Duration,
    sent: Instant,
    /// When each rank was last heard; `None` of the dead.
    heard: Vec<Option<Instant>>,
}

#[derive(Debug)]
struct Request(*mut c_void);

// SAFETY: `shim.c`'s handle belongs to the process; MPI is used by one thread at a time, as it was asked to allow.
unsafe impl Send for Request {}

impl Mpi {
    /// Starts MPI; once per process.
    ///
    /// # Panics
    /// If it was started before, or if it lets only the first thread call it.
    pub fn start() -> Self {
        static STARTED: std::sync::Once = std::sync::Once::new();
        let mut world = None;
        STARTED.call_once(|| {
            let (mut rank, mut size) = (0, 0);
            // SAFETY: both numbers are valid to write, and this is the process's only call.
            let is_serialized = unsafe { filch_mpi_init(&raw mut rank, &raw mut size) } != 0;
            assert!(is_serialized, "this MPI lets only the first thread call it");
            let mut nodes = vec![0; size as usize];
            // SAFETY: there is room for a number for each rank.
            unsafe { filch_mpi_nodes(nodes.as_mut_ptr()) };
            world = Some(Self { rank, size, near: near(&nodes, rank as usize), sending: Vec::new(), beats: None });
        });
        world.expect("MPI starts once per process")
    }

    /// Has all ranks send signs of life, as often as they look for messages, which is at least once in a millisecond
    /// during a run. Rank 0 takes a rank for dead that it has not heard of for this long, and the others rank 0. A rank
    /// that is taken for dead, and lives, ends when it notices that rank 0 no longer speaks to it.
    ///
    /// The MPI has to let ranks die: `mpirun --enable-recovery` of Open MPI 4.
    #[must_use]
    pub fn survive(mut self, patience: Duration) -> Self {
        let now = Instant::now();
        self.beats = Some(Beats { patience, sent: now, heard: vec![Some(now); self.size()] });
        self
    }

    /// Whether ranks are taken for dead, so that MPI cannot end in order.
    fn has_dead(&self) -> bool {
        self.beats.as_ref().is_some_and(|beats| beats.heard.iter().any(Option::is_none))
    }

    /// Forgets messages that have been sent.
    fn settle(&mut self) {
        // SAFETY: each request is asked until it is done, and then dropped.
        self.sending.retain(|(request, _)| unsafe { filch_mpi_sent(request.0) } == 0);
    }

    /// Sends and hears signs of life, if it is time.
    fn beat(&mut self) {
        let Some(Beats { patience, sent, heard }) = &mut self.beats else { return };
        let now = Instant::now();
        if now.duration_since(*sent) < *patience / BEATS {
            return;
        }
        *sent = now;
        let others = if self.rank == 0 { 1..self.size as usize } else { 0..1 };
        let living: Vec<usize> = others.filter(|&rank| heard[rank].is_some()).collect();
        while let Some((from, _)) = self.take(BEAT) {
            let beats = self.beats.as_mut().expect("it beats");
            if let Some(heard) = &mut beats.heard[from] {
                *heard = now;
            }
        }
        for rank in living {
            // One that still travels says the same.
            self.post(rank, BEAT, Vec::new());
        }
    }

    fn post(&mut self, to: usize, tag: u32, bytes: Vec<u8>) {
        let count = c_int::try_from(bytes.len()).expect("a message has less than 2 GiB");
        // SAFETY: the bytes stay where they are until the request is done: `settle` and `drop` keep them.
        let request = unsafe { filch_mpi_send(bytes.as_ptr(), count, to as c_int, (tag % TAGS) as c_int) };
        assert!(!request.is_null(), "out of memory");
        self.sending.push((Request(request), bytes));
    }

    fn take(&mut self, tag: u32) -> Option<(usize, Vec<u8>)> {
        let (tag, mut from) = ((tag % TAGS) as c_int, 0);
        // SAFETY: `from` is valid to write.
        let count = unsafe { filch_mpi_probe(tag, &raw mut from) };
        let mut bytes = vec![0; usize::try_from(count).ok()?];
        // SAFETY: there is room for the message that was found; `self` is borrowed, so no other thread has received it.
        unsafe { filch_mpi_receive(bytes.as_mut_ptr(), count, from, tag) };
        Some((from as usize, bytes))
    }
}

impl Transport for Mpi {
    fn rank(&self) -> usize {
        self.rank as usize
    }

    fn size(&self) -> usize {
        self.size as usize
    }

    fn near(&self) -> &[usize] {
        &self.near
    }

    /// # Panics
    /// If the message has 2 GiB or more, or there is no such rank.
    fn send(&mut self, to: usize, tag: u32, bytes: Vec<u8>) {
        self.settle();
        assert!(to < self.size(), "rank {to} of {}", self.size);
        self.post(to, tag, bytes);
    }

    fn receive(&mut self, tag: u32) -> Option<(usize, Vec<u8>)> {
        self.settle();
        self.beat();
        self.take(tag)
    }

    fn lost(&mut self) -> Option<usize> {
        let me = self.rank as usize;
        let Beats { patience, heard, .. } = self.beats.as_mut()?;
        let is_silent = |at: &Option<Instant>| at.is_some_and(|at| at.elapsed() > *patience);
        let others = if me == 0 { 1..heard.len() } else { 0..1 };
        let dead = others.into_iter().find(|&rank| is_silent(&heard[rank]))?;
        heard[dead] = None;
        Some(dead)
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if thread::panicking() && self.beats.is_some() {
            eprintln!("filch-mpi: rank {} has panicked, and leaves", self.rank);
            // MPI still reads what it was given to send.
            return std::mem::forget(std::mem::take(&mut self.sending));
        }
        if thread::panicking() {
            eprintln!("filch-mpi: rank {} has panicked, which ends the job", self.rank);
            filch_mpi_abort(1);
        }
        if self.has_dead() {
            // MPI would wait for the dead, and still reads what is for them.
            std::mem::forget(std::mem::take(&mut self.sending));
            if self.rank == 0 {
                filch_mpi_abort(0);
            }
            return;
        }
        while !self.sending.is_empty() {
            self.settle();
        }
        filch_mpi_finalize();
    }
}
