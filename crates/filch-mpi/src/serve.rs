//! All ranks as one runner of the laboratory. `filch-run-mpi` has said hello, read the order, and started them; rank 0
//! goes on.
//!
//! Invariant: the other ranks do what rank 0 tells them, by one byte before each run.

use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use filch_catalogue::protocol::{Order, Ran, Reply, Request};
use filch_mpi::{Cluster, Mpi, Transport as _};
use serde_json::json;

use crate::command::{Timed, counters, prepare};
use crate::programs::{Ground, Param, Prepared};

const TAG: u32 = Cluster::<Mpi>::FIRST_FREE_TAG;
const GO: u8 = 1;
const LEAVE: u8 = 0;

fn say(reply: &Reply) {
    let line = serde_json::to_string(reply).expect("replies are plain");
    // A driver that is gone hears nothing, and closes the standard input.
    let _ = writeln!(io::stdout().lock(), "{line}").and_then(|()| io::stdout().lock().flush());
}

pub(crate) fn serve(order: &str) -> ExitCode {
    let order: Order = serde_json::from_str(order).expect("filch-run-mpi has read it");
    let mut ground = Ground::Cluster { cluster: Box::new(Cluster::new(Mpi::start(), 1)), keeps_going: false };
    let (rank, _) = ground.place();
    let set: Vec<Param> = order.parameters.clone().into_iter().collect();
    let Some(mut prepared) = prepare(&order.program, &set, &ground) else { return refuse(rank, "see standard error") };
    let warmup: Vec<Param> = order.warmup_parameters.clone().map_or(set, |parameters| parameters.into_iter().collect());
    if order.warmup > 0 {
        let Some(mut warmup) = prepare(&order.program, &warmup, &ground) else {
            return refuse(rank, "see standard error");
        };
        for _ in 0..order.warmup {
            Timed::run(&mut ground, &mut warmup);
        }
    }
    if rank == 0 {
        lead(&mut ground, &mut prepared);
    } else {
        while told(&mut ground) == GO {
            Timed::run(&mut ground, &mut prepared);
        }
    }
    ExitCode::SUCCESS
}

fn refuse(rank: usize, why: &str) -> ExitCode {
    if rank == 0 {
        say(&Reply::Refused { why: why.to_owned() });
    }
    ExitCode::SUCCESS
}

/// Rank 0's part.
fn lead(ground: &mut Ground, prepared: &mut Prepared) {
    say(&Reply::Ready);
    let mut is_ready = true;
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let reply = match serde_json::from_str(&line) {
            Ok(Request::Run) if is_ready => {
                is_ready = false;
                tell(ground, GO);
                Reply::Ran(Box::new(run(ground, prepared)))
            }
            Ok(Request::Reset) => {
                is_ready = true;
                Reply::Ready
            }
            Ok(_) => Reply::Refused { why: "not now".to_owned() },
            Err(error) => Reply::Refused { why: format!("not a request: {error}") },
        };
        say(&reply);
    }
    tell(ground, LEAVE);
}

fn run(ground: &mut Ground, prepared: &mut Prepared) -> Ran {
    let Timed { seconds, answer, traffic } = Timed::run(ground, prepared);
    let answer = answer.expect("rank 0 gets the answer");
    let workers = traffic.iter().map(|rank| json!(rank)).filter_map(|rank| rank.as_object().cloned()).collect();
    Ran {
        seconds,
        error: prepared.check(&answer).err(),
        answer: answer.to_string(),
        tasks: Some(traffic.iter().map(|rank| rank.tasks).sum()),
        counters: counters(&traffic),
        workers,
        ..Ran::default()
    }
}

/// Tells all ranks, and waits until they have heard it.
fn tell(ground: &mut Ground, what: u8) {
    let Ground::Cluster { cluster, .. } = ground else { unreachable!("it serves on a cluster") };
    let world = cluster.world_mut();
    for rank in 1..world.size() {
        world.send(rank, TAG, vec![what]);
    }
    for _ in 1..world.size() {
        hear(world, TAG + 1);
    }
}

/// Waits for what rank 0 tells.
fn told(ground: &mut Ground) -> u8 {
    let Ground::Cluster { cluster, .. } = ground else { unreachable!("it serves on a cluster") };
    let world = cluster.world_mut();
    let what = hear(world, TAG);
    world.send(0, TAG + 1, vec![what]);
    what
}

fn hear(world: &mut Mpi, tag: u32) -> u8 {
    const REST: Duration = Duration::from_micros(100);
    loop {
        if let Some((_, bytes)) = world.receive(tag) {
            return bytes[0];
        }
        sleep(REST);
    }
}
