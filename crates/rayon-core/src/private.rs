//! Seals a trait: outside code cannot implement a method whose parameter has a type that it cannot name.

#[derive(Debug)]
pub struct Sealed;
