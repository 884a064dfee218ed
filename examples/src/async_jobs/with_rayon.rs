//! With rayon.

use std::panic::catch_unwind;

use tokio::sync::oneshot;

use super::{Answer, collatz, message};

pub(super) async fn serve(requests: Vec<u64>) -> Vec<Answer> {
    let start = |n| {
        let (sender, receiver) = oneshot::channel();
        rayon::spawn(move || drop(sender.send(catch_unwind(|| collatz(n)))));
        receiver
    };
    let jobs: Vec<_> = requests.into_iter().map(start).collect();
    let mut answers = Vec::new();
    for job in jobs {
        answers.push(job.await.expect("each job sends").map_err(message));
    }
    answers
}
