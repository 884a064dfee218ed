//! A stranger's experiment, and what is said of its faults.

use super::*;

/// Returns the example of the documentation.
fn documented() -> &'static str {
    let text = include_str!("../../../../../docs/adding.md");
    let (_, example) = text.split_once("```toml\n").expect("an example");
    example.split_once("```").expect("its end").0
}

const GOOD: &str = r#"
question = "Do longer blocks make BWoS faster than ABP?"
programs.every = ["trees:tree=fat:fanout=20:depth=2"]
programs.paper = ["trees:tree=fat:depth=3"]
pools = ["blocks", "abp"]
workers = [1, 2]
seconds = 20
columns = ["median", "steals"]
plots = ["swept median"]

[names]
blocks = "bwos-l:block=*"

[sweep]
parameter = "block"
values = [4, 64]
meaning = "tasks per block"

[[claim]]
says = "Blocks of 64 are faster than blocks of four."
of = "blocks"
at = 64
over-at = 4
workers = 2
below = 1.0

[[claim]]
says = "Thieves of ABP seldom take a task."
number = "(steals + leaps) / tasks"
of = "abp"
below = 0.1
"#;

#[test]
fn a_file_is_an_experiment() {
    let read = read_and_check("mine", GOOD).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!((read.name, &read.workers[..], read.effort.budget), (Some("mine"), &[1, 2][..], 20));
    let programs = |size| read.entries.iter().filter_map(|entry| entry.program.of(size)).count();
    assert_eq!((programs(Size::Quick), programs(Size::Paper)), (1, 2));
    assert_eq!(
        read.claims.iter().map(Claim::rule).collect::<Vec<_>>(),
        [
            "the 95 % interval of the time of filch bwos-l at 64 on 2 over that of filch bwos-l at 4 is below 1",
            "the 95 % interval of the steals + leaps per task of filch abp is below 0.1",
        ]
    );
    assert!(read.paper.is_none() && read.plots == [Plot::Swept("median")]);
}

#[test]
fn the_example_of_the_documentation_is_an_experiment() {
    let read = read_and_check("blocks", documented()).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!((read.claims.len(), documented().lines().count()), (2, 31));
}

#[test]
fn a_fault_is_told_with_its_line() {
    for (from, to, expected) in [
        ("question", "qestion", "line 2, qestion: unknown field `qestion`, expected one of"),
        ("below = 0.1", "bellow = 0.1", "line 31, bellow: unknown field `bellow`"),
        ("workers = [1, 2]", "workers = 2", "line 6, workers: invalid type: integer `2`, expected a sequence"),
        ("workers = [1, 2]", "workers = [1, 0]", "line 6, workers: workers are a number above 0, \"all\""),
        ("trees:tree=fat:depth", "tree:tree=fat:depth", "line 4, programs.paper: there is no workload `tree`"),
        ("trees:tree=fat:depth", "trees:tre=fat:depth", "line 4, programs.paper: "),
        ("\"abp\"]", "\"apb\"]", "line 5, pools: there is no queue for worklists `apb`"),
        ("bwos-l:block=*", "bwos-l:blok=*", "line 5, pools: "),
        ("\"steals\"]", "\"stolls\"]", "line 8, columns: there is no column `stolls`"),
        ("swept median", "swept medium", "line 9, plots: there is no column `medium`"),
        ("swept median", "medians", "line 9, plots: there is no plot `medians`"),
        ("of = \"abp\"", "of = \"lace\"", "line 30, of: there is no contender `lace`"),
        ("at = 64", "at = 65", "line 22, at: the swept values are 4, 64"),
        ("+ leaps", "+ leeps", "line 29, number: there is no number `leeps`; did you mean `leaps`?"),
    ] {
        assert_eq!(GOOD.matches(from).count(), 1, "{from}");
        let why = read_and_check("mine", &GOOD.replace(from, to)).expect_err(to);
        assert!(why.starts_with(expected), "{why}\ninstead of\n{expected}");
    }
    let both = read("mine", &GOOD.replace("below = 0.1", "below = 0.1\nabove = 0.01")).unwrap_err();
    assert_eq!(both, "line 27: a claim has one limit: `below`, `above` or `within`");
    let twice = read("mine", &GOOD.replace("over-at = 4", "over-at = 4\nover-swept = true")).unwrap_err();
    assert!(twice.contains("a claim compares with one thing"), "{twice}");
}

#[test]
fn workers_have_a_core_each_and_then_two_share_one() {
    let read = |(cores, processors), most: usize| {
        let text = format!("workers = [2, \"cores\", \"shared\"]\nmost-workers = {most}\nquestion = \"?\"");
        let file: File = toml::from_str(&text).expect("a file");
        experiment("mine", &file, Machine { cores, processors }).unwrap_or_else(|wrong| panic!("{}", wrong.why)).workers
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
