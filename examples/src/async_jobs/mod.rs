//! A tokio program that awaits jobs, some of which panic.

use std::any::Any;

mod with_filch;
#[cfg(test)]
mod with_rayon;

pub use with_filch::serve;

/// The result of a job, or the message of its panic.
pub type Answer = Result<u64, String>;

/// Returns the length of the Collatz sequence from `n`.
///
/// # Panics
/// If `n` is 0.
fn collatz(n: u64) -> u64 {
    assert!(n > 0, "0 never arrives at 1");
    let next = |&n: &u64| (n > 1).then(|| if n % 2 == 0 { n / 2 } else { 3 * n + 1 });
    std::iter::successors(Some(n), next).map(|_| 1).sum()
}

/// Returns the message of a panic.
fn message(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().copied().unwrap_or("it panicked").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn results_and_panics_arrive() {
        let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let requests = vec![6, 0, 1, 27, 0, 2];
        let dead = Err("0 never arrives at 1".to_owned());
        let expected = [Ok(9), dead.clone(), Ok(1), Ok(112), dead, Ok(2)];
        assert_eq!(runtime.block_on(serve(requests.clone())), expected);
        assert_eq!(runtime.block_on(with_rayon::serve(requests)), expected);
    }

    #[test]
    fn a_thread_of_tokio_is_free_while_it_awaits() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let (sender, receiver) = mpsc::channel();
        runtime.block_on(async {
            let job = filch::submit(move || receiver.recv());
            // The only thread must run this task while the other awaits the job.
            let other = tokio::spawn(async move { sender.send(7) });
            assert_eq!(job.await.unwrap(), Ok(7));
            other.await.unwrap().unwrap();
        });
    }
}
