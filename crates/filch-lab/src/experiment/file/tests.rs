//! A stranger's experiment, and what is said of its faults.

use super::*;

/// Returns the example of the documentation.
fn documented() -> &'static str {
    let text = include_str!("../../../../../docs/adding.md");
    let (_, example) = text.split_once("```toml\n").expect("an example");
    example.split_once("```").expect("its end").0
}

#[test]
fn the_example_of_the_documentation_is_an_experiment() {
    let text = documented().replace("steals / tasks", "(steals + leaps) / tasks");
    let read = read_and_check("mine", &text).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!((read.name, &read.workers[..], read.effort.budget), (Some("mine"), &[1, 2][..], 20));
    let programs = |size| read.entries.iter().filter_map(|entry| entry.program.of(size)).count();
    assert_eq!((programs(Size::Quick), programs(Size::Paper)), (1, 0));
    assert_eq!(
        read.claims.iter().map(Claim::rule).collect::<Vec<_>>(),
        [
            "the 95 % interval of the time of filch bwos-l at 64 on 2 over that of filch bwos-l at 4 is below 1",
            "the 95 % interval of the steals + leaps per task of filch abp on 2 is below 0.1",
        ]
    );
    assert!(read.paper.is_none() && read.plots == [Plot::Swept("median")]);
    assert_eq!(documented().lines().count(), 31);
}

#[test]
fn a_fault_is_told_with_its_line() {
    for (from, to, expected) in [
        ("question", "qestion", "line 1, qestion: unknown field `qestion`, expected one of"),
        ("below = 0.1", "bellow = 0.1", "line 31, bellow: unknown field `bellow`"),
        ("workers = [1, 2]", "workers = 2", "line 5, workers: invalid type: integer `2`, expected a sequence"),
        ("workers = [1, 2]", "workers = [1, 0]", "line 5, workers: workers are a number above 0, \"all\""),
        ("workers = [1, 2]", "workers = []", "line 1, question: it needs programs (`programs.every`, …), contenders"),
        ("seconds = 20", "more-workers = [0]", "line 6, more-workers: workers are a number above 0"),
        ("seconds = 20", "most-workers = 1", "line 6, most-workers: it is two or more"),
        ("seconds = 20", "visit-seconds = -1.0", "line 6, visit-seconds: it is 0 to 3600 seconds"),
        ("seconds = 20", "placement = \"pined\"", "line 6, placement: there is no placement `pined`"),
        ("trees:tree=fat:fanout=100", "tree:tree=fat", "line 3, programs.small: there is no workload `tree`"),
        ("trees:tree=fat:fanout=100", "trees:tre=fat", "line 3, programs.small: "),
        ("\"abp\"]", "\"apb\"]", "line 4, pools: there is no queue for worklists `apb`"),
        ("\"abp\"]", "\"abp wool\"]", "line 4, pools: there is no wait `wool`"),
        ("bwos-l:block=*", "bwos-l:blok=*", "line 4, pools: "),
        ("\"steals\"]", "\"stolls\"]", "line 7, columns: there is no column `stolls`"),
        ("swept median", "swept medium", "line 8, plots: there is no column `medium`"),
        ("swept median", "medians", "line 8, plots: there is no plot `medians`"),
        ("of = \"abp\"", "of = \"lace\"", "line 29, of: there is no contender `lace`"),
        ("at = 64", "at = 65", "line 21, at: the swept values are 4, 64, 1024"),
        ("steals / tasks", "steels / tasks", "line 28, number: there is no number `steels`; did you mean `steals`?"),
    ] {
        assert_eq!(documented().matches(from).count(), 1, "{from}");
        let why = read_and_check("mine", &documented().replace(from, to)).expect_err(to);
        assert!(why.starts_with(expected), "{why}\ninstead of\n{expected}");
    }
    let refused =
        |from: &str, more: &str| read("mine", &documented().replace(from, &format!("{from}\n{more}"))).expect_err(more);
    assert_eq!(refused("below = 0.1", "above = 0.01"), "line 26: a claim has one limit: `below`, `above` or `within`");
    assert!(refused("over-at = 4", "over-swept = true").contains("a claim compares with one thing"));
}

/// A claim and its rows have one name, however the file writes it.
#[test]
fn contenders_have_the_names_of_their_rows() {
    let title = |start: &str, word: &str| {
        let text = format!("question = \"?\"\nworkers = [1]\npeers = [\"rayon\"]\n{start}");
        let file = file(&text).unwrap_or_else(|wrong| panic!("{}", wrong.why));
        Terms::of(&file, Machine::here()).unwrap_or_else(|wrong| panic!("{}", wrong.why)).title(word)
    };
    for (word, free, pinned) in [
        ("split", "filch split", "filch split pinned"),
        ("split leapfrog-random", "filch split", "filch split pinned"),
        ("wool leapfrog", "filch wool leapfrog", "filch wool leapfrog pinned"),
        ("filch-levels", "filch levels", "filch levels pinned"),
        ("serial", "serial", "serial pinned"),
        ("rayon", "rayon", "rayon"),
    ] {
        assert_eq!((title("", word), title("placement = \"pinned\"", word)), (free.to_owned(), pinned.to_owned()));
        assert_eq!(title("placement = \"both\"", word), free);
    }
    assert_eq!(title("placement = \"both\"", "split pinned"), "filch split pinned");
    let swept = "[sweep]\nparameter = \"block\"\nvalues = [2]\nmeaning = \"tasks\"";
    assert_eq!(title(swept, "bwos-l:block=*:capacity=64"), "filch bwos-l:capacity=64");
}

#[test]
fn workers_have_a_core_each_and_then_two_share_one() {
    let read = |(cores, processors), most: usize| {
        let text = format!("workers = [2, \"cores\", \"shared\"]\nmost-workers = {most}\nquestion = \"?\"");
        let file = file(&text).unwrap_or_else(|wrong| panic!("{}", wrong.why));
        let terms = Terms::of(&file, Machine { cores, processors });
        terms.and_then(|terms| terms.workers()).unwrap_or_else(|wrong| panic!("{}", wrong.why))
    };
    assert_eq!(read((2, 2), 10), [2]);
    assert_eq!(read((8, 8), 10), [2, 8]);
    assert_eq!(read((4, 8), 10), [2, 4, 8]);
    assert_eq!(read((16, 32), 10), [2, 10, 20]);
    assert_eq!(read((16, 32), 4), [2, 4, 8]);
    // A process that may use some of the processors.
    assert_eq!(read((16, 24), 10), [2, 10, 20]);
    assert_eq!(read((1, 2), 10), [2]);
}

#[test]
fn curves_double_their_workers_and_end_with_all() {
    assert_eq!(doubling(2), [2]);
    assert_eq!(doubling(8), [2, 4, 8]);
    assert_eq!(doubling(30), [2, 4, 8, 16, 30]);
}
