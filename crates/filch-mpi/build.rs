//! Compiles the shim with the MPI's own compiler, and links what that compiler links.

fn main() {
    println!("cargo::rerun-if-changed=src/shim.c");
    println!("cargo::rerun-if-env-changed=MPICC");
    #[cfg(feature = "mpi")]
    shim();
}

#[cfg(feature = "mpi")]
fn shim() {
    use std::process::Command;

    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    // Open MPI's wrapper, then MPICH's.
    let ask = |question: &str| {
        let output = Command::new(&mpicc).arg(question).output();
        let output = output.unwrap_or_else(|error| panic!("{mpicc}: {error}; docs/mpi.md says how to install MPI"));
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let flags = ask("--showme:link").or_else(|| ask("-link_info")).expect("an mpicc that tells its link flags");
    for flag in flags.split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo::rustc-link-search=native={folder}");
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo::rustc-link-lib={library}");
        }
    }
    cc::Build::new().compiler(&mpicc).file("src/shim.c").compile("filch_mpi_shim");
}
