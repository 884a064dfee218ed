//! A battery of clients for a queue.

use std::sync::Arc;

use filch_queue::{MemoryModel, Queue, StealMany, Task};

use super::cost::Cost;
use super::queues::{self, Client};
use crate::Program;
use crate::c11::Loom;
use crate::scenario::{Dependence, Scenario, Setting};
use crate::tso::Tso;

/// The owner's acts, each thief's steals, the capacity, the cost.
pub(super) type Row = (&'static str, &'static [usize], usize, Cost);

pub(super) fn client(&(acts, thieves, capacity, _): &Row) -> Client {
    let (before, owner) = acts.split_once('|').unwrap_or(("", acts));
    Client::new(capacity, before.len(), owner, thieves)
}

/// The parameters of queue `Q` on memory `M`, in a setting.
pub(super) type Params<Q, M> = fn(Setting) -> <Q as Queue<M>>::Params;

pub(super) fn queue<Q: Queue<Tso> + Queue<Loom>>(
    rows: &[Row],
    tso: Params<Q, Tso>,
    c11: Params<Q, Loom>,
) -> Vec<Scenario> {
    let programs: Programs<Q> = (queues::program::<Tso, Q>, queues::program::<Loom, Q>);
    battery::<Q>(rows, client, programs, tso, c11)
}

/// Like [`queue`], with thieves that ask for up to `most` tasks at once.
pub(super) fn many<Q>(most: usize, rows: &[Row], tso: Params<Q, Tso>, c11: Params<Q, Loom>) -> Vec<Scenario>
where
    Q: Queue<Tso, Thief: StealMany<Task>> + Queue<Loom, Thief: StealMany<Task>>,
{
    let programs: Programs<Q> = (queues::program_of_many::<Tso, Q>, queues::program_of_many::<Loom, Q>);
    battery::<Q>(rows, |row| client(row).asking_for(most), programs, tso, c11)
}

/// Makes a client's program on memory `M`.
type Make<Q, M> = fn(&Client, &<Q as Queue<M>>::Params) -> Program;
pub(super) type Programs<Q> = (Make<Q, Tso>, Make<Q, Loom>);

pub(super) fn battery<Q: Queue<Tso> + Queue<Loom>>(
    rows: &[Row],
    client: impl Fn(&Row) -> Client,
    (on_tso, on_c11): Programs<Q>,
    tso: Params<Q, Tso>,
    c11: Params<Q, Loom>,
) -> Vec<Scenario> {
    let promises = <Q as Queue<Tso>>::PROMISES;
    let bounded = promises.memory_model == MemoryModel::BoundedTso;
    let scenario = |row: &Row| {
        let (tso_client, c11_client) = (client(row), client(row));
        Scenario {
            subject: promises.name,
            name: tso_client.to_string(),
            is_quick_on_tso: row.3.is_quick_on_tso(),
            is_quick_on_c11: row.3.is_quick_on_c11(),
            delta: if bounded { Dependence::Holds } else { Dependence::None },
            tso: Arc::new(move |setting| on_tso(&tso_client, &tso(setting))),
            c11: row.3.on_c11(move |setting| on_c11(&c11_client, &c11(setting))),
        }
    };
    rows.iter().map(scenario).collect()
}

/// Tests a queue's hint to a worker that is about to sleep.
pub(super) fn hint<Q: Queue<Tso> + Queue<Loom>>(
    rows: &[Row],
    tso: Params<Q, Tso>,
    c11: Params<Q, Loom>,
) -> Vec<Scenario> {
    let scenario = |row: &Row| {
        let (on_tso, on_c11) = (client(row), client(row));
        Scenario {
            subject: <Q as Queue<Tso>>::PROMISES.name,
            name: format!("{on_tso} hint"),
            is_quick_on_tso: row.3.is_quick_on_tso(),
            is_quick_on_c11: row.3.is_quick_on_c11(),
            delta: Dependence::None,
            tso: Arc::new(move |setting| queues::hint::<Tso, Q>(&on_tso, &tso(setting))),
            c11: row.3.on_c11(move |setting| queues::hint::<Loom, Q>(&on_c11, &c11(setting))),
        }
    };
    rows.iter().map(scenario).collect()
}

/// Adds `name` to the scenarios' names, so that the names of a queue's scenarios are distinct.
pub(super) fn called(name: &str, mut scenarios: Vec<Scenario>) -> Vec<Scenario> {
    for scenario in &mut scenarios {
        scenario.name = format!("{} {name}", scenario.name);
    }
    scenarios
}
