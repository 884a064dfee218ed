//! The machine a number was measured on, and how busy it was.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// What a reader must know of the machine to judge a number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Its name.
    pub processor: String,
    /// Logical processors that this process may use.
    pub cores: usize,
    /// All that there is.
    pub memory_bytes: u64,
    /// The system's name and release.
    pub kernel: String,
    /// Whether a hypervisor shows.
    pub virtual_machine: bool,
    /// How the processor's frequency is chosen.
    pub governor: String,
    /// Of the program that measures.
    pub compiler: String,
    /// Of the program that measures.
    pub target: String,
    /// Of the program that measures: cargo's, and how far it optimizes.
    pub profile: String,
    /// Of the program that measures.
    pub rustflags: String,
}

impl Machine {
    /// This machine and this program.
    ///
    /// ```
    /// let machine = filch_protocol::Machine::here();
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

    /// One line for people.
    pub fn summary(&self) -> String {
        let processors = if self.cores == 1 { "processor" } else { "processors" };
        let place = if self.virtual_machine { ", virtual" } else { "" };
        format!("{} · {} {processors}{place} · {} · {}", self.processor, self.cores, self.kernel, self.compiler)
    }

    /// Whether the program was built without optimisation for speed.
    pub fn is_debug(&self) -> bool {
        self.profile.starts_with("debug")
    }
}

/// Logical processors that this process may use.
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

/// A field of /proc/meminfo in bytes.
fn memory(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Memory that programs may still take.
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

/// The largest resident set of this process so far; zero where the system does not say.
pub fn peak_rss_bytes() -> u64 {
    #[cfg(unix)]
    {
        const UNIT: u64 = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
        // SAFETY: all bytes zero is a value of this structure of integers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the call fills the structure whose address it is given.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
        u64::try_from(usage.ru_maxrss).unwrap_or(0) * UNIT
    }
    #[cfg(not(unix))]
    0
}

/// Processor time of the whole machine so far, in seconds summed over its processors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Of programs.
    pub busy: f64,
    /// Of other machines on the same processors.
    pub stolen: f64,
}

impl Load {
    /// From the kernel of Linux; zero elsewhere.
    pub fn now() -> Self {
        #[cfg(target_os = "linux")]
        {
            let text = fs::read_to_string("/proc/stat").unwrap_or_default();
            // SAFETY: the call only reads a setting of the system.
            let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
            #[expect(clippy::cast_precision_loss, reason = "a hundred or so")]
            Self::parse(&text, ticks.max(1) as f64)
        }
        #[cfg(not(target_os = "linux"))]
        Self::default()
    }

    /// The first line: user, nice, system, idle, wait for input and output, interrupts, soft interrupts, stolen.
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
    fn busy_time_leaves_out_idling_and_waiting() {
        let load = Load::parse("cpu  100 20 30 4000 500 6 7 80 0 0\ncpu0 1 2 3\n", 100.0);
        assert!((load.busy - 1.63).abs() < 1e-12);
        assert!((load.stolen - 0.8).abs() < 1e-12);
        assert_eq!(Load::parse("", 100.0), Load::default());
    }
}
