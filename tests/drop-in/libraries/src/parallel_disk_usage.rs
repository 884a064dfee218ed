//! parallel-disk-usage: sums the sizes of the files under a directory. A tree of `into_par_iter` calls, one for each
//! directory and each within the other, makes `lstat` calls; another one sorts.

use std::fs::{File, create_dir};

use parallel_disk_usage::data_tree::DataTree;
use parallel_disk_usage::device::DeviceBoundary;
use parallel_disk_usage::fs_tree_builder::FsTreeBuilder;
use parallel_disk_usage::get_size::GetApparentSize;
use parallel_disk_usage::hardlink::HardlinkIgnorant;
use parallel_disk_usage::os_string_display::OsStringDisplay;
use parallel_disk_usage::reporter::{ErrorOnlyReporter, ErrorReport};
use parallel_disk_usage::size::Bytes;
use tempfile::TempDir;

use crate::numbers::numbers;

type Tree = DataTree<OsStringDisplay, Bytes>;

/// Returns the sum of the squares of the files' sizes. How large a directory itself is depends on the file system.
fn squares(tree: &Tree) -> u64 {
    let children = tree.children();
    assert!(children.is_sorted_by(|left, right| left.size() >= right.size()));
    if children.is_empty() { tree.size().inner().pow(2) } else { children.iter().map(squares).sum() }
}

/// Returns a run: a sorted tree of 3000 files' sizes, four times.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let root = TempDir::new().unwrap();
    let sizes: Vec<u64> = numbers(3_000).iter().map(|n| 1 + n % 100_000).collect();
    for (i, size) in sizes.iter().enumerate() {
        let (outer, inner) = (format!("d{}", i / 1000), format!("d{}", i / 40));
        let directory = root.path().join(outer).join(inner);
        if i % 1000 == 0 {
            create_dir(directory.parent().unwrap()).unwrap();
        }
        if i % 40 == 0 {
            create_dir(&directory).unwrap();
        }
        // A sparse file: no data is written.
        File::create_new(directory.join(format!("f{i}"))).unwrap().set_len(*size).unwrap();
    }
    let expected: u64 = sizes.iter().map(|size| size.pow(2)).sum();
    let walk = move || {
        let builder = FsTreeBuilder {
            root: root.path().to_owned(),
            hardlinks_recorder: &HardlinkIgnorant,
            size_getter: GetApparentSize,
            reporter: &ErrorOnlyReporter::new(ErrorReport::SILENT),
            device_boundary: DeviceBoundary::Cross,
            max_depth: 10,
        };
        let mut tree: Tree = builder.into();
        tree.par_sort_by(|left, right| left.size().cmp(&right.size()).reverse());
        let found = squares(&tree);
        assert_eq!(found, expected);
        found
    };
    Box::new(move || (0..4).map(|_| walk()).sum())
}
