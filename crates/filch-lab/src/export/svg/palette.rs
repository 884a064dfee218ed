//! What distinguishes series in plots: a colour and a symbol each, and a name as short as is unambiguous.

use crate::experiment::paper::Mark;
use crate::identity::SchedulerId;
use crate::summary::{Program, contenders};

/// The colours in the style sheet, which everybody can tell apart.
pub(super) const COLOURS: usize = 8;

/// The look of a series.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// The classes that give an element its colour.
    pub(super) class: String,
    /// The key that all elements of the series share, so that the page highlights them together.
    pub(super) key: String,
    pub(super) symbol: usize,
}

impl Look {
    /// The look of a plot's series with this index.
    pub(crate) fn nth(index: usize) -> Self {
        Self { class: format!("s c{}", index % COLOURS), key: index.to_string(), symbol: index + index / COLOURS }
    }

    /// The look of a document's series with this index: hollow symbols and a dashed line.
    pub(crate) fn theirs(index: usize) -> Self {
        Self { class: "s theirs".to_owned(), key: format!("theirs-{index}"), symbol: index }
    }

    /// Returns class and key as attributes.
    pub(super) fn attributes(&self) -> String {
        format!(r#"class="{}" data-s="{}""#, self.class, self.key)
    }
}

/// The name of a document's series.
pub(super) fn name_of(mark: &Mark) -> String {
    if mark.label.is_empty() { "paper".to_owned() } else { format!("paper: {}", mark.label) }
}

/// The looks of the schedulers, the same in every plot.
#[derive(Debug)]
pub(crate) struct Palette {
    all: Vec<SchedulerId>,
    names: Vec<String>,
    /// Distinguishes the palettes of a page.
    prefix: &'static str,
}

impl Palette {
    /// Assigns colours to the schedulers of these programs.
    pub(crate) fn new(programs: &[Program]) -> Self {
        Self::of(contenders(programs.iter().flat_map(|program| &program.rows)), "")
    }

    /// Assigns colours in this order.
    pub(super) fn of(all: Vec<SchedulerId>, prefix: &'static str) -> Self {
        let names = short(&all);
        Self { all, names, prefix }
    }

    pub(super) fn look(&self, who: &SchedulerId) -> Look {
        self.index(who).map_or_else(
            || Look { class: "s serial".to_owned(), key: "serial".to_owned(), symbol: 0 },
            |index| Look { key: format!("{}{index}", self.prefix), ..Look::nth(index) },
        )
    }

    /// The classes that give an element its scheduler's colour.
    pub(crate) fn class(&self, who: &SchedulerId) -> String {
        self.look(who).class
    }

    /// The key that a scheduler's elements share.
    pub(crate) fn key(&self, who: &SchedulerId) -> String {
        self.look(who).key
    }

    /// The scheduler's name without what all have in common.
    pub(super) fn name(&self, who: &SchedulerId) -> String {
        self.index(who).map_or_else(|| who.to_string(), |index| self.names[index].clone())
    }

    /// What the names omit, if anything.
    pub(crate) fn common(&self) -> Option<String> {
        let parts = shared(&self.all);
        (!parts.is_empty()).then(|| parts.concat().trim_start_matches([' ', ':']).to_owned())
    }

    fn index(&self, who: &SchedulerId) -> Option<usize> {
        self.all.iter().position(|known| known == who)
    }

    /// Returns the schedulers, in the order of their colours.
    pub(crate) fn all(&self) -> &[SchedulerId] {
        &self.all
    }
}

/// Splits a name before each space and colon.
fn parts(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in name.match_indices([' ', ':']) {
        parts.push(&name[start..at]);
        start = at;
    }
    parts.push(&name[start..]);
    parts
}

/// Returns the parts that all names have, as long as something remains of each.
fn shared(all: &[SchedulerId]) -> Vec<String> {
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    let [first, _, ..] = names.as_slice() else { return Vec::new() };
    let split: Vec<Vec<&str>> = names.iter().map(|name| parts(name)).collect();
    let candidates = parts(first).into_iter().filter(|part| split.iter().all(|name| name.contains(part)));
    let mut found: Vec<String> = Vec::new();
    for part in candidates {
        let remains = |name: &Vec<&str>| name.iter().any(|other| *other != part && !found.iter().any(|f| f == other));
        if split.iter().all(remains) {
            found.push(part.to_owned());
        }
    }
    found
}

/// Returns the names without what all have in common.
fn short(all: &[SchedulerId]) -> Vec<String> {
    let shared = shared(all);
    let cut = |who: &SchedulerId| {
        let name = who.to_string();
        let rest: String = parts(&name).into_iter().filter(|part| !shared.iter().any(|other| other == part)).collect();
        rest.trim_start_matches([' ', ':']).to_owned()
    };
    all.iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::run;
    use crate::summary::summarize;

    #[test]
    fn filch_has_the_first_colours() {
        let runs =
            [run("fib", "chili", 1, 1.0), run("fib", "filch closures", 1, 1.1), run("fib", "filch split", 1, 1.1)];
        let labels: Vec<String> = Palette::new(&summarize(&runs, &[])).all().iter().map(ToString::to_string).collect();
        assert_eq!(labels, ["filch split", "filch closures", "chili"]);
    }

    fn names(pools: &[&str], scheduler: &str) -> (Vec<String>, Option<String>) {
        let who = |pool: &&str| SchedulerId {
            pool: Some((*pool).to_owned()),
            wait: Some("leapfrog".to_owned()),
            ..SchedulerId::named(scheduler)
        };
        let palette = Palette::of(pools.iter().map(who).collect(), "");
        (palette.all.iter().map(|who| palette.name(who)).collect(), palette.common())
    }

    #[test]
    fn names_omit_what_all_have_in_common() {
        let (found, common) = names(&["split", "wool"], "filch");
        assert_eq!((found, common.as_deref()), (vec!["split".to_owned(), "wool".to_owned()], Some("filch leapfrog")));
        let (found, common) = names(&["thep:bound=33:stores=8", "thep:bound=33", "ff-cl:bound=33"], "filch");
        assert_eq!(found, ["thep:stores=8", "thep", "ff-cl"]);
        assert_eq!(common.as_deref(), Some("filch:bound=33 leapfrog"));
        // Something remains of each.
        let (found, _) = names(&["thep", "thep:bound=33"], "filch");
        assert!(found.iter().all(|name| !name.is_empty()) && found[0] != found[1], "{found:?}");
        assert_eq!(
            names(&["split"], "filch"),
            (vec!["filch split leapfrog".to_owned()], None),
            "nothing to compare with"
        );
        let strangers = Palette::of(["rayon", "chili"].map(SchedulerId::named).to_vec(), "");
        assert_eq!((strangers.name(&SchedulerId::named("rayon")).as_str(), strangers.common()), ("rayon", None));
    }

    #[test]
    fn series_differ_by_colour_or_symbol() {
        let looks: Vec<Look> = (0..3 * COLOURS).map(Look::nth).collect();
        for (index, look) in looks.iter().enumerate() {
            let twins = looks[..index]
                .iter()
                .filter(|other| (&other.class, other.symbol % 5) == (&look.class, look.symbol % 5));
            assert_eq!(twins.count(), 0, "{index}");
        }
    }

    /// Colours as a person sees them: linear red, green and blue, after the matrices of Machado, Oliveira and Fernandes
    /// 2009 for people without long, medium or short cones.
    const VISIONS: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
        [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
        [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]],
    ];

    fn times(matrix: &[[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
    }

    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour")) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// The place of a colour in Oklab, where equal distances look equal.
    fn seen(vision: &[[f64; 3]; 3], colour: &str) -> [f64; 3] {
        let cones = [
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ];
        let axes = [
            [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
            [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
            [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
        ];
        let seen = times(vision, linear(colour)).map(|part| part.clamp(0.0, 1.0));
        times(&axes, times(&cones, seen).map(f64::cbrt))
    }

    #[test]
    fn everybody_can_tell_the_colours_apart() {
        let style = include_str!("../html/report.css");
        // The colour in the light theme, and in the dark one.
        let values = |index: usize| -> [&str; 2] {
            let start = format!("--c{index}: light-dark(");
            let both = style.split(&start).nth(1).and_then(|rest| rest.split(')').next()).expect("two colours");
            both.split_once(", ").map(|(light, dark)| [light, dark]).expect("two colours")
        };
        for theme in 0..2 {
            let colours: Vec<&str> = (0..COLOURS).map(|index| values(index)[theme]).collect();
            for (vision, matrix) in VISIONS.iter().enumerate() {
                for (index, one) in colours.iter().enumerate() {
                    for other in &colours[..index] {
                        let (a, b) = (seen(matrix, one), seen(matrix, other));
                        let distance = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                        assert!(distance > 0.08, "{one} and {other}, vision {vision}: {distance:.3}");
                    }
                }
            }
        }
    }
}
