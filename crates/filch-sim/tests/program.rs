//! The simulator's program. Because of this test, those of the workspace build it: the driver's start it, too.

use std::process::{Command, Stdio};

#[test]
fn a_simulation_is_a_table_with_its_bound() {
    let arguments = ["simulate", "fib:n=10", "--workers", "2", "--delta", "5", "--runs", "3"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_filch-simulate"));
    let output = command.args(arguments).stdin(Stdio::null()).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.starts_with("Means of 3 runs") && said.contains("T1/(δ − 1)"), "{said}");
}
