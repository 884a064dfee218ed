//! The processor time that the process's control groups grant, from the files of Linux.
//!
//! Version 2 has the quota in `cpu.max`, version 1 in `cpu.cfs_quota_us` and `cpu.cfs_period_us`. The process's group
//! has these files, and so has each group around it; the tightest quota counts. `/proc/self/cgroup` names the group. If
//! the files are not in the usual place, `/proc/self/mountinfo` tells where they are. The first call into a program's
//! global pool waits until all this is read.
//!
//! Invariant: a file that cannot be read is no limit.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A version of control groups.
struct Version {
    /// The type of its file systems, as the list of mounts calls it.
    kind: &'static str,
    /// The directories where they are mounted, almost always.
    tops: &'static [&'static str],
    /// Returns a group's own limit.
    limit: fn(&Path) -> Option<usize>,
}

const V1: Version =
    Version { kind: "cgroup", tops: &["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"], limit: limit_of_version_1 };
const V2: Version =
    Version { kind: "cgroup2", tops: &["sys/fs/cgroup", "sys/fs/cgroup/unified"], limit: limit_of_version_2 };

/// Returns the number of processors whose time the process may use, or `None` without a quota. Rounds up, as Go does
/// (the Rust standard library rounds down): with fewer workers, a part of the quota would stay unused. `root` is the
/// directory that contains `proc` and `sys`.
pub(crate) fn quota(root: &Path) -> Option<usize> {
    let groups = text(&root.join("proc/self/cgroup"))?;
    let group_of = |wanted: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            // A line has the number of a hierarchy, its controllers, and the group.
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, group) = (fields.next()?, fields.next()?);
            wanted(controllers).then_some(group)
        })
    };
    // The controller `cpu` is in one hierarchy: that of version 2, unless one of version 1 has it.
    let (version, group) = match group_of(&|controllers| has(controllers, "cpu")) {
        Some(group) => (V1, group),
        None => (V2, group_of(&str::is_empty)?),
    };
    let (top, own) = version.usual_place(root, group).or_else(|| version.place(root, group))?;
    own.ancestors().take_while(|group| group.starts_with(&top)).filter_map(version.limit).min()
}

impl Version {
    /// Returns the directories of the hierarchy and of the group, if they are in the usual place. Tried first, because
    /// the system takes longer to make the list of mounts than everything else that is read here.
    fn usual_place(&self, root: &Path, group: &str) -> Option<(PathBuf, PathBuf)> {
        let place = |top: &&str| {
            let top = root.join(top);
            let own = top.join(group.strip_prefix('/')?);
            own.join("cgroup.procs").exists().then_some((top, own))
        };
        self.tops.iter().find_map(place)
    }

    /// As [`Version::usual_place`], but looks for the place in the list of mounts.
    fn place(&self, root: &Path, group: &str) -> Option<(PathBuf, PathBuf)> {
        let mounts = text(&root.join("proc/self/mountinfo"))?;
        let place = |mount: &str| {
            let (here, what) = mount.split_once(" - ")?;
            let mut here = here.split(' ').skip(3);
            let (visible, directory) = (here.next()?, here.next()?);
            let mut what = what.split(' ');
            let (kind, options) = (what.next()?, what.nth(1)?);
            if kind != self.kind || kind == V1.kind && !has(options, "cpu") {
                return None;
            }
            let top = root.join(directory.strip_prefix('/')?);
            // A container may see only its own group, at the top of the mount, but be told the group's path outside.
            let own = top.join(Path::new(group).strip_prefix(visible).unwrap_or(Path::new("")));
            Some((top, own))
        };
        mounts.lines().find_map(place)
    }
}

/// Returns the text of one of the system's files. Such a file does not tell its size, and makes its text anew for each
/// small read.
fn text(file: &Path) -> Option<String> {
    const MOST_ARE_SHORTER: usize = 1 << 12;
    let mut text = String::with_capacity(MOST_ARE_SHORTER);
    // Reads through an adaptor, since the method of a file itself asks for the size.
    File::open(file).ok()?.take(u64::MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Whether a list, separated by commas, has the word.
fn has(list: &str, word: &str) -> bool {
    list.split(',').any(|listed| listed == word)
}

fn limit_of_version_2(group: &Path) -> Option<usize> {
    let limit = text(&group.join("cpu.max"))?;
    let (quota, period) = limit.trim().split_once(' ')?;
    Some(number(quota)?.div_ceil(number(period)?))
}

fn limit_of_version_1(group: &Path) -> Option<usize> {
    let read = |file: &str| number(&text(&group.join(file))?);
    Some(read("cpu.cfs_quota_us")?.div_ceil(read("cpu.cfs_period_us")?))
}

/// Returns `None` if the text is no positive number: the files say `max` or `-1` if there is no quota.
fn number(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|number| *number > 0)
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;
    use crate::machine::described::Described;

    #[test]
    fn a_quota_is_read_in_both_versions_and_rounded_up() {
        let machine = Described::new("quota");
        assert_eq!(quota(machine.root()), None, "without any file");
        machine.write("proc/self/cgroup", "0::/app\n");
        assert_eq!(quota(machine.root()), None, "where nothing is mounted");
        machine.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
        for (file, expected) in [
            ("max 100000", None),
            ("100000 100000", Some(1)),
            ("1000 100000", Some(1)),
            ("150000 100000", Some(2)),
            ("200001 100000", Some(3)),
            ("800000 50000", Some(16)),
            ("0 100000", None),
            ("100000 0", None),
            ("100000", None),
            ("", None),
        ] {
            machine.write("sys/fs/cgroup/app/cpu.max", &format!("{file}\n"));
            assert_eq!(quota(machine.root()), expected, "{file}");
        }
        machine.write("proc/self/cgroup", "9:memory:/app\n8:cpu,cpuacct:/app\n7:cpuset:/\n");
        machine.write(
            "proc/self/mountinfo",
            "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
             33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n",
        );
        assert_eq!(quota(machine.root()), None, "version 2 is not mounted");
        for (limit, expected) in [("-1", None), ("250000", Some(3)), ("300000", Some(3)), ("1", Some(1))] {
            machine.write("sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_quota_us", limit);
            machine.write("sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_period_us", "100000\n");
            assert_eq!(quota(machine.root()), expected, "{limit}");
        }
    }

    #[test]
    fn the_tightest_of_the_groups_around_the_process_counts() {
        let machine = Described::new("nested");
        machine.write("proc/self/cgroup", "1:name=systemd:/\n0::/outer/middle/own\n");
        machine.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        machine.write("sys/fs/cgroup/outer/middle/own/cpu.max", "700000 100000");
        machine.write("sys/fs/cgroup/outer/cpu.max", "300000 100000");
        assert_eq!(quota(machine.root()), Some(3), "the middle one has no file");
        machine.write("sys/fs/cgroup/outer/middle/cpu.max", "max 100000");
        assert_eq!(quota(machine.root()), Some(3));
        machine.write("sys/fs/cgroup/outer/middle/own/cpu.max", "150000 100000");
        assert_eq!(quota(machine.root()), Some(2));
        // Above the mounted directory, a file of that name means nothing.
        machine.write("sys/fs/cpu.max", "100000 100000");
        assert_eq!(quota(machine.root()), Some(2));
    }

    /// The files of a container's own group are at the top, whatever path the process is told.
    #[test]
    fn a_container_sees_its_own_group_at_the_top() {
        let machine = Described::new("container");
        machine.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000");
        machine.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
        for (group, root) in [("/docker/12ab", "/docker/12ab"), ("/docker/12ab", "/"), ("/", "/"), ("/else", "/docker")]
        {
            machine.write("proc/self/cgroup", &format!("4:cpu:{group}\n"));
            let mount = format!("33 31 0:30 {root} /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
            machine.write("proc/self/mountinfo", &mount);
            assert_eq!(quota(machine.root()), Some(2), "{group} in {root}");
        }
        // Now there is no list of mounts.
        machine.write("proc/self/mountinfo", "");
        machine.write("proc/self/cgroup", "4:cpu:/inner\n");
        assert_eq!(quota(machine.root()), None, "nothing says that this is a group");
        machine.write("sys/fs/cgroup/cpu/inner/cgroup.procs", "");
        assert_eq!(quota(machine.root()), Some(2));
        machine.write("sys/fs/cgroup/own/cgroup.procs", "");
        machine.write("sys/fs/cgroup/own/cpu.max", "300000 100000");
        machine.write("proc/self/cgroup", "4:cpu:/inner\n0::/own\n");
        assert_eq!(quota(machine.root()), Some(2), "version 1 has the processors");
        machine.write("proc/self/cgroup", "4:memory:/inner\n0::/own\n");
        assert_eq!(quota(machine.root()), Some(3));
        // Version 1 has the limit although version 2 is mounted, too.
        machine.write("proc/self/cgroup", "4:cpu:/\n0::/\n");
        machine.write(
            "proc/self/mountinfo",
            "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
             34 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        );
        assert_eq!(quota(machine.root()), Some(2));
    }
}
