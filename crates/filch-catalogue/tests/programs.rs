//! Any input gives a workload or an error message.

use filch_catalogue::{ParamError, Workload, specs};
use proptest::prelude::*;

fn new(name: &str, set: &[(&str, &str)]) -> Result<Workload, ParamError> {
    let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Workload::new(name, &set)
}

fn sentence(name: &str, set: &[(&str, &str)]) -> String {
    new(name, set).map(|workload| workload.params()).expect_err("invalid parameters").to_string()
}

#[test]
fn error_messages() {
    assert_eq!(sentence("fob", &[]), "there is no workload `fob`; did you mean `fib`?");
    assert_eq!(sentence("queens", &[("m", "8")]), "queens has no parameter `m`; did you mean `n`?");
    assert_eq!(sentence("fib", &[("n", "-3")]), "fib: n=`-3` is too small: at least 0");
    assert_eq!(sentence("fib", &[("n", "91")]), "fib: n=`91` is too large: at most 90, beyond which a run takes years");
    assert_eq!(sentence("fib", &[("n", "ten")]), "fib: n=`ten` is not a whole number");
    assert_eq!(sentence("fib", &[("n", "1.5")]), "fib: n=`1.5` is not a whole number");
    assert_eq!(sentence("fib", &[("n", "")]), "fib: n=`` is not a whole number");
    let huge = "9".repeat(50);
    assert!(sentence("fib", &[("n", &huge)]).contains("is too large"));
    assert_eq!(sentence("queens", &[("n", "0")]), "queens: n=`0` is too small: at least 1");
    assert!(sentence("queens", &[("n", "21")]).contains("at most 20"));
    assert!(sentence("matmul", &[("n", "1000000")]).starts_with("matmul of this size needs 11444092 MiB of memory"));
    assert!(matches!(new("cilksort", &[("n", "1000000000000")]), Err(ParamError::TooLarge { .. })));
    assert!(sentence("cilksort", &[("input", "sorted")]).ends_with("is not one of random, exponential"));
    assert!(sentence("uts", &[("tree", "T9")]).contains("is not one of T1, T2"));
    assert_eq!(
        sentence("uts", &[("tree", "T3"), ("q", "0.125")]),
        "uts: q=`0.125` makes the tree infinite: q·m is 1, but must be below 1"
    );
    assert_eq!(sentence("uts", &[("q", "2")]), "uts: q=`2` is not from 0 to 1");
    assert_eq!(sentence("uts", &[("q", "NaN")]), "uts: q=`NaN` is not a number");
}

#[test]
fn the_last_of_several_values_counts() {
    let params = new("fib", &[("n", "5"), ("n", "1_0")]).expect("valid parameters").params();
    assert_eq!(params[0], ("n", "10".to_owned()));
}

/// The published T3L is finite only by the choice of its seed.
#[test]
fn published_trees_may_be_supercritical() {
    assert!(new("uts", &[("tree", "T3L")]).is_ok());
    assert!(sentence("uts", &[("tree", "T3L"), ("seed", "8")]).contains("makes the tree infinite"));
}

#[test]
fn trees_are_recognised() {
    let name = |set: &[(&str, &str)]| new("uts", set).expect("valid parameters").params()[0].1.clone();
    assert_eq!(name(&[]), "T1");
    assert_eq!(name(&[("tree", "t3l")]), "T3L");
    assert_eq!(name(&[("tree", "T1"), ("depth", "7")]), "custom");
    let t3 = [("type", "binomial"), ("b", "2000"), ("q", "0.124875"), ("m", "8"), ("seed", "42")];
    assert_eq!(name(&t3), "T3");
    let t4 = [("type", "2"), ("shape", "0"), ("depth", "16"), ("b", "6"), ("seed", "1"), ("tree", "custom")];
    assert_eq!(name(&t4), "T4");
    assert_eq!(name(&[("type", "3"), ("b", "2"), ("depth", "63")]), "custom");
    assert!(sentence("uts", &[("type", "balanced"), ("b", "2"), ("depth", "64")]).contains("more nodes than"));
}

/// Names and values as users and their scripts mistype them.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|value| value.to_string()),
        (0u64..100).prop_map(|value| value.to_string()),
        any::<f64>().prop_map(|value| value.to_string()),
        "\\PC{0,8}",
        Just("T3".to_owned()),
        Just("hybrid".to_owned()),
    ]
}

proptest! {
    #[test]
    fn any_input_is_accepted_or_refused(
        workload in 0..specs().len(),
        choices in prop::collection::vec((0usize..10, value()), 0..4),
    ) {
        let spec = &specs()[workload];
        let set: Vec<(String, String)> = choices
            .into_iter()
            .map(|(param, value)| (spec.params.get(param).map_or("other", |param| param.name).to_owned(), value))
            .collect();
        match Workload::new(spec.name, &set) {
            Ok(made) => {
                // The parameters that it reports make the same workload again.
                let shown: Vec<_> = made.params().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
                prop_assert_eq!(shown.len(), spec.params.len());
                let again = Workload::new(spec.name, &shown).expect("its own parameters");
                prop_assert_eq!(again.params(), made.params());
                prop_assert_eq!(again.tasks(), made.tasks());
            }
            Err(error) => prop_assert!(error.to_string().starts_with(spec.name), "{}", error),
        }
    }

    #[test]
    fn an_unknown_name_gets_suggestions(name in "\\PC{0,12}") {
        prop_assume!(!specs().iter().any(|spec| spec.name == name));
        match Workload::new(&name, &[]) {
            Err(ParamError::UnknownWorkload { suggestions, .. }) => prop_assert!(!suggestions.is_empty()),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
