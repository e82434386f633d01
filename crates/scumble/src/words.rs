//! Words and numbers as people read them.

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

/// Control characters, separators of lines and paragraphs, and what turns the direction of the text after it: people, terminals
/// and pages see something else than what is there.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
    fn words_fold() {
        assert_eq!(fold("one two three", 8), ["one two", "three"]);
        assert_eq!(fold("averyverylongword x", 4), ["averyverylongword", "x"]);
    }

    #[test]
    fn tables_align() {
        let rows = vec![vec!["a".into(), "1".into()], vec!["long".into(), "10".into()]];
        assert_eq!(table(&["name", "n"], &rows), ["  name   n", "  a      1", "  long  10"]);
    }
}
