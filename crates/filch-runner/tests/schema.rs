//! `docs/runners.schema.json` describes the protocol: the messages of `filch_catalogue::protocol` and of runners.
#![cfg(filch_long)]

mod common;

use common::schema::{SCHEMA, is_reply, is_reply_and_more, is_request};
use common::{Runner, order, own, runs, set};
use filch_catalogue::protocol::{Description, Hello, Machine, Order, ProgramDescription, Ran, Reply, Request, VERSION};
use serde_json::{Map, Value, json};

/// Every request, with all its fields.
fn requests() -> [Request; 4] {
    let order = Order {
        program: "fib".to_owned(),
        parameters: set(&[("n", "35"), ("cutoff", "0")]),
        workers: 2,
        settings: set(&[("wait", "leapfrog")]),
        warmup: 1,
        warmup_parameters: Some(set(&[("n", "20")])),
        cold: true,
        timeline: Some("fib.json".into()),
    };
    [Request::Describe, Request::Prepare(order), Request::Run, Request::Reset]
}

/// Every reply, with all its fields.
fn replies() -> [Reply; 5] {
    let machine = Machine {
        processor: "a fast one".to_owned(),
        cores: 2,
        memory_bytes: u64::MAX,
        kernel: "Linux 6.1".to_owned(),
        virtual_machine: true,
        governor: "performance".to_owned(),
        compiler: "cc 12".to_owned(),
        target: "x86_64".to_owned(),
        profile: "release".to_owned(),
        rustflags: "-O2".to_owned(),
    };
    let hello =
        Hello { protocol: VERSION, scheduler: "mine".to_owned(), version: "1.2".to_owned(), machine: Some(machine) };
    let description = Description {
        programs: vec![ProgramDescription { name: "fib".to_owned(), parameters: vec!["n".to_owned()] }],
        settings: set(&[("wait", "how it waits")]),
        most_workers: Some(64),
    };
    let ran = Ran {
        seconds: 0.5,
        answer: "55".to_owned(),
        error: Some("the answer is 55, but it should be 89".to_owned()),
        tasks: Some(88),
        expected_tasks: Some(88),
        counters: Map::from_iter([("steals".to_owned(), json!(12))]),
        workers: vec![Map::new(), Map::from_iter([("steals".to_owned(), json!(12))])],
        cpu_seconds: Some(0.9),
        others: 0.1,
        stolen: 0.2,
        peak_rss_bytes: 4096,
        file_rss_bytes: 1024,
        timeline: Some("worker 0  ███".to_owned()),
    };
    [
        Reply::Hello(hello),
        Reply::Description(description),
        Reply::Ready,
        Reply::Ran(Box::new(ran)),
        Reply::Refused { why: "there is no program `fob`".to_owned() },
    ]
}

fn messages() -> Vec<(&'static str, Value)> {
    let requests = requests().map(|request| ("ask", serde_json::to_value(request).expect("plain data")));
    let replies = replies().map(|reply| ("tell", serde_json::to_value(reply).expect("plain data")));
    requests.into_iter().chain(replies).collect()
}

fn fits(tag: &str, message: &Value) -> bool {
    if tag == "ask" { is_request(message) } else { is_reply(message) }
}

fn is_read(tag: &str, message: &Value) -> bool {
    let message = message.clone();
    if tag == "ask" {
        serde_json::from_value::<Request>(message).is_ok()
    } else {
        serde_json::from_value::<Reply>(message).is_ok()
    }
}

/// The schema of this message.
fn definition(tag: &str, message: &Value) -> &'static Value {
    &SCHEMA["$defs"][message[tag].as_str().expect("a tag")]
}

fn names(object: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_schema_is_valid() {
    jsonschema::draft202012::meta::validate(&SCHEMA).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(SCHEMA["$defs"]["hello"]["properties"]["protocol"]["const"], VERSION);
}

#[test]
fn the_schema_has_exactly_the_fields_of_the_protocol() {
    for (tag, message) in messages() {
        assert!(fits(tag, &message), "{message}");
        assert_eq!(names(&message), names(&definition(tag, &message)["properties"]), "{message}");
    }
    let [Reply::Hello(hello), Reply::Description(description), ..] = replies() else { panic!("another order") };
    let machine = serde_json::to_value(hello.machine).expect("plain data");
    assert_eq!(names(&machine), names(&SCHEMA["$defs"]["machine"]["properties"]));
    let program = serde_json::to_value(&description.programs[0]).expect("plain data");
    let schema = &SCHEMA["$defs"]["description"]["properties"]["programs"]["items"]["properties"];
    assert_eq!(names(&program), names(schema));
}

#[test]
fn only_required_fields_are_required() {
    for (tag, message) in messages() {
        let required = definition(tag, &message)["required"].as_array().expect("the tag at least");
        let mut least = message.clone();
        least.as_object_mut().expect("an object").retain(|name, _| required.iter().any(|other| other == name));
        assert!(fits(tag, &least) && is_read(tag, &least), "{least}");
        for name in names(&least) {
            let mut less = least.clone();
            less.as_object_mut().expect("an object").remove(name);
            assert!(!fits(tag, &less), "{less}");
        }
    }
}

#[test]
fn fields_of_a_wrong_type_are_rejected() {
    for (tag, message) in messages() {
        for name in names(&message) {
            let mut other = message.clone();
            other[name] = json!([[1]]);
            assert!(!fits(tag, &other) && !is_read(tag, &other), "{other}");
        }
    }
}

#[test]
fn unknown_fields_are_ignored() {
    for (tag, mut message) in messages() {
        message["mood"] = json!("sunny");
        assert!(!fits(tag, &message) && is_read(tag, &message), "{message}");
        assert!(tag == "ask" || is_reply_and_more(&message), "{message}");
    }
}

#[test]
fn the_examples_of_the_document_fit() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/runners.md");
    let text = std::fs::read_to_string(path).expect("the document can be read");
    let lines: Vec<_> = text.lines().map(|line| line.trim_start_matches(['<', '>', ' '])).collect();
    let examples: Vec<&str> = lines.into_iter().filter(|line| line.starts_with("{\"")).collect();
    assert!(examples.len() > 10, "{examples:#?}");
    for example in examples {
        let message: Value = serde_json::from_str(example).unwrap_or_else(|error| panic!("{error}: {example}"));
        let tag = if message.get("ask").is_some() { "ask" } else { "tell" };
        assert!(fits(tag, &message) && is_read(tag, &message), "{example}");
    }
}

/// [`Runner`] checks every line against the schema.
#[test]
fn runners_follow_the_schema() {
    let program = ("fib", &[("n", "16")][..]);
    let list = ("closure", &[("n", "2000")][..]);
    for (name, order) in [
        ("split", order(program, 2, &[("wait", "leapfrog")])),
        ("lace", order(("uts", &[("tree", "T1"), ("depth", "4")]), 2, &[])),
        ("idem-lifo", order(list, 2, &[])),
        ("serial", order(list, 1, &[])),
        ("serial", order(program, 1, &[])),
    ] {
        let mut runner = Runner::start(&own(name));
        assert!(matches!(runner.ask(&Request::Describe), Reply::Description(_)));
        let order = Order { warmup: 1, warmup_parameters: Some(order.parameters.clone()), ..order };
        for ran in runs(runner, &order).unwrap_or_else(|why| panic!("{name}: {why}")) {
            assert_eq!(ran.error, None, "{name}");
        }
    }
    let wrong = order(program, 1, &[("mood", "sunny")]);
    assert!(runs(Runner::start(&own("split")), &wrong).unwrap_err().contains("mood"));
}
