//! What goes to the terminal: text or JSON on standard output, notes and warnings on standard error.

use crate::exit::Failure;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;

pub use scumble::words::{Facts, fold, grouped, number, table};

/// Writes text to standard output. A reader that has gone away is no error.
pub fn emit(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::error(format!("standard output: {error}"))),
        _ => Ok(()),
    }
}

/// Writes a value as indented JSON.
pub fn emit_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::error(error.to_string()))?;
    emit(&(text + "\n"))
}

/// Writes a line to standard error. If that fails there is nowhere left to say so, and nothing else may fail for it: the
/// release may stand already.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// A sentence for the operator.
pub fn note(text: &str) {
    say(&format!("note: {text}"));
}

/// A sentence that the operator must read.
pub fn warn(text: &str) {
    say(&format!("{}: {text}", Paint::stderr().strong("warning")));
}

/// Colours on a terminal, plain text elsewhere and under NO_COLOR.
#[derive(Debug, Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    /// For standard output.
    pub fn stdout() -> Self {
        Self(std::io::stdout().is_terminal() && wanted())
    }

    /// For standard error.
    pub fn stderr() -> Self {
        Self(std::io::stderr().is_terminal() && wanted())
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Headings and what matters most.
    pub fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Side remarks.
    pub fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// A check that passed, the best of a column.
    pub fn good(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    /// A check that failed.
    pub fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }
}

fn wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A bar for long measurements, on a terminal only.
pub fn progress(what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {bar:40} {human_pos}/{human_len}, {eta} left");
    ProgressBar::new(0).with_style(style.expect("a fixed template")).with_message(what)
}

/// A bar of rows on a terminal, nothing elsewhere; gone when it is dropped.
pub fn bar() -> ProgressBar {
    ProgressBar::new_spinner().with_finish(ProgressFinish::AndClear)
}

/// This many rows are done, of this many where that is known.
pub fn rows_done(bar: &ProgressBar, done: u64, all: Option<u64>) -> ControlFlow<()> {
    if let (Some(all), None) = (all, bar.length()) {
        bar.set_length(all);
        let template = "{bar:40} {human_pos}/{human_len} rows, {per_sec}, {eta} left";
        bar.set_style(ProgressStyle::with_template(template).expect("a fixed template"));
    }
    bar.set_position(done);
    ControlFlow::Continue(())
}
