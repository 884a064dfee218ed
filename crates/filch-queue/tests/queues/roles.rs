//! What the answers to thieves say about themselves.

use filch_queue::Steal;

#[test]
fn each_answer_is_itself_only() {
    let all = [Steal::Task(1), Steal::Empty, Steal::Retry, Steal::Aborted, Steal::Pending];
    assert_eq!(all.map(|answer| answer.is_task()), [true, false, false, false, false]);
    assert_eq!(all.map(|answer| answer.is_empty()), [false, true, false, false, false]);
    assert_eq!(all.map(|answer| answer.is_retry()), [false, false, true, false, false]);
    assert_eq!(all.map(Steal::task), [Some(1), None, None, None, None]);
    let next = [Steal::Task(2), Steal::Empty, Steal::Retry, Steal::Aborted, Steal::Pending];
    assert_eq!(all.map(|answer| answer.map(|n| n + 1)), next);
}
