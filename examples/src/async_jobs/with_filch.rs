//! With filch: a submitted job is a future.

use super::{Answer, collatz, message};

/// Runs a job for each request, and returns the answers in the same order.
pub async fn serve(requests: Vec<u64>) -> Vec<Answer> {
    let jobs: Vec<_> = requests.into_iter().map(|n| filch::submit(move || collatz(n))).collect();
    let mut answers = Vec::new();
    for job in jobs {
        answers.push(job.await.map_err(message));
    }
    answers
}
