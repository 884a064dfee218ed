//! Graph files.
//!
//! A file consists of little-endian words. A head of eight words has the format's mark with its version; the shape's
//! family, vertices, degree, edges and seed; the number of neighbours; and a checksum of all other words. The body has
//! the ends of the lists, one per word, then the neighbours, two per word.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use filch_catalogue::programs::graph::{FAMILIES, Shape};

use super::lists::Graph;
use crate::checks::sequence;

/// The first word of every file; the last two digits are the format's version.
const MARK: u64 = u64::from_le_bytes(*b"filchg02");

/// Returns the path of a shape's graph in a folder.
pub(super) fn path(folder: &Path, shape: &Shape) -> PathBuf {
    let (n, degree, edges, seed) = (shape.vertices(), shape.degree(), shape.edges(), shape.seed());
    folder.join(format!("{}-n{n}-degree{degree}-edges{edges}-seed{seed}.graph", shape.family()))
}

/// Returns the words of the head that identify the shape.
fn identity(shape: &Shape) -> [u64; 6] {
    let family = FAMILIES.iter().position(|&(_, family)| family == shape.family()).unwrap_or(usize::MAX);
    [MARK, family as u64, shape.vertices().into(), shape.degree().into(), shape.edges() as u64, shape.seed()]
}

fn body(graph: &Graph) -> impl Iterator<Item = u64> + '_ {
    let pairs = graph.neighbours.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32);
    graph.ends.iter().copied().chain(pairs)
}

fn checksum(shape: &Shape, graph: &Graph) -> u64 {
    sequence(identity(shape).into_iter().chain([graph.neighbours.len() as u64]).chain(body(graph)))
}

/// Writes the graph of a shape. Writes to another file first and renames it, so that no reader sees a partial file.
pub(super) fn write(path: &Path, shape: &Shape, graph: &Graph) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    let result = write_to(&beside, shape, graph).and_then(|()| fs::rename(&beside, path));
    if result.is_err() {
        // The first error says more than an error of this call.
        let _ = fs::remove_file(&beside);
    }
    result
}

fn write_to(path: &Path, shape: &Shape, graph: &Graph) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let head = identity(shape).into_iter().chain([graph.neighbours.len() as u64, checksum(shape, graph)]);
    for word in head.chain(body(graph)) {
        file.write_all(&word.to_le_bytes())?;
    }
    file.flush()
}

/// Reads the graph of a shape from its file. Returns `None` if there is no file, and an error if it is damaged.
pub(super) fn read(path: &Path, shape: &Shape) -> io::Result<Option<Graph>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let mut file = BufReader::new(file);
    let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut word = || -> io::Result<u64> {
        let mut bytes = [0; 8];
        match file.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(damaged("it is too short")),
            result => result.map(|()| u64::from_le_bytes(bytes)),
        }
    };
    for (right, what) in
        identity(shape).into_iter().zip(["mark", "family", "size", "degree", "number of edges", "seed"])
    {
        if word()? != right {
            return Err(damaged(&format!("its {what} is wrong")));
        }
    }
    let [count, sum] = [word()?, word()?];
    let vertices = u64::from(shape.vertices());
    // Checked before allocating for `count` neighbours.
    if count > 2 * shape.edges() as u64 || length != 8 * (8 + vertices + count.div_ceil(2)) {
        return Err(damaged("its length is wrong"));
    }
    let mut graph =
        Graph { ends: Vec::with_capacity(vertices as usize), neighbours: Vec::with_capacity(count as usize) };
    for _ in 0..vertices {
        graph.ends.push(word()?);
    }
    while (graph.neighbours.len() as u64) < count {
        let pair = word()?;
        graph.neighbours.push(pair as u32);
        graph.neighbours.push((pair >> 32) as u32);
    }
    graph.neighbours.truncate(count as usize);
    if checksum(shape, &graph) != sum {
        return Err(damaged("its checksum is wrong"));
    }
    Ok(Some(graph))
}
