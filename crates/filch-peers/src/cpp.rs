//! oneTBB and OpenMP: the programs ported to C++, in `cpp/programs.h`.

use std::ffi::c_void;
use std::num::NonZero;

use filch_workloads::uts::{Node, Tree};
use filch_workloads::{Answer, Instance, uts};

use crate::peer::{Failure, Rival};
use crate::root::Root;

/// As in `programs.h`.
#[repr(C)]
#[derive(Default)]
struct Count {
    nodes: u64,
    leaves: u64,
    depth: u64,
}

/// As in `programs.h`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawNode {
    state: [u32; 5],
    height: u32,
}

impl From<Node> for RawNode {
    fn from(node: Node) -> Self {
        Self { state: node.state(), height: node.height() }
    }
}

impl From<RawNode> for Node {
    fn from(node: RawNode) -> Self {
        Self::new(node.state, node.height)
    }
}

#[unsafe(no_mangle)]
extern "C" fn filch_peers_fib(n: u64) -> u64 {
    filch_workloads::fib::sequential(n)
}

/// # Safety
///
/// `tree` points to a [`Tree`] that is not written during the call.
#[unsafe(no_mangle)]
unsafe extern "C" fn filch_peers_children(tree: *const c_void, node: &RawNode) -> u32 {
    // SAFETY: the caller guarantees it.
    let tree = unsafe { &*tree.cast::<Tree>() };
    tree.children(&(*node).into())
}

#[unsafe(no_mangle)]
extern "C" fn filch_peers_child(node: &RawNode, index: u32, child: &mut RawNode) {
    *child = Node::from(*node).child(index).into();
}

/// # Safety
///
/// `keys` points to `len` numbers that only the caller accesses.
#[unsafe(no_mangle)]
unsafe extern "C" fn filch_peers_sort(keys: *mut u32, len: usize) {
    // SAFETY: the caller guarantees it.
    unsafe { std::slice::from_raw_parts_mut(keys, len) }.sort_unstable();
}

/// The C++ functions of one scheduler. Each takes the scheduler's state, which comes from `start` and is used by one
/// call at a time. The pointers are valid during the call, for as much data as the numbers say.
struct Functions {
    fib: unsafe extern "C" fn(*mut c_void, u64, u64) -> u64,
    queens: unsafe extern "C" fn(*mut c_void, u8) -> u64,
    uts: unsafe extern "C" fn(*mut c_void, *const c_void, &RawNode, &mut Count),
    matmul: unsafe extern "C" fn(*mut c_void, *const f32, *const f32, *mut f32, u32),
    cilksort: unsafe extern "C" fn(*mut c_void, *mut u32, *mut u32, usize, usize),
}

macro_rules! functions {
    ($fib:ident, $queens:ident, $uts:ident, $matmul:ident, $cilksort:ident) => {{
        unsafe extern "C" {
            fn $fib(scheduler: *mut c_void, n: u64, cutoff: u64) -> u64;
            fn $queens(scheduler: *mut c_void, size: u8) -> u64;
            fn $uts(scheduler: *mut c_void, tree: *const c_void, root: &RawNode, count: &mut Count);
            fn $matmul(scheduler: *mut c_void, a: *const f32, b: *const f32, c: *mut f32, n: u32);
            fn $cilksort(scheduler: *mut c_void, keys: *mut u32, scratch: *mut u32, len: usize, cutoff: usize);
        }
        Functions { fib: $fib, queens: $queens, uts: $uts, matmul: $matmul, cilksort: $cilksort }
    }};
}

/// The ported workloads.
pub(crate) const PORTED: &[&str] = &["fib", "queens", "uts", "matmul", "cilksort"];

/// A C++ scheduler on its root thread.
pub(crate) struct Cpp {
    root: Root<State>,
    functions: Functions,
    /// The stack size of its own threads, if it has any and we cannot choose it.
    helper_stack_bytes: Option<usize>,
}

/// The state that the C++ functions receive.
struct State {
    scheduler: *mut c_void,
    stop: Option<unsafe extern "C" fn(*mut c_void)>,
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(stop) = self.stop {
            // SAFETY: the matching start made it, and this is its last use.
            unsafe { stop(self.scheduler) };
        }
    }
}

impl Cpp {
    /// Starts oneTBB.
    #[cfg(feature = "onetbb")]
    pub(crate) fn onetbb(workers: NonZero<usize>, stack_bytes: usize) -> Result<Self, Failure> {
        unsafe extern "C" {
            safe fn filch_peers_onetbb_start(workers: usize, stack_bytes: usize) -> *mut c_void;
            fn filch_peers_onetbb_stop(scheduler: *mut c_void);
        }
        let start = move || {
            let scheduler = filch_peers_onetbb_start(workers.get(), stack_bytes);
            Ok::<_, Failure>(State { scheduler, stop: Some(filch_peers_onetbb_stop) })
        };
        let functions = functions!(
            filch_peers_onetbb_fib,
            filch_peers_onetbb_queens,
            filch_peers_onetbb_uts,
            filch_peers_onetbb_matmul,
            filch_peers_onetbb_cilksort
        );
        Ok(Self { root: Root::start(stack_bytes, start)?, functions, helper_stack_bytes: None })
    }

    /// Starts OpenMP, whose state is only the number of workers.
    #[cfg(feature = "openmp")]
    pub(crate) fn openmp(workers: NonZero<usize>, stack_bytes: usize) -> Result<Self, Failure> {
        if i32::try_from(workers.get()).is_err() {
            return Err(Failure(format!("{workers} workers are too many")));
        }
        let scheduler = move || State { scheduler: std::ptr::without_provenance_mut(workers.get()), stop: None };
        let functions = functions!(
            filch_peers_openmp_fib,
            filch_peers_openmp_queens,
            filch_peers_openmp_uts,
            filch_peers_openmp_matmul,
            filch_peers_openmp_cilksort
        );
        let helper_stack_bytes = (workers.get() > 1).then(openmp_stack_bytes);
        let root = Root::start(stack_bytes, move || Ok::<_, Failure>(scheduler()))?;
        Ok(Self { root, functions, helper_stack_bytes })
    }
}

impl Rival for Cpp {
    fn run(&self, instance: &mut Instance) -> Answer {
        let Functions { fib, queens, uts, matmul, cilksort } = self.functions;
        self.root.run(|state| {
            let scheduler = state.scheduler;
            match instance {
                // SAFETY: only this thread uses the scheduler, for one call at a time.
                Instance::Fib(program) => Answer::Number(unsafe { fib(scheduler, program.n(), program.cutoff()) }),
                // SAFETY: as above.
                Instance::Queens(program) => Answer::Number(unsafe { queens(scheduler, program.n() as u8) }),
                Instance::Uts(program) => {
                    let tree = program.tree();
                    let mut count = Count::default();
                    // SAFETY: as above, and the tree outlives the call.
                    unsafe { uts(scheduler, (&raw const *tree).cast(), &tree.root().into(), &mut count) };
                    let Count { nodes, leaves, depth } = count;
                    Answer::Tree(uts::Count { nodes, leaves, depth: depth as u32 })
                }
                Instance::Matmul(program) => {
                    let n = program.n();
                    let (a, b, c) = program.matrices();
                    // SAFETY: as above, and the matrices are n × n.
                    unsafe { matmul(scheduler, a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), n as u32) };
                    Answer::Product(n)
                }
                Instance::Cilksort(program) => {
                    let cutoff = program.cutoff();
                    let (keys, scratch) = program.keys();
                    // SAFETY: as above, and both slices have the length of the first.
                    unsafe { cilksort(scheduler, keys.as_mut_ptr(), scratch.as_mut_ptr(), keys.len(), cutoff) };
                    Answer::Sorted(keys.len())
                }
                other => unreachable!("{} is not ported", other.name()),
            }
        })
    }

    fn helper_stacks(&self) -> Option<(usize, &'static str)> {
        self.helper_stack_bytes.map(|bytes| (bytes, "set OMP_STACKSIZE=BYTESB in the environment, or use one worker"))
    }
}

/// The version of the loaded library.
#[cfg(feature = "onetbb")]
pub(crate) fn onetbb_version() -> String {
    unsafe extern "C" {
        safe fn filch_peers_onetbb_version() -> *const std::ffi::c_char;
    }
    // SAFETY: the library returns a constant string.
    unsafe { std::ffi::CStr::from_ptr(filch_peers_onetbb_version()) }.to_string_lossy().into_owned()
}

/// The date of the specification that the compiler implements.
#[cfg(feature = "openmp")]
pub(crate) fn openmp_version() -> String {
    unsafe extern "C" {
        safe fn filch_peers_openmp_version() -> i32;
    }
    filch_peers_openmp_version().to_string()
}

/// The stack of OpenMP's threads: from the environment, in KiB unless it names a unit, or the system's limit.
#[cfg(feature = "openmp")]
fn openmp_stack_bytes() -> usize {
    const OTHERWISE: usize = 2 << 20;
    let from_environment = || {
        let text = std::env::var("OMP_STACKSIZE").ok()?.trim().to_ascii_uppercase();
        let (digits, unit) = match text.strip_suffix(['B', 'K', 'M', 'G']) {
            Some(digits) => (digits, &text[digits.len()..]),
            None => (&*text, "K"),
        };
        let shift = match unit {
            "B" => 0,
            "K" => 10,
            "M" => 20,
            _ => 30,
        };
        digits.trim().parse::<usize>().ok()?.checked_mul(1 << shift)
    };
    let from_limit = || {
        let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max stack size"))?;
        line.split_whitespace().next()?.parse().ok()
    };
    from_environment().or_else(from_limit).unwrap_or(OTHERWISE)
}
