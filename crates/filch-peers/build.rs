//! Compiles the programs for the C++ schedulers whose features are enabled.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(any(feature = "onetbb", feature = "openmp"))]
    cpp::compile();
}

#[cfg(any(feature = "onetbb", feature = "openmp"))]
mod cpp {
    pub(crate) fn compile() {
        println!("cargo::rerun-if-changed=cpp");
        #[cfg(feature = "onetbb")]
        onetbb();
        #[cfg(feature = "openmp")]
        openmp();
    }

    fn compiler() -> cc::Build {
        let mut build = cc::Build::new();
        build.cpp(true).std("c++17").opt_level(3);
        // Debug information would enable frame pointers, which Rust code does not have.
        build.debug(false).force_frame_pointer(false);
        build
    }

    /// Ends the build with this message instead of the compiler's.
    #[track_caller]
    fn need(build: &cc::Build, source: &str, message: &str) {
        let probe = std::path::Path::new(&std::env::var_os("OUT_DIR").expect("cargo sets it")).join("probe.cpp");
        std::fs::write(&probe, source).expect("the build folder is writable");
        let works = build
            .try_get_compiler()
            .ok()
            .and_then(|compiler| compiler.to_command().arg("-fsyntax-only").arg(&probe).output().ok())
            .is_some_and(|output| output.status.success());
        if !works {
            println!("cargo::error={message}");
            std::process::exit(1);
        }
    }

    #[cfg(feature = "onetbb")]
    fn onetbb() {
        let mut build = compiler();
        let message = "the feature `onetbb` needs a C++ compiler and oneTBB's headers: install g++ and libtbb-dev \
                       (Debian's names), or disable the feature";
        need(&build, "#include <oneapi/tbb/task_group.h>\n", message);
        build.file("cpp/onetbb.cpp").compile("filch_peers_onetbb");
        println!("cargo::rustc-link-lib=tbb");
    }

    #[cfg(feature = "openmp")]
    fn openmp() {
        let mut build = compiler();
        build.flag("-fopenmp");
        let message = "the feature `openmp` needs a C++ compiler with OpenMP: install g++ (Debian's name), \
                       or disable the feature";
        need(&build, "#include <omp.h>\n", message);
        build.file("cpp/openmp.cpp").compile("filch_peers_openmp");
        println!("cargo::rustc-link-lib=gomp");
    }
}
