//! What ledgers may say. An entry that names nothing is told with what lies near it.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::experiment::claim::Decided;
use crate::experiment::origin::Origin;
use crate::experiments;

/// What entries can name.
struct Known {
    /// The claims of each experiment, with their origins but for ledgers.
    claims: BTreeMap<String, Vec<(String, Origin)>>,
    /// The checker's scenarios; `None` where some are not compiled.
    scenarios: Option<BTreeSet<String>>,
}

impl Known {
    fn today() -> Self {
        let claims = experiments::all().into_iter().map(|experiment| {
            let probed = experiment.probe.map(|probe| (probe.findings)(&[]).decided).unwrap_or_default();
            let probed = probed.into_iter().map(|Decided { text, origin, .. }| (text.to_owned(), origin));
            let claims = experiment.claims.iter().map(|claim| (claim.text.to_owned(), claim.origin));
            (experiment.name.unwrap_or_default().to_owned(), claims.chain(probed).collect())
        });
        let named = |scenario: filch_check::Scenario| format!("{}: {}", scenario.subject, scenario.name);
        let scenarios = || filch_check::scenarios::all().into_iter().map(named).collect();
        Self { claims: claims.collect(), scenarios: cfg!(target_arch = "x86_64").then(scenarios) }
    }

    /// Says what is wrong with the ledgers, each of a document's name and its statements.
    fn faults(&self, ledgers: &[(&str, &[Statement])]) -> Vec<String> {
        let mut faults = Vec::new();
        let (mut ids, mut claimed) = (BTreeSet::new(), BTreeMap::new());
        for &(name, statements) in ledgers {
            for statement in statements {
                let mut told = self.of(statement);
                if !statement.id.starts_with(&format!("{name}-")) {
                    told.push(format!("its name does not begin with `{name}-`"));
                }
                if !ids.insert(&statement.id) {
                    told.push("another statement has the same name".to_owned());
                }
                for claim in &statement.claims {
                    let (other, id) = claimed.entry((&claim.experiment, &claim.text)).or_insert((name, &statement.id));
                    if *other != name {
                        told.push(format!("`{id}` of another document names the claim “{}”, too", claim.text));
                    }
                }
                faults.extend(told.iter().map(|why| format!("{name}.toml: {}: {why}", statement.id)));
            }
        }
        faults
    }

    /// Says what is wrong with a statement by itself.
    fn of(&self, statement: &Statement) -> Vec<String> {
        let Statement { claims, scenarios, tests, cannot, .. } = statement;
        let mut faults = Vec::new();
        if claims.is_empty() && scenarios.is_empty() && tests.is_empty() && cannot.is_none() {
            faults.push("nothing decides it, and nothing says why".to_owned());
        }
        for Named { experiment, text } in claims {
            match self.claims.get(experiment) {
                None => faults.push(format!("there is no experiment `{experiment}`")),
                Some(known) => match known.iter().find(|(known, _)| known == text) {
                    None => faults.push(format!("{experiment} does not claim “{text}”; near: {}", near(text, known))),
                    Some((_, Origin::Check)) => {
                        faults.push(format!("“{text}” of {experiment} holds by construction, so it decides nothing"));
                    }
                    Some(_) => {}
                },
            }
        }
        for scenario in scenarios {
            if self.scenarios.as_ref().is_some_and(|known| !known.contains(scenario)) {
                faults.push(format!("there is no scenario `{scenario}`: filch list scenarios"));
            }
        }
        faults.extend(tests.iter().filter(|test| !is_there(test)).map(|test| format!("there is no test `{test}`")));
        faults
    }
}

/// Returns the claims that have most words in common with a text.
fn near(text: &str, known: &[(String, Origin)]) -> String {
    let words = |text: &str| -> BTreeSet<String> { text.split(' ').map(str::to_lowercase).collect() };
    let mut by_words: Vec<(usize, &str)> =
        known.iter().map(|(known, _)| (words(known).intersection(&words(text)).count(), known.as_str())).collect();
    by_words.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    by_words.iter().take(4).map(|(_, known)| format!("“{known}”")).collect::<Vec<_>>().join(", ")
}

/// Whether a file has a function: `crates/filch/tests/figure_4.rs: the_name`.
fn is_there(test: &str) -> bool {
    let Some((file, name)) = test.split_once(": ") else { return false };
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file));
    text.is_ok_and(|text| text.contains(&format!("fn {name}(")) || text.contains(&format!("fn {name}<")))
}

#[test]
fn the_ledgers_name_only_what_exists() {
    let ledgers: Vec<(&str, &[Statement])> =
        all().iter().map(|ledger| (ledger.document.name, &ledger.statements[..])).collect();
    let faults = Known::today().faults(&ledgers);
    assert!(faults.is_empty(), "{} faults in crates/filch-lab/ledger:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_claim_is_the_documents_if_and_only_if_a_ledger_names_it() {
    for (experiment, claims) in Known::today().claims {
        let today = experiments::find(&experiment).expect("an experiment");
        for (text, otherwise) in claims {
            let is_named = all().iter().flat_map(|ledger| &ledger.statements).any(|statement| {
                statement.claims.iter().any(|named| (&named.experiment, &named.text) == (&experiment, &text))
            });
            let expected = if is_named { Origin::Document } else { otherwise };
            assert_eq!(today.origin(&text, otherwise), expected, "{experiment}: {text}");
        }
    }
}

const GOOD: &str = r#"
[[statement]]
id = "lace-fence"
place = "section 3.2"
says = "It fences rarely."
figures = "one in a hundred"
claims = [{ experiment = "lace-fig7", text = "An owner fences rarely." }]
scenarios = ["lace: ++|- s"]
tests = ["crates/filch-lab/src/ledger/tests.rs: each_fault_is_told"]
departs = "Its workers sleep."
found = "It fences more."

[[statement]]
id = "lace-cluster"
place = "section 5"
says = "Clusters may differ."
cannot = "It wants a cluster."
"#;

/// A small world for the fixtures.
fn world() -> Known {
    let claims = [("An owner fences rarely.", Origin::Ours), ("It is what it is.", Origin::Check)];
    let claims = claims.map(|(text, origin)| (text.to_owned(), origin)).to_vec();
    Known { claims: [("lace-fig7".to_owned(), claims)].into(), scenarios: Some(["lace: ++|- s".to_owned()].into()) }
}

#[test]
fn each_fault_is_told() {
    let good = read(GOOD).expect("a ledger");
    assert_eq!((good.len(), good[0].figures.as_deref()), (2, Some("one in a hundred")));
    assert_eq!(world().faults(&[("lace", &good)]), Vec::<String>::new());
    let faults = |from: &str, to: &str| {
        let changed = read(&GOOD.replace(from, to)).expect("a ledger");
        world().faults(&[("lace", &changed)])
    };
    for (from, to, expected) in [
        ("lace-cluster", "cluster", "lace.toml: cluster: its name does not begin with `lace-`"),
        ("lace-cluster", "lace-fence", "lace.toml: lace-fence: another statement has the same name"),
        ("cannot = \"It wants a cluster.\"", "", "lace.toml: lace-cluster: nothing decides it, and nothing says why"),
        (
            "experiment = \"lace-fig7\"",
            "experiment = \"lace-fig9\"",
            "lace.toml: lace-fence: there is no experiment `lace-fig9`",
        ),
        (
            "An owner fences rarely.",
            "An owner fences seldom.",
            "lace.toml: lace-fence: lace-fig7 does not claim “An owner fences seldom.”; near: “An owner fences rarely.”, \
             “It is what it is.”",
        ),
        (
            "An owner fences rarely.",
            "It is what it is.",
            "lace.toml: lace-fence: “It is what it is.” of lace-fig7 holds by construction, so it decides nothing",
        ),
        ("++|- s", "++|- ss", "lace.toml: lace-fence: there is no scenario `lace: ++|- ss`: filch list scenarios"),
        (
            "each_fault_is_told",
            "each_fault",
            "lace.toml: lace-fence: there is no test `crates/filch-lab/src/ledger/tests.rs: each_fault`",
        ),
    ] {
        assert_eq!(faults(from, to), [expected]);
    }
    let other = read(&GOOD.replace("lace-f", "wsq-f").replace("wsq-fig7", "lace-fig7").replace("lace-c", "wsq-c"))
        .expect("a ledger");
    assert_eq!(
        world().faults(&[("lace", &good), ("wsq", &other)]),
        ["wsq.toml: wsq-fence: `lace-fence` of another document names the claim “An owner fences rarely.”, too"]
    );
}

#[test]
fn an_unknown_key_is_told_with_its_line() {
    let told = |text: &str| read(text).expect_err("a fault").to_string();
    let unknown = told(&GOOD.replace("cannot", "connot"));
    assert!(unknown.contains("line 17") && unknown.contains("unknown field `connot`"), "{unknown}");
    let nested = told(&GOOD.replace("text = ", "test = "));
    assert!(nested.contains("line 7") && nested.contains("unknown field `test`"), "{nested}");
    assert!(told("[[statment]]").contains("unknown field `statment`"));
}
