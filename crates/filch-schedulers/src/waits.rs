//! The waiting strategies by their names.

use filch::Wait;

use crate::unknown;

/// All waiting strategies, the default first.
pub const WAITS: &[(Wait, &str)] = &[
    (Wait::LeapfrogRandom, "leapfrog, and when that finds nothing, steal from anyone"),
    (Wait::Leapfrog, "steal only from the thief of the task that is waited for"),
    (Wait::Transitive, "leapfrog; from that thief's thief when it has nothing"),
    (Wait::Random, "steal from anyone"),
];

/// The strategy of this name; the library's default without one.
///
/// ```
/// assert_eq!(filch_schedulers::wait(None), Ok(filch::Wait::default()));
/// assert!(filch_schedulers::wait(Some("leapfog")).unwrap_err().contains("did you mean `leapfrog`"));
/// ```
///
/// # Errors
/// If there is none: a sentence.
pub fn wait(name: Option<&str>) -> Result<Wait, String> {
    let Some(name) = name else { return Ok(Wait::default()) };
    let names: Vec<&str> = WAITS.iter().map(|(wait, _)| wait.name()).collect();
    name.parse().map_err(|_| unknown("waiting strategy", name, &names))
}
