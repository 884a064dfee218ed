//! Unmodified libraries that use rayon, on the drop-in. Each computes something with an independently known result.

use std::collections::BTreeSet;
use std::fs;
use std::io::Cursor;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rayon::prelude::*;

#[path = "../../measure/src/numbers.rs"]
mod numbers;
use numbers::numbers;

/// As many items as threads. Each item continues once all of them run at the same time.
#[test]
fn as_many_items_as_threads_all_run_at_once() {
    for threads in [2, 4, 8, 16] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for _ in 0..5 {
            let here = AtomicUsize::new(0);
            let attend = || {
                here.fetch_add(1, Ordering::SeqCst);
                (0..1_000_000).any(|_| {
                    thread::sleep(Duration::from_micros(50));
                    here.load(Ordering::SeqCst) >= threads
                })
            };
            assert!(pool.install(|| (0..threads).into_par_iter().all(|_| attend())), "{threads} items");
            here.store(0, Ordering::SeqCst);
            let mut items = vec![0_u8; threads];
            assert!(pool.install(|| {
                items.par_chunks_mut(1).map(|_| attend()).collect::<Vec<_>>().into_iter().all(|came| came)
            }));
        }
    }
}

/// Deeply nested joins.
#[test]
fn blake3_hashes() {
    let known = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
    assert_eq!(blake3::hash(b"abc").to_hex().as_str(), known);
    let input: Vec<u8> = (0..3_000_001_u32).map(|i| (i % 251) as u8).collect();
    for _ in 0..3 {
        let mut hasher = blake3::Hasher::new();
        assert_eq!(hasher.update_rayon(&input).finalize(), blake3::hash(&input));
    }
}

/// Spawned tasks that send to a channel while the caller waits for it.
#[test]
fn jwalk_walks() {
    let root = tempfile::tempdir().unwrap();
    let mut expected = BTreeSet::from([root.path().to_owned()]);
    for outer in 0..12 {
        for inner in 0..6 {
            let directory = root.path().join(format!("outer {outer}")).join(format!("inner {inner}"));
            fs::create_dir_all(&directory).unwrap();
            expected.extend([directory.parent().unwrap().to_owned(), directory.clone()]);
            for file in 0..3 {
                let file = directory.join(format!("file {file}"));
                fs::write(&file, "text").unwrap();
                expected.insert(file);
            }
        }
    }
    for parallelism in [
        jwalk::Parallelism::RayonDefaultPool { busy_timeout: std::time::Duration::from_secs(60) },
        jwalk::Parallelism::RayonNewPool(3),
    ] {
        let walk = jwalk::WalkDir::new(root.path()).parallelism(parallelism).sort(true);
        let found: Vec<_> = walk.into_iter().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(found.len(), expected.len());
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
    }
}

/// Loops over blocks, and scopes.
#[test]
fn rdst_sorts() {
    use rdst::RadixSort;

    let mut sorted = numbers(400_000);
    let mut expected = sorted.clone();
    expected.sort_unstable();
    sorted.radix_sort_unstable();
    assert!(sorted == expected);
}

/// Splitting in several dimensions.
#[test]
fn ndarray_zips() {
    use ndarray::parallel::prelude::*;
    use ndarray::{Array2, Axis, Zip};

    let a = Array2::from_shape_fn((300, 211), |(row, column)| (row * 7 + column) as f64);
    let mut b = Array2::from_shape_fn((300, 211), |(row, column)| (row + column * 3) as f64);
    let expected = &a * 2.0 + &b;
    Zip::from(&mut b).and(&a).par_for_each(|b, a| *b += 2.0 * a);
    assert_eq!(b, expected);
    let rows: Vec<f64> = b.axis_iter(Axis(0)).into_par_iter().map(|row| row.sum()).collect();
    assert_eq!(rows, b.sum_axis(Axis(1)).to_vec());
}

/// Collecting in order, and a parallel merge sort of entries.
#[test]
fn indexmap_collects_and_sorts() {
    let numbers = numbers(50_000);
    let mut map: indexmap::IndexMap<u64, usize> =
        numbers.par_iter().copied().enumerate().map(|(i, n)| (n, i)).collect();
    assert!(map.par_values().copied().eq(0..numbers.len()));
    map.par_sort_by(|a, _, b, _| a.cmp(b));
    assert!(map.keys().is_sorted());
    assert_eq!(map.par_iter().map(|(key, &at)| usize::from(numbers[at] == *key)).sum::<usize>(), numbers.len());
}

/// A decoder that decodes components in tasks of a scope.
#[test]
fn jpeg_decoder_decodes() {
    let (width, height) = (321_usize, 203_usize);
    let pixel = |at: usize| [at % width * 255 / width, at / width * 255 / height, 128].map(|channel| channel as u8);
    let pixels: Vec<u8> = (0..width * height).flat_map(pixel).collect();
    let mut file = Vec::new();
    let encoder = jpeg_encoder::Encoder::new(&mut file, 95);
    encoder.encode(&pixels, width as u16, height as u16, jpeg_encoder::ColorType::Rgb).unwrap();
    let decoded = jpeg_decoder::Decoder::new(Cursor::new(&file)).decode().unwrap();
    assert_eq!(decoded.len(), pixels.len());
    let worst = decoded.iter().zip(&pixels).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(worst < Some(16), "a smooth picture changes little, but a value is off by {worst:?}");
}

/// Trials in parallel, evaluated by a spawned thread.
#[test]
fn oxipng_compresses() {
    let (width, height) = (160_u32, 120_u32);
    let pixels: Vec<u8> = (0..width * height).flat_map(|at| [(at / 7 % 256) as u8, (at % width) as u8, 9]).collect();
    let image = oxipng::RawImage::new(
        width,
        height,
        oxipng::ColorType::RGB { transparent_color: None },
        oxipng::BitDepth::Eight,
        pixels.clone(),
    );
    let file = image.unwrap().create_optimized_png(&oxipng::Options::from_preset(4)).unwrap();
    assert!(file.len() < pixels.len() / 3, "{} bytes", file.len());
    let mut decoder = png::Decoder::new(Cursor::new(&file));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut decoded = vec![0; reader.output_buffer_size()];
    let frame = reader.next_frame(&mut decoded).unwrap();
    assert_eq!((frame.width, frame.height), (width, height));
    assert!(decoded[..frame.buffer_size()] == pixels);
}

/// Reductions over a graph.
#[test]
fn petgraph_ranks() {
    let mut graph = petgraph::Graph::<(), ()>::new();
    let nodes: Vec<_> = (0..60).map(|_| graph.add_node(())).collect();
    for (n, number) in numbers(300).into_iter().enumerate() {
        graph.add_edge(nodes[n % 60], nodes[(number % 60) as usize], ());
    }
    let serial = petgraph::algo::page_rank(&graph, 0.85_f64, 20);
    let parallel = petgraph::algo::page_rank::parallel_page_rank(&graph, 0.85_f64, 20, Some(1e-12));
    assert!(serial.iter().zip(&parallel).all(|(a, b)| (a - b).abs() < 1e-6), "{serial:?} {parallel:?}");
}

/// The lock file has a single rayon-core, from a path.
#[test]
fn exactly_one_rayon_core_is_built() {
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).unwrap();
    let is_rayon_core = |package: &&str| package.contains("name = \"rayon-core\"\n");
    let packages: Vec<&str> = lock.split("[[package]]").filter(is_rayon_core).collect();
    assert_eq!(packages.len(), 1, "exactly one rayon-core");
    assert!(!packages[0].contains("source = "), "ours comes from a path: {}", packages[0]);
}

/// This executable contains a message of our rayon-core and none of the published one's.
#[test]
fn exactly_one_rayon_core_is_linked() {
    let executable = fs::read(std::env::current_exe().unwrap()).unwrap();
    // The texts have flipped case here, so that the search does not find this source's own strings.
    let contains = |flipped: &str| {
        let flip = |c: char| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        let text: String = flipped.chars().map(flip).collect();
        executable.windows(text.len()).any(|window| window == text.as_bytes())
    };
    assert!(contains("A TASK THAT NOBODY WAITS FOR PANICKED, AND NO PANIC HANDLER TOOK IT"));
    assert!(!contains("rAYON: DETECTED UNEXPECTED PANIC; ABORTING"), "the published rayon-core is linked too");
    assert_ne!(rayon::max_num_threads(), (1 << 16) - 1, "the limit of the published rayon-core");
}
