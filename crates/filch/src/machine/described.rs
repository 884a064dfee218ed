//! Described machines, for tests: directories with files in which a system describes its processors.

use std::fs;
use std::path::{Path, PathBuf};

/// A directory with files like those of `/proc` and `/sys`, removed when dropped.
pub(crate) struct Described(PathBuf);

impl Described {
    /// Makes an empty description. `name` must be the test's own.
    pub(crate) fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("filch-described-{}-{name}", std::process::id()));
        fs::create_dir_all(&root).expect("a directory for temporary files");
        Self(root)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let file = self.0.join(file);
        fs::create_dir_all(file.parent().expect("a file in a directory")).expect("it is ours");
        fs::write(file, text).expect("it is ours");
    }

    /// Removes a directory with all that is in it.
    pub(crate) fn remove(&self, directory: &str) {
        fs::remove_dir_all(self.0.join(directory)).expect("it is ours");
    }

    /// Describes a cache of a processor.
    pub(crate) fn cache(&self, processor: usize, index: usize, level: usize, shared_by: &str) {
        let cache = format!("sys/devices/system/cpu/cpu{processor}/cache/index{index}");
        self.write(&format!("{cache}/level"), &format!("{level}\n"));
        self.write(&format!("{cache}/shared_cpu_list"), &format!("{shared_by}\n"));
    }
}

/// Describes sixteen processors: processor n + 8 is the sibling of n on the same core, two cores share a cache of level
/// 3, and two such caches belong to a node.
pub(crate) fn two_nodes_and_four_caches(name: &str) -> Described {
    let machine = Described::new(name);
    for processor in 0..16 {
        let (core, pair) = (processor % 8, processor % 8 / 2 * 2);
        for (index, level) in [(0, 1), (1, 1), (2, 2)] {
            machine.cache(processor, index, level, &format!("{core},{}", core + 8));
        }
        machine.cache(processor, 3, 3, &format!("{pair}-{},{}-{}", pair + 1, pair + 8, pair + 9));
        let siblings = format!("sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list");
        machine.write(&siblings, &format!("{core},{}\n", core + 8));
    }
    machine.write("sys/devices/system/node/node0/cpulist", "0-3,8-11\n");
    machine.write("sys/devices/system/node/node1/cpulist", "4-7,12-15\n");
    machine.write("sys/devices/system/node/possible", "0-1\n");
    machine
}

impl Drop for Described {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
