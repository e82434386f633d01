//! What the footer of a Parquet file says: its columns, and where their chunks are.

use super::thrift::{Damaged, Input, Kind, Result};

/// How values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Physical {
    Boolean,
    Int32,
    Int64,
    Int96,
    Float,
    Double,
    ByteArray,
    /// This many bytes each.
    Fixed(usize),
}

impl Physical {
    fn new(code: i64, length: u64) -> Result<Self> {
        Ok(match code {
            0 => Self::Boolean,
            1 => Self::Int32,
            2 => Self::Int64,
            3 => Self::Int96,
            4 => Self::Float,
            5 => Self::Double,
            6 => Self::ByteArray,
            7 => Self::Fixed(length as usize),
            _ => return Err(Damaged("a column has an unknown type")),
        })
    }

    /// Bytes of a value, if all have the same number.
    pub(super) fn width(self) -> Option<usize> {
        match self {
            Self::Int32 | Self::Float => Some(4),
            Self::Int64 | Self::Double => Some(8),
            Self::Int96 => Some(12),
            Self::Fixed(width) => Some(width),
            Self::Boolean | Self::ByteArray => None,
        }
    }
}

/// What stored values stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// What they are stored as.
    Plain,
    Text,
    List,
    Integer {
        bits: u8,
        signed: bool,
    },
    Float16,
    /// Something that is neither a number nor text, by Arrow's name for it.
    Other(&'static str),
}

/// How often a value occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occurs {
    Once,
    AtMostOnce,
    Repeatedly,
}

/// A column, or a group of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) occurs: Occurs,
    pub(super) meaning: Meaning,
    pub(super) content: Content,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    /// Values, in the chunk of this number of every row group.
    Values { physical: Physical, chunk: usize },
    /// Other nodes.
    Group(Vec<Node>),
}

/// One column of one row group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    /// The code of its compression.
    pub(super) codec: i64,
    /// Number of values, missing ones and empty lists included.
    pub(super) values: u64,
    /// Where its first page begins in the file.
    pub(super) start: u64,
    /// Its bytes.
    pub(super) length: u64,
}

/// A row group.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) rows: u64,
    pub(super) chunks: Vec<Chunk>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Footer {
    pub(super) rows: u64,
    pub(super) columns: Vec<Node>,
    pub(super) groups: Vec<Group>,
    pub(super) pairs: Vec<(String, Option<String>)>,
}

/// The deepest nesting of groups; a list is two levels.
const DEEPEST: usize = 100;

impl Footer {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        let (mut rows, mut elements, mut groups, mut pairs) = (0, Vec::new(), Vec::new(), Vec::new());
        Input::new(bytes).fields(|input, id, kind| {
            match id {
                2 => input.list(kind, |input, kind| {
                    elements.push(element(input, kind)?);
                    Ok(())
                })?,
                3 => rows = input.size(kind)?,
                4 => input.list(kind, |input, kind| {
                    groups.push(group(input, kind)?);
                    Ok(())
                })?,
                5 => input.list(kind, |input, kind| {
                    pairs.push(pair(input, kind)?);
                    Ok(())
                })?,
                8 => return Err(Damaged("the file is encrypted")),
                _ => input.skip(kind)?,
            }
            Ok(())
        })?;
        let mut elements = elements.into_iter();
        let mut chunks = 0;
        let Content::Group(columns) = node(&mut elements, &mut chunks, 0)?.content else {
            return Err(Damaged("the schema is not a group"));
        };
        if elements.next().is_some() {
            return Err(Damaged("the schema has columns outside its groups"));
        }
        if groups.iter().any(|group: &Group| group.chunks.len() != chunks) {
            return Err(Damaged("a row group does not have one chunk for each column"));
        }
        let total = groups.iter().try_fold(0u64, |total, group| total.checked_add(group.rows));
        if total != Some(rows) {
            return Err(Damaged("the row groups do not have as many rows as the file"));
        }
        Ok(Self { rows, columns, groups, pairs })
    }
}

/// An element of the schema as it is stored: in depth-first order, each group before its children.
#[derive(Default)]
struct Element {
    name: String,
    physical: Option<i64>,
    length: u64,
    occurs: i64,
    children: u64,
    converted: Option<i64>,
    logical: Option<Meaning>,
}

fn element(input: &mut Input<'_>, kind: Kind) -> Result<Element> {
    let mut found = Element::default();
    structure(input, kind, |input, id, kind| {
        match id {
            1 => found.physical = Some(input.integer(kind)?),
            2 => found.length = input.size(kind)?.min(i32::MAX as u64),
            3 => found.occurs = input.integer(kind)?,
            4 => found.name = input.text(kind)?,
            5 => found.children = input.size(kind)?,
            6 => found.converted = Some(input.integer(kind)?),
            10 => found.logical = logical(input, kind)?,
            _ => input.skip(kind)?,
        }
        Ok(())
    })?;
    Ok(found)
}

/// Decodes a structure that is an element of a list or a field.
fn structure(
    input: &mut Input<'_>,
    kind: Kind,
    field: impl FnMut(&mut Input<'_>, i16, Kind) -> Result<()>,
) -> Result<()> {
    if kind != Kind::Struct {
        return Err(Damaged("a field has another type"));
    }
    input.fields(field)
}

/// A union: the number of its only field is the type.
fn logical(input: &mut Input<'_>, kind: Kind) -> Result<Option<Meaning>> {
    let mut found = None;
    structure(input, kind, |input, id, kind| {
        if id == 10 {
            let (mut bits, mut signed) = (0, false);
            structure(input, kind, |input, id, kind| {
                match id {
                    1 => bits = input.integer(kind)?,
                    2 => signed = input.boolean(kind)?,
                    _ => input.skip(kind)?,
                }
                Ok(())
            })?;
            found = Some(Meaning::Integer { bits: bits as u8, signed });
            return Ok(());
        }
        found = Some(match id {
            1 | 12 => Meaning::Text,
            2 => Meaning::Other("Map"),
            3 => Meaning::List,
            4 | 13 => Meaning::Other("Binary"),
            5 => Meaning::Other("Decimal"),
            6 => Meaning::Other("Date32"),
            7 => Meaning::Other("Time"),
            8 => Meaning::Other("Timestamp"),
            11 => Meaning::Other("Null"),
            14 => Meaning::Other("UUID"),
            15 => Meaning::Float16,
            _ => Meaning::Other("an unknown one"),
        });
        input.skip(kind)
    })?;
    Ok(found)
}

/// What the older annotation says.
fn converted(code: i64) -> Meaning {
    match code {
        0 | 19 => Meaning::Text,
        1 | 2 => Meaning::Other("Map"),
        3 => Meaning::List,
        4 | 20 => Meaning::Other("Binary"),
        5 => Meaning::Other("Decimal"),
        6 => Meaning::Other("Date32"),
        7 | 8 => Meaning::Other("Time"),
        9 | 10 => Meaning::Other("Timestamp"),
        11..=14 => Meaning::Integer { bits: 8 << (code - 11), signed: false },
        15..=18 => Meaning::Integer { bits: 8 << (code - 15), signed: true },
        21 => Meaning::Other("Interval"),
        _ => Meaning::Other("an unknown one"),
    }
}

/// The next element with everything below it.
fn node(elements: &mut impl Iterator<Item = Element>, chunks: &mut usize, depth: usize) -> Result<Node> {
    let element = elements.next().ok_or(Damaged("the schema is cut short"))?;
    if depth > DEEPEST {
        return Err(Damaged("groups are nested too deeply"));
    }
    let occurs = match element.occurs {
        0 => Occurs::Once,
        1 => Occurs::AtMostOnce,
        2 => Occurs::Repeatedly,
        _ => return Err(Damaged("a column has an unknown repetition")),
    };
    let meaning = element.logical.or(element.converted.map(converted)).unwrap_or(Meaning::Plain);
    let content = match element.physical {
        Some(code) if element.children == 0 => {
            *chunks += 1;
            Content::Values { physical: Physical::new(code, element.length)?, chunk: *chunks - 1 }
        }
        Some(_) => return Err(Damaged("a column has columns below it")),
        None => {
            let children = (0..element.children).map(|_| node(elements, chunks, depth + 1));
            Content::Group(children.collect::<Result<_>>()?)
        }
    };
    Ok(Node { name: element.name, occurs, meaning, content })
}

fn group(input: &mut Input<'_>, kind: Kind) -> Result<Group> {
    let mut found = Group { rows: 0, chunks: Vec::new() };
    structure(input, kind, |input, id, kind| {
        match id {
            1 => input.list(kind, |input, kind| {
                found.chunks.push(chunk(input, kind)?);
                Ok(())
            })?,
            3 => found.rows = input.size(kind)?,
            _ => input.skip(kind)?,
        }
        Ok(())
    })?;
    Ok(found)
}

fn chunk(input: &mut Input<'_>, kind: Kind) -> Result<Chunk> {
    let mut found = None;
    structure(input, kind, |input, id, kind| {
        match id {
            1 => return Err(Damaged("a column is in another file")),
            3 => found = Some(column(input, kind)?),
            _ => input.skip(kind)?,
        }
        Ok(())
    })?;
    found.ok_or(Damaged("a chunk has no metadata"))
}

fn column(input: &mut Input<'_>, kind: Kind) -> Result<Chunk> {
    let mut found = Chunk { codec: 0, values: 0, start: 0, length: 0 };
    let (mut data, mut dictionary) = (0, None);
    structure(input, kind, |input, id, kind| {
        match id {
            4 => found.codec = input.integer(kind)?,
            5 => found.values = input.size(kind)?,
            7 => found.length = input.size(kind)?,
            9 => data = input.size(kind)?,
            // Some writers state place 0 where there is none.
            11 => dictionary = Some(input.size(kind)?).filter(|place| *place > 0),
            _ => input.skip(kind)?,
        }
        Ok(())
    })?;
    found.start = dictionary.map_or(data, |place| place.min(data));
    Ok(found)
}

fn pair(input: &mut Input<'_>, kind: Kind) -> Result<(String, Option<String>)> {
    let (mut key, mut value) = (String::new(), None);
    structure(input, kind, |input, id, kind| {
        match id {
            1 => key = input.text(kind)?,
            2 => value = Some(input.text(kind)?),
            _ => input.skip(kind)?,
        }
        Ok(())
    })?;
    Ok((key, value))
}

impl Node {
    /// The type of one value in Arrow's words, for errors.
    pub(super) fn type_name(&self) -> String {
        let name = match (&self.content, self.meaning) {
            (_, Meaning::Other(name)) => name,
            (_, Meaning::Text) => "Utf8",
            (_, Meaning::Float16) => "Float16",
            (Content::Group(_), Meaning::List) => "List",
            (Content::Group(_), _) => "Struct",
            (Content::Values { .. }, Meaning::Integer { bits, signed }) => {
                return format!("{}{bits}", if signed { "Int" } else { "UInt" });
            }
            (Content::Values { physical, .. }, _) => match physical {
                Physical::Boolean => "Boolean",
                Physical::Int32 => "Int32",
                Physical::Int64 => "Int64",
                Physical::Int96 => "Timestamp",
                Physical::Float => "Float32",
                Physical::Double => "Float64",
                Physical::ByteArray => "Binary",
                Physical::Fixed(width) => return format!("FixedSizeBinary({width})"),
            },
        };
        name.to_owned()
    }
}

/// A column of values: in which chunk, and how deep below nullable and repeated nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) physical: Physical,
    pub(super) chunk: usize,
    /// Level of a list that is there, even if it is empty.
    pub(super) list_level: u16,
    /// Level of a value that is there.
    pub(super) value_level: u16,
    /// True for the elements of a list.
    pub(super) repeated: bool,
}

/// The elements of a list column, in three levels or the two of older writers; `None` if it is something else.
pub(super) fn list_elements(column: &Node) -> Option<(&Node, Leaf)> {
    let list_level = u16::from(column.occurs == Occurs::AtMostOnce);
    let leaf = |element: &Node| {
        let nullable = u16::from(element.occurs == Occurs::AtMostOnce);
        let (physical, chunk) = match element.content {
            Content::Values { physical, chunk } => (physical, chunk),
            Content::Group(_) => (Physical::Boolean, usize::MAX), // its type is refused by its name
        };
        Leaf { physical, chunk, list_level, value_level: list_level + 1 + nullable, repeated: true }
    };
    if column.occurs == Occurs::Repeatedly {
        return Some((column, leaf(column)));
    }
    let Content::Group(children) = &column.content else { return None };
    let [repeated] = &children[..] else { return None };
    if column.meaning != Meaning::List || repeated.occurs != Occurs::Repeatedly {
        return None;
    }
    match &repeated.content {
        Content::Group(inner) if is_wrapper(column, repeated, inner) => Some((&inner[0], leaf(&inner[0]))),
        _ => Some((repeated, leaf(repeated))),
    }
}

/// True if the repeated group is there for the list alone, by the format's rules for older files.
fn is_wrapper(list: &Node, repeated: &Node, inner: &[Node]) -> bool {
    inner.len() == 1
        && inner[0].occurs != Occurs::Repeatedly
        && repeated.name != "array"
        && repeated.name.strip_suffix("_tuple") != Some(&list.name)
}

/// A column with one value in each row; `None` for lists and groups.
pub(super) fn single_value(column: &Node) -> Option<Leaf> {
    let Content::Values { physical, chunk } = column.content else { return None };
    let nullable = u16::from(column.occurs == Occurs::AtMostOnce);
    (column.occurs != Occurs::Repeatedly).then_some(Leaf {
        physical,
        chunk,
        list_level: nullable,
        value_level: nullable,
        repeated: false,
    })
}
