//! Live progress on standard error, if that is a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{FormattedDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar that is redrawn only between runs: a ticking thread would take time from the measured program.
#[derive(Debug)]
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// Creates a bar, if it is wanted and visible.
    pub fn new(wanted: bool) -> Self {
        if !wanted || !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let colour = if crate::console::terminal::colour_on_stderr() { "{bar:28.cyan/dim}" } else { "{bar:28}" };
        let style =
            ProgressStyle::with_template(&format!("{colour} {{pos:>3}}/{{len}}  {{prefix}} left  {{wide_msg}}"))
                .expect("the template is well formed")
                .progress_chars("━━─");
        Self(Some(ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style)))
    }

    /// Shows that a visit begins.
    pub fn show(&self, done: usize, planned: usize, left: f64, what: String) {
        if let Some(bar) = &self.0 {
            bar.set_length(planned as u64);
            bar.set_position(done as u64);
            let left = Duration::try_from_secs_f64(left.round()).ok();
            bar.set_prefix(left.map_or_else(|| "––:––:––".to_owned(), |left| FormattedDuration(left).to_string()));
            bar.set_message(what);
            bar.force_draw();
        }
    }

    /// Prints a permanent line above the bar.
    pub fn say(&self, line: &str) {
        match &self.0 {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }

    /// Removes the bar.
    pub fn end(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
