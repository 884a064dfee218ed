//! The processor time that the process's control groups grant, from the files of Linux.
//!
//! Version 2 says it in `cpu.max`, version 1 in `cpu.cfs_quota_us` and `cpu.cfs_period_us`, of the process's group and of each group
//! around it, of which the tightest counts. `/proc/self/cgroup` names the group, and `/proc/self/mountinfo` the place of its files.
//!
//! Invariant: what cannot be read is no limit.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the processor time that the process may use per time, rounded up, as Go does it (the Rust standard library rounds down): with
/// fewer workers, a part of the quota would stay unused. `None` without a quota. `root` is the directory of `proc` and `sys`.
pub(crate) fn quota(root: &Path) -> Option<usize> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let limit = |line: &str| {
        // The number of the hierarchy, its controllers, the group: nothing may come before a version 2 group.
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        let limit_of = match controllers {
            "" => version_2,
            _ if has(controllers, "cpu") => version_1,
            _ => return None,
        };
        let (top, group) = mounts.lines().find_map(|mount| place(mount, controllers.is_empty(), group))?;
        let top = root.join(top.strip_prefix("/").ok()?);
        let own = top.join(group);
        own.ancestors().take_while(|group| group.starts_with(&top)).filter_map(limit_of).min()
    };
    groups.lines().filter_map(limit).min()
}

/// Whether a list with commas has the word.
fn has(list: &str, word: &str) -> bool {
    list.split(',').any(|listed| listed == word)
}

/// Returns the directory of a mounted hierarchy, if it is the one asked for, and in it the path of the group.
fn place(mount: &str, is_version_2: bool, group: &str) -> Option<(PathBuf, PathBuf)> {
    let (here, what) = mount.split_once(" - ")?;
    let mut here = here.split(' ').skip(3);
    let (root, directory) = (here.next()?, here.next()?);
    let mut what = what.split(' ');
    let (kind, options) = (what.next()?, what.nth(1)?);
    let is_it = if is_version_2 { kind == "cgroup2" } else { kind == "cgroup" && has(options, "cpu") };
    // A container may see its own group only, at the top, and yet be told the group's path outside.
    let group = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
    is_it.then(|| (directory.into(), group.into()))
}

fn version_2(group: &Path) -> Option<usize> {
    let limit = fs::read_to_string(group.join("cpu.max")).ok()?;
    let (quota, period) = limit.trim().split_once(' ')?;
    round_up(quota, period)
}

fn version_1(group: &Path) -> Option<usize> {
    let read = |file: &str| fs::read_to_string(group.join(file)).ok();
    round_up(&read("cpu.cfs_quota_us")?, &read("cpu.cfs_period_us")?)
}

/// `None`: there is no quota, which the files say as `max` and as `-1`.
fn round_up(quota: &str, period: &str) -> Option<usize> {
    let [quota, period] =
        [quota, period].map(|number| number.trim().parse::<usize>().ok().filter(|number| *number > 0));
    Some(quota?.div_ceil(period?))
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;
    use crate::described::Described;

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
