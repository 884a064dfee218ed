//! A runner's process, and the schema that every message of a test must match, if compiled with `--cfg filch_long`.
#![allow(dead_code, reason = "each test program uses its part")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use filch_catalogue::protocol::{Hello, Order, PREFIX, Ran, Reply, Request};

/// The path of filch's own runner of this name.
pub(crate) fn own(name: &str) -> PathBuf {
    let serial = Path::new(env!("CARGO_BIN_EXE_filch-run-serial"));
    serial.with_file_name(format!("{PREFIX}{name}{}", std::env::consts::EXE_SUFFIX))
}

/// A runner's process.
pub(crate) struct Runner {
    pub(crate) hello: Hello,
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Runner {
    pub(crate) fn start(path: &Path) -> Self {
        let mut child = Command::new(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", path.display()));
        let output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut runner = Self { hello: Hello::default(), child, output };
        let Some(Reply::Hello(hello)) = runner.listen() else { panic!("{} does not say hello", path.display()) };
        runner.hello = hello;
        runner
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().expect("stdin is open"), "{line}").expect("the runner reads");
    }

    pub(crate) fn ask(&mut self, request: &Request) -> Reply {
        let value = serde_json::to_value(request).expect("plain data");
        #[cfg(filch_long)]
        assert!(schema::is_request(&value), "not a request of the schema: {value}");
        self.tell(&value.to_string());
        self.listen().expect("an answer")
    }

    pub(crate) fn listen(&mut self) -> Option<Reply> {
        let mut line = String::new();
        if self.output.read_line(&mut line).expect("UTF-8") == 0 {
            return None;
        }
        let value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        #[cfg(filch_long)]
        assert!(schema::is_reply(&value), "not a reply of the schema: {line}");
        Some(serde_json::from_value(value).expect("a reply"))
    }

    pub(crate) fn end(mut self) {
        drop(self.child.stdin.take());
        assert_eq!(self.listen(), None);
        assert!(self.child.wait().expect("the process started").success());
    }
}

pub(crate) fn set(values: &[(&str, &str)]) -> BTreeMap<String, String> {
    values.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

pub(crate) fn order((program, values): (&str, &[(&str, &str)]), workers: usize, settings: &[(&str, &str)]) -> Order {
    let (parameters, settings) = (set(values), set(settings));
    Order { program: program.to_owned(), parameters, workers, settings, ..Order::default() }
}

/// Prepares the order and runs it twice; an error if the runner refuses.
pub(crate) fn runs(mut runner: Runner, order: &Order) -> Result<[Ran; 2], String> {
    let outcome = match runner.ask(&Request::Prepare(order.clone())) {
        Reply::Ready => twice(&mut runner),
        other => Err(refused(other)),
    };
    runner.end();
    outcome
}

fn twice(runner: &mut Runner) -> Result<[Ran; 2], String> {
    let first = once(runner)?;
    assert_eq!(runner.ask(&Request::Reset), Reply::Ready);
    Ok([first, once(runner)?])
}

fn once(runner: &mut Runner) -> Result<Ran, String> {
    match runner.ask(&Request::Run) {
        Reply::Ran(ran) => Ok(*ran),
        other => Err(refused(other)),
    }
}

fn refused(reply: Reply) -> String {
    match reply {
        Reply::Refused { why } => why,
        other => panic!("unexpected reply: {other:?}"),
    }
}

#[cfg(filch_long)]
pub(crate) mod schema {
    use std::sync::LazyLock;

    use jsonschema::Validator;
    use serde_json::{Value, json};

    /// `docs/runners.schema.json`.
    pub(crate) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/runners.schema.json");
        serde_json::from_str(&std::fs::read_to_string(path).expect("the schema can be read")).expect("it is JSON")
    });

    /// Returns a schema that rejects unknown fields: readers must accept fields of later versions, but our own messages
    /// have none.
    fn strict(schema: &Value) -> Value {
        let mut schema = schema.clone();
        close(&mut schema);
        schema
    }

    fn close(schema: &mut Value) {
        if let Value::Object(object) = schema {
            if object.contains_key("properties") {
                object.insert("additionalProperties".to_owned(), false.into());
            }
            object.values_mut().for_each(close);
        } else if let Value::Array(items) = schema {
            items.iter_mut().for_each(close);
        }
    }

    /// Returns a validator for one definition of the schema.
    fn validator(schema: &Value, definition: &str) -> Validator {
        let part = json!({
            "$schema": schema["$schema"],
            "$ref": format!("#/$defs/{definition}"),
            "$defs": schema["$defs"],
        });
        jsonschema::validator_for(&part).expect("the schema is valid")
    }

    static REQUEST: LazyLock<Validator> = LazyLock::new(|| validator(&strict(&SCHEMA), "request"));
    static REPLY: LazyLock<Validator> = LazyLock::new(|| validator(&strict(&SCHEMA), "reply"));
    static LENIENT: LazyLock<Validator> = LazyLock::new(|| validator(&SCHEMA, "reply"));

    /// Whether a request matches the schema, without other fields.
    pub(crate) fn is_request(value: &Value) -> bool {
        REQUEST.is_valid(value)
    }

    /// Whether a reply matches the schema, without other fields.
    pub(crate) fn is_reply(value: &Value) -> bool {
        REPLY.is_valid(value)
    }

    /// Whether a reply matches the schema, apart from other fields.
    pub(crate) fn is_reply_and_more(value: &Value) -> bool {
        LENIENT.is_valid(value)
    }
}
