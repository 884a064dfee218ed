//! The ledgers of the documents: each statement that can be checked, in the document's order, and what decides it.
//!
//! A claim is the document's if and only if its ledger names the experiment and the words of the claim; whatever else
//! an experiment claims is ours.
//!
//! Invariant: the embedded ledgers can be read, and name only what exists (tested).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::experiment::paper::{Document, FENCE_FREE, LACE, PADWS, PRIVATE, WSQ};

/// The statements of a document.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) document: &'static Document,
    pub(crate) statements: Vec<Statement>,
}

/// A statement of a document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Statement {
    /// Unique, and begins with the document's name.
    pub(crate) id: String,
    /// Where the document states it, as in `section 3.2`.
    pub(crate) place: String,
    /// The statement, in our words.
    pub(crate) says: String,
    /// The document's numbers.
    pub(crate) figures: Option<String>,
    /// The claims whose verdicts decide it.
    #[serde(default)]
    pub(crate) claims: Vec<Named>,
    /// The scenarios of the checker that decide it: `lace: ++|- s`.
    #[serde(default)]
    pub(crate) scenarios: Vec<String>,
    /// The tests that decide it: `crates/filch/tests/figure_4.rs: the_name`.
    #[serde(default)]
    pub(crate) tests: Vec<String>,
    /// Why it, or a part of it, cannot be decided, and what that would need.
    pub(crate) cannot: Option<String>,
    /// What in our form or conditions departs from the document's, and why.
    pub(crate) departs: Option<String>,
    /// What is wrong or incomplete in the statement as printed.
    pub(crate) found: Option<String>,
}

/// A claim, by its experiment and its words.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    pub(crate) experiment: String,
    pub(crate) text: String,
}

/// The documents with their ledgers, in the order of pages.
static FILES: [(&Document, &str); 5] = [
    (&LACE, include_str!("../ledger/lace.toml")),
    (&PADWS, include_str!("../ledger/padws.toml")),
    (&PRIVATE, include_str!("../ledger/private.toml")),
    (&FENCE_FREE, include_str!("../ledger/fence-free.toml")),
    (&WSQ, include_str!("../ledger/wsq.toml")),
];

static LEDGERS: LazyLock<Vec<Ledger>> = LazyLock::new(|| {
    let ledger = |(document, text): (&'static Document, &str)| {
        let statements = read(text).unwrap_or_else(|error| panic!("{}: {error}", file(document)));
        Ledger { document, statements }
    };
    FILES.into_iter().map(ledger).collect()
});

static NAMED: LazyLock<BTreeSet<(&str, &str)>> = LazyLock::new(|| {
    let claims = all().iter().flat_map(|ledger| &ledger.statements).flat_map(|statement| &statement.claims);
    claims.map(|claim| (claim.experiment.as_str(), claim.text.as_str())).collect()
});

/// Returns the ledgers of all documents.
pub(crate) fn all() -> &'static [Ledger] {
    &LEDGERS
}

/// Whether a ledger names this claim.
pub(crate) fn names(experiment: &str, text: &str) -> bool {
    NAMED.contains(&(experiment, text))
}

/// Returns the ledger's file, for messages.
fn file(document: &Document) -> String {
    format!("crates/filch-lab/ledger/{}.toml", document.name)
}

/// Reads a ledger; the error says the line.
fn read(text: &str) -> Result<Vec<Statement>, toml::de::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        statement: Vec<Statement>,
    }
    Ok(toml::from_str::<File>(text)?.statement)
}

#[cfg(test)]
mod tests;
