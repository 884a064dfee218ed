//! The time of messages between two ranks, and what follows from it for many.
//!
//! The model is simple: a steal costs a request, a look of the victim and an answer; work reaches all ranks by
//! doublings; each rank steals some times more per doubling; and the end takes three waves over the tree, each down and
//! up. It knows nothing of the program but the time that its work takes.

use std::process::ExitCode;
use std::time::Instant;

use filch_mpi::{Mpi, Transport};
use serde_json::{Value, json};

const TAG: u32 = 1;
const ROUNDS: u32 = 2000;
/// Bytes of a request, of a bag of UTS nodes, of a large bag.
const SIZES: [usize; 3] = [17, 1 << 10, 1 << 16];

fn hear(world: &mut Mpi) -> Vec<u8> {
    loop {
        if let Some((_, bytes)) = world.receive(TAG) {
            return bytes;
        }
        std::hint::spin_loop();
    }
}

/// How long a victim takes to look, on average; and a rank without work, which rests between looks.
const LOOK: f64 = 10e-6;
const REST: f64 = 100e-6;
/// Steals of a rank for each doubling of ranks, as measured on two and eight ranks with the trees T1 and T3.
const STEALS: f64 = 25.0;

/// The time that a run on so many ranks takes beside the work, in seconds.
fn overhead(ranks: u32, one_way: f64) -> f64 {
    let doublings = f64::from(ranks).log2().ceil();
    let steal = 2.0 * one_way + LOOK;
    doublings * (1.0 + STEALS) * steal + 6.0 * doublings * (one_way + REST)
}

fn prediction(one_way: f64) -> Value {
    let of = |ranks: u32| {
        let overhead = overhead(ranks, one_way);
        let efficiency = |work: f64| (work / (work + overhead) * 1e3).round() / 1e3;
        json!({
            "ranks": ranks,
            "overhead_ms": (overhead * 1e5).round() / 1e2,
            "efficiency": { "0.1 s of work per rank": efficiency(0.1), "1 s": efficiency(1.0), "10 s": efficiency(10.0) },
        })
    };
    [2, 8, 64, 1000, 100_000].map(of).to_vec().into()
}

/// Rank 0 and rank 1 exchange messages, and rank 0 prints the time of one way. The others wait.
pub(crate) fn ping(mut world: Mpi) -> ExitCode {
    let (rank, ranks) = (world.rank(), world.size());
    if ranks < 2 {
        eprintln!("ping wants two ranks: mpirun -n 2 filch-mpi ping");
        return ExitCode::from(2);
    }
    let mut medians = Vec::new();
    for bytes in SIZES {
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            match rank {
                0 => {
                    world.send(1, TAG, vec![0; bytes]);
                    hear(&mut world);
                }
                1 => {
                    let message = hear(&mut world);
                    world.send(0, TAG, message);
                }
                _ => {}
            }
            times.push(start.elapsed().as_secs_f64() / 2.0);
        }
        if rank == 0 {
            times.sort_unstable_by(f64::total_cmp);
            let at = |percent: usize| times[times.len() * percent / 100] * 1e6;
            println!(
                "{}",
                json!({ "bytes": bytes, "one_way_us": { "median": at(50), "p99": at(99) }, "rounds": ROUNDS })
            );
            medians.push(at(50) * 1e-6);
        }
    }
    if let [_, bag, _] = medians[..] {
        println!("{}", json!({ "one_way_us": bag * 1e6, "predicted": prediction(bag) }));
    }
    ExitCode::SUCCESS
}
