//! A cache line per value.

use core::ops::{Deref, DerefMut};

/// A value alone on its cache line, and on the line that the processor fetches along with it.
///
/// ```
/// let counter = filch_queue::Padded(7_u64);
/// assert_eq!(*counter, 7);
/// assert_eq!(align_of_val(&counter), 128);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

impl<T> Deref for Padded<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Padded<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
