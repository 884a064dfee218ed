//! The waiting strategies, by name.

use filch::Wait;

/// All waiting strategies, the default first.
pub const WAITS: &[(Wait, &str)] = &[
    (Wait::LeapfrogRandom, "leapfrog; steal from anyone if that finds nothing"),
    (Wait::Leapfrog, "steal only from the thief of the awaited task"),
    (Wait::Transitive, "leapfrog; steal from the thief's thief if the thief has nothing"),
    (Wait::Random, "steal from anyone"),
];

/// Returns the strategy of this name; without a name, the library's default.
///
/// ```
/// assert_eq!(filch_runner::schedulers::wait(None), Ok(filch::Wait::default()));
/// assert!(filch_runner::schedulers::wait(Some("leapfog")).unwrap_err().contains("did you mean `leapfrog`"));
/// ```
///
/// # Errors
/// A sentence, if the name is unknown.
pub fn wait(name: Option<&str>) -> Result<Wait, String> {
    filch_catalogue::wait(name)?.parse().map_err(|error: filch::UnknownWait| error.to_string())
}
