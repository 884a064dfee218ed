//! The machine of a measurement, and how busy it was.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// The facts about the machine that a reader needs to judge a number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// The number of logical processors that this process may use.
    pub cores: usize,
    /// The installed memory.
    pub memory_bytes: u64,
    /// The system's name and release.
    pub kernel: String,
    /// Whether a hypervisor is visible.
    pub virtual_machine: bool,
    /// How the processor's frequency is chosen.
    pub governor: String,
    /// The compiler of the measuring program.
    pub compiler: String,
    /// The target of the measuring program.
    pub target: String,
    /// The cargo profile of the measuring program.
    pub profile: String,
    /// The compiler flags of the measuring program.
    pub rustflags: String,
}

impl Machine {
    /// Describes this machine and this program.
    ///
    /// ```
    /// let machine = filch_catalogue::protocol::Machine::here();
    /// assert!(machine.summary().contains(&machine.processor));
    /// ```
    pub fn here() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line = cpuinfo.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
            line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
        };
        let flags = field("flags").unwrap_or_default();
        Self {
            processor: field("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: cores(),
            memory_bytes: memory("MemTotal:").unwrap_or(0),
            kernel: kernel(),
            virtual_machine: flags.split(' ').any(|flag| flag == "hypervisor"),
            governor: line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                .unwrap_or_else(|| "not exposed".to_owned()),
            compiler: env!("FILCH_COMPILER").to_owned(),
            target: env!("FILCH_TARGET").to_owned(),
            profile: env!("FILCH_PROFILE").to_owned(),
            rustflags: env!("FILCH_RUSTFLAGS").to_owned(),
        }
    }

    /// Returns a one-line summary for people.
    pub fn summary(&self) -> String {
        let processors = if self.cores == 1 { "processor" } else { "processors" };
        let place = if self.virtual_machine { ", virtual" } else { "" };
        format!("{} · {} {processors}{place} · {} · {}", self.processor, self.cores, self.kernel, self.compiler)
    }

    /// Whether the program was built without optimization.
    pub fn is_debug(&self) -> bool {
        self.profile.starts_with("debug")
    }
}

/// The number of logical processors that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn kernel() -> String {
    let name = line_of("/proc/sys/kernel/ostype").unwrap_or_else(|| std::env::consts::OS.to_owned());
    let release = line_of("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{name} {release}").trim().to_owned()
}

fn line_of(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Reads a field of /proc/meminfo, in bytes.
fn memory(name: &str) -> Option<u64> {
    kib("/proc/meminfo", name)
}

/// Reads a field of a file of lines such as `MemTotal: 12 kB`, in bytes.
fn kib(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The memory that is available to programs.
pub fn memory_available() -> Option<u64> {
    memory("MemAvailable:")
}

/// Seconds since 1970.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Processor time of this process so far, in seconds.
pub fn cpu_time() -> f64 {
    cpu_time::ProcessTime::now().as_duration().as_secs_f64()
}

/// The largest resident set of this process so far; zero where the system does not report it.
pub fn peak_rss_bytes() -> u64 {
    // `getrusage` also counts the memory that the process of its parent had when it started this one.
    #[cfg(target_os = "linux")]
    if let Some(bytes) = kib("/proc/self/status", "VmHWM:") {
        return bytes;
    }
    #[cfg(unix)]
    {
        const UNIT: u64 = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
        // SAFETY: all zero bytes are a valid value of this structure of integers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the call fills the structure at the given address.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
        u64::try_from(usage.ru_maxrss).unwrap_or(0) * UNIT
    }
    #[cfg(not(unix))]
    0
}

/// The part of this process's resident set that files back, such as its code; zero where the system does not report it.
pub fn file_rss_bytes() -> u64 {
    #[cfg(target_os = "linux")]
    return kib("/proc/self/status", "RssFile:").unwrap_or(0);
    #[cfg(not(target_os = "linux"))]
    0
}

/// Processor time of the whole machine so far, in seconds summed over its processors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Time spent in programs.
    pub busy: f64,
    /// Time given to other virtual machines.
    pub stolen: f64,
}

impl Load {
    /// Reads the load from Linux; zero elsewhere.
    pub fn now() -> Self {
        #[cfg(target_os = "linux")]
        {
            let text = fs::read_to_string("/proc/stat").unwrap_or_default();
            // SAFETY: the call only reads a system setting.
            let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
            #[expect(clippy::cast_precision_loss, reason = "a hundred or so")]
            Self::parse(&text, ticks.max(1) as f64)
        }
        #[cfg(not(target_os = "linux"))]
        Self::default()
    }

    /// Parses the first line: user, nice, system, idle, iowait, irq, softirq, steal.
    #[cfg(any(target_os = "linux", test))]
    fn parse(text: &str, ticks: f64) -> Self {
        let line = text.lines().find(|line| line.starts_with("cpu ")).unwrap_or_default();
        let field: Vec<f64> = line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
        let at = |index: usize| field.get(index).copied().unwrap_or(0.0) / ticks;
        Self { busy: at(0) + at(1) + at(2) + at(5) + at(6), stolen: at(7) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_known() {
        let machine = Machine::here();
        assert!(machine.cores >= 1);
        assert!(!machine.compiler.is_empty() && !machine.processor.is_empty());
    }

    #[test]
    fn busy_time_excludes_idle_and_iowait() {
        let load = Load::parse("cpu  100 20 30 4000 500 6 7 80 0 0\ncpu0 1 2 3\n", 100.0);
        assert!((load.busy - 1.63).abs() < 1e-12);
        assert!((load.stolen - 0.8).abs() < 1e-12);
        assert_eq!(Load::parse("", 100.0), Load::default());
    }
}
