//! The instructions that a closure executes, and their accesses to memory: the processor's trap flag makes it stop
//! after each.
#![allow(dead_code, reason = "the test uses the accesses, the benchmark the counts")]

use std::cell::Cell;
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::Once;
use std::{arch::asm, hint::black_box, slice};

use iced_x86::{Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};
use libc::{REG_RIP, SA_SIGINFO, SIGTRAP, c_int, c_void, sigaction, siginfo_t, ucontext_t};

/// The general registers, by the system's numbers and the decoder's names.
const REGISTERS: [(c_int, Register); 16] = [
    (libc::REG_RAX, Register::RAX),
    (libc::REG_RBX, Register::RBX),
    (libc::REG_RCX, Register::RCX),
    (libc::REG_RDX, Register::RDX),
    (libc::REG_RSI, Register::RSI),
    (libc::REG_RDI, Register::RDI),
    (libc::REG_RBP, Register::RBP),
    (libc::REG_RSP, Register::RSP),
    (libc::REG_R8, Register::R8),
    (libc::REG_R9, Register::R9),
    (libc::REG_R10, Register::R10),
    (libc::REG_R11, Register::R11),
    (libc::REG_R12, Register::R12),
    (libc::REG_R13, Register::R13),
    (libc::REG_R14, Register::R14),
    (libc::REG_R15, Register::R15),
];

/// A thread about to execute the instruction at `rip`.
#[derive(Clone, Copy, Default)]
struct State {
    rip: u64,
    registers: [u64; REGISTERS.len()],
}

/// A trace that the signal handler writes: it cannot grow.
struct Trace {
    states: Vec<State>,
    len: usize,
}

/// More instructions than any traced closure executes.
const MOST: usize = 1 << 16;

thread_local! {
    static TRACE: Cell<*mut Trace> = const { Cell::new(null_mut()) };
}

extern "C" fn on_trap(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a context that nothing else uses at this time.
    let registers = unsafe { &(*context.cast::<ucontext_t>()).uc_mcontext.gregs };
    // SAFETY: `traced` has set it to a trace that lives until the flag is cleared, and does not touch it meanwhile.
    let Some(trace) = (unsafe { TRACE.get().as_mut() }) else { return };
    if let Some(state) = trace.states.get_mut(trace.len) {
        state.rip = registers[REG_RIP as usize] as u64;
        for (place, (number, _)) in state.registers.iter_mut().zip(REGISTERS) {
            *place = registers[number as usize] as u64;
        }
        trace.len += 1;
    }
}

/// One access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

/// The effect of one instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Access(Access),
    /// The instruction waits until the store buffer is empty.
    Drain,
}

/// Runs `f`, and returns what its instructions did outside its own stack frames, in order.
pub(crate) fn traced<R>(f: impl FnOnce() -> R) -> (R, Vec<Step>) {
    let (result, states) = states(f);
    (result, steps(&states))
}

/// The number of instructions, and of those that wait for the store buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) instructions: usize,
    /// Fences among them, and other instructions that the processor does not reorder with memory accesses.
    pub(crate) fences: usize,
    /// Atomic read-modify-writes among them that are not fences.
    pub(crate) locked: usize,
    /// Padding among them, by which compilers keep branches off boundaries: it depends on the code's address.
    pub(crate) padding: usize,
}

/// Runs `f` and counts its instructions, and a few of the counting itself.
pub(crate) fn counted<R>(f: impl FnOnce() -> R) -> (R, Count) {
    let (result, states) = states(f);
    let mut count = Count { instructions: states.len(), ..Count::default() };
    for state in &states {
        let instruction = decode(state.rip);
        let fences = fences(&instruction);
        count.fences += usize::from(fences);
        count.locked += usize::from(locks(&instruction) && !fences);
        count.padding += usize::from(instruction.mnemonic() == Mnemonic::Nop);
    }
    (result, count)
}

/// Runs `f`, and returns the thread's state before each instruction.
fn states<R>(f: impl FnOnce() -> R) -> (R, Vec<State>) {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // SAFETY: all zeros is a valid action.
        let mut action: sigaction = unsafe { zeroed() };
        action.sa_sigaction = on_trap as *const () as usize;
        action.sa_flags = SA_SIGINFO;
        // SAFETY: the handler allocates nothing and takes no lock.
        let result = unsafe { sigaction(SIGTRAP, &raw const action, null_mut()) };
        assert_eq!(result, 0, "cannot install the trap handler");
    });
    let mut trace = Box::new(Trace { states: vec![State::default(); MOST], len: 0 });
    TRACE.set(&raw mut *trace);
    // SAFETY: sets the trap flag; the handler is installed.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let result = black_box(f());
    // SAFETY: clears the trap flag.
    unsafe { asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
    TRACE.set(null_mut());
    let mut states = trace.states;
    states.truncate(trace.len);
    assert!((3..MOST).contains(&states.len()), "{} instructions were seen", states.len());
    (result, states)
}

fn steps(states: &[State]) -> Vec<Step> {
    let rsp = |state: &State| state.registers[REGISTERS.iter().position(|(_, name)| *name == Register::RSP).unwrap()];
    // The traced frames, the caller's, and the red zone.
    let stack = states.iter().map(rsp).min().unwrap() - 128..=states.iter().map(rsp).max().unwrap() + 1024;
    let mut factory = InstructionInfoFactory::new();
    let mut steps = Vec::new();
    for state in states {
        let instruction = decode(state.rip);
        let info = factory.info(&instruction);
        for memory in info.used_memory() {
            let value = |register: Register| {
                let place = REGISTERS.iter().position(|(_, name)| *name == register.full_register());
                place.map(|place| state.registers[place]).or(register.is_segment_register().then_some(0))
            };
            let address = memory.virtual_address(0, |register, _, _| value(register)).expect("an ordinary address");
            let (reads, writes) = match memory.access() {
                OpAccess::Read | OpAccess::CondRead => (true, false),
                OpAccess::Write | OpAccess::CondWrite => (false, true),
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
                OpAccess::None | OpAccess::NoMemAccess => continue,
            };
            // Thread-local variables are relative to a base that is not visible here, and they are private.
            let thread_local = matches!(memory.segment(), Register::FS | Register::GS);
            if !thread_local && !stack.contains(&address) {
                let bytes = memory.memory_size().size();
                steps.push(Step::Access(Access { address, bytes, reads, writes }));
            }
        }
        if drains(&instruction) {
            steps.push(Step::Drain);
        }
    }
    steps
}

fn decode(rip: u64) -> Instruction {
    // SAFETY: the thread has executed the instruction, so its bytes are there; no instruction is longer than 15 bytes.
    // The bytes after it may be beyond the code, but not beyond its mapping, which is padded to pages and followed by
    // more sections.
    let bytes = unsafe { slice::from_raw_parts(rip as *const u8, 15) };
    let instruction = Decoder::with_ip(64, bytes, rip, DecoderOptions::NONE).decode();
    assert!(!instruction.is_invalid(), "no instruction at {rip:#x}");
    instruction
}

fn drains(instruction: &Instruction) -> bool {
    locks(instruction) || fences(instruction)
}

fn locks(instruction: &Instruction) -> bool {
    // An exchange with memory locks without a prefix.
    let exchanges = instruction.mnemonic() == Mnemonic::Xchg
        && (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == iced_x86::OpKind::Memory);
    instruction.has_lock_prefix() || exchanges
}

fn fences(instruction: &Instruction) -> bool {
    // A compiler's fence: it changes nothing, on the thread's own stack.
    let idle = instruction.has_lock_prefix()
        && instruction.mnemonic() == Mnemonic::Or
        && instruction.memory_base() == Register::RSP;
    idle || matches!(
        instruction.mnemonic(),
        Mnemonic::Mfence | Mnemonic::Sfence | Mnemonic::Cpuid | Mnemonic::Serialize | Mnemonic::Syscall
    )
}
