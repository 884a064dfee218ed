//! Makes one source with all mutants in it: each alternative is beside the original, and a number selects the active
//! one.
//!
//! So everything is compiled once, and a mutant costs no more than its tests. What must always hold: while no mutant is
//! active, the source behaves as before.

use std::fmt::Write;

use crate::operators::{Form, Point};

/// A mutant: its number, and the parts of its name, which survive changes to the source around it.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub number: usize,
    pub file: String,
    pub line: usize,
    pub function: String,
    pub what: String,
    /// Its title, if it is made by hand.
    pub title: Option<String>,
}

impl Mutant {
    /// Its name; with its position among mutants of the same name it is unique.
    pub fn name(&self) -> String {
        format!("{} {}: {}", self.file, self.function, self.what)
    }
}

/// The test for an active mutant.
fn is_on(number: usize) -> String {
    format!("::filch_memory::mutant::is_on({number})")
}

/// Returns the source with all points in it, except the excluded mutants, which do not compile.
pub fn render(source: &str, points: &[(Point, Vec<usize>)], excluded: &dyn Fn(usize) -> bool) -> String {
    let mut sorted: Vec<_> = points.iter().collect();
    sorted.sort_by_key(|(point, _)| (point.range.start, std::cmp::Reverse(point.range.end)));
    Renderer { source, points: sorted, next: 0, excluded }.until(0, source.len())
}

struct Renderer<'s> {
    source: &'s str,
    points: Vec<&'s (Point, Vec<usize>)>,
    next: usize,
    excluded: &'s dyn Fn(usize) -> bool,
}

impl Renderer<'_> {
    fn until(&mut self, start: usize, end: usize) -> String {
        let (mut at, mut all) = (start, String::new());
        while let Some((point, numbers)) = self.points.get(self.next).filter(|(point, _)| point.range.start < end) {
            self.next += 1;
            assert!(point.range.start >= at && point.range.end <= end, "points overlap: {point:?}");
            all += &self.source[at..point.range.start];
            at = point.range.end;
            let inner = self.until(point.range.start, point.range.end);
            let alternatives = point.alternatives.iter().zip(numbers).filter(|(_, number)| !(self.excluded)(**number));
            let alternatives: Vec<_> = alternatives.map(|((text, _), &number)| (one_line(text), number)).collect();
            all += &wrapped(point, &alternatives, &inner);
        }
        all + &self.source[at..end]
    }
}

/// Returns the text on one line, without comments, which all run from `//` to the end of a line here.
fn one_line(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default().trim()).collect::<Vec<_>>().join(" ")
}

fn wrapped(point: &Point, alternatives: &[(String, usize)], inner: &str) -> String {
    let mut all = String::new();
    if alternatives.is_empty() {
        return inner.to_owned();
    }
    // On lines of their own, because a compiler error identifies a mutant by its line.
    match point.form {
        Form::Before => {
            for (text, number) in alternatives {
                write!(all, "\n if {} {{ {text} }}\n", is_on(*number)).expect("a string");
            }
            all + inner
        }
        Form::Without => {
            let conditions: Vec<_> = alternatives.iter().map(|(_, number)| format!("!{}", is_on(*number))).collect();
            format!("\n if {} {{ {inner} }}\n", conditions.join(" && "))
        }
        Form::Instead => {
            for (text, number) in alternatives {
                write!(all, "if {}\n {{ {text} }}\n else ", is_on(*number)).expect("a string");
            }
            if point.is_statement { format!("\n{all} {{ {inner} }}\n") } else { format!("({all}{{ {inner} }})") }
        }
    }
}
