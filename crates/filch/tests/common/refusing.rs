//! Refusals by the system, for fault tests in processes of their own.
#![allow(dead_code, reason = "each test program uses its part")]

use std::env;
use std::ffi::c_int;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The threads whose system calls are refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// The current thread and the threads that it starts.
    Here,
    /// All threads.
    Everybody,
}

// As in `linux/filter.h` and `linux/seccomp.h`.
const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
const ALLOW: u32 = 0x7fff_0000;

/// A step of a filter. A jump skips so many steps if the values are equal, and none otherwise.
fn step(code: u32, k: u32, skip: usize) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: skip as u8, jf: 0, k }
}

/// Makes the system ask this filter, which ends with an allowance, and then with that error.
fn filter_calls(mut program: Vec<libc::sock_filter>, error: c_int, from: From) {
    const SET_MODE_FILTER: libc::c_ulong = 1;
    const FOR_ALL_THREADS: libc::c_ulong = 1;
    const ERROR: u32 = 0x0005_0000;
    program.push(step(RETURN, ALLOW, 0));
    program.push(step(RETURN, ERROR | error as u32, 0));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    let flags = if from == From::Everybody { FOR_ALL_THREADS } else { 0 };
    // SAFETY: the filter and its program are locals of this frame, and the system copies them.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &raw const filter), 0);
    }
}

/// Makes the system answer these calls with that error from this call on.
pub(crate) fn refuse(calls: &[libc::c_long], error: c_int, from: From) {
    // The call's number is the first field of the filter's input.
    let number = step(LOAD, 0, 0);
    let checks = calls.iter().rev().enumerate().rev();
    let checks = checks.map(|(after, &call)| step(JUMP_IF_EQUAL, call as u32, after + 1));
    filter_calls([number].into_iter().chain(checks).collect(), error, from);
}

/// Refuses to let threads sleep, except for the C library's locks: if these find that they cannot, the process aborts.
pub(crate) fn refuse_sleep(error: c_int, from: From) {
    // The second and the third argument, whose halves are in the order of little endian.
    const OPERATION: u32 = 16 + 8;
    const VALUE: u32 = OPERATION + 8;
    // A lock waits for a change from 2. Who has waited is woken, but filch's question whether that works wakes nobody.
    let program = vec![
        step(LOAD, 0, 0),
        step(JUMP_IF_EQUAL, libc::SYS_futex as u32, 1),
        step(RETURN, ALLOW, 0),
        step(LOAD, VALUE, 0),
        step(JUMP_IF_EQUAL, 0, 5),
        step(JUMP_IF_EQUAL, 2, 3),
        step(LOAD, OPERATION, 0),
        step(JUMP_IF_EQUAL, (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as u32, 1),
        step(libc::BPF_JMP | libc::BPF_JA, 1, 0),
    ];
    filter_calls(program, error, from);
}

/// Lets the process have so much more address space, or any amount.
pub(crate) fn limit_address_space(more: Option<u64>) {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    let rlim_cur = more.map_or(libc::RLIM_INFINITY, |more| pages * 4096 + more);
    let limit = libc::rlimit { rlim_cur, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the call reads a local of this frame.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

/// Whether the thread with this folder in `/proc` sleeps.
pub(crate) fn is_asleep(thread: &Path) -> bool {
    // The second field, the name, may hold anything, but ends with the last bracket.
    let stat = fs::read_to_string(thread.join("stat")).unwrap();
    stat.rsplit_once(')').is_some_and(|(_, fields)| fields.starts_with(" S"))
}

/// Runs an ignored test of the same file in its own process, with these variables, for at most ten minutes.
pub(crate) fn child(test: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    // Naming the functions of a backtrace takes longer than the rest.
    command
        .env("RUST_BACKTRACE", "0")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    for _ in 0..60_000 {
        if child.try_wait().unwrap().is_some() {
            return child.wait_with_output().unwrap();
        }
        sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("{test} hangs with {variables:?}: {:?}", child.wait_with_output());
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned()
}

/// Runs [`child`], which must succeed.
pub(crate) fn succeeds(test: &str, variables: &[(&str, &str)]) {
    let output = child(test, variables);
    assert!(output.status.success(), "{test} with {variables:?}: {:?} {}", output.status, said(&output));
}

/// Runs [`child`], which must abort and say why.
pub(crate) fn aborts(test: &str, why: &str) {
    let output = child(test, &[]);
    let is_abort = output.status.signal() == Some(libc::SIGABRT);
    assert!(is_abort && said(&output).contains(why), "{test}: {:?} {}", output.status, said(&output));
}

/// Runs `f` in the child of a `fork()`. The child must end within ten minutes, without a panic.
pub(crate) fn in_a_fork(f: impl FnOnce()) {
    // SAFETY: glibc lets the child of a multithreaded program do what the test does.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork");
    if child == 0 {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
        // SAFETY: the call only ends the process.
        unsafe { libc::_exit(i32::from(outcome.is_err())) };
    }
    let mut status = 0;
    for _ in 0..60_000 {
        // SAFETY: `status` is a local of this frame.
        match unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } {
            0 => sleep(Duration::from_millis(10)),
            _ => {
                assert_eq!(status, 0, "the child's status");
                return;
            }
        }
    }
    // SAFETY: the child exists until somebody has waited for it.
    unsafe { libc::kill(child, libc::SIGKILL) };
    panic!("the child hangs");
}
