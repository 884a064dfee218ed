//! The identities of programs and schedulers, as stored in records and as shown to people.
//!
//! Invariants: the names of the fields are those of the JSON lines, old ones included, and only the `Display`
//! implementations here make the names in tables, pages and messages.

use std::cmp::Ordering;
use std::fmt;

use filch_catalogue::{POOLS, Style, WAITS, Workload};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A program with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProgramId {
    pub(crate) workload: String,
    pub(crate) params: Map<String, Value>,
}

impl ProgramId {
    pub(crate) fn of(workload: &Workload) -> Self {
        let params = workload.params().into_iter().map(|(name, text)| (name.to_owned(), value(&text)));
        Self { workload: workload.name().to_owned(), params: params.collect() }
    }

    /// Compares by name, then by each parameter in turn, numbers by value.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let parameter = |(mine, theirs): (&Value, &Value)| match (mine.as_f64(), theirs.as_f64()) {
            (Some(mine), Some(theirs)) => mine.total_cmp(&theirs),
            _ => plain(mine).cmp(&plain(theirs)),
        };
        let mut parameters = self.params.values().zip(other.params.values()).map(parameter);
        self.workload
            .cmp(&other.workload)
            .then_with(|| parameters.find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
    }

    /// Returns the program without a parameter, and that parameter's value.
    pub(crate) fn without(&self, parameter: &str) -> (Self, Option<String>) {
        let mut rest = self.clone();
        let removed = rest.params.shift_remove(parameter);
        (rest, removed.as_ref().map(plain))
    }
}

/// As short as is unambiguous: `uts:tree=T3` shows a program's first parameter, and those that do not follow from the
/// others.
impl fmt::Display for ProgramId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut params = self.params.iter().map(|(name, value)| (name.clone(), plain(value)));
        let mut shown: Vec<(String, String)> = params.next().into_iter().collect();
        for (name, text) in params.filter(|(_, text)| !text.is_empty()) {
            let follows = Workload::of_any_size(&self.workload, &shown).is_ok_and(|implied| {
                implied.params().iter().any(|(known, implied)| *known == name && value(implied) == value(&text))
            });
            if !follows {
                shown.push((name, text));
            }
        }
        f.write_str(&self.workload)?;
        shown.iter().try_for_each(|(name, text)| write!(f, ":{name}={text}"))
    }
}

/// Converts a parameter to JSON, if possible to a number.
fn value(text: &str) -> Value {
    if let Ok(whole) = text.parse::<u64>() {
        return whole.into();
    }
    match text.parse::<f64>() {
        Ok(real) if real.is_finite() => real.into(),
        _ => text.into(),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Where workers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Placement {
    /// The system places them.
    #[default]
    Free,
    /// Each is bound to a processor.
    Pinned,
}

/// A scheduler, with all that distinguishes one contender from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct SchedulerId {
    /// `filch`, `serial`, or the name of another scheduler.
    pub(crate) scheduler: String,
    /// filch's pool or queue, with its settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    /// How its workers wait for a stolen task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wait: Option<String>,
    /// How forks reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) style: Option<String>,
    #[serde(default)]
    pub(crate) placement: Placement,
    /// What tells this build of it from another in the same comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) build: Option<String>,
}

impl SchedulerId {
    /// Returns a scheduler that is identified by its name alone.
    pub(crate) fn named(scheduler: impl Into<String>) -> Self {
        Self {
            scheduler: scheduler.into(),
            pool: None,
            wait: None,
            style: None,
            placement: Placement::Free,
            build: None,
        }
    }

    pub(crate) fn is_serial(&self) -> bool {
        self.scheduler == "serial"
    }

    pub(crate) fn is_filch(&self) -> bool {
        self.scheduler == "filch"
    }

    /// Whether this is the library's default configuration.
    pub(crate) fn is_default(&self) -> bool {
        self.is_filch()
            && self.pool.as_deref() == Some(POOLS[0].name)
            && self.style().is_none()
            && self.unusual_wait().is_none()
    }

    /// Returns the style, unless it is the default one.
    fn style(&self) -> Option<&str> {
        self.style.as_deref().filter(|style| *style != Style::Handles.name())
    }

    /// Returns the waiting strategy, unless it is the library's default.
    fn unusual_wait(&self) -> Option<&str> {
        self.wait.as_deref().filter(|wait| *wait != WAITS[0].name)
    }

    /// Returns the scheduler without a parameter of its pool, and that parameter's value.
    pub(crate) fn without(&self, parameter: &str) -> (Self, Option<String>) {
        let mut removed = None;
        let rest = self.pool.as_ref().map(|pool| {
            let mut parts = pool.split(':');
            let name = parts.next().unwrap_or_default().to_owned();
            parts.fold(name, |rest, part| match part.split_once('=') {
                Some((known, value)) if known == parameter => {
                    removed = Some(value.to_owned());
                    rest
                }
                _ => format!("{rest}:{part}"),
            })
        });
        (Self { pool: rest, ..self.clone() }, removed)
    }
}

/// `filch bwos-l:block=64`, `filch levels`, `rayon`: defaults are omitted.
impl fmt::Display for SchedulerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheduler)?;
        if let Some(pool) = &self.pool {
            let (name, parameters) = pool.split_once(':').unwrap_or((pool, ""));
            match self.style() {
                // Other styles exist only for the default pool.
                Some(style) if name == POOLS[0].name => write!(f, " {style}")?,
                Some(style) => write!(f, " {name} {style}")?,
                None => write!(f, " {name}")?,
            }
            if !parameters.is_empty() {
                write!(f, ":{parameters}")?;
            }
        }
        if let Some(wait) = self.unusual_wait() {
            write!(f, " {wait}")?;
        }
        if self.placement == Placement::Pinned {
            f.write_str(" pinned")?;
        }
        self.build.as_ref().map_or(Ok(()), |build| write!(f, " ({build})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(line: &str) -> ProgramId {
        serde_json::from_str(line).unwrap()
    }

    fn scheduler(line: &str) -> SchedulerId {
        serde_json::from_str(line).unwrap()
    }

    #[test]
    fn parameters_are_numbers_if_possible() {
        assert_eq!(value("40"), 40);
        assert_eq!(value("0.25"), 0.25);
        assert_eq!(value("T1"), "T1");
        assert_eq!(value("inf"), "inf");
    }

    #[test]
    fn programs_are_named_without_implied_parameters() {
        let fib = program(r#"{"workload":"fib","params":{"n":35,"cutoff":0}}"#);
        assert_eq!(fib.to_string(), "fib:n=35");
        assert_eq!(program(r#"{"workload":"fib","params":{"n":35,"cutoff":9}}"#).to_string(), "fib:n=35:cutoff=9");
        assert_eq!(program(r#"{"workload":"of-somebody","params":{}}"#).to_string(), "of-somebody");
        let (rest, cutoff) = fib.without("cutoff");
        assert_eq!((rest.to_string().as_str(), cutoff.as_deref()), ("fib:n=35", Some("0")));
        assert_eq!(fib.without("grain"), (fib, None));
        let large = [("n".to_owned(), "1099511627776".to_owned())];
        assert!(Workload::new("cilksort", &large).is_err(), "it does not fit into memory");
        let large = Workload::of_any_size("cilksort", &large).unwrap();
        assert_eq!(ProgramId::of(&large).to_string(), "cilksort:n=1099511627776");
        let tree = ProgramId::of(&Workload::new("uts", &[("tree".to_owned(), "T3".to_owned())]).unwrap());
        assert_eq!(tree.to_string(), "uts:tree=T3");
    }

    #[test]
    fn schedulers_are_named_without_defaults() {
        for (line, name) in [
            (r#"{"scheduler":"rayon"}"#, "rayon"),
            (r#"{"scheduler":"serial","placement":"pinned"}"#, "serial pinned"),
            (r#"{"scheduler":"filch","pool":"split","wait":"leapfrog-random","style":"handles"}"#, "filch split"),
            (r#"{"scheduler":"filch","pool":"split","wait":"random","style":"levels"}"#, "filch levels random"),
            (
                r#"{"scheduler":"filch","pool":"split:interrupts=signal","style":"closures"}"#,
                "filch closures:interrupts=signal",
            ),
            (r#"{"scheduler":"filch","pool":"bwos-l:block=4","placement":"pinned"}"#, "filch bwos-l:block=4 pinned"),
        ] {
            assert_eq!(scheduler(line).to_string(), name);
        }
        assert!(
            scheduler(r#"{"scheduler":"filch","pool":"split","wait":"leapfrog-random","style":"handles"}"#)
                .is_default()
        );
        assert!(!scheduler(r#"{"scheduler":"filch","pool":"split","style":"levels"}"#).is_default());
    }

    #[test]
    fn a_parameter_of_a_pool_can_be_removed() {
        let queue = scheduler(r#"{"scheduler":"filch","pool":"padws:block=4:keep=1"}"#);
        let (rest, block) = queue.without("block");
        assert_eq!((rest.to_string().as_str(), block.as_deref()), ("filch padws:keep=1", Some("4")));
        assert_eq!(queue.without("delta"), (queue, None));
    }
}
