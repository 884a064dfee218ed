//! The graph that a program asks for, by the parameters that all programs on graphs have in common.

use std::path::{Path, PathBuf};

use super::cache;
use super::lists::{Graph, build_bytes};
use super::shape::{FAMILIES, Family, MOST_VERTICES, Shape};
use crate::Serial;
use crate::inputs::all_processors;
use crate::params::{ParamError, ParamSpec, Settings};

/// A program's first parameters, in this order; their defaults may differ.
pub(crate) const GRAPH: ParamSpec =
    ParamSpec { name: "graph", help: "grid, torus, randlocal, rmat, kgraph or random", default: "grid" };
pub(crate) const N: ParamSpec =
    ParamSpec { name: "n", help: "vertices, or more where the kind of graph needs it", default: "200000" };
pub(crate) const DEGREE: ParamSpec =
    ParamSpec { name: "degree", help: "edges drawn by each vertex; a grid's dimensions", default: "" };
pub(crate) const SEED: ParamSpec = ParamSpec { name: "seed", help: "seed of the edges", default: "1" };
pub(crate) const CACHE: ParamSpec = ParamSpec { name: "cache", help: "folder that keeps the graph", default: "" };

/// Drawn edges from which on threads are worth their start.
const PARALLEL: usize = 1 << 16;

/// Which graph, and where it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    name: &'static str,
    shape: Shape,
    cache: Option<PathBuf>,
}

impl Input {
    pub(crate) fn parse(name: &'static str, settings: &Settings<'_>) -> Result<Self, ParamError> {
        const MOST_DEGREE: u64 = 1 << 16;
        let family = settings.word(GRAPH.name, settings.text(GRAPH.name), FAMILIES)?;
        let n = settings.whole(N.name, 1, MOST_VERTICES, ", the range of vertices")?;
        let degree = settings.whole_or(DEGREE.name, family.default_degree().into(), (1, MOST_DEGREE), "")? as u32;
        if family == Family::Torus && degree != 2 {
            return Err(settings.bad(DEGREE.name, "is not 2: for a torus of more dimensions ask for a grid"));
        }
        let seed = settings.whole(SEED.name, 0, u64::MAX, "")?;
        let shape = Shape::new(family, n, degree, seed)
            .ok_or_else(|| settings.bad(N.name, "gives too many vertices: there are at most 4294967295"))?;
        let cache = Some(settings.text(CACHE.name)).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        Ok(Self { name, shape, cache })
    }

    /// The values of the parameters above.
    pub(crate) fn values(&self) -> Vec<String> {
        let Self { shape, cache, .. } = self;
        let cache = cache.as_deref().map(|folder| folder.display().to_string()).unwrap_or_default();
        let numbers =
            [u64::from(shape.vertices()), shape.degree().into(), shape.seed()].map(|number| number.to_string());
        [shape.family().to_string()].into_iter().chain(numbers).chain([cache]).collect()
    }

    pub(crate) fn vertices(&self) -> u32 {
        self.shape.vertices()
    }

    /// Edges at most.
    pub(crate) fn edges(&self) -> u64 {
        self.shape.edges() as u64
    }

    /// Bytes of the graph while it is made.
    pub(crate) fn memory_bytes(&self) -> u64 {
        build_bytes(&self.shape)
    }

    /// The graph: from its file, if there is one, or else made by all processors, and kept if that is wanted.
    pub(crate) fn graph(&self) -> Result<Graph, ParamError> {
        let Some(folder) = &self.cache else { return self.build() };
        let path = cache::path(folder, &self.shape);
        let kept = cache::read(&path, &self.shape);
        let kept = kept.map_err(|error| self.refuse(folder, &path, "cannot be read", &error, "; remove it"))?;
        if let Some(graph) = kept {
            return Ok(graph);
        }
        let graph = self.build()?;
        let written = cache::write(&path, &self.shape, &graph);
        written.map_err(|error| self.refuse(folder, &path, "cannot be written", &error, ""))?;
        Ok(graph)
    }

    fn refuse(&self, folder: &Path, path: &Path, what: &str, error: &std::io::Error, remedy: &str) -> ParamError {
        ParamError::BadValue {
            workload: self.name,
            param: CACHE.name,
            value: folder.display().to_string(),
            why: format!("is of no use: {} {what}: {error}{remedy}", path.display()),
        }
    }

    fn build(&self) -> Result<Graph, ParamError> {
        match all_processors(self.shape.edges() >= PARALLEL) {
            Some(pool) => pool.run(|mut w| Graph::build(&mut w, self.name, &self.shape)),
            None => Graph::build(&mut Serial, self.name, &self.shape),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: &[ParamSpec] = &[GRAPH, N, DEGREE, SEED, CACHE];

    fn input(set: &[(&str, &str)]) -> Result<Input, ParamError> {
        let set: Vec<_> = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Input::parse("test", &Settings::new("test", PARAMS, &set)?)
    }

    #[test]
    fn values_are_those_that_were_given() {
        let given = ["rmat", "1024", "4", "9", "/some/where"];
        let set: Vec<(&str, &str)> = PARAMS.iter().map(|param| param.name).zip(given).collect();
        assert_eq!(input(&set).expect("fine").values(), given);
        assert_eq!(input(&[]).expect("fine").values(), ["grid", "205379", "3", "1", ""]);
        let sentence = |set| input(set).map(|input| input.shape).expect_err("this is refused").to_string();
        assert!(sentence(&[("graph", "ring")]).contains("is not one of grid, torus"));
        assert!(sentence(&[("n", "0")]).contains("too small"));
        assert!(sentence(&[("degree", "40")]).contains("too many vertices"));
        assert!(sentence(&[("graph", "torus"), ("degree", "3")]).contains("ask for a grid"));
    }

    /// A folder of a test's own, gone when the test is over.
    struct Folder(PathBuf);

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
    fn a_kept_graph_is_the_one_that_was_made() {
        let folder = Folder::new("kept-graphs");
        let cache = folder.0.to_str().expect("it is text");
        for &(family, _) in FAMILIES {
            let made = input(&[("graph", family), ("n", "501")]).and_then(|input| input.graph()).expect("fine");
            let kept = input(&[("graph", family), ("n", "501"), ("cache", cache)]).expect("fine");
            assert_eq!(kept.graph().expect("it is written"), made, "{family}");
            let path = cache::path(&folder.0, &kept.shape);
            let read = cache::read(&path, &kept.shape).expect("it can be read").expect("it is there");
            assert_eq!(read, made, "{family}");
            assert_eq!(kept.graph().expect("it is read"), made, "{family}");
        }
        let names = std::fs::read_dir(&folder.0).expect("it is there").flatten().map(|entry| entry.file_name());
        assert!(names.into_iter().all(|name| name.to_string_lossy().ends_with(".graph")), "nothing else is left");
    }

    #[test]
    fn every_damage_is_noticed() {
        let folder = Folder::new("damaged-graphs");
        let kept = input(&[("n", "8"), ("cache", folder.0.to_str().expect("it is text"))]).expect("fine");
        kept.graph().expect("it is written");
        let path = cache::path(&folder.0, &kept.shape);
        let right = std::fs::read(&path).expect("it is there");
        for at in 0..right.len() {
            let mut wrong = right.clone();
            wrong[at] ^= 0x10;
            std::fs::write(&path, wrong).expect("it can be written");
            let said = kept.graph().expect_err("it is damaged").to_string();
            assert!(said.contains("is wrong; remove it"), "byte {at}: {said}");
        }
        for length in [0, 7, 56, right.len() - 1] {
            std::fs::write(&path, &right[..length]).expect("it can be written");
            let said = kept.graph().expect_err("it is too short").to_string();
            assert!(said.contains("; remove it"), "{length} bytes: {said}");
        }
        // Another seed's file under this one's name.
        let other = input(&[("n", "8"), ("seed", "2")]).expect("fine");
        cache::write(&path, &other.shape, &other.graph().expect("fine")).expect("it can be written");
        assert!(kept.graph().expect_err("it is another's").to_string().contains("its seed is wrong"));
        // A folder that cannot be one.
        let below = path.join("below");
        let nowhere = input(&[("n", "8"), ("cache", below.to_str().expect("it is text"))]).expect("fine");
        assert!(nowhere.graph().is_err());
    }
}
