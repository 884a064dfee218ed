//! What a recording says.
//!
//! Invariant: the regions' shares add up to the work, and to the span, but for rounding.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use super::recorder::Recorder;
use super::tape::{Graph, OUTSIDE};

/// The work and span of a computation: see [`scale`](crate::scale). Displayed, it begins with a sentence that says how
/// many workers can help.
///
/// All lengths are in nanoseconds, or in the units of [a clock of your own](crate::scale::Recording::clock).
///
/// ```
/// let scale = filch::scale::measure(|| filch::join(|| 1, || 2)).scale;
/// assert!(scale.forks == 1 && scale.span <= scale.work);
/// assert!(scale.to_string().starts_with("More than "));
/// ```
#[derive(Clone, Debug)]
pub struct Scale {
    /// The time of all strands: what one worker takes.
    pub work: u64,
    /// The time of the longest chain of strands that must run one after the other: what any number of workers take.
    pub span: u64,
    /// The span if each second branch of a fork costs [a theft](crate::scale::Recording::theft), except where running
    /// both branches in turn ends sooner.
    pub burdened_span: u64,
    /// What a theft was taken to cost.
    pub theft: u64,
    /// The number of forks, spawned jobs and splits of loops.
    pub forks: u64,
    regions: Vec<Region>,
    grains: Vec<Grain>,
    graph: Option<Graph>,
    is_time: bool,
}

/// A [named](crate::scale::region) part of the program, without the regions within it.
///
/// ```
/// use filch::scale::{measure, region};
///
/// let scale = measure(|| region("all", || (0..1000).for_each(|n| _ = std::hint::black_box(n)))).scale;
/// let all = scale.regions().iter().find(|region| region.name == Some("all")).unwrap();
/// assert_eq!(all.work, all.span);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// `None` for what is outside all named regions.
    pub name: Option<&'static str>,
    /// How much of the work is here.
    pub work: u64,
    /// How much of the span is here.
    pub span: u64,
}

/// The strands of about the same length.
///
/// ```
/// let scale = filch::scale::measure(|| filch::join(|| 1, || 2)).scale;
/// let strands: u64 = scale.grains().iter().map(|grain| grain.strands).sum();
/// assert_eq!(strands, 4, "before the fork, two branches, and after the join");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain {
    /// The least length of these strands; they are at most twice as long.
    pub from: u64,
    /// How many there are.
    pub strands: u64,
    /// What they take together.
    pub work: u64,
}

impl Scale {
    pub(crate) fn of(mut recorder: Recorder) -> Self {
        let last = std::mem::take(&mut recorder.last);
        recorder.raise(last);
        let Recorder { clock, at, work, works, names, forks, strands, grains, theft, tape, .. } = recorder;
        let units = |ticks: u64| (ticks as f64 / clock.rate).round() as u64;
        let part = |part: usize| at.parts.get(part).copied().unwrap_or(0);
        let region = |(index, name)| Region { name: Some(name), work: units(works[index]), span: units(part(index)) };
        let graph = tape.end(&names);
        let mut regions: Vec<Region> = names.into_iter().enumerate().map(region).collect();
        let rest = Region {
            name: None,
            work: units(work - works.iter().sum::<u64>()),
            span: units(at.span - at.parts.iter().sum::<u64>()),
        };
        regions.insert(OUTSIDE, rest);
        regions.retain(|region| region.name.is_some() || region.work > 0);
        regions.sort_by_key(|region| std::cmp::Reverse((region.span, region.work)));
        let from = |log: usize| if log == 0 { 0 } else { units(1 << (log - 1)) };
        let grains = (0..).zip(strands.into_iter().zip(grains)).filter(|(_, (strands, _))| *strands > 0);
        let grain = |(log, (strands, sum))| Grain { from: from(log), strands, work: units(sum) };
        Self {
            work: units(work),
            span: units(at.span),
            burdened_span: units(at.burdened.min(work)),
            theft: units(theft),
            forks,
            regions,
            grains: grains.map(grain).collect(),
            graph,
            is_time: clock.own.is_none(),
        }
    }

    /// How many times longer the work is than the span: no number of workers gives a greater speed-up.
    ///
    /// ```
    /// thread_local!(static NOW: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
    /// let recording = filch::scale::Recording::new().clock(|| NOW.get());
    /// let spin = || NOW.set(NOW.get() + 100);
    /// assert_eq!(recording.measure(|| filch::join(spin, spin)).scale.parallelism(), 2.0);
    /// ```
    pub fn parallelism(&self) -> f64 {
        ratio(self.work, self.span)
    }

    /// As [`Scale::parallelism`], where thefts cost something.
    ///
    /// ```
    /// let scale = filch::scale::measure(|| filch::join(|| 1, || 2)).scale;
    /// assert!((1.0..=scale.parallelism()).contains(&scale.burdened_parallelism()));
    /// ```
    pub fn burdened_parallelism(&self) -> f64 {
        ratio(self.work, self.burdened_span)
    }

    /// The regions, by their share of the span, greatest first. For an example see [`Region`].
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The strands by length, in powers of two of the clock's ticks, shortest first. For an example see [`Grain`].
    pub fn grains(&self) -> &[Grain] {
        &self.grains
    }

    /// The graph itself; `None` if its text would have passed half a gigabyte. For an example see [`Graph`].
    pub fn graph(&self) -> Option<&Graph> {
        self.graph.as_ref()
    }

    /// Writes all this, and the graph, as an object of JSON in one line. `filch scale FILE`, of the repository, draws
    /// it, and says how fast the program would be on more processors.
    ///
    /// ```
    /// let measured = filch::scale::measure(|| filch::join(|| 1, || 2));
    /// let mut json = Vec::new();
    /// measured.scale.write_json(&mut json, "two numbers")?;
    /// assert!(json.starts_with(b"{\"program\":\"two numbers\",\"unit\":\"ns\",\"work\":"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, mut out: impl Write, program: &str) -> io::Result<()> {
        let (program, unit) = (quoted(program), if self.is_time { "\"ns\"" } else { "null" });
        let Self { work, span, burdened_span, theft, forks, .. } = self;
        write!(out, "{{\"program\":{program},\"unit\":{unit},\"work\":{work},\"span\":{span},")?;
        write!(out, "\"theft\":{theft},\"burdened_span\":{burdened_span},\"forks\":{forks},")?;
        write!(out, "\"median_grain\":{},\"sentence\":{}", self.median_grain(), quoted(&self.sentence()))?;
        let region = |Region { name, work, span }: &Region| {
            let name = name.map_or("null".to_owned(), quoted);
            format!("{{\"name\":{name},\"work\":{work},\"span\":{span}}}")
        };
        write!(out, ",\"regions\":[{}]", self.regions.iter().map(region).collect::<Vec<_>>().join(","))?;
        let grain = |Grain { from, strands, work }: &Grain| format!("[{from},{strands},{work}]");
        write!(out, ",\"grains\":[{}]", self.grains.iter().map(grain).collect::<Vec<_>>().join(","))?;
        if let Some(graph) = &self.graph {
            let (least, left_out) = (graph.least, graph.left_out);
            let names: Vec<String> = graph.regions.iter().map(|name| quoted(name)).collect();
            write!(out, ",\"region_names\":[{}]", names.join(","))?;
            write!(out, ",\"least_branch\":{least},\"forks_left_out\":{left_out},\"graph\":\"{graph}\"")?;
        }
        writeln!(out, "}}")?;
        out.flush()
    }

    /// The [length](Grain::from) of strands of which half of the work consists of shorter ones, the other half of
    /// longer ones.
    ///
    /// ```
    /// thread_local!(static NOW: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
    /// let recording = filch::scale::Recording::new().clock(|| NOW.get());
    /// let spin = || NOW.set(NOW.get() + 100);
    /// assert_eq!(recording.measure(|| filch::join(spin, spin)).scale.median_grain(), 64);
    /// ```
    pub fn median_grain(&self) -> u64 {
        let work: u64 = self.grains.iter().map(|grain| grain.work).sum();
        let mut below = 0;
        let is_median = |grain: &&Grain| {
            below += grain.work;
            2 * below >= work
        };
        self.grains.iter().find(is_median).map_or(0, |grain| grain.from)
    }

    /// A length as a text.
    fn long(&self, length: u64) -> String {
        if self.is_time { format!("{:.3?}", Duration::from_nanos(length)) } else { length.to_string() }
    }

    /// Says how many workers can help, and why not more.
    fn sentence(&self) -> String {
        let most = |parallelism: f64| match parallelism.round() as u64 {
            0 | 1 => "one worker".to_owned(),
            workers => format!("{workers} workers"),
        };
        let mut sentence = format!("More than {} will not help", most(self.parallelism()));
        if let Some(Region { name: Some(name), work, span }) = self.regions.first() {
            let percent = |part, whole| (ratio(part, whole) * 100.0).round();
            sentence += &format!(
                ": {} % of the span is in `{name}`, which is {} % of the work",
                percent(*span, self.span),
                percent(*work, self.work)
            );
        }
        if self.burdened_parallelism() < 0.8 * self.parallelism() {
            let (theft, most) = (self.long(self.theft), most(self.burdened_parallelism()));
            sentence += &format!(". Where a theft costs {theft}, not more than {most} will help");
        }
        sentence + "."
    }
}

/// The quotient, or 1 if there is nothing to divide by.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// The text as a string of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            _ if c.is_control() => quoted += &format!("\\u{:04x}", u32::from(c)),
            _ => quoted.push(c),
        }
    }
    quoted + "\""
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.sentence())?;
        let long = |length| self.long(length);
        writeln!(f, "work {}, span {}, parallelism {:.1}", long(self.work), long(self.span), self.parallelism())?;
        let burdened = self.burdened_parallelism();
        writeln!(f, "burdened span {}, burdened parallelism {burdened:.1}", long(self.burdened_span))?;
        write!(f, "{} forks, half of the work in strands of at most {}", self.forks, long(2 * self.median_grain()))?;
        if self.regions.iter().any(|region| region.name.is_some()) {
            for Region { name, work, span } in &self.regions {
                let name = name.map_or("elsewhere".to_owned(), |name| format!("`{name}`"));
                write!(f, "\n{name}: work {}, span {}", long(*work), long(*span))?;
            }
        }
        Ok(())
    }
}
