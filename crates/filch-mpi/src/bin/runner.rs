//! `filch-run-mpi`: a runner of the laboratory whose workers are ranks. It becomes `mpirun` when it knows how many.
//!
//! `FILCH_MPIRUN` may name another starter with its options; the number of ranks and the program follow: `srun
//! --mpi=pmix -n`.

use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use filch_catalogue::protocol::{Description, Hello, ProgramDescription, Reply, Request, VERSION};
use filch_workloads::specs;

/// Reads a line without reading on, since what follows is for rank 0.
fn line() -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    // Unlike `stdin()`, the file has no buffer.
    let mut input = std::mem::ManuallyDrop::new(std::fs::File::open("/dev/stdin")?);
    while input.read(&mut byte)? > 0 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).map_err(io::Error::other)
}

fn say(reply: &Reply) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{}", serde_json::to_string(reply)?)?;
    output.flush()
}

fn main() -> ExitCode {
    match converse() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("filch-run-mpi: {error}");
            ExitCode::FAILURE
        }
    }
}

fn converse() -> io::Result<()> {
    say(&Reply::Hello(Hello {
        protocol: VERSION,
        scheduler: "filch-mpi".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: None,
    }))?;
    loop {
        let line = line()?;
        if line.is_empty() {
            return Ok(());
        }
        match serde_json::from_str(&line) {
            Ok(Request::Describe) => say(&Reply::Description(describe()))?,
            Ok(Request::Prepare(order)) => return Err(start(&serde_json::to_string(&order)?, order.workers)),
            Ok(_) => say(&Reply::Refused { why: "nothing is prepared".to_owned() })?,
            Err(error) => say(&Reply::Refused { why: format!("not a request: {error}") })?,
        }
    }
}

fn describe() -> Description {
    // Not the reachability, whose graph is another than the laboratory's.
    let programs = specs().iter().filter(|program| ["uts", "queens", "knapsack"].contains(&program.name));
    let programs = programs.map(|program| ProgramDescription {
        name: program.name.to_owned(),
        parameters: program.params.iter().map(|param| param.name.to_owned()).collect(),
    });
    Description { programs: programs.collect(), ..Description::default() }
}

/// Becomes `mpirun`; returns why not.
fn start(order: &str, ranks: usize) -> io::Error {
    let starter = std::env::var("FILCH_MPIRUN").unwrap_or_else(|_| "mpirun --oversubscribe -n".to_owned());
    let mut words = starter.split_whitespace();
    let Some(name) = words.next() else { return io::Error::other("FILCH_MPIRUN is empty") };
    let here = std::env::current_exe().unwrap_or_default();
    let program = here.parent().unwrap_or(Path::new(".")).join("filch-mpi");
    let error = Command::new(name).args(words).arg(ranks.to_string()).arg(program).args(["serve", order]).exec();
    io::Error::new(error.kind(), format!("{name}: {error}; docs/mpi.md says how to install MPI"))
}
