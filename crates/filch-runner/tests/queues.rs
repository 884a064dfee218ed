//! Every queue can be found by name.

use filch_catalogue::POOLS;
use filch_queue::{Delivery, Order, Queue};
use filch_runner::schedulers::{PROMISES, QueueUser, with_queue};

struct Name;

impl QueueUser for Name {
    type Output = &'static str;

    fn with<Q: Queue>(self, _: Q::Params) -> &'static str {
        Q::PROMISES.name
    }
}

#[test]
fn every_name_gives_its_queue() {
    for (row, queue) in PROMISES.iter().enumerate() {
        assert_eq!(with_queue(queue.name, Name), Some(queue.name));
        assert!(PROMISES[..row].iter().all(|other| other.name != queue.name), "{} is listed twice", queue.name);
    }
    assert_eq!(with_queue("no-such-queue", Name), None);
}

#[test]
fn every_queue_that_pools_can_use_has_one() {
    for queue in PROMISES {
        let is_fit = (queue.order, queue.delivery) == (Order::Lifo, Delivery::ExactlyOnce);
        let pools = POOLS.iter().filter(|pool| pool.name == queue.name).count();
        assert_eq!(pools, usize::from(is_fit), "{}", queue.name);
    }
}
