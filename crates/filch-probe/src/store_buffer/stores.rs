//! Runs of stores between long computations without memory: figure 6 of Morrison and Afek (2014).

use std::arch::asm;

/// The longest run: more than any documented store buffer holds.
pub(crate) const LONGEST: usize = 160;
/// The bytes of a cache line.
const LINE: usize = 64;
/// The bytes before the first store's place. So every store has a displacement of four bytes, and the code of each has
/// one length.
const BEFORE: usize = 4096;
/// The bytes of a store's code.
const CODE: usize = 6;

/// The code of all stores: `eax` to the places behind `rdi`.
macro_rules! all_stores {
    () => {
        ".irp row, 0,1,2,3,4,5,6,7,8,9
        .irp column, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        mov dword ptr [rdi + {before} + (\\row * 16 + \\column) * {stride}], eax
        .endr
        .endr"
    };
}

/// Where the stores go.
#[repr(align(4096))]
struct Place(
    #[cfg_attr(not(test), expect(dead_code, reason = "only the stores' code uses it"))] [u8; BEFORE + LONGEST * LINE],
);

/// Memory for runs of stores.
pub(crate) struct Stores(Box<Place>);

impl Stores {
    pub(crate) fn new() -> Self {
        Self(Box::new(Place([0; _])))
    }

    /// Repeats this many times: stores to distinct lines, and a chain of roots and sums that takes some 300 cycles,
    /// longer than the stores need to leave the buffer.
    pub(crate) fn spread(&mut self, stores: usize, times: u64) {
        // SAFETY: `Place` has a line for each of up to `LONGEST` stores.
        unsafe { repeat::<LINE>(&raw mut *self.0, stores, times) }
    }

    /// The same with stores to one address.
    pub(crate) fn repeated(&mut self, stores: usize, times: u64) {
        // SAFETY: as above; all stores go to the first line.
        unsafe { repeat::<0>(&raw mut *self.0, stores, times) }
    }
}

impl Stores {
    /// Makes this many stores to distinct lines, once, and no others.
    #[inline(always)]
    pub(crate) fn once(&mut self, stores: usize) {
        assert!(stores <= LONGEST, "the stores are within the place");
        // SAFETY: as in `repeat`.
        unsafe {
            asm!(
                "lea {entry}, [rip + 3f]",
                "sub {entry}, {skipped}",
                "jmp {entry}",
                all_stores!(),
                "3:",
                entry = out(reg) _,
                skipped = in(reg) stores * CODE,
                before = const BEFORE,
                stride = const LINE,
                in("rdi") &raw mut *self.0,
                in("eax") 1,
                options(nostack),
            );
        }
    }
}

/// Repeats stores to places `STRIDE` bytes apart, and a chain without memory.
///
/// The code has `LONGEST` stores, and each repetition jumps to the last `stores` of them: the target is always the
/// same, so that the processor foresees it.
///
/// # Safety
/// * A `Place` without other users is at `place`.
unsafe fn repeat<const STRIDE: usize>(place: *mut Place, stores: usize, times: u64) {
    assert!(stores <= LONGEST && STRIDE <= LINE && times > 0, "the stores are within the place");
    // SAFETY: the stores are to `place`, which has LONGEST places of at most LINE bytes behind BEFORE. The jump goes to
    // the beginning of a store's code, or behind the last: each has CODE bytes, which a test checks. The registers and
    // flags are declared.
    unsafe {
        asm!(
            "lea {entry}, [rip + 3f]",
            "sub {entry}, {skipped}",
            "2:",
            "jmp {entry}",
            all_stores!(),
            "3:",
            ".rept 20",
            "sqrtsd {root}, {root}",
            "addsd {root}, {one}",
            ".endr",
            "dec {times}",
            "jnz 2b",
            entry = out(reg) _,
            skipped = in(reg) stores * CODE,
            before = const BEFORE,
            stride = const STRIDE,
            in("rdi") place,
            in("eax") 1,
            root = inout(xmm_reg) 3.0_f64 => _,
            one = in(xmm_reg) 1.0_f64,
            times = inout(reg) times => _,
            options(nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets of the bytes that a run of stores has changed.
    fn written(run: impl Fn(&mut Stores)) -> Vec<usize> {
        let mut stores = Stores::new();
        run(&mut stores);
        stores.0.0.iter().enumerate().filter(|(_, byte)| **byte != 0).map(|(at, _)| at).collect()
    }

    #[test]
    fn a_run_has_the_asked_number_of_stores() {
        for stores in 0..=LONGEST {
            let lines: Vec<usize> = (LONGEST - stores..LONGEST).map(|line| BEFORE + line * LINE).collect();
            assert_eq!(written(|place| place.spread(stores, 3)), lines);
            assert_eq!(written(|place| place.once(stores)), lines);
            let one = if stores == 0 { vec![] } else { vec![BEFORE] };
            assert_eq!(written(|place| place.repeated(stores, 3)), one);
        }
    }

    #[test]
    #[should_panic(expected = "within the place")]
    fn a_run_beyond_the_place_is_refused() {
        Stores::new().spread(LONGEST + 1, 1);
    }
}
