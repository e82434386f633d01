//! Writing a release: Parquet, or `.npy` with sidecars. Only released bytes come here.
//!
//! Parquet: columns `id` (row numbers from 0 if the input has none), `label` if there are labels, `sketch`; the certificate in the footer under
//! [`CERTIFICATE_KEY`], the digest of the whole file under [`SEAL_KEY`]. `OUT.npy`: the sketches; beside it `OUT.npy.certificate.json` and, if the input has them,
//! `OUT.npy.ids.npy` and `OUT.npy.labels.npy`.

use super::array::Element;
use super::atomic::{self, Pending};
use super::batch::Values;
use super::error::{WriteError, one_line};
use super::npy;
use super::seal::{BLANK, SEAL_KEY, Sealing};
use crate::certificate::{ContentHasher, ContentHashes};
use crate::columns::{Column, Kind};
use arrow::array::{
    ArrayRef, FixedSizeBinaryArray, FixedSizeListArray, Float32Array, Float64Array, Int8Array, Int16Array, Int64Array,
    RecordBatch, StringArray,
};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use scumble_core::release::Encoding;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the certificate is in a Parquet file's metadata.
pub const CERTIFICATE_KEY: &str = "scumble.certificate";

/// A row group is buffered until it is complete; this bounds the memory that it takes.
const ROW_GROUP_BYTES: usize = 32 << 20;

/// Rows after the wall: encoded, little-endian, `bytes_per_row` each.
#[derive(Clone, Copy)]
pub struct ReleasedBlock<'a> {
    /// Number of rows.
    pub rows: usize,
    /// Their sketches.
    pub bytes: &'a [u8],
    /// Their ids, if the input has any: integers or text.
    pub ids: Option<&'a Column>,
    /// Their labels, if the input has any.
    pub labels: Option<&'a Column>,
}

impl fmt::Debug for ReleasedBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReleasedBlock({} rows, {} bytes)", self.rows, self.bytes.len())
    }
}

/// Writes a release. Until [`finish`](Self::finish) has succeeded there is no output; dropping the writer leaves none.
pub struct ReleaseWriter {
    path: PathBuf,
    k: usize,
    encoding: Encoding,
    hasher: ContentHasher,
    rows: u64,
    kinds: Option<[Option<Kind>; 2]>,
    sink: Sink,
}

impl fmt::Debug for ReleaseWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReleaseWriter({}, {} rows)", self.path.display(), self.rows)
    }
}

enum Sink {
    Start, // a Parquet file whose columns are not known yet
    Parquet { schema: Arc<Schema>, writer: Box<ArrowWriter<Sealing>> },
    Npy { sketches: BufWriter<Pending>, certificate: Pending, columns: Box<[Option<NpyColumn>; 2]> },
}

impl ReleaseWriter {
    /// Refuses an output that exists, before any private row is read. The kind is by extension.
    pub fn create(path: &Path, k: usize, encoding: Encoding) -> Result<Self, WriteError> {
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        let sink = match extension.as_ref().and_then(|extension| extension.to_str()) {
            Some("parquet") => {
                Pending::create(path)?; // fails now rather than after the first rows
                Sink::Start
            }
            Some("npy") => {
                for ending in [".ids.npy", ".labels.npy"] {
                    Pending::create(&sidecar(path, ending))?;
                }
                let certificate = Pending::create(&sidecar(path, ".certificate.json"))?;
                let mut sketches = BufWriter::with_capacity(1 << 16, Pending::create(path)?);
                sketches.write_all(&[0; npy::HEADER_BYTES]).map_err(|e| WriteError::io(path, &e))?;
                Sink::Npy { sketches, certificate, columns: Box::new([None, None]) }
            }
            _ => return Err(WriteError::Kind(path.to_owned())),
        };
        let hasher = ContentHasher::default();
        Ok(Self { path: path.to_owned(), k, encoding, hasher, rows: 0, kinds: None, sink })
    }

    /// Adds rows.
    pub fn write(&mut self, block: ReleasedBlock<'_>) -> Result<(), WriteError> {
        let numbers;
        let block = match (&self.sink, block.ids) {
            (Sink::Start | Sink::Parquet { .. }, None) => {
                numbers = Column::Int((self.rows..).take(block.rows).map(|row| row as i64).collect());
                ReleasedBlock { ids: Some(&numbers), ..block }
            }
            _ => block,
        };
        let kinds = self.check(&block)?;
        if self.kinds.is_none() {
            self.start(kinds)?;
        }
        let ReleasedBlock { rows, bytes, ids, labels } = block;
        match &mut self.sink {
            Sink::Start => unreachable!("started above"),
            Sink::Parquet { schema, writer } => {
                let columns = [ids.map(array), labels.map(array), Some(sketch_array(self.encoding, self.k, bytes))];
                let columns = columns.into_iter().flatten().collect();
                let batch = RecordBatch::try_new(schema.clone(), columns);
                let batch = batch.map_err(|_| WriteError::Block("columns do not fit the schema"))?;
                writer.write(&batch).map_err(|e| parquet_error(&self.path, &e))?;
            }
            Sink::Npy { sketches, columns, .. } => {
                sketches.write_all(bytes).map_err(|e| WriteError::io(&self.path, &e))?;
                for (sidecar, column) in columns.iter_mut().zip([ids, labels]) {
                    if let (Some(sidecar), Some(column)) = (sidecar, column) {
                        sidecar.write(column).map_err(|e| WriteError::io(&self.path, &e))?;
                    }
                }
            }
        }
        self.hasher.update(rows, bytes, ids, labels);
        self.rows += rows as u64;
        Ok(())
    }

    /// The hashes of the rows written so far.
    pub fn hashes(&self) -> ContentHashes {
        self.hasher.clone().finish()
    }

    /// Completes the output with the certificate made for these hashes, and gives it its name.
    pub fn finish(self, make_certificate: impl FnOnce(ContentHashes) -> String) -> Result<(), WriteError> {
        let Self { path, k, encoding, hasher, rows, sink, .. } = self;
        let fault = |e: io::Error| WriteError::io(&path, &e);
        let files = match sink {
            Sink::Start => return Err(WriteError::Block("a release without rows")),
            Sink::Parquet { mut writer, .. } => {
                let certificate = make_certificate(hasher.finish());
                writer.append_key_value_metadata(KeyValue::new(CERTIFICATE_KEY.to_owned(), certificate));
                writer.append_key_value_metadata(KeyValue::new(SEAL_KEY.to_owned(), BLANK.to_owned()));
                let file = writer.into_inner().map_err(|e| parquet_error(&path, &e))?;
                vec![file.seal().map_err(fault)?]
            }
            Sink::Npy { sketches, mut certificate, columns } => {
                if rows == 0 {
                    return Err(WriteError::Block("a release without rows"));
                }
                certificate.write_all(make_certificate(hasher.finish()).as_bytes()).map_err(fault)?;
                let mut files = vec![certificate];
                for column in columns.into_iter().flatten() {
                    files.push(column.finish(rows).map_err(fault)?);
                }
                let (descr, width) = match encoding {
                    Encoding::F32 => ("<f4", k),
                    Encoding::I16 => ("<i2", k),
                    Encoding::B8 => ("|i1", k),
                    _ => ("|u1", encoding.bytes_per_row(k)),
                };
                files.push(with_header(sketches, &npy::header(descr, &[rows, width as u64])).map_err(fault)?);
                files
            }
        };
        atomic::publish(files)
    }

    /// The kinds of the ids and labels, which must stay the same from block to block.
    fn check(&self, block: &ReleasedBlock<'_>) -> Result<[Option<Kind>; 2], WriteError> {
        if block.bytes.len() != block.rows * self.encoding.bytes_per_row(self.k) {
            return Err(WriteError::Block("bytes of a block do not fit its rows"));
        }
        for (column, name) in [(block.ids, "id"), (block.labels, "label")] {
            if column.is_some_and(|column| column.len() != block.rows) {
                return Err(WriteError::Block("ids or labels do not fit the rows"));
            }
            if let Some(Column::Text(texts)) = column
                && let Some(at) = texts.iter().position(|text| text.contains(['\n', '\0']))
            {
                return Err(WriteError::Text { row: self.rows + at as u64, column: name });
            }
        }
        let kinds = [block.ids, block.labels].map(|column| column.map(Column::kind));
        if kinds[0] == Some(Kind::Float) || self.kinds.is_some_and(|before| before != kinds) {
            return Err(WriteError::Block("ids or labels change their kind"));
        }
        Ok(kinds)
    }

    /// Opens what depends on the kinds of ids and labels.
    fn start(&mut self, kinds: [Option<Kind>; 2]) -> Result<(), WriteError> {
        self.kinds = Some(kinds);
        match &mut self.sink {
            Sink::Npy { columns, .. } => {
                for ((column, kind), ending) in columns.iter_mut().zip(kinds).zip([".ids.npy", ".labels.npy"]) {
                    *column = kind.map(|kind| NpyColumn::create(&sidecar(&self.path, ending), kind)).transpose()?;
                }
            }
            Sink::Start => {
                let schema = schema(self.encoding, self.k, kinds);
                let file = Sealing::new(Pending::create(&self.path)?);
                let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(self.encoding)));
                let writer = Box::new(writer.map_err(|e| parquet_error(&self.path, &e))?);
                self.sink = Sink::Parquet { schema, writer };
            }
            Sink::Parquet { .. } => unreachable!("started once"),
        }
        Ok(())
    }
}

/// `OUT.npy` and `.x` give `OUT.npy.x`.
pub(super) fn sidecar(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn parquet_error(path: &Path, error: &ParquetError) -> WriteError {
    if let ParquetError::External(inner) = error
        && let Some(e) = inner.downcast_ref::<io::Error>()
    {
        return WriteError::io(path, e);
    }
    WriteError::Io { path: path.to_owned(), message: one_line(&error.to_string()) }
}

/// Noise does not compress and has no useful statistics: floats and packed bytes are stored plainly. Parquet has no
/// integers below 32 bits, but a dictionary packs 8-bit and 16-bit ones into as many bits as their values need.
fn properties(encoding: Encoding) -> WriterProperties {
    let small = matches!(encoding, Encoding::B8 | Encoding::I16);
    let sketch = ColumnPath::new(["sketch", "list", "item"].map(str::to_owned).to_vec());
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("scumble {}", env!("CARGO_PKG_VERSION")))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_column_dictionary_enabled(sketch, small)
        .set_column_dictionary_enabled(ColumnPath::from("label"), true)
        .set_column_statistics_enabled(ColumnPath::from("id"), EnabledStatistics::Chunk);
    for column in ["id", "label"] {
        properties = properties.set_column_compression(ColumnPath::from(column), Compression::SNAPPY);
    }
    properties.build()
}

fn schema(encoding: Encoding, k: usize, [ids, labels]: [Option<Kind>; 2]) -> Arc<Schema> {
    let data_type = |kind| match kind {
        Kind::Int => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Text => DataType::Utf8,
    };
    let list = |number| DataType::FixedSizeList(Arc::new(Field::new_list_field(number, false)), k as i32);
    let sketch = match encoding {
        Encoding::F32 => list(DataType::Float32),
        Encoding::I16 => list(DataType::Int16),
        Encoding::B8 => list(DataType::Int8),
        _ => DataType::FixedSizeBinary(encoding.bytes_per_row(k) as i32),
    };
    let fields = [("id", ids.map(data_type)), ("label", labels.map(data_type)), ("sketch", Some(sketch))];
    let fields = fields.into_iter().filter_map(|(name, data_type)| Some(Field::new(name, data_type?, false)));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn array(column: &Column) -> ArrayRef {
    match column {
        Column::Int(v) => Arc::new(Int64Array::from_iter_values(v.iter().copied())),
        Column::Float(v) => Arc::new(Float64Array::from_iter_values(v.iter().copied())),
        Column::Text(v) => Arc::new(StringArray::from_iter_values(v)),
    }
}

/// Encoded rows as the Arrow array that a release's Parquet file has: FixedSizeList of numbers, or FixedSizeBinary.
pub fn sketch_array(encoding: Encoding, k: usize, bytes: &[u8]) -> ArrayRef {
    let buffer = Buffer::from_slice_ref(bytes);
    let numbers: (DataType, ArrayRef) = match encoding {
        Encoding::F32 => match Element::F32.decode(buffer, false) {
            Values::F32(v) => (DataType::Float32, Arc::new(Float32Array::new(v, None))),
            _ => unreachable!("f32 decodes to f32"),
        },
        Encoding::I16 => match Element::I16.decode(buffer, false) {
            Values::I16(v) => (DataType::Int16, Arc::new(Int16Array::new(v, None))),
            _ => unreachable!("i16 decodes to i16"),
        },
        Encoding::B8 => (DataType::Int8, Arc::new(Int8Array::new(buffer.into(), None))),
        _ => return Arc::new(FixedSizeBinaryArray::new(encoding.bytes_per_row(k) as i32, buffer, None)),
    };
    Arc::new(FixedSizeListArray::new(Arc::new(Field::new_list_field(numbers.0, false)), k as i32, numbers.1, None))
}

/// Fills in the header, now that the number of rows is known.
fn with_header(file: BufWriter<Pending>, header: &[u8]) -> io::Result<Pending> {
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(header)?;
    Ok(file)
}

/// Ids or labels beside an `.npy` release. numpy gives all strings of an array the width of the longest, which is
/// known at the end: until then they wait, one a line, in a file without a name.
struct NpyColumn {
    kind: Kind,
    file: BufWriter<Pending>,
    texts: BufWriter<File>,
    longest: usize,
}

impl NpyColumn {
    fn create(path: &Path, kind: Kind) -> Result<Self, WriteError> {
        let fault = |e: io::Error| WriteError::io(path, &e);
        let mut file = BufWriter::new(Pending::create(path)?);
        file.write_all(&[0; npy::HEADER_BYTES]).map_err(fault)?;
        let texts = BufWriter::new(tempfile::tempfile_in(atomic::folder(path)).map_err(fault)?);
        Ok(Self { kind, file, texts, longest: 1 })
    }

    fn write(&mut self, column: &Column) -> io::Result<()> {
        match column {
            Column::Int(v) => v.iter().try_for_each(|x| self.file.write_all(&x.to_le_bytes())),
            Column::Float(v) => v.iter().try_for_each(|x| self.file.write_all(&x.to_le_bytes())),
            Column::Text(v) => v.iter().try_for_each(|text| {
                self.longest = self.longest.max(text.chars().count());
                writeln!(self.texts, "{text}")
            }),
        }
    }

    fn finish(mut self, rows: u64) -> io::Result<Pending> {
        let mut texts = self.texts.into_inner().map_err(io::IntoInnerError::into_error)?;
        texts.seek(SeekFrom::Start(0))?;
        for text in BufReader::new(texts).split(b'\n') {
            let text = String::from_utf8(text?).map_err(io::Error::other)?;
            let padding = std::iter::repeat('\0');
            for c in text.chars().chain(padding).take(self.longest) {
                self.file.write_all(&u32::from(c).to_le_bytes())?;
            }
        }
        with_header(self.file, &npy::header(&npy::column_descr(self.kind, self.longest), &[rows]))
    }
}
