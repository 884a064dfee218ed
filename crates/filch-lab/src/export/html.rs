//! The report: one page that needs nothing but itself.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::columns::{Choice, Column};
use crate::export::svg::{self, Palette, escape};
use crate::record::Run;
use crate::stats::RESAMPLES;
use crate::summary::{Program, Row, facts};
use crate::terminal::{bytes, count, duration};
use crate::warnings::Warning;
use filch_protocol::Machine;

macro_rules! put {
    ($to:expr, $($text:tt)*) => { let _ = writeln!($to, $($text)*); };
}

/// The page for these runs, with what `programs` say of them.
pub(crate) fn report(runs: &[Run], programs: &[Program], choice: &Choice, doubts: &[Warning]) -> String {
    let columns = choice.all();
    let palette = Palette::new(programs);
    let machine = runs.first().map(|run| run.machine.clone()).unwrap_or_default();
    let mut page = String::new();
    put!(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
    put!(page, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    put!(page, "<meta name=\"color-scheme\" content=\"light dark\">");
    put!(
        page,
        "<title>filch: schedulers compared</title>\n<style>\n{}</style>\n</head>\n<body>",
        include_str!("report.css")
    );
    header(&mut page, runs, programs, &machine);
    put!(page, "<main>");
    failures(&mut page, doubts);
    headline(&mut page, programs, machine.cores);
    overview(&mut page, programs, &palette, machine.cores);
    for (index, program) in programs.iter().enumerate() {
        section(&mut page, index, program, &palette, &machine, &columns);
    }
    capacity(&mut page, programs);
    caution(&mut page, doubts);
    put!(page, "<div class=\"pair\">");
    machine_section(&mut page, runs, &machine);
    method(&mut page);
    put!(page, "</div>");
    meanings(&mut page, &columns);
    raw(&mut page, runs);
    put!(
        page,
        "</main>\n<div id=\"tip\" role=\"tooltip\"></div>\n<script>\n{}</script>\n</body>\n</html>",
        include_str!("report.js")
    );
    page
}

fn header(page: &mut String, runs: &[Run], programs: &[Program], machine: &Machine) {
    let measured = runs.iter().filter(|run| run.seconds.is_some()).count();
    let wrong = runs.iter().filter(|run| !run.correct).count();
    let at = runs.iter().map(|run| run.at).fold(f64::INFINITY, f64::min);
    let verdict =
        if wrong == 0 { "every answer right".to_owned() } else { format!("<b class=\"bad\">{wrong} not right</b>") };
    put!(page, "<header><div class=\"bar\"><a class=\"mark\" href=\"#top\">filch</a><nav>");
    for (index, program) in programs.iter().enumerate() {
        put!(page, "<a href=\"#p{index}\">{}</a>", escape(&short(&program.title)));
    }
    put!(page, "</nav><button id=\"theme\" type=\"button\" aria-label=\"Light or dark\">◐</button></div></header>");
    put!(page, "<div class=\"title\" id=\"top\"><h1>Schedulers compared</h1>");
    put!(
        page,
        "<p>{} · {} processors · {} · {measured} runs, {verdict}</p></div>",
        escape(&machine.processor),
        machine.cores,
        date(at)
    );
}

/// A title without the parameters that all programs have.
fn short(title: &str) -> String {
    title.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

fn failures(page: &mut String, doubts: &[Warning]) {
    for doubt in doubts.iter().filter(|doubt| doubt.is_failure()) {
        put!(page, "<p class=\"failure\"><b>{}</b> {}</p>", escape(&doubt.to_string()), escape(doubt.remedy()));
    }
}

fn headline(page: &mut String, programs: &[Program], cores: usize) {
    put!(page, "<section class=\"facts\">");
    for fact in facts(programs, cores) {
        put!(page, "<div class=\"fact\"><b>{}</b><p>{}</p></div>", escape(&fact.figure), escape(&fact.sentence));
    }
    put!(page, "</section>");
}

/// Who is how far from the fastest: a square per scheduler and program.
fn overview(page: &mut String, programs: &[Program], palette: &Palette, cores: usize) {
    let mut counts: Vec<usize> = programs.iter().flat_map(Program::worker_counts).collect();
    counts.sort_unstable();
    counts.dedup();
    put!(page, "<section class=\"card\"><h2>At a glance</h2>");
    put!(
        page,
        "<p class=\"say\">Median time over the fastest scheduler's with as many workers. 1.00 is the fastest.</p>"
    );
    put!(page, "<div class=\"glance\">");
    for workers in counts {
        let mark = if workers > cores { ", more than processors" } else { "" };
        let plural = if workers == 1 { "" } else { "s" };
        put!(page, "<table class=\"matrix\"><caption>{workers} worker{plural}{mark}</caption><thead><tr><th></th>");
        for program in programs {
            put!(page, "<th scope=\"col\">{}</th>", escape(&short(&program.title)).replacen(' ', "<br>", 1));
        }
        put!(page, "</tr></thead><tbody>");
        for label in palette.labels() {
            if !programs.iter().any(|program| program.row(label, workers).is_some()) {
                continue;
            }
            put!(
                page,
                "<tr {}><th scope=\"row\"><i class=\"swatch\"></i>{}</th>",
                palette.attributes(label),
                escape(label)
            );
            for program in programs {
                page.push_str(&square(program, label, workers));
            }
            put!(page, "</tr>");
        }
        put!(page, "</tbody></table>");
    }
    put!(page, "</div></section>");
}

fn square(program: &Program, label: &str, workers: usize) -> String {
    let best = program.ranking(workers).first().and_then(|row| row.median());
    let row = program.row(label, workers);
    let (Some(best), Some(row)) = (best, row) else { return "<td class=\"none\"></td>\n".to_owned() };
    let Some(time) = row.median() else { return "<td class=\"broken\" data-tip=\"broke\">✗</td>\n".to_owned() };
    let ratio = time / best;
    // Four times as long is as dark as it gets.
    let heat = (ratio.ln() / 4_f64.ln()).clamp(0.0, 1.0) * 100.0;
    let class = if !row.wrong.is_empty() {
        "bad"
    } else if ratio <= 1.02 {
        "best"
    } else {
        "heat"
    };
    let tip = format!("{}\n{label} on {workers}\n{}", program.title, duration(time));
    format!("<td class=\"{class}\" style=\"--heat:{heat:.0}%\" data-tip=\"{}\">{ratio:.2}</td>\n", escape(&tip))
}

fn section(
    page: &mut String,
    index: usize,
    program: &Program,
    palette: &Palette,
    machine: &Machine,
    columns: &[&Column],
) {
    put!(page, "<section class=\"card\" id=\"p{index}\"><h2>{}</h2>", escape(&program.title));
    let mut say: Vec<String> = Vec::new();
    if let Some(serial) = program.serial {
        say.push(format!("Sequential <b>{}</b>", duration(serial.median)));
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    if let Some(tasks) = program.tasks() {
        say.push(format!("<b>{}</b> tasks", count(tasks as f64)));
    }
    for capacity in &program.capacities {
        let sample = capacity.sample;
        say.push(format!("C{} <b>{:.2}</b> ({:.2}–{:.2})", capacity.copies, sample.median, sample.min, sample.max));
    }
    if let Some(baseline) = &program.baseline {
        say.push(format!("base <b>{}</b>", escape(baseline)));
    }
    for workers in program.worker_counts() {
        if let [first, second, ..] = program.ranking(workers).as_slice()
            && let (Some(best), Some(next)) = (first.median(), second.median())
        {
            say.push(format!(
                "on {workers}: <b>{}</b>, {:.0} % ahead of {}",
                escape(&first.label),
                (next / best - 1.0) * 100.0,
                escape(&second.label)
            ));
        }
    }
    put!(page, "<p class=\"say\">{}</p>", say.join(" · "));
    put!(page, "<div class=\"plots\"><figure><figcaption>Time: every run, the middle half, the median</figcaption>");
    put!(page, "{}</figure><div>", svg::times(program, palette));
    let speedup = svg::speedup(program, palette, machine.cores);
    if !speedup.is_empty() {
        put!(page, "<figure><figcaption>Speed-up Ts/TP by workers, with 95 % intervals</figcaption>{speedup}</figure>");
    }
    let overheads = svg::overheads(program, palette);
    if !overheads.is_empty() {
        put!(page, "<figure><figcaption>A fork and its join: (T1 − Ts) / tasks</figcaption>{overheads}</figure>");
    }
    put!(page, "</div></div>");
    table(page, program, palette, columns);
    put!(page, "</section>");
}

fn table(page: &mut String, program: &Program, palette: &Palette, columns: &[&Column]) {
    put!(
        page,
        "<details><summary>All numbers and counters</summary><div class=\"scroll\"><table class=\"numbers\"><thead><tr>"
    );
    put!(page, "<th>scheduler</th><th>P</th>");
    for column in columns {
        put!(page, "<th data-tip=\"{}\">{}</th>", escape(column.meaning), column.heading);
    }
    put!(page, "</tr></thead><tbody>");
    for row in &program.rows {
        let bad = if row.wrong.is_empty() && row.time.is_some() { "" } else { " class=\"bad\"" };
        let version = if row.version.is_empty() { String::new() } else { format!("{} {}", row.scheduler, row.version) };
        put!(
            page,
            "<tr {}><th scope=\"row\"{bad} data-tip=\"{}\"><i class=\"swatch\"></i>{}</th><td>{}</td>",
            palette.attributes(&row.label),
            escape(&version),
            escape(&row.label),
            row.workers
        );
        for column in columns {
            put!(page, "<td{}>{}</td>", rounds(column, row), column.text(row, true).unwrap_or_default());
        }
        put!(page, "</tr>");
    }
    put!(page, "</tbody></table></div></details>");
}

/// How many rounds a number rests on.
fn rounds(column: &Column, row: &Row) -> String {
    let Some(estimate) = column.estimate(row) else { return String::new() };
    let tip = match estimate.rounds {
        0 => "no round in common: of the medians".to_owned(),
        1 => "one round: no interval".to_owned(),
        rounds => format!("median over {rounds} rounds"),
    };
    format!(" data-tip=\"{tip}\"")
}

fn meanings(page: &mut String, columns: &[&Column]) {
    put!(page, "<section class=\"card\" id=\"columns\"><h2>What the columns mean</h2><dl>");
    for column in columns {
        put!(page, "<dt>{}</dt><dd>{}</dd>", column.heading, escape(column.meaning));
    }
    put!(page, "</dl></section>");
}

fn capacity(page: &mut String, programs: &[Program]) {
    let plot = svg::capacities(programs);
    if plot.is_empty() {
        return;
    }
    put!(page, "<section class=\"card\"><h2>Parallel capacity</h2>");
    put!(
        page,
        "<p class=\"say\">What several processors do at once against one: copies × time of the sequential program alone / its \
         time side by side, measured between the other runs. Processors that share a core, caches or memory cannot reach \
         their number, and no scheduler can exceed this. Where the dots move, the machine did.</p>"
    );
    put!(page, "<figure>{plot}</figure></section>");
}

fn caution(page: &mut String, doubts: &[Warning]) {
    if doubts.is_empty() {
        return;
    }
    put!(page, "<section class=\"card\" id=\"warnings\"><h2>Read with care</h2><ul class=\"doubts\">");
    for doubt in doubts {
        let class = if doubt.is_failure() { " class=\"bad\"" } else { "" };
        put!(page, "<li{class}><b>{}</b> {}</li>", escape(&doubt.to_string()), escape(doubt.remedy()));
    }
    put!(page, "</ul></section>");
}

fn machine_section(page: &mut String, runs: &[Run], machine: &Machine) {
    put!(page, "<section class=\"card\"><h2>Machine and build</h2><dl>");
    let mut versions: Vec<String> = runs
        .iter()
        .filter(|run| run.scheduler != "serial" && !run.version.is_empty())
        .map(|run| format!("{} {}", run.scheduler, run.version))
        .collect();
    versions.sort_unstable();
    versions.dedup();
    let commit = runs.first().map(|run| run.commit.clone()).unwrap_or_default();
    let kind = if machine.virtual_machine { " (virtual)" } else { "" };
    let flags = if machine.rustflags.is_empty() { "none" } else { &machine.rustflags };
    for (name, text) in [
        ("processor", machine.processor.clone()),
        ("processors", format!("{}{kind}", machine.cores)),
        ("memory", bytes(machine.memory_bytes)),
        ("governor", machine.governor.clone()),
        ("kernel", machine.kernel.clone()),
        ("compiler", machine.compiler.clone()),
        ("target", machine.target.clone()),
        ("profile", machine.profile.clone()),
        ("RUSTFLAGS", flags.to_owned()),
        ("commit", commit),
        ("schedulers", versions.join(", ")),
    ] {
        put!(page, "<dt>{name}</dt><dd>{}</dd>", escape(&text));
    }
    put!(page, "</dl></section>");
}

fn method(page: &mut String) {
    put!(page, "<section class=\"card\"><h2>How it was measured</h2><ul>");
    let intervals = format!(
        "[Brackets] hold the percentile bootstrap's 95 % interval of that median: of {RESAMPLES} samples of as many rounds, drawn \
         with replacement from those measured, the medians but for 2.5 % at each end. It speaks of this machine and session, not \
         of another. One round has none; that of two to four rounds is too narrow."
    );
    for line in [
        "Each visit to a scheduler is a fresh process: it starts the pool, warms up on a small size, then times whole runs of \
         the program.",
        "Visits come in rounds over everything, each round in an order shuffled anew, so that what the machine does meanwhile \
         meets all alike.",
        "The answer of every run is checked. Wrong ones are shown, and fail the session.",
        "All schedulers run one source, written against a trait that each implements; the sequential program is written plainly, \
         without it.",
        "Times are medians of all runs. What sets times against others is found in each round, in which they lie close together, \
         and told as the median over the rounds.",
        &intervals,
        "Two copies of the sequential program, released at the same moment, give the parallel capacity C.",
        "Counters are those of filch's pools, always on, and count only on cold paths.",
    ] {
        put!(page, "<li>{line}</li>");
    }
    put!(page, "</ul><h3>Which way it may mislead</h3><ul>");
    for line in [
        "filch was tuned by its authors on machines like this one, its peers were not.",
        "Forks that a peer offers only in pairs are built from pairs, where filch and lace-ws spawn and sync.",
        "Programs without a cut-off, as fib here, show the price of a fork and nothing else; few real programs are like that.",
        "Two processors say little of sixty-four.",
    ] {
        put!(page, "<li>{line}</li>");
    }
    put!(page, "</ul></section>");
}

/// The runs themselves, each machine once.
fn raw(page: &mut String, runs: &[Run]) {
    let mut machines: Vec<Value> = Vec::new();
    let lines: Vec<Map<String, Value>> = runs
        .iter()
        .filter_map(|run| {
            let Ok(Value::Object(mut line)) = serde_json::to_value(run) else { return None };
            let machine = line.remove("machine").unwrap_or_default();
            let index = machines.iter().position(|known| *known == machine).unwrap_or_else(|| {
                machines.push(machine);
                machines.len() - 1
            });
            line.insert("machine".to_owned(), index.into());
            Some(line)
        })
        .collect();
    let data = json!({ "machines": machines, "runs": lines });
    put!(
        page,
        "<p class=\"raw\"><button id=\"save\" type=\"button\">Save the {} runs as JSON lines</button></p>",
        runs.len()
    );
    // A closing tag inside a text would end the element.
    let data = data.to_string().replace("</", "<\\/");
    put!(page, "<script type=\"application/json\" id=\"data\">{data}</script>");
}

/// A day and time of UTC from seconds since 1970 (Hinnant's civil-from-days).
fn date(at: f64) -> String {
    if !at.is_finite() || at <= 0.0 {
        return "undated".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "seconds of this century")]
    let seconds = at as i64;
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", time / 3600, time / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::run;
    use crate::summary::summarize;

    #[test]
    fn dates_are_right() {
        assert_eq!(date(951_782_400.0), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_767_225_599.0), "2025-12-31 23:59 UTC");
        assert_eq!(date(f64::INFINITY), "undated");
    }

    #[test]
    fn a_page_needs_nothing_else_and_holds_its_data() {
        let mut sly = run("fib", "rayon", 1, 4.0);
        sly.answer = "</script><b>".to_owned();
        let runs = [run("fib", "serial", 1, 1.0), run("fib", "filch split", 1, 1.1), sly];
        let page = report(&runs, &summarize(&runs, &[]), &Choice::Usual, &[Warning::Debug]);
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("@import"));
        assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
        assert_eq!(page.matches("<table").count(), page.matches("</table>").count());
        let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
        let end = start + page[start..].find("</script>").unwrap();
        let data: Value = serde_json::from_str(&page[start..end]).unwrap();
        assert_eq!(data["runs"].as_array().unwrap().len(), 3);
        assert_eq!(data["machines"].as_array().unwrap().len(), 1);
        assert_eq!(data["runs"][2]["answer"], "</script><b>");
    }
}
