//! What goes to the terminal: text or JSON on standard output, notes and warnings on standard error.

use crate::exit::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;

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

/// Lines of `name   words`, the words folded under each other.
#[derive(Debug, Default)]
pub struct Facts(Vec<(String, String)>);

impl Facts {
    /// Adds a line.
    pub fn add(&mut self, name: impl Into<String>, words: impl Into<String>) -> &mut Self {
        self.0.push((name.into(), words.into()));
        self
    }

    /// The lines; continuation lines stand under the words.
    pub fn text(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0) + 2;
        let room = 98usize.saturating_sub(width + 2).max(20);
        let mut text = String::new();
        for (name, words) in &self.0 {
            for (at, line) in fold(words, room).iter().enumerate() {
                let name = if at == 0 { name.as_str() } else { "" };
                text.push_str(format!("  {name:width$}{line}").trim_end());
                text.push('\n');
            }
        }
        text
    }
}

/// Breaks words into lines of at most `room` characters; line breaks of the text stay.
pub fn fold(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// A table with its first column to the left and numbers to the right. Rows may be painted afterwards: widths count
/// characters of the plain text.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        cells.chain([head[at].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    std::iter::once(line(&head)).chain(rows.iter().map(|row| line(row))).collect()
}

/// An integer with thin groups: 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with about four significant digits, in the shorter of the two notations.
pub fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let size = x.abs().log10().floor();
    if !(-4.0..7.0).contains(&size) {
        return format!("{x:.3e}");
    }
    let digits = (3.0 - size).clamp(0.0, 7.0) as usize;
    let text = format!("{x:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A bar for long measurements, on a terminal only.
pub fn progress(what: &'static str) -> indicatif::ProgressBar {
    let style = indicatif::ProgressStyle::with_template("{msg} {bar:40} {human_pos}/{human_len}, {eta} left");
    indicatif::ProgressBar::new(0).with_style(style.expect("a fixed template")).with_message(what)
}

/// A bar on a terminal, nothing elsewhere.
pub struct Bar(ProgressBar);

impl Bar {
    /// Nothing is done yet.
    pub fn new() -> Self {
        Self(ProgressBar::new_spinner())
    }

    /// So many rows are done, of so many where that is known.
    pub fn show(&self, done: u64, all: Option<u64>) -> ControlFlow<()> {
        if let (Some(all), None) = (all, self.0.length()) {
            self.0.set_length(all);
            let template = "{bar:40} {human_pos}/{human_len} rows, {per_sec}, {eta} left";
            self.0.set_style(ProgressStyle::with_template(template).expect("a fixed template"));
        }
        self.0.set_position(done);
        ControlFlow::Continue(())
    }

    /// Takes it off the terminal.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.17237, "0.1724"),
            (1234.5, "1234"),
            (-0.5, "-0.5"),
            (5e21, "5.000e21"),
            (1e-6, "1.000e-6"),
            (148.413, "148.4"),
        ] {
            assert_eq!(number(x), text);
        }
        assert_eq!(["0", "999", "1,000", "1,234,567"], [0, 999, 1000, 1_234_567].map(grouped)[..]);
    }

    #[test]
    fn words_fold_and_tables_align() {
        assert_eq!(fold("one two three", 8), ["one two", "three"]);
        assert_eq!(fold("averyverylongword x", 4), ["averyverylongword", "x"]);
        let rows = vec![vec!["a".into(), "1".into()], vec!["long".into(), "10".into()]];
        assert_eq!(table(&["name", "n"], &rows), ["  name   n", "  a      1", "  long  10"]);
    }
}
