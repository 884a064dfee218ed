//! The table has every queue, and agrees with its promises.

use std::fs;
use std::path::Path;

use filch_queue::{Delivery, MemoryModel, Order, Promises, Queue};

/// A row's content, and the queue's promises.
struct Row {
    lists: &'static str,
    but: &'static str,
    promises: Promises,
}

macro_rules! rows {
    ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
        [$(Row {
            lists: stringify!($lists),
            but: concat!($(stringify!($but))?),
            promises: <$queue as Queue>::PROMISES,
        }),+]
    };
}

#[test]
fn names_are_unique() {
    let rows = filch_queue::for_each_queue!(rows);
    for (nth, Row { promises: Promises { name, .. }, .. }) in rows.iter().enumerate() {
        assert!(rows[..nth].iter().all(|other| other.promises.name != *name), "{name} occurs twice");
    }
}

#[test]
fn rows_agree_with_the_promises() {
    for Row { lists, but, promises, .. } in filch_queue::for_each_queue!(rows) {
        let expected = match promises.delivery {
            Delivery::AtLeastOnce => &["twice"][..],
            Delivery::ExactlyOnce => &["once", "many"],
        };
        assert!(expected.contains(&lists), "{}: `{lists}` is not one of {expected:?}", promises.name);
        let expected = match (promises.memory_model, promises.order) {
            (MemoryModel::BoundedTso, _) => "delta",
            (_, Order::Fifo) if promises.delivery == Delivery::ExactlyOnce => "fifo",
            _ => "",
        };
        assert_eq!(but, expected, "{}", promises.name);
    }
}

/// Finds every type that implements [`Queue`] on any memory in the sources, compiled or not.
#[test]
#[cfg_attr(miri, ignore = "opens files")]
fn every_queue_has_a_row() {
    let mut queues = Vec::new();
    implementors(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut queues);
    assert!(queues.len() > 20, "only {queues:?} were found");
    let table = include_str!("../../src/table.rs");
    // The forms of `Of` have names, and rows, of their own.
    for queue in queues.into_iter().filter(|queue| queue != "Of") {
        let has_row = [";", ","].iter().any(|end| table.contains(&format!(": $crate::{queue}{end}")));
        assert!(has_row, "{queue} has no row in the table");
    }
}

/// Finds the names of the types in a folder that implement [`Queue`].
fn implementors(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("it is a folder") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            implementors(&path, found);
            continue;
        }
        let source = fs::read_to_string(&path).expect("it is text");
        let heads = source.lines().filter(|line| line.starts_with("unsafe impl"));
        let types = heads.filter_map(|line| line.split_once("Queue<M> for ").map(|(_, name)| name));
        found.extend(types.map(|name| name.chars().take_while(|letter| letter.is_alphanumeric()).collect()));
    }
}
