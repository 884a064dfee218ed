//! What is known about the store buffer of this machine's processor: by its makers, and by a measurement on this
//! machine.
//!
//! `filch probe store-buffer` writes the measurement to a file of the user's cache, one for each model of processor.
//! `bound=measured` of a fence-free queue reads it.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A model of processor, as it names itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    vendor: String,
    family: u32,
    model: u32,
    stepping: u32,
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}-{}", self.vendor, self.family, self.model, self.stepping)
    }
}

impl Model {
    /// Returns the model of this machine's processor; `None` where it does not name itself in a way that we read.
    pub fn here() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::__cpuid;

            #[allow(unused_unsafe, reason = "safe in newer compilers")]
            // SAFETY: every x86-64 processor has this instruction, and leaf 1.
            let (name, version) = unsafe { (__cpuid(0), __cpuid(1)) };
            let letters = [name.ebx, name.edx, name.ecx].map(u32::to_le_bytes).concat();
            let vendor =
                letters.iter().filter(|letter| letter.is_ascii_alphanumeric()).map(|&letter| char::from(letter));
            Some(Self::of(vendor.collect(), version.eax))
        }
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// Reads the version word of CPUID.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only x86-64 has CPUID"))]
    fn of(vendor: String, version: u32) -> Self {
        let bits = |from: u32, count: u32| (version >> from) & ((1 << count) - 1);
        let family = bits(8, 4) + if bits(8, 4) == 15 { bits(20, 8) } else { 0 };
        let model = bits(4, 4) | if matches!(bits(8, 4), 6 | 15) { bits(16, 4) << 4 } else { 0 };
        Self { vendor, family, model, stepping: bits(0, 4) }
    }

    /// Returns the entries of its store buffer (AMD: store queue) that its makers document, and the name of the design.
    ///
    /// From Intel's optimization reference manual, and from AMD's optimization guides for families 17h, 19h and 1Ah.
    pub fn documented(&self) -> Option<(usize, &'static str)> {
        Some(match (self.vendor.as_str(), self.family, self.model) {
            ("GenuineIntel", 6, 0x1A | 0x1E | 0x1F | 0x2E | 0x25 | 0x2C | 0x2F) => (32, "Nehalem, Westmere"),
            ("GenuineIntel", 6, 0x2A | 0x2D | 0x3A | 0x3E) => (36, "Sandy Bridge, Ivy Bridge"),
            ("GenuineIntel", 6, 0x3C | 0x3F | 0x45 | 0x46 | 0x3D | 0x47 | 0x4F | 0x56) => (42, "Haswell, Broadwell"),
            ("GenuineIntel", 6, 0x4E | 0x5E | 0x55 | 0x8E | 0x9E | 0xA5 | 0xA6) => (56, "Skylake"),
            ("GenuineIntel", 6, 0x6A | 0x6C | 0x7D | 0x7E | 0x8C | 0x8D | 0xA7) => (72, "Ice Lake, Tiger Lake"),
            ("GenuineIntel", 6, 0x8F | 0x97 | 0x9A | 0xB7 | 0xBA | 0xBF | 0xCF) => (112, "Golden Cove"),
            ("AuthenticAMD", 0x17, 0x00..=0x2F) => (44, "Zen"),
            ("AuthenticAMD", 0x17, _) => (48, "Zen 2"),
            ("AuthenticAMD", 0x19, _) => (64, "Zen 3, Zen 4"),
            ("AuthenticAMD", 0x1A, _) => (104, "Zen 5"),
            _ => return None,
        })
    }
}

/// A measured capacity.
///
/// ```
/// use filch_catalogue::console::store_buffer::{Measured, Model};
///
/// let Some(model) = Model::here() else { return };
/// let measured = Measured { model, entries: 200, commit: "abc".to_owned() };
/// assert!(measured.bound() > 200, "with a margin");
/// let folder = std::env::temp_dir().join(format!("filch-store-buffer-{}", std::process::id()));
/// measured.write(&folder).unwrap();
/// assert_eq!(Measured::read(&folder), Ok(measured));
/// std::fs::remove_dir_all(folder).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// The measured processor.
    pub model: Model,
    /// The largest capacity that was found.
    pub entries: usize,
    /// The commit of the measuring program.
    pub commit: String,
}

impl Measured {
    /// Returns the stores that may be pending, for `bound=` of a fence-free queue: the documented or the measured
    /// entries, whichever are more, then half as many, and the store that is leaving the buffer.
    ///
    /// The half is for stores that have left the buffer and are not yet in memory, which the measurement does not show:
    /// on a Zen 4, with 64 entries, `filch probe litmus` sees 73 pending; on a Golden Cove, with 112, it sees the
    /// paper's one more, 113.
    ///
    /// A processor divides its buffer between two threads that share a core, and a virtual machine may hide the other.
    /// So an undocumented buffer may have twice the measured entries.
    pub fn bound(&self) -> usize {
        let entries = match self.model.documented() {
            Some((documented, _)) => documented.max(self.entries),
            None => 2 * self.entries,
        };
        entries + entries.div_ceil(2) + 1
    }

    /// Returns what is known of this machine's processor: what was measured and kept, or else the documented entries.
    pub fn here() -> Option<Self> {
        let documented = || {
            let model = Model::here()?;
            let (entries, _) = model.documented()?;
            Some(Self { model, entries, commit: String::new() })
        };
        cache().and_then(|folder| Self::read(&folder).ok()).or_else(documented)
    }

    /// Writes the measurement to a folder, and returns the file.
    ///
    /// # Errors
    /// A sentence, if that fails.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, String> {
        let file = file(folder, &self.model);
        let text = serde_json::to_string(self).map_err(|error| error.to_string())?;
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&file, text + "\n"));
        written.map(|()| file.clone()).map_err(|error| format!("cannot write {}: {error}", file.display()))
    }

    /// Reads the measurement of this machine's processor from a folder.
    ///
    /// # Errors
    /// A sentence, if there is none, or another processor's.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let model =
            Model::here().ok_or("the store buffers of this machine's processors are not known to be bounded")?;
        Self::read_for(folder, &model)
    }

    fn read_for(folder: &Path, model: &Model) -> Result<Self, String> {
        let file = file(folder, model);
        let shown = file.display();
        let text = fs::read_to_string(&file).map_err(|error| {
            format!("the store buffer of this processor ({model}) is not measured: {shown}: {error}; run `filch probe store-buffer`")
        })?;
        let read: Self = serde_json::from_str(&text)
            .map_err(|error| format!("{shown} is no measurement ({error}); run `filch probe store-buffer`"))?;
        if read.model != *model || read.entries == 0 {
            let other = read.model;
            return Err(format!(
                "{shown} is of another processor ({other}, not {model}); run `filch probe store-buffer`"
            ));
        }
        Ok(read)
    }
}

fn file(folder: &Path, model: &Model) -> PathBuf {
    folder.join(format!("store-buffer-{model}.json"))
}

/// Returns the folder for measurements: `filch` in the user's cache.
pub fn cache() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = folder("XDG_CACHE_HOME").or_else(|| folder("LOCALAPPDATA"));
    Some(base.or_else(|| folder("HOME").map(|home| home.join(".cache")))?.join("filch"))
}

#[cfg(test)]
mod tests {
    use crate::values::ASSUMED_BOUND;

    use super::*;

    fn model(vendor: &str, version: u32) -> Model {
        Model::of(vendor.to_owned(), version)
    }

    #[test]
    fn models_are_read_as_their_makers_number_them() {
        // Cascade Lake, Westmere-EX, a Zen 4 and a Zen 2.
        for (vendor, version, name, entries) in [
            ("GenuineIntel", 0x0005_0657, "GenuineIntel-6-85-7", 56),
            ("GenuineIntel", 0x0002_06F2, "GenuineIntel-6-47-2", 32),
            ("AuthenticAMD", 0x00A1_0F11, "AuthenticAMD-25-17-1", 64),
            ("AuthenticAMD", 0x0083_0F10, "AuthenticAMD-23-49-0", 48),
        ] {
            let model = model(vendor, version);
            assert_eq!(model.to_string(), name);
            assert_eq!(model.documented().map(|(entries, _)| entries), Some(entries), "{name}");
        }
        assert_eq!(model("GenuineIntel", 0x0000_0F29).documented(), None, "a Pentium 4");
        assert_eq!(model("Unheardof", 0x00A1_0F11).documented(), None);
    }

    #[test]
    fn a_bound_is_never_below_what_is_documented_or_measured() {
        let bound = |version, entries| {
            let model = model("AuthenticAMD", version);
            Measured { model, entries, commit: String::new() }.bound()
        };
        assert_eq!(bound(0x00A1_0F11, 64), 97);
        assert_eq!(bound(0x00A1_0F11, 32), 97, "the other half may be a hidden sibling's");
        assert_eq!(bound(0x00A1_0F11, 80), 121, "more than documented");
        assert_eq!(bound(0x0000_0F29, 64), 193, "not documented: it may be half");
    }

    #[test]
    fn the_default_bound_is_enough_for_every_documented_buffer() {
        let models = ["GenuineIntel", "AuthenticAMD"].into_iter().flat_map(|vendor| {
            (0..256 * 256).map(|n| Model { vendor: vendor.to_owned(), family: n / 256, model: n % 256, stepping: 0 })
        });
        let bound = |model: Model| {
            let (entries, _) = model.documented()?;
            Some(Measured { model, entries, commit: String::new() }.bound())
        };
        let largest = models.filter_map(bound).max();
        assert!(largest.is_some_and(|bound| (169..=ASSUMED_BOUND).contains(&bound)), "{largest:?}");
    }

    #[test]
    fn only_this_processor_s_measurement_is_read() {
        let folder = env::temp_dir().join(format!("filch-cache-{}", std::process::id()));
        let (here, other) = (model("AuthenticAMD", 0x00A1_0F11), model("AuthenticAMD", 0x00A1_0F12));
        let read = || Measured::read_for(&folder, &here);
        let measured = |model: &Model, entries| Measured { model: model.clone(), entries, commit: "abc".to_owned() };
        assert!(read().unwrap_err().contains("AuthenticAMD-25-17-1) is not measured"));
        measured(&other, 32).write(&folder).unwrap();
        assert!(read().unwrap_err().contains("is not measured"), "another stepping's");
        let path = measured(&here, 64).write(&folder).unwrap();
        assert_eq!(read(), Ok(measured(&here, 64)));
        for broken in ["", "{", "64", "{\"entries\":64}", "{\"model\":{},\"entries\":64,\"commit\":\"\"}"] {
            fs::write(&path, broken).unwrap();
            assert!(read().unwrap_err().contains("is no measurement"), "{broken}");
        }
        for wrong in [measured(&other, 64), measured(&here, 0)] {
            fs::write(&path, serde_json::to_string(&wrong).unwrap()).unwrap();
            assert!(read().unwrap_err().contains("of another processor"), "{wrong:?}");
        }
        assert!(measured(&here, 64).write(&path).is_err(), "a file is no folder");
        fs::remove_dir_all(folder).unwrap();
    }
}
