//! Parquet files for tests, written by the `parquet` crate's column writer: nothing of it is in what they test.

#![allow(dead_code)] // the tests of the command line use a part of it

use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// How a column of lists is laid out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Nesting {
    /// Three levels, all nullable: what most writers make.
    Nullable,
    /// Three levels without nulls.
    Required,
    /// The two levels of older writers.
    Two,
    /// A repeated column and nothing else.
    Bare,
}

/// Values as they are stored.
#[derive(Debug, Clone)]
pub enum Data {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

/// A column: its line of the schema with `{}` for its name, its values, and the levels of those that are there or not.
#[derive(Debug, Clone)]
pub struct Cells {
    schema: String,
    data: Data,
    definition: Vec<i16>,
    repetition: Vec<i16>,
    /// Levels of a value that is there, and 1 if the column is repeated.
    most: [i16; 2],
}

/// A row of a list column.
pub type List = Option<Vec<Option<f64>>>;

/// Lists of numbers of an Arrow type, by its name.
pub fn lists(nesting: Nesting, element: &str, rows: &[List]) -> Cells {
    let (physical, annotation) = stored(element);
    let (schema, list, value) = match nesting {
        Nesting::Nullable => {
            let element = format!("optional {physical} element {annotation};");
            (format!("optional group {{}} (LIST) {{ repeated group list {{ {element} }} }}"), 1, 3)
        }
        Nesting::Required => {
            let element = format!("required {physical} item {annotation};");
            (format!("required group {{}} (LIST) {{ repeated group list {{ {element} }} }}"), 0, 1)
        }
        Nesting::Two => (format!("optional group {{}} (LIST) {{ repeated {physical} array {annotation}; }}"), 1, 2),
        Nesting::Bare => (format!("repeated {physical} {{}} {annotation};"), 0, 1),
    };
    let (mut definition, mut repetition, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let elements = row.as_deref().unwrap_or(&[]);
        if elements.is_empty() {
            definition.push(if row.is_some() { list } else { list - 1 });
            repetition.push(0);
        }
        for (j, element) in elements.iter().enumerate() {
            definition.push(if element.is_some() { value } else { value - 1 });
            repetition.push(i16::from(j > 0));
            numbers.extend(*element);
        }
    }
    Cells { schema, data: data(element, &numbers), definition, repetition, most: [value, 1] }
}

/// Numbers, one in each row.
pub fn numbers(element: &str, rows: &[Option<f64>]) -> Cells {
    let (physical, annotation) = stored(element);
    let present: Vec<_> = rows.iter().flatten().copied().collect();
    flat(&format!("optional {physical} {{}} {annotation};"), data(element, &present), rows.iter().map(Option::is_some))
}

/// Texts, one in each row.
pub fn texts(rows: &[&str]) -> Cells {
    let data = Data::Bytes(rows.iter().map(|text| ByteArray::from(*text)).collect());
    flat("optional binary {} (UTF8);", data, rows.iter().map(|_| true))
}

/// A nullable column by its line of the schema.
pub fn flat(schema: &str, data: Data, present: impl Iterator<Item = bool>) -> Cells {
    let definition = present.map(i16::from).collect();
    Cells { schema: schema.to_owned(), data, definition, repetition: Vec::new(), most: [1, 0] }
}

/// All rows of `dim` numbers.
pub fn whole(rows: usize, dim: usize, value: impl Fn(usize, usize) -> f64) -> Vec<List> {
    (0..rows).map(|i| Some((0..dim).map(|j| Some(value(i, j))).collect())).collect()
}

fn stored(element: &str) -> (&str, &str) {
    match element {
        "Float16" => ("fixed_len_byte_array(2)", "(FLOAT16)"),
        "Float32" => ("float", ""),
        "Float64" => ("double", ""),
        "Int8" => ("int32", "(INTEGER(8,true))"),
        "Int16" => ("int32", "(INTEGER(16,true))"),
        "Int32" => ("int32", ""),
        "Int64" => ("int64", ""),
        "UInt8" => ("int32", "(INTEGER(8,false))"),
        "UInt16" => ("int32", "(INTEGER(16,false))"),
        "UInt32" => ("int32", "(INTEGER(32,false))"),
        "UInt64" => ("int64", "(INTEGER(64,false))"),
        "Boolean" => ("boolean", ""),
        "Date32" => ("int32", "(DATE)"),
        _ => panic!("no type {element}"),
    }
}

fn data(element: &str, numbers: &[f64]) -> Data {
    let numbers = numbers.iter().copied();
    match element {
        "Float16" => {
            let half = |x: f64| half::f16::from_f64(x).to_le_bytes().to_vec();
            Data::Fixed(numbers.map(|x| ByteArray::from(half(x)).into()).collect())
        }
        "Float32" => Data::F32(numbers.map(|x| x as f32).collect()),
        "Float64" => Data::F64(numbers.collect()),
        "Boolean" => Data::Bool(numbers.map(|x| x != 0.0).collect()),
        "Int64" => Data::I64(numbers.map(|x| x as i64).collect()),
        "UInt64" => Data::I64(numbers.map(|x| x as u64 as i64).collect()),
        "UInt32" => Data::I32(numbers.map(|x| x as u32 as i32).collect()),
        _ => Data::I32(numbers.map(|x| x as i32).collect()),
    }
}

impl Cells {
    /// Values that are there as lists of one, with this level.
    pub fn in_lists(mut self, level: i16) -> Self {
        self.repetition = vec![0; self.definition.len()];
        self.definition.fill(level);
        self.most = [level, 1];
        self
    }

    /// Values that are there, below so many nullable groups.
    pub fn at_level(mut self, level: i16) -> Self {
        self.definition.fill(level);
        self.most[0] = level;
        self
    }

    fn levels_of(&self, rows: std::ops::Range<usize>) -> std::ops::Range<usize> {
        if self.repetition.is_empty() {
            return rows;
        }
        let starts: Vec<_> = (0..self.repetition.len()).filter(|i| self.repetition[*i] == 0).collect();
        let place = |row: usize| starts.get(row).copied().unwrap_or(self.repetition.len());
        place(rows.start)..place(rows.end)
    }

    fn rows(&self) -> usize {
        if self.most[1] == 0 { self.definition.len() } else { self.repetition.iter().filter(|x| **x == 0).count() }
    }

    fn write(&self, column: &mut SerializedColumnWriter<'_>, rows: std::ops::Range<usize>) {
        let levels = self.levels_of(rows);
        let present = |levels: &[i16]| levels.iter().filter(|x| **x == self.most[0]).count();
        let start = present(&self.definition[..levels.start]);
        let end = start + present(&self.definition[levels.clone()]);
        let definition = Some(&self.definition[levels.clone()]);
        let repetition = (self.most[1] == 1).then(|| &self.repetition[levels]);
        macro_rules! write {
            ($type:ty, $values:expr) => {
                column.typed::<$type>().write_batch(&$values[start..end], definition, repetition).unwrap()
            };
        }
        match &self.data {
            Data::Bool(values) => write!(BoolType, values),
            Data::I32(values) => write!(Int32Type, values),
            Data::I64(values) => write!(Int64Type, values),
            Data::F32(values) => write!(FloatType, values),
            Data::F64(values) => write!(DoubleType, values),
            Data::Bytes(values) => write!(ByteArrayType, values),
            Data::Fixed(values) => write!(FixedLenByteArrayType, values),
        };
    }
}

/// Writes columns of equal length.
pub fn write_parquet(path: &Path, columns: &[(&str, Cells)], rows_per_group: usize, properties: WriterProperties) {
    let lines: String = columns.iter().map(|(name, cells)| cells.schema.replacen("{}", name, 1)).collect();
    let schema = parse_message_type(&format!("message schema {{ {lines} }}")).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    let rows = columns[0].1.rows();
    for start in (0..rows).step_by(rows_per_group) {
        let mut group = writer.next_row_group().unwrap();
        for (_, cells) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            cells.write(&mut column, start..rows.min(start + rows_per_group));
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// Writes lists of floats of one length, however many, without a dictionary; a block of rows at a time.
pub fn write_large(
    path: &Path,
    [rows, dim, rows_per_group]: [usize; 3],
    compression: Compression,
    value: impl Fn(usize, usize) -> f32,
) {
    const BLOCK: usize = 500;
    let schema = "message schema { required group vector (LIST) { repeated group list { required float item; } } }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_dictionary_enabled(false).set_compression(compression).build();
    let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties)).unwrap();
    let definition = vec![1; BLOCK * dim];
    let repetition: Vec<i16> = (0..BLOCK * dim).map(|at| i16::from(at % dim > 0)).collect();
    for first in (0..rows).step_by(rows_per_group) {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let end = rows.min(first + rows_per_group);
        for start in (first..end).step_by(BLOCK) {
            let block = start..end.min(start + BLOCK);
            let values: Vec<f32> =
                block.clone().flat_map(|i| (0..dim).map(move |j| (i, j))).map(|(i, j)| value(i, j)).collect();
            let levels = block.len() * dim;
            let typed = column.typed::<FloatType>();
            typed.write_batch(&values, Some(&definition[..levels]), Some(&repetition[..levels])).unwrap();
        }
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}
