//! Experiments as files: the form of `experiments/ID.toml`, which a user's own file has too.
//!
//! Invariant: what is wrong in a file is told with its line. What a file leaves to the machine, such as `"all"`
//! workers, is settled when it is read.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use filch_catalogue::console::store_buffer::Measured;
use filch_catalogue::protocol::cores;
use filch_catalogue::{PEERS, WAITS, unknown};
use serde::Deserialize;
use toml::{Spanned, Value};

use super::claim::{Claim, Limit, Need};
use super::origin::Origin;
use super::paper::{DOCUMENTS, Mark, Paper, Table};
use super::quantity::{At, Comparison, Measure, Pick, Quantity};
use super::{Contender, Effort, Entry, Experiment, Plot, Program, Sweep};
use crate::columns::COLUMNS;
use crate::flags::Size;
use crate::identity::{Placement, SchedulerId};
use crate::probes;
use crate::programs::unchecked;
use crate::scheduler::{Scheduler, identity};

/// A text with its place in the file.
type Word = Spanned<String>;
/// Contenders by the beginning of a program.
type ByProgram = BTreeMap<String, Vec<Word>>;

/// An experiment as its file writes it. `docs/adding.md` explains the keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    question: String,
    document: Option<Printed>,
    #[serde(default)]
    differs: Vec<String>,
    probe: Option<Word>,
    #[serde(default)]
    programs: Programs,
    #[serde(default)]
    names: BTreeMap<String, String>,
    #[serde(default)]
    pools: Vec<Word>,
    #[serde(default)]
    peers: Vec<Word>,
    #[serde(default)]
    only: ByProgram,
    #[serde(default)]
    also: ByProgram,
    #[serde(default)]
    without: ByProgram,
    workers: Vec<Spanned<Value>>,
    most_workers: Option<Spanned<usize>>,
    #[serde(default)]
    more_workers: Vec<Spanned<Value>>,
    placement: Option<Word>,
    sweep: Option<Swept>,
    seconds: Option<u32>,
    visit_seconds: Option<Spanned<f64>>,
    #[serde(default)]
    columns: Vec<Word>,
    plots: Option<Vec<Word>>,
    #[serde(default)]
    claim: Vec<Spanned<Said>>,
}

/// What it repeats of a document.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Printed {
    name: Word,
    place: String,
    shows: String,
    #[serde(default)]
    tables: Vec<Numbers>,
    #[serde(default)]
    marks: Vec<Marked>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    caption: String,
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Marked {
    column: String,
    #[serde(default)]
    program: String,
    label: String,
    points: Vec<(f64, f64)>,
}

/// The programs of each size, after those of every size.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Programs {
    #[serde(default)]
    every: Vec<Word>,
    #[serde(default)]
    quick: Vec<Word>,
    #[serde(default)]
    small: Vec<Word>,
    #[serde(default)]
    paper: Vec<Word>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Swept {
    parameter: String,
    values: Vec<Spanned<Value>>,
    meaning: String,
}

/// A claim as its file writes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Said {
    says: String,
    number: Option<Word>,
    of: Word,
    at: Option<Spanned<Value>>,
    over: Option<Word>,
    over_at: Option<Spanned<Value>>,
    over_program: Option<String>,
    over_workers: Option<usize>,
    #[serde(default)]
    mean: bool,
    minus: Option<Word>,
    over_best: Option<Vec<Word>>,
    over_with: Option<Spanned<BTreeMap<String, Value>>>,
    #[serde(default)]
    over_swept: bool,
    flat_up_to: Option<f64>,
    #[serde(default)]
    programs: Vec<String>,
    with: Option<Spanned<BTreeMap<String, Value>>>,
    workers: Option<Spanned<Value>>,
    needs_processors: Option<usize>,
    needs: Option<String>,
    #[serde(default)]
    shared_processors: bool,
    #[serde(default)]
    check: bool,
    below: Option<f64>,
    above: Option<f64>,
    within: Option<(f64, f64)>,
}

/// What is wrong in a file, and where.
struct Wrong {
    place: Range<usize>,
    why: String,
}

fn wrong(place: Range<usize>, why: impl Into<String>) -> Wrong {
    Wrong { place, why: why.into() }
}

type Read<T> = Result<T, Wrong>;

/// Reads an experiment; the error says the line.
pub(crate) fn read(id: &str, text: &str) -> Result<Experiment, String> {
    let read = || experiment(id, &Terms::of(&file(text)?, Machine::here())?);
    read().map_err(|wrong| tell(text, wrong))
}

/// As [`read`], for a user's file: also each program, contender and parameter must be one that there is.
pub(crate) fn read_and_check(id: &str, text: &str) -> Result<Experiment, String> {
    let read = || {
        let file = file(text)?;
        let terms = Terms::of(&file, Machine::here())?;
        let experiment = experiment(id, &terms)?;
        terms.check(experiment.sweep.as_ref())?;
        Ok(experiment)
    };
    read().map_err(|wrong| tell(text, wrong))
}

fn file(text: &str) -> Read<File> {
    toml::from_str(text).map_err(|error| wrong(error.span().unwrap_or_default(), error.message()))
}

/// `line 5, pools: there is no pool `chase-le`: did you mean `chase-lev`?`
fn tell(text: &str, Wrong { place, why }: Wrong) -> String {
    let before = text.get(..place.start).unwrap_or_default();
    let number = before.matches('\n').count() + 1;
    // The key may stand above: arrays have several lines. A claim has none.
    let lines = text.lines().take(number);
    let key = lines.fold("", |above, line| if line.starts_with('[') { "" } else { key(line).unwrap_or(above) });
    let comma = if key.is_empty() { "" } else { ", " };
    format!("line {number}{comma}{key}: {why}")
}

/// Returns the key that a line begins with.
fn key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once(" = ")?;
    let is_plain = key.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:\"".contains(c));
    (is_plain && !key.is_empty()).then_some(key)
}

/// What a file's words mean on this machine.
struct Terms<'f> {
    file: &'f File,
    placements: Vec<Placement>,
    threads: Threads,
}

fn experiment(id: &str, terms: &Terms<'_>) -> Read<Experiment> {
    let file = terms.file;
    let usual = Effort::default();
    Ok(Experiment {
        name: Some(keep(id)),
        entries: terms.entries()?,
        workers: terms.workers()?,
        placements: terms.placements.clone(),
        sweep: file.sweep.as_ref().map(sweep).transpose()?,
        effort: Effort {
            budget: file.seconds.unwrap_or(usual.budget),
            visit: file.visit_seconds.as_ref().map_or(Ok(usual.visit), seconds)?,
            ..usual
        },
        columns: keep_all(file.columns.iter().map(column).collect::<Read<Vec<_>>>()?),
        plots: match &file.plots {
            None => Plot::USUAL,
            Some(plots) => keep_all(plots.iter().map(plot).collect::<Read<Vec<_>>>()?),
        },
        claims: file.claim.iter().map(|said| terms.claim(said)).collect::<Read<_>>()?,
        paper: file.document.as_ref().map(paper).transpose()?,
        differs: keep_all(file.differs.iter().map(keep)),
        probe: file.probe.as_ref().map(|word| one_of("probe", word, probes::ALL)).transpose()?,
        ..Experiment::new(file.question.clone())
    })
}

/// Returns what the word names.
fn one_of<T>(what: &str, word: &Word, all: impl IntoIterator<Item = (&'static str, T)>) -> Read<T> {
    let (names, mut things): (Vec<&str>, Vec<T>) = all.into_iter().unzip();
    match names.iter().position(|name| name == word.as_ref()) {
        Some(place) => Ok(things.swap_remove(place)),
        None => Err(wrong(word.span(), unknown(what, word.as_ref(), &names))),
    }
}

fn sweep(sweep: &Swept) -> Read<Sweep> {
    let values = sweep.values.iter().map(one_text).collect::<Read<_>>()?;
    Ok(Sweep { parameter: keep(&sweep.parameter), values, meaning: keep(&sweep.meaning) })
}

fn seconds(number: &Spanned<f64>) -> Read<f64> {
    let is_time = (0.0..=3600.0).contains(number.as_ref());
    is_time.then_some(*number.as_ref()).ok_or_else(|| wrong(number.span(), "it is 0 to 3600 seconds"))
}

fn column(word: &Word) -> Read<&'static str> {
    one_of("column", word, COLUMNS.iter().map(|column| (column.name, column.name)))
}

fn plot(word: &Word) -> Read<Plot> {
    if let Some(name) = word.as_ref().strip_prefix("swept ") {
        return column(&Spanned::new(word.span(), name.to_owned())).map(Plot::Swept);
    }
    let all = [
        ("times", Plot::Times),
        ("speedup", Plot::Speedup),
        ("relative-speedup", Plot::RelativeSpeedup),
        ("forks", Plot::Forks),
    ];
    one_of("plot", word, all)
}

fn paper(printed: &Printed) -> Read<&'static Paper> {
    let document = one_of("document", &printed.name, DOCUMENTS.map(|document| (document.name, document)))?;
    let texts = |texts: &[String]| keep_all(texts.iter().map(keep));
    let table = |table: &Numbers| Table {
        caption: keep(&table.caption),
        heads: texts(&table.heads),
        rows: keep_all(table.rows.iter().map(|row| texts(row))),
    };
    let mark = |mark: &Marked| Mark {
        column: keep(&mark.column),
        program: keep(&mark.program),
        label: keep(&mark.label),
        points: keep_all(mark.points.iter().copied()),
    };
    let paper = Paper {
        document,
        place: keep(&printed.place),
        shows: keep(&printed.shows),
        tables: keep_all(printed.tables.iter().map(table)),
        marks: keep_all(printed.marks.iter().map(mark)),
    };
    Ok(Box::leak(Box::new(paper)))
}

/// Returns a word or a number as a text.
fn one_text(value: &Spanned<Value>) -> Read<String> {
    match value.as_ref() {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        other => Err(wrong(value.span(), format!("a value is a word or a number, not {}", other.type_str()))),
    }
}

/// Keeps a text of a file for as long as the program runs: each file is read once.
pub(crate) fn keep(text: impl AsRef<str>) -> &'static str {
    Box::leak(text.as_ref().to_owned().into_boxed_str())
}

fn keep_all<T>(items: impl IntoIterator<Item = T>) -> &'static [T] {
    Vec::leak(items.into_iter().collect())
}

/// In a contender, this machine's number for `bound`: measured, or half more than documented.
const BOUND_HERE: &str = "bound=here";
static HERE: LazyLock<Option<usize>> = LazyLock::new(|| Measured::here().map(|measured| measured.bound()));

impl<'f> Terms<'f> {
    fn of(file: &'f File, machine: Machine) -> Read<Self> {
        let all = [
            ("free", vec![Placement::Free]),
            ("pinned", vec![Placement::Pinned]),
            ("both", vec![Placement::Free, Placement::Pinned]),
        ];
        let placements = file.placement.as_ref().map(|word| one_of("placement", word, all)).transpose()?;
        let most = match &file.most_workers {
            None => usize::MAX,
            Some(most) if *most.as_ref() >= 2 => *most.as_ref(),
            Some(most) => return Err(wrong(most.span(), "it is two or more")),
        };
        let placements = placements.unwrap_or_else(|| vec![Placement::Free]);
        Ok(Self { file, placements, threads: Threads::of(machine, most) })
    }

    /// Returns what a word stands for, if it is one of the file's names.
    fn named<'w>(&'w self, word: &'w str) -> &'w str {
        self.file.names.get(word).map_or(word, String::as_str)
    }

    /// Whether a word is a peer of the file: a queue may have the name of one.
    fn is_peer(&self, word: &str) -> bool {
        let has = |words: &[Word]| words.iter().any(|known| known.as_ref() == word);
        has(&self.file.peers) && !has(&self.file.pools)
    }

    /// Returns a contender's text with this machine's numbers; `None` if the machine's are unknown.
    fn spelled(&self, word: &str) -> Option<String> {
        let text = self.named(word);
        if !text.contains(BOUND_HERE) {
            return Some(text.to_owned());
        }
        HERE.map(|bound| text.replace(BOUND_HERE, &format!("bound={bound}")))
    }

    /// Returns a pool, such as `split leapfrog`, or a peer; `None` if it depends on what is unknown of the machine.
    fn contender(&self, word: &Word) -> Read<Option<Contender>> {
        let Some(text) = self.spelled(word.as_ref()) else { return Ok(None) };
        if self.is_peer(word.as_ref()) {
            return Ok(Some(Contender::peer(text)));
        }
        let Some((name, wait)) = text.rsplit_once(' ') else { return Ok(Some(Contender::pool(text))) };
        let wait = Spanned::new(word.span(), wait.to_owned());
        let wait = one_of("wait", &wait, WAITS.iter().map(|wait| (wait.name, wait.name)))?;
        Ok(Some(Contender::Pool { name: name.to_owned(), wait }))
    }

    /// Returns a contender's name in tables, without the swept parameter. With both placements, a word says which it
    /// means.
    fn title(&self, word: &str) -> String {
        let text = self.spelled(word).unwrap_or_else(|| word.to_owned());
        let (text, placement) = match (&self.placements[..], text.strip_suffix(" pinned")) {
            ([one], _) => (text.as_str(), *one),
            (_, Some(text)) => (text, Placement::Pinned),
            (_, None) => (text.as_str(), Placement::Free),
        };
        let who = if self.is_peer(word) {
            SchedulerId::named(text)
        } else {
            let (name, wait) = text.rsplit_once(' ').unwrap_or((text, WAITS[0].name));
            identity(name, wait, placement)
        };
        let parameter = self.file.sweep.as_ref().map_or("", |sweep| &sweep.parameter);
        who.without(parameter).0.to_string()
    }

    fn entries(&self) -> Read<Vec<Entry>> {
        let file = self.file;
        let all = |words: &[Word]| -> Read<Vec<Contender>> {
            Ok(words.iter().map(|word| self.contender(word)).collect::<Read<Vec<_>>>()?.into_iter().flatten().collect())
        };
        let contenders = [all(&file.pools)?, all(&file.peers)?].concat();
        let entry = |program: Program, text: &str| -> Read<Entry> {
            let of = |map: &ByProgram| -> Read<Option<Vec<Contender>>> {
                let found = map.iter().find(|(start, _)| text.starts_with(start.as_str()));
                found.map(|(_, words)| all(words)).transpose()
            };
            let mut those =
                [of(&file.only)?.unwrap_or_else(|| contenders.clone()), of(&file.also)?.unwrap_or_default()].concat();
            if let Some(without) = of(&file.without)? {
                those.retain(|who| !without.contains(who));
            }
            Ok(Entry { program, contenders: those })
        };
        let Programs { every, quick, small, paper } = &file.programs;
        let every = every.iter().map(|word| entry(Program::new(word.as_ref()), word.as_ref()));
        let sized = [(Size::Quick, quick), (Size::Small, small), (Size::Paper, paper)].into_iter();
        let sized = sized.flat_map(|(size, words)| words.iter().map(move |word| (size, word)));
        let sized = sized.map(|(size, word)| entry(Program::only(size, word.as_ref()), word.as_ref()));
        every.chain(sized).collect()
    }

    fn workers(&self) -> Read<Vec<usize>> {
        let mut all = Vec::new();
        for value in &self.file.workers {
            match value.as_ref().as_str() {
                Some("doubling") => all.extend(doubling(self.threads.all)),
                _ => all.extend(self.number_of_workers(value)?),
            }
        }
        for value in &self.file.more_workers {
            all.extend(self.number_of_workers(value)?.filter(|&more| more <= cores()));
        }
        let mut each = Vec::new();
        for workers in all {
            if !each.contains(&workers) {
                each.push(workers);
            }
        }
        Ok(each)
    }

    /// Returns a number of workers; `None` where the machine has none of the kind.
    fn number_of_workers(&self, value: &Spanned<Value>) -> Read<Option<usize>> {
        match value.as_ref() {
            Value::Integer(number) if (1..=i64::from(u16::MAX)).contains(number) => Ok(usize::try_from(*number).ok()),
            Value::String(word) if word == "all" => Ok(Some(self.threads.all)),
            Value::String(word) if word == "cores" => Ok(Some(self.threads.one_on_a_core)),
            Value::String(word) if word == "shared" => Ok(self.threads.two_on_a_core),
            _ => {
                Err(wrong(value.span(), "workers are a number above 0, \"all\", \"doubling\", \"cores\" or \"shared\""))
            }
        }
    }

    fn claim(&self, said: &Spanned<Said>) -> Read<Claim> {
        let (place, said) = (said.span(), said.as_ref());
        let limit = match (said.below, said.above, said.within) {
            (Some(to), None, None) => Limit::Below(to),
            (None, Some(from), None) => Limit::Above(from),
            (None, None, Some((from, to))) => Limit::Within(from, to),
            _ => return Err(wrong(place, "a claim has one limit: `below`, `above` or `within`")),
        };
        let of = Pick::new(keep(self.title(said.of.as_ref())), at(said.at.as_ref())?);
        let mut claim = Claim::new(keep(&said.says), of, self.measure(place, said)?, limit);
        claim.programs = keep_all(said.programs.iter().map(keep));
        claim.with = said.with.as_ref().map(setting).transpose()?;
        claim.may_share = said.shared_processors;
        if said.check {
            claim.origin = Origin::Check;
        }
        claim.needs = said.needs.as_ref().map(|what| Need::Else(keep(what)));
        claim.needs = claim.needs.or(said.needs_processors.map(Need::Processors));
        if let Some(value) = &said.workers {
            let number = self.number_of_workers(value)?;
            claim.by_machine = value.as_ref().is_str();
            // A machine with fewer cores lacks something else.
            let least = said.needs_processors.filter(|_| claim.by_machine).unwrap_or(0);
            claim.workers = number.map(|number| number.max(least));
            if number.is_none() {
                claim.needs = Some(Need::Else("the system does not say that processors share a core"));
            }
        }
        let compared = [Some(&said.of), said.over.as_ref()].into_iter().flatten();
        if compared.map(|word| self.named(word.as_ref())).any(|text| text.contains(BOUND_HERE)) {
            claim.by_machine = true;
            if HERE.is_none() {
                claim.needs = Some(Need::Else(
                    "S of this processor is neither documented nor measured: filch probe store-buffer",
                ));
            }
        }
        Ok(claim)
    }

    fn measure(&self, place: Range<usize>, said: &Said) -> Read<Measure> {
        let compares =
            said.over.is_some() || said.over_at.is_some() || said.over_program.is_some() || said.over_workers.is_some();
        let forms = [
            compares,
            said.minus.is_some(),
            said.over_best.is_some(),
            said.over_with.is_some(),
            said.over_swept,
            said.flat_up_to.is_some(),
        ];
        if forms.into_iter().filter(|&is| is).count() > 1 || said.mean && !compares {
            return Err(wrong(place, "a claim compares with one thing, and only `over` has a `mean`"));
        }
        if let Some(share) = said.flat_up_to {
            return Ok(Measure::FlatUpTo(share));
        }
        if let Some(comparison) = said.number.as_ref().and_then(|word| Comparison::named(word.as_ref())) {
            let is_alone = !forms.contains(&true);
            let compared = || wrong(place, format!("{comparison} is a comparison already"));
            return is_alone.then_some(Measure::Of(comparison)).ok_or_else(compared);
        }
        let quantity = match &said.number {
            None => Quantity::Time,
            Some(word) => Quantity::parse(word.as_ref()).map_err(|why| wrong(word.span(), why))?,
        };
        let pick = |who: Option<&Word>| -> Read<Pick> {
            Ok(Pick {
                who: keep(self.title(who.unwrap_or(&said.of).as_ref())),
                at: at(said.over_at.as_ref())?,
                program: said.over_program.as_ref().map(keep),
                workers: said.over_workers,
            })
        };
        if let Some(best) = &said.over_best {
            return Ok(Measure::OverBest(quantity, keep_all(best.iter().map(|word| keep(self.title(word.as_ref()))))));
        }
        if let Some(with) = &said.over_with {
            let (name, value) = setting(with)?;
            return Ok(Measure::OverWith(quantity, name, value));
        }
        Ok(match (&said.minus, compares, said.mean) {
            (Some(minus), ..) => Measure::Beyond(quantity, pick(Some(minus))?),
            (None, true, true) => Measure::MeanOver(quantity, pick(said.over.as_ref())?),
            (None, true, false) => Measure::Over(quantity, pick(said.over.as_ref())?),
            (None, false, _) if said.over_swept => Measure::OverSwept(quantity),
            (None, false, _) => Measure::Is(quantity),
        })
    }
}

/// Returns the swept values that a claim names.
fn at(value: Option<&Spanned<Value>>) -> Read<At> {
    let Some(value) = value else { return Ok(At::Any) };
    let each = |one: &Value| one_text(&Spanned::new(value.span(), one.clone())).map(keep);
    Ok(match value.as_ref() {
        Value::Array(values) => At::Among(keep_all(values.iter().map(each).collect::<Read<Vec<_>>>()?)),
        one => At::One(each(one)?),
    })
}

/// Returns a parameter and its value.
fn setting(table: &Spanned<BTreeMap<String, Value>>) -> Read<(&'static str, &'static str)> {
    let mut settings = table.as_ref().iter();
    match (settings.next(), settings.next()) {
        (Some((name, value)), None) => Ok((keep(name), keep(one_text(&Spanned::new(table.span(), value.clone()))?))),
        _ => Err(wrong(table.span(), "it is one parameter, as in { task = \"bag\" }")),
    }
}

impl Terms<'_> {
    /// Fails at the first program, contender or claim that names what there is not.
    fn check(&self, sweep: Option<&Sweep>) -> Read<()> {
        let file = self.file;
        if file.probe.is_some() {
            return Ok(());
        }
        let special = [&file.only, &file.also, &file.without].into_iter().flat_map(BTreeMap::values).flatten();
        let contenders: Vec<&Word> = file.pools.iter().chain(&file.peers).chain(special).collect();
        self.check_contenders(&contenders, sweep)?;
        file.claim.iter().try_for_each(|said| self.check_claim(said.as_ref(), &contenders, sweep))
    }

    fn check_contenders(&self, contenders: &[&Word], sweep: Option<&Sweep>) -> Read<()> {
        let Programs { every, quick, small, paper } = &self.file.programs;
        let sizes = [(Size::Small, every), (Size::Quick, quick), (Size::Small, small), (Size::Paper, paper)];
        let mut programs = Vec::new();
        for (size, word) in sizes.into_iter().flat_map(|(size, words)| words.iter().map(move |word| (size, word))) {
            for text in Sweep::spread(sweep, word.as_ref()) {
                programs.push(unchecked(&text, size).map_err(|why| wrong(word.span(), why.to_string()))?);
            }
        }
        if programs.is_empty() || contenders.is_empty() || self.file.workers.is_empty() {
            return Err(wrong(
                0..0,
                "it needs programs (`programs.every`, …), contenders (`pools`, `peers`) and workers",
            ));
        }
        for word in contenders {
            match self.contender(word)? {
                Some(Contender::Pool { name, wait }) => {
                    for name in Sweep::spread(sweep, &name) {
                        for program in &programs {
                            let suits = Scheduler::from_pool(program, &name, wait);
                            let _ = suits.map_err(|why| wrong(word.span(), why.to_string()))?;
                        }
                    }
                }
                Some(Contender::Peer(_)) => one_of("peer", word, PEERS.iter().map(|peer| (peer.name, ())))?,
                _ => {}
            }
        }
        Ok(())
    }

    fn check_claim(&self, said: &Said, contenders: &[&Word], sweep: Option<&Sweep>) -> Read<()> {
        let is_there = |word: &Word| {
            let word = word.as_ref();
            // With both placements, a claim says which it means.
            let plain = word.strip_suffix(" pinned").filter(|_| self.placements.len() > 1).unwrap_or(word);
            plain == "serial" || contenders.iter().any(|known| self.title(known.as_ref()) == self.title(plain))
        };
        let best = said.over_best.iter().flatten();
        for word in [Some(&said.of), said.over.as_ref(), said.minus.as_ref()].into_iter().flatten().chain(best) {
            if !is_there(word) {
                let known: Vec<&str> = contenders.iter().map(|word| word.as_ref().as_str()).collect();
                return Err(wrong(word.span(), unknown("contender", word.as_ref(), &known)));
            }
        }
        let swept = sweep.map_or(&[][..], |sweep| &sweep.values);
        for value in said.at.iter().chain(&said.over_at) {
            let named = match at(Some(value))? {
                At::Any => Vec::new(),
                At::One(one) => vec![one],
                At::Among(several) => several.to_vec(),
            };
            if !named.iter().all(|name| swept.iter().any(|known| known == name)) {
                return Err(wrong(value.span(), format!("the swept values are {}", swept.join(", "))));
            }
        }
        Ok(())
    }
}

/// The cores and processors of a machine. A virtual machine may not say which processors share a core.
#[derive(Clone, Copy)]
struct Machine {
    cores: usize,
    processors: usize,
}

impl Machine {
    fn here() -> Self {
        Self { cores: num_cpus::get_physical().min(cores()), processors: cores() }
    }
}

/// The numbers of workers on a machine, up to those of a document.
#[derive(Debug, PartialEq, Eq)]
struct Threads {
    /// As many as there are processors, and at least two.
    all: usize,
    /// As many as there are cores, and at least two.
    one_on_a_core: usize,
    /// Twice as many, as far as the processors reach; `None` if no two share a core.
    two_on_a_core: Option<usize>,
}

impl Threads {
    fn of(Machine { cores, processors }: Machine, most: usize) -> Self {
        let one_on_a_core = cores.clamp(2, most);
        let both = processors.min(2 * one_on_a_core);
        Self {
            all: processors.clamp(2, most),
            one_on_a_core,
            two_on_a_core: (both > one_on_a_core && processors > cores).then_some(both),
        }
    }
}

/// Two, four and so on, and the last: for curves.
fn doubling(to: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(2_usize), |workers| workers.checked_mul(2));
    powers.take_while(|&workers| workers < to).chain([to]).collect()
}

#[cfg(test)]
mod tests;
