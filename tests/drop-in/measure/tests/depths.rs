//! A level of a recursion through the drop-in needs no more stack than through the published rayon-core. So a program
//! that recurses as deep as its `stack_size` allows runs on the drop-in, too.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::Command;
use std::sync::Mutex;

/// Bytes per level with rayon 1.12 and rayon-core 1.13, as `depths` prints them if `stock` builds it with the profile
/// `release`, by rustc 1.95 for x86-64.
const STOCK: &[(&str, usize)] = &[
    ("scope, spawn", 224),
    ("in_place_scope, spawn", 224),
    ("join, first branch", 208),
    ("join, second branch", 208),
    ("join, stolen", 232),
    ("par_iter, first item", 1456),
    ("par_iter, last item", 1456),
    ("install in the same pool", 64),
    ("install in another pool", 216),
];

fn figures(program: &str) -> BTreeMap<String, usize> {
    let output = Command::new(program).output().expect("the program starts");
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).expect("names and figures");
    let figure = |line: &str| {
        let (bytes, name) = line.split_once(' ').expect("a figure and a name");
        (name.to_owned(), bytes.parse().expect("a figure"))
    };
    printed.lines().map(figure).collect()
}

#[test]
#[cfg_attr(debug_assertions, ignore = "the bounds are those of optimized builds")]
fn a_level_needs_no_more_stack_than_with_the_published_rayon_core() {
    let ours = figures(env!("CARGO_BIN_EXE_depths"));
    assert_eq!(ours.len(), STOCK.len(), "each construct has a bound: {ours:?}");
    for &(name, bound) in STOCK {
        assert!(ours[name] <= bound, "{name}: {} bytes per level, {} with rayon-core", ours[name], bound);
    }
}

/// If `STOCK_DEPTHS` is the path of the same program on the published rayon-core, built with that profile.
#[test]
#[cfg_attr(debug_assertions, ignore = "the bounds are those of optimized builds")]
fn the_bounds_are_those_of_the_published_rayon_core() {
    let Ok(stock) = std::env::var("STOCK_DEPTHS") else { return };
    let stock = figures(&stock);
    for &(name, bound) in STOCK {
        assert_eq!(stock[name], bound, "{name}");
    }
}

/// The library's own scopes need no more than those of the drop-in may.
#[test]
#[cfg_attr(debug_assertions, ignore = "the bounds are those of optimized builds")]
fn a_level_of_native_scopes_needs_no_more_stack_than_one_of_rayons() {
    #[inline(never)]
    fn note(addresses: &Mutex<Vec<usize>>) {
        let local = 0_u8;
        addresses.lock().expect("nobody panics").push((&raw const *black_box(&local)).addr());
    }
    fn recurse(levels: usize, addresses: &Mutex<Vec<usize>>) {
        note(addresses);
        if levels > 0 {
            filch::scope(|s| s.spawn(move |_| recurse(levels - 1, addresses)));
        }
    }
    let addresses = Mutex::default();
    let pool = filch::ThreadPool::builder().workers(1).build().expect("a pool");
    pool.install(|| recurse(40, &addresses));
    let addresses = addresses.into_inner().expect("nobody panics");
    let bytes = (addresses[10] - addresses[40]) / 30;
    let (name, bound) = STOCK[0];
    assert!(bytes <= bound, "{name}: {bytes} bytes per level, {} with rayon-core", bound);
}
