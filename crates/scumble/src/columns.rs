//! Ids and labels: columns that are carried through to the release as they are.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// The type of an element, as a reader sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementType {
    /// 64-bit integers.
    Int64,
    /// 64-bit floats.
    Float64,
    /// Strings.
    Text,
    /// 32-bit floats.
    Float32,
    /// 16-bit integers.
    Int16,
    /// 8-bit integers.
    Int8,
    /// Packed bytes.
    Bytes,
}

impl ElementType {
    /// Bytes of one element of a sketch.
    ///
    /// # Panics
    /// For text, whose elements differ.
    pub fn size(self) -> usize {
        match self {
            Self::Int64 | Self::Float64 => 8,
            Self::Float32 => 4,
            Self::Int16 => 2,
            Self::Int8 | Self::Bytes => 1,
            Self::Text => panic!("text has no size"),
        }
    }
}

/// Ids or labels of a block of rows. Prints its kind and length only.
#[derive(Clone, PartialEq)]
pub enum Column {
    /// Integers.
    Int(Vec<i64>),
    /// Floats (labels only).
    Float(Vec<f64>),
    /// Strings.
    Text(Vec<String>),
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column({:?}, {})", self.kind(), self.len())
    }
}

impl Column {
    /// How many entries.
    pub fn len(&self) -> usize {
        match self {
            Self::Int(v) => v.len(),
            Self::Float(v) => v.len(),
            Self::Text(v) => v.len(),
        }
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries of `range`.
    ///
    /// # Panics
    /// If the range leaves the column.
    pub fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::Int(v) => Self::Int(v[range].to_vec()),
            Self::Float(v) => Self::Float(v[range].to_vec()),
            Self::Text(v) => Self::Text(v[range].to_vec()),
        }
    }

    /// The class of each entry: equal entries have equal numbers, from 0, in the order of their texts.
    pub fn classes(&self) -> Vec<u32> {
        let texts: Vec<String> = (0..self.len()).map(|i| self.text(i)).collect();
        let mut numbers: BTreeMap<&str, u32> = texts.iter().map(|text| (text.as_str(), 0)).collect();
        numbers.values_mut().enumerate().for_each(|(number, class)| *class = number as u32);
        texts.iter().map(|text| numbers[text.as_str()]).collect()
    }

    /// The entries that stay.
    pub fn filter(&self, keep: &[bool]) -> Self {
        fn those<T: Clone>(all: &[T], keep: &[bool]) -> Vec<T> {
            all.iter().zip(keep).filter(|(_, keep)| **keep).map(|(x, _)| x.clone()).collect()
        }
        match self {
            Self::Int(v) => Self::Int(those(v, keep)),
            Self::Float(v) => Self::Float(those(v, keep)),
            Self::Text(v) => Self::Text(those(v, keep)),
        }
    }

    /// Adds the entries of another column of the same kind; false if the kinds differ.
    #[must_use]
    pub fn append(&mut self, other: Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.extend(b),
            (Self::Float(a), Self::Float(b)) => a.extend(b),
            (Self::Text(a), Self::Text(b)) => a.extend(b),
            _ => return false,
        }
        true
    }

    /// Entry `i` as text, for names of classes and rows.
    ///
    /// # Panics
    /// If there is no entry `i`.
    pub fn text(&self, i: usize) -> String {
        match self {
            Self::Int(v) => v[i].to_string(),
            Self::Float(v) => v[i].to_string(),
            Self::Text(v) => v[i].clone(),
        }
    }

    /// The same as bytes, read in place or written on the stack.
    ///
    /// # Panics
    /// If there is no entry `i`.
    pub fn name(&self, i: usize) -> Name<'_> {
        Name(match self {
            Self::Int(v) => Spelling::digits(v[i]),
            Self::Float(_) => Spelling::Owned(self.text(i)),
            Self::Text(v) => Spelling::Borrowed(&v[i]),
        })
    }

    /// The type of an entry, as a certificate names it.
    pub fn element(&self) -> ElementType {
        match self {
            Self::Int(_) => ElementType::Int64,
            Self::Float(_) => ElementType::Float64,
            Self::Text(_) => ElementType::Text,
        }
    }

    /// An empty column of a type that ids and labels may have.
    pub(crate) fn empty(element: ElementType) -> Option<Self> {
        match element {
            ElementType::Int64 => Some(Self::Int(Vec::new())),
            ElementType::Float64 => Some(Self::Float(Vec::new())),
            ElementType::Text => Some(Self::Text(Vec::new())),
            ElementType::Float32 | ElementType::Int16 | ElementType::Int8 | ElementType::Bytes => None,
        }
    }

    pub(crate) fn kind(&self) -> ColumnKind {
        match self {
            Self::Int(_) => ColumnKind::Int,
            Self::Float(_) => ColumnKind::Float,
            Self::Text(_) => ColumnKind::Text,
        }
    }

    pub(crate) fn new(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Int => Self::Int(Vec::new()),
            ColumnKind::Float => Self::Float(Vec::new()),
            ColumnKind::Text => Self::Text(Vec::new()),
        }
    }

    /// Adds a cell of a text file; false if it is not of this column's kind.
    #[must_use]
    pub(crate) fn push_cell(&mut self, cell: &str) -> bool {
        match self {
            Self::Int(v) => cell.parse().map(|x| v.push(x)).is_ok(),
            Self::Float(v) => cell.parse().map(|x| v.push(x)).is_ok(),
            Self::Text(v) => {
                v.push(cell.to_owned());
                true
            }
        }
    }
}

/// An id as bytes, without room of its own on the heap. Prints its length only.
#[derive(Clone)]
pub struct Name<'a>(Spelling<'a>);

#[derive(Clone)]
enum Spelling<'a> {
    Borrowed(&'a str),
    Digits([u8; LONGEST_INTEGER], usize), // from there on
    Owned(String),
}

/// Digits of the least 64-bit integer, with its sign.
const LONGEST_INTEGER: usize = 20;

impl Spelling<'_> {
    fn digits(number: i64) -> Self {
        let (mut digits, mut start, mut left) = ([b'-'; LONGEST_INTEGER], LONGEST_INTEGER, number.unsigned_abs());
        loop {
            start -= 1;
            digits[start] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                return Self::Digits(digits, start - usize::from(number < 0));
            }
        }
    }
}

impl Default for Name<'_> {
    fn default() -> Self {
        Self(Spelling::Borrowed(""))
    }
}

impl AsRef<[u8]> for Name<'_> {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Spelling::Borrowed(text) => text.as_bytes(),
            Spelling::Digits(digits, start) => &digits[*start..],
            Spelling::Owned(text) => text.as_bytes(),
        }
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({} bytes)", self.as_ref().len())
    }
}

/// What a column holds, found over all its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Int,
    Float,
    Text,
}

impl ColumnKind {
    /// The kind that holds this cell too. An id such as `007` stays text, so that it comes out as it went in.
    pub(crate) fn widen(self, cell: &str, is_id: bool) -> Self {
        let int = || cell.parse::<i64>().is_ok_and(|x| !is_id || x.to_string() == cell);
        match self {
            Self::Int if int() => Self::Int,
            Self::Int | Self::Float if !is_id && cell.parse::<f64>().is_ok() => Self::Float,
            _ => Self::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keyed noise takes the name of a row: it must be the text of its id.
    #[test]
    fn a_name_is_the_text_of_an_id() {
        let ids = vec![0, 7, -7, 10, i64::MAX, i64::MIN];
        let text = ["", "a", "007", "\u{e9}"].map(str::to_owned).to_vec();
        for column in [Column::Int(ids), Column::Text(text), Column::Float(vec![0.5, -1e300])] {
            for i in 0..column.len() {
                assert_eq!(column.name(i).as_ref(), column.text(i).as_bytes());
            }
        }
    }
}
