//! The graph that a program uses, chosen by the parameters shared by all programs on graphs.

use std::path::Path;

use filch_catalogue::ParamError;
use filch_catalogue::programs::graph::{CACHE, Input};

use super::cache;
use super::lists::Graph;
use crate::Serial;
use crate::inputs::all_processors;

/// The number of drawn edges from which threads are worth starting.
const PARALLEL: usize = 1 << 16;

impl Graph {
    /// Returns the graph: reads its file if there is one; otherwise all processors make it, and it is saved if a folder
    /// is given.
    pub(crate) fn of(input: &Input) -> Result<Self, ParamError> {
        let Input { name, shape, cache: Some(folder) } = input else { return build(input) };
        let path = cache::path(folder, shape);
        let kept = cache::read(&path, shape);
        let kept = kept.map_err(|error| refuse(name, folder, &path, "cannot be read", &error, "; remove it"))?;
        if let Some(graph) = kept {
            return Ok(graph);
        }
        let graph = build(input)?;
        let written = cache::write(&path, shape, &graph);
        written.map_err(|error| refuse(name, folder, &path, "cannot be written", &error, ""))?;
        Ok(graph)
    }
}

fn refuse(
    name: &'static str,
    folder: &Path,
    path: &Path,
    what: &str,
    error: &std::io::Error,
    remedy: &str,
) -> ParamError {
    ParamError::BadValue {
        workload: name,
        param: CACHE.name,
        value: folder.display().to_string(),
        why: format!("cannot be used: {} {what}: {error}{remedy}", path.display()),
    }
}

fn build(Input { name, shape, .. }: &Input) -> Result<Graph, ParamError> {
    match all_processors(shape.edges() >= PARALLEL) {
        Some(pool) => pool.run(|mut w| Graph::build(&mut w, name, shape)),
        None => Graph::build(&mut Serial, name, shape),
    }
}

#[cfg(test)]
mod tests {
    use filch_catalogue::programs::graph::{DEGREE, EDGES, FAMILIES, GRAPH, N, SEED};
    use filch_catalogue::{ParamSpec, Settings};

    use super::*;

    const PARAMS: &[ParamSpec] = &[GRAPH, N, DEGREE, EDGES, SEED, CACHE];

    fn input(set: &[(&str, &str)]) -> Result<Input, ParamError> {
        let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Input::parse("test", &Settings::new("test", PARAMS, &set)?)
    }

    /// A folder for one test, removed when the test ends.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("filch-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_saved_graph_equals_the_one_that_was_made() {
        let folder = Folder::new("kept-graphs");
        let cache = folder.0.to_str().expect("it is text");
        for &(family, _) in FAMILIES {
            let made = input(&[("graph", family), ("n", "501")]).and_then(|input| Graph::of(&input)).expect("fine");
            let kept = input(&[("graph", family), ("n", "501"), ("cache", cache)]).expect("fine");
            assert_eq!(Graph::of(&kept).expect("it is written"), made, "{family}");
            let path = cache::path(&folder.0, &kept.shape);
            let read = cache::read(&path, &kept.shape).expect("it can be read").expect("it is there");
            assert_eq!(read, made, "{family}");
            assert_eq!(Graph::of(&kept).expect("it is read"), made, "{family}");
        }
        let names = std::fs::read_dir(&folder.0).expect("it is there").flatten().map(|entry| entry.file_name());
        assert!(names.into_iter().all(|name| name.to_string_lossy().ends_with(".graph")), "no other file is left");
    }

    #[test]
    fn all_damage_is_detected() {
        let folder = Folder::new("damaged-graphs");
        let kept = input(&[("n", "8"), ("cache", folder.0.to_str().expect("it is text"))]).expect("fine");
        Graph::of(&kept).expect("it is written");
        let path = cache::path(&folder.0, &kept.shape);
        let right = std::fs::read(&path).expect("it is there");
        for at in 0..right.len() {
            let mut wrong = right.clone();
            wrong[at] ^= 0x10;
            std::fs::write(&path, wrong).expect("it can be written");
            let said = Graph::of(&kept).expect_err("it is damaged").to_string();
            assert!(said.contains("is wrong; remove it"), "byte {at}: {said}");
        }
        for length in [0, 7, 56, right.len() - 1] {
            std::fs::write(&path, &right[..length]).expect("it can be written");
            let said = Graph::of(&kept).expect_err("it is too short").to_string();
            assert!(said.contains("; remove it"), "{length} bytes: {said}");
        }
        // The file of another seed under this file's name.
        let other = input(&[("n", "8"), ("seed", "2")]).expect("fine");
        cache::write(&path, &other.shape, &Graph::of(&other).expect("fine")).expect("it can be written");
        assert!(Graph::of(&kept).expect_err("it is another's").to_string().contains("its seed is wrong"));
        // A folder that cannot exist.
        let below = path.join("below");
        let nowhere = input(&[("n", "8"), ("cache", below.to_str().expect("it is text"))]).expect("fine");
        assert!(Graph::of(&nowhere).is_err());
    }
}
