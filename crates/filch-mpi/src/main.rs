//! `filch-mpi`: programs on all ranks of an MPI job.

#[cfg(feature = "mpi")]
mod command;
#[cfg(feature = "mpi")]
mod ping;
#[cfg(feature = "mpi")]
mod programs;
#[cfg(feature = "mpi")]
mod serve;

#[cfg(feature = "mpi")]
fn main() -> std::process::ExitCode {
    command::main()
}

#[cfg(not(feature = "mpi"))]
fn main() -> std::process::ExitCode {
    eprintln!(
        "this filch-mpi was built without MPI: `cargo build --release -p filch-mpi --features mpi`; see docs/mpi.md"
    );
    std::process::ExitCode::from(2)
}
