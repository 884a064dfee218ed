//! The waiting strategies by their names.

use filch::Wait;

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
    filch_catalogue::wait(name)?.parse().map_err(|error: filch::UnknownWait| error.to_string())
}
