//! `filch-mpi`: programs on all ranks of an MPI job.

#[cfg(feature = "mpi")]
mod programs;

#[cfg(feature = "mpi")]
fn main() -> std::process::ExitCode {
    programs::main()
}

#[cfg(not(feature = "mpi"))]
fn main() -> std::process::ExitCode {
    eprintln!(
        "this filch-mpi was built without MPI: `cargo build --release -p filch-mpi --features mpi`; see docs/mpi.md"
    );
    std::process::ExitCode::from(2)
}
