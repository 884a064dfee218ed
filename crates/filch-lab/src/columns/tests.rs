//! Tests of the columns.

use super::*;
use crate::export::html::{Figures, Origin, Page};
use crate::export::json;
use crate::record::tests::run;
use crate::summary::{Program, summarize};

fn session() -> (Vec<crate::record::Run>, Vec<Program>) {
    let mut runs = Vec::new();
    for (round, slow) in [1.0, 1.1].into_iter().enumerate() {
        for (scheduler, workers, seconds) in
            [("serial", 1, 1.0), ("filch split", 1, 1.1), ("filch split", 2, 0.5), ("rayon", 2, 1.0 / slow)]
        {
            let mut run = run("fib", scheduler, workers, seconds * slow);
            run.round = round;
            runs.push(run);
        }
    }
    let programs = summarize(&runs, &[]);
    (runs, programs)
}

fn column(name: &str) -> &'static Column {
    COLUMNS.iter().find(|column| column.name == name).expect("a known column")
}

#[test]
fn every_name_and_heading_is_unique() {
    for select in [|column: &Column| column.name, |column: &Column| column.heading] {
        let mut names: Vec<&str> = COLUMNS.iter().map(select).collect();
        names.extend(IDENTITIES.iter().map(|identity| identity.name));
        // The scheduler's heading is its name.
        names.extend(WORKERS.heading);
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
    let plain = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    assert!(COLUMNS.iter().all(|column| plain(column.name) && !column.meaning.ends_with('.')));
}

#[test]
fn terminal_page_and_summary_agree_on_columns() {
    let (runs, programs) = session();
    let names: Vec<String> = COLUMNS.iter().rev().map(|column| column.name.to_owned()).collect();
    for choice in [Choice::Usual, Choice::of(Some(&names), &[]).unwrap()] {
        let columns = choice.all();
        assert_eq!(columns.len(), COLUMNS.len());
        let page = Page {
            runs: &runs,
            programs: &programs,
            choice: &choice,
            doubts: &[],
            experiment: None,
            decided: &[],
            figures: &Figures::of(&programs, None, 2),
            origin: &Origin::default(),
        }
        .html();
        let numbers = &page[page.find("class=\"numbers\"").unwrap()..];
        let heads = numbers.split("data-tip=\"").skip(1).take(columns.len());
        let heads: Vec<&str> = heads.map(|cell| cell.split_once('>').unwrap().1.split('<').next().unwrap()).collect();
        assert_eq!(heads, columns.iter().map(|column| column.heading).collect::<Vec<_>>());
        for row in json::rows(&programs, &columns) {
            let keys: Vec<&str> = row.keys().skip(5).map(String::as_str).collect();
            assert_eq!(keys, columns.iter().map(|column| column.name).collect::<Vec<_>>());
        }
        let on_terminals = choice.on_terminals();
        let mut shown = on_terminals.iter().flatten().map(|column| column.name);
        assert!(shown.all(|name| columns.iter().any(|column| column.name == name)));
        // The page and the terminal show the same values.
        let row = programs[0].called("filch split", 2).unwrap();
        let text: Vec<String> = columns.iter().filter_map(|column| column.text(row, true)).collect();
        assert!(text.iter().all(|text| page.contains(&format!(">{text}</td>"))), "{text:?}");
    }
}

#[test]
fn values_are_written_in_their_units() {
    let (_, programs) = session();
    let text = |name, row| column(name).text(row, true).unwrap_or_default();
    let (one, two) = (programs[0].called("filch split", 1).unwrap(), programs[0].called("filch split", 2).unwrap());
    assert_eq!(text("median", two), "525 ms");
    assert_eq!(text("overhead", one), "1.10 [1.10, 1.10]");
    assert_eq!(text("to-baseline", two), "0.53 [0.50, 0.55]");
    assert_eq!(column("to-baseline").text(two, false).unwrap(), "0.53");
    assert_eq!(text("to-baseline", programs[0].called("rayon", 2).unwrap()), "1.00");
    assert_eq!((text("overhead", two), text("relative-speedup", one)), (String::new(), String::new()));
    assert_eq!((text("runs", two), text("rounds", two), text("steals", two)), ("2".into(), "2".into(), "12".into()));
    assert_eq!((text("memory", two), text("cpu", two)), ("3.00 MiB".into(), "1.00".into()));
    assert_eq!(Unit::ForkSeconds.text(-1.5e-9), "−1.50 ns");
    assert_eq!(Unit::Share.text(0.923), "92 %");
}

#[test]
fn a_summary_has_unformatted_values() {
    let (_, programs) = session();
    let columns = Choice::of(Some(&["to-baseline", "median", "steals"].map(str::to_owned)), &[]).unwrap().all();
    let rows = json::rows(&programs, &columns);
    let row = rows.iter().find(|row| row["scheduler"] == "filch split" && row["workers"] == 2).unwrap();
    assert_eq!(row.keys().next_back().unwrap(), "steals");
    assert_eq!((&row["program"], &row["baseline"]), (&"fib:n=30".into(), &"rayon".into()));
    assert_eq!((&row["steals"], row["median"].as_f64()), (&12.into(), Some(0.525)));
    let ratio = &row["to-baseline"];
    assert!((ratio["value"].as_f64().unwrap() - 0.525).abs() < 1e-9);
    assert!((ratio["low"].as_f64().unwrap() - 0.5).abs() < 1e-9);
    assert!((ratio["high"].as_f64().unwrap() - 0.55).abs() < 1e-9);
    assert_eq!(ratio["rounds"], 2);
    assert!(rows[0]["to-baseline"].is_null(), "the sequential program is not compared");
}

#[test]
fn columns_of_one_queue() {
    let mut used = run("owner-throughput", "filch padws", 2, 0.5);
    used.tasks = Some(1000);
    used.counters = [
        ("pushed", 1000),
        ("popped", 800),
        ("steals", 200),
        ("empty", 70),
        ("lost", 10),
        ("aborted", 20),
        ("pending", 70),
        ("steal_ns", 150),
        ("steal_p50_ns", 0),
    ]
    .map(|(name, count)| (name.to_owned(), count.into()))
    .into_iter()
    .collect();
    let programs = summarize(&[used.clone()], &[]);
    let text = |name| column(name).text(&programs[0].rows[0], true);
    assert_eq!(text("owner-rate").as_deref(), Some("3600"));
    assert_eq!((text("stolen").as_deref(), text("steal-rate").as_deref()), (Some("20 %"), Some("400")));
    assert_eq!(text("retries-per-steal").as_deref(), Some("0.50"), "an empty queue has no task to retry for");
    assert_eq!((text("steal-mean").as_deref(), text("steal-p50")), (Some("150 ns"), None));
    // Nobody stole, and a worklist has no owner of this kind.
    used.counters.insert("steals".to_owned(), 0.into());
    let _ = used.counters.shift_remove("popped");
    let programs = summarize(&[used], &[]);
    let text = |name| column(name).text(&programs[0].rows[0], true);
    assert_eq!((text("owner-rate"), text("retries-per-steal")), (None, None));
}

#[test]
fn columns_are_chosen_by_name_and_only_once() {
    let of = |names: &[&str]| {
        Choice::of(Some(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()), &[])
            .map(|choice| choice.all().iter().map(|column| column.name).collect::<Vec<_>>())
    };
    assert_eq!(of(&["speedup", "median", "speedup"]).unwrap(), ["speedup", "median"]);
    assert!(matches!(of(&["medan"]), Err(crate::error::Error::Usage(why)) if why.contains("did you mean `median`")));
}
