//! Published libraries that use rayon, each called as its users call it, with a check of the answer. A module's head
//! says how its library uses rayon. They measure the rayon-core with which they are linked; [`runs`] has the arguments.

mod ark_ec;
mod blake3;
mod bvh;
mod checksum;
mod dashmap;
mod dssim;
mod exr;
mod faer;
mod fclones;
mod halo2;
mod hnsw_rs;
mod imageproc;
mod imagequant;
mod indexmap;
mod instant_distance;
mod jpeg_decoder;
mod jxl_oxide;
mod linfa;
mod lopdf;
mod ndarray;
mod neighbours;
mod parallel_disk_usage;
mod petgraph;
mod picture;
mod rapier3d;
mod rdst;
mod splashsurf;
mod tantivy;
mod tokei;
mod tokenizers;
mod voracious;
mod winterfell;

#[path = "../../measure/src/numbers.rs"]
mod numbers;
#[path = "../../measure/src/runs.rs"]
mod runs;

use std::process::ExitCode;

/// Repetitions in one process.
const TIMES: u32 = 5;

const LIBRARIES: &[runs::Row<u64>] = &[
    ("ark-ec", TIMES, ark_ec::make),
    ("blake3", TIMES, blake3::make),
    ("bvh", TIMES, bvh::make),
    ("dashmap", TIMES, dashmap::make),
    ("dssim-core", TIMES, dssim::make),
    ("exr", TIMES, exr::make),
    ("faer", TIMES, faer::make),
    ("fclones", TIMES, fclones::make),
    ("halo2_proofs", TIMES, halo2::make),
    ("hnsw_rs", TIMES, hnsw_rs::make),
    ("imageproc", TIMES, imageproc::make),
    ("imagequant", TIMES, imagequant::make),
    ("indexmap", TIMES, indexmap::make),
    ("instant-distance", TIMES, instant_distance::make),
    ("jpeg-decoder", TIMES, jpeg_decoder::make),
    ("jxl-oxide", TIMES, jxl_oxide::make),
    ("linfa-clustering", TIMES, linfa::make),
    ("lopdf", TIMES, lopdf::make),
    ("ndarray", TIMES, ndarray::make),
    ("parallel-disk-usage", TIMES, parallel_disk_usage::make),
    ("petgraph", TIMES, petgraph::make),
    ("rapier3d", TIMES, rapier3d::make),
    ("rdst", TIMES, rdst::make),
    ("splashsurf_lib", TIMES, splashsurf::make),
    ("tantivy", TIMES, tantivy::make),
    ("tokei", TIMES, tokei::make),
    ("tokenizers", TIMES, tokenizers::make),
    ("voracious_radix_sort", TIMES, voracious::make),
    ("winterfell", TIMES, winterfell::make),
];

fn main() -> ExitCode {
    runs::run(LIBRARIES)
}
