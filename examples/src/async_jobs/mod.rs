//! A tokio program that awaits jobs, some of which panic.

use std::any::Any;
use std::time::{Duration, Instant};

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

/// Returns by how much timers of a millisecond fire late, in ascending order: so long a server would keep a client
/// waiting that it could serve at once.
pub async fn lateness(timers: usize) -> Vec<Duration> {
    const MILLISECOND: Duration = Duration::from_millis(1);
    let mut late = Vec::with_capacity(timers);
    for _ in 0..timers {
        let set = Instant::now();
        tokio::time::sleep(MILLISECOND).await;
        late.push(set.elapsed().saturating_sub(MILLISECOND));
    }
    late.sort_unstable();
    late
}

/// As [`lateness`], while a thousand tasks await jobs that keep the global pool busy.
pub async fn lateness_under_load(timers: usize) -> Vec<Duration> {
    let serve = || async {
        loop {
            // Some tens of microseconds each.
            let from = 1_000_000;
            drop(filch::submit(move || (from..from + 64).map(collatz).max()).await);
        }
    };
    let clients: Vec<_> = (0..1000).map(|_| tokio::spawn(serve())).collect();
    let late = lateness(timers).await;
    clients.iter().for_each(tokio::task::JoinHandle::abort);
    late
}

#[cfg(test)]
mod tests {
    use std::panic::resume_unwind;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::{Arc, Mutex, mpsc};

    use filch::ThreadPool;
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

    /// A payload that no panic hook reports a thousand times.
    struct Thrown;

    /// Of a thousand tasks, all in flight at once, some get an answer, some a panic; some are aborted, and some drop
    /// their job.
    #[test]
    fn a_thousand_tasks_in_flight_get_what_is_theirs_and_leave_nothing() {
        const TASKS: usize = 1000;
        let pool = Arc::new(ThreadPool::new(2).unwrap());
        let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let (alive, ran) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
        // The pool is busy until all tasks are in flight, and some are gone.
        let (gate, has_opened) = mpsc::channel::<()>();
        let has_opened = Arc::new(Mutex::new(has_opened));
        for _ in 0..pool.workers() {
            let has_opened = Arc::clone(&has_opened);
            pool.spawn(move || assert!(has_opened.lock().unwrap().recv().is_err()));
        }
        let job = |n: usize| {
            let (alive, ran) = (Arc::clone(&alive), Arc::clone(&ran));
            move || {
                ran.fetch_add(1, SeqCst);
                if n % 5 == 1 {
                    resume_unwind(Box::new(Thrown));
                }
                drop(alive);
                collatz(n as u64 + 1)
            }
        };
        let task = |n: usize| {
            let (pool, alive, submitted) = (Arc::clone(&pool), Arc::clone(&alive), pool.submit(job(n)));
            runtime.spawn(async move {
                let _alive = alive;
                if n % 5 == 3 {
                    drop(submitted);
                    return None;
                }
                let answer = submitted.await;
                drop(pool);
                Some(answer.map_err(|payload| assert!(payload.is::<Thrown>())))
            })
        };
        let tasks: Vec<_> = (0..TASKS).map(task).collect();
        runtime.block_on(async {
            // The server's own tasks run meanwhile.
            let (ping, mut pinged) = tokio::sync::mpsc::channel(1);
            let pinger = tokio::spawn(async move { while ping.send(()).await.is_ok() {} });
            for _ in 0..1000 {
                pinged.recv().await.unwrap();
            }
            drop(pinged);
            pinger.await.unwrap();
            tasks.iter().skip(2).step_by(5).for_each(tokio::task::JoinHandle::abort);
            let (gone, left): (Vec<_>, Vec<_>) =
                tasks.into_iter().enumerate().partition(|(n, _)| matches!(n % 5, 2 | 3));
            for (n, task) in gone {
                match task.await {
                    Ok(answer) => assert!(n % 5 == 3 && answer.is_none()),
                    Err(error) => assert!(n % 5 == 2 && error.is_cancelled()),
                }
            }
            assert_eq!(ran.load(SeqCst), 0, "the pool is busy");
            drop(gate);
            for (n, task) in left {
                let expected = if n % 5 == 1 { Err(()) } else { Ok(collatz(n as u64 + 1)) };
                assert_eq!(task.await.unwrap(), Some(expected));
            }
        });
        pool.wait_idle();
        assert_eq!(ran.load(SeqCst), TASKS / 5 * 3, "what was cancelled did not run");
        assert_eq!(Arc::strong_count(&alive), 1, "nothing is left");
    }
}
