//! The cold half of a push, called without costing the fast path registers.
//!
//! A callee may change the caller-saved registers. Values that the caller needs after a cold call must therefore be in
//! callee-saved registers, which the caller saves at entry and restores at exit, even if it does not reach the call. So
//! here the call saves the registers instead, which spares every frame that forks two registers, hence four
//! instructions.
//!
//! Invariant: `push_saving` changes only registers that its caller declares changed.

use super::front::Front;
use super::slot::Slot;

/// Completes a push that the limits did not admit. The task is in the front's scratch slot.
///
/// The operation cannot unwind, so its calls need no landing pad, and the compiler moves them out of the way even if
/// they are nested in another fork. Nothing in it panics unless the pool is broken.
///
/// # Safety
/// The current thread is the worker of `front`, at this head; and the scratch slot holds a task.
#[inline]
pub(crate) unsafe fn push_any(front: &Front, head: *mut Slot) {
    let operations = front.operations.expect("only workers fork");
    // SAFETY: the caller is at this front and head, and the table is that of this front.
    unsafe { (operations.push)(front, head) };
}

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", unix, not(miri)))]
mod x86_64 {
    use std::arch::{asm, naked_asm};
    use std::mem::offset_of;

    use super::{Front, Slot};
    use crate::fork::front::Operations;

    /// Does `push_any` through `push_saving`.
    ///
    /// # Safety
    /// As for `push_any`.
    #[inline(always)]
    pub(in super::super) unsafe fn push_cold(front: &Front, head: *mut Slot) {
        // SAFETY: the caller's promise. The call returns, does not unwind, and changes only the registers listed: all
        // that the System V ABI lets a function change, except the general argument registers, two of which hold the
        // arguments.
        unsafe {
            asm!(
                "call {push}",
                push = sym push_saving,
                in("rdi") front,
                in("rsi") head,
                out("rax") _, out("r10") _, out("r11") _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _,
                out("xmm15") _, out("xmm16") _, out("xmm17") _, out("xmm18") _, out("xmm19") _, out("xmm20") _, out("xmm21") _,
                out("xmm22") _, out("xmm23") _, out("xmm24") _, out("xmm25") _, out("xmm26") _, out("xmm27") _, out("xmm28") _,
                out("xmm29") _, out("xmm30") _, out("xmm31") _,
                out("k0") _, out("k1") _, out("k2") _, out("k3") _, out("k4") _, out("k5") _, out("k6") _, out("k7") _,
                out("mm0") _, out("mm1") _, out("mm2") _, out("mm3") _, out("mm4") _, out("mm5") _, out("mm6") _, out("mm7") _,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _, out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            );
        }
    }

    /// Does `push_any`, and preserves the argument registers. Aligns the stack itself, so that any code may call it.
    ///
    /// # Safety
    /// As for `push_any`.
    #[unsafe(naked)]
    unsafe extern "C" fn push_saving(front: &Front, head: *mut Slot) {
        naked_asm!(
            ".cfi_startproc",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            "push rcx",
            "push rdx",
            "push rsi",
            "push rdi",
            "push r8",
            "push r9",
            "and rsp, -16",
            "mov rax, [rdi + {operations}]",
            "call [rax + {push}]",
            "lea rsp, [rbp - 48]",
            "pop r9",
            "pop r8",
            "pop rdi",
            "pop rsi",
            "pop rdx",
            "pop rcx",
            "pop rbp",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
            operations = const offset_of!(Front, operations),
            push = const offset_of!(Operations, push),
        )
    }
}

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", unix, not(miri)))]
pub(super) use x86_64::push_cold;

/// The ordinary call.
#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", unix, not(miri))))]
pub(super) use self::push_any as push_cold;
