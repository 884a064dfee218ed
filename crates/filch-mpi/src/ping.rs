//! The time of messages between two ranks.

use std::process::ExitCode;
use std::time::Instant;

use filch_mpi::{Mpi, Transport};
use serde_json::json;

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

/// Rank 0 and rank 1 exchange messages, and rank 0 prints the time of one way. The others wait.
pub(crate) fn ping(mut world: Mpi) -> ExitCode {
    let (rank, ranks) = (world.rank(), world.size());
    if ranks < 2 {
        eprintln!("ping wants two ranks: mpirun -n 2 filch-mpi ping");
        return ExitCode::from(2);
    }
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
        }
    }
    ExitCode::SUCCESS
}
