//! One source with all its mutants in it: each alternative stands beside what it replaces, and a number says which one is on.
//!
//! So everything is compiled once, and a mutant costs no more than its tests. What must always hold: while no mutant is on, the
//! source does what it did.

use std::fmt::Write;

use crate::operators::{Form, Point};

/// A mutant, by its number and by what names it whatever is changed around it.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub number: usize,
    pub file: String,
    pub line: usize,
    pub function: String,
    pub what: String,
    /// Made by hand.
    pub title: Option<String>,
}

impl Mutant {
    /// What names it, together with its position among those that are called the same.
    pub fn name(&self) -> String {
        format!("{} {}: {}", self.file, self.function, self.what)
    }
}

/// What a mutant asks.
fn is_on(number: usize) -> String {
    format!("::filch_memory::mutant::is_on({number})")
}

/// The source with all points in it, but for the mutants that do not compile.
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
            assert!(point.range.start >= at && point.range.end <= end, "points lie in one another: {point:?}");
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

/// Without comments, of which no source here has any but from `//` to the end of a line.
fn one_line(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default().trim()).collect::<Vec<_>>().join(" ")
}

fn wrapped(point: &Point, alternatives: &[(String, usize)], inner: &str) -> String {
    let mut all = String::new();
    if alternatives.is_empty() {
        return inner.to_owned();
    }
    // On lines of their own: what does not compile is found by its line.
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
