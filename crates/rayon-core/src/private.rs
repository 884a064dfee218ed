//! Seals a trait: a method that takes a type which nobody outside can name cannot be implemented there.

#[derive(Debug)]
pub struct Sealed;
