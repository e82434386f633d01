//! The `.npy` format of numpy, versions 1 to 3: arrays of numbers in, arrays of numbers and strings out.

use super::array::{self, Array, Body, Element};
use super::error::{ReadError, ReadErrorKind};
use crate::columns::{Column, ColumnKind};
use std::io::Read;
use std::path::Path;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// numpy itself warns above 10,000 bytes.
const HEADER_LIMIT: u64 = 1 << 20;

/// Length of the headers that we write: room for every shape, so that the row count can be filled in at the end.
pub(crate) const HEADER_BYTES: usize = 128;

/// What a header says.
#[derive(Debug, PartialEq)]
struct Header {
    big_endian: bool,
    kind: char,
    size: usize,
    fortran: bool,
    shape: Vec<u64>,
}

impl Header {
    fn element(&self) -> Option<Element> {
        Some(match (self.kind, self.size) {
            ('b', 1) => Element::Bool,
            ('u', 1) => Element::U8,
            ('i', 1) => Element::I8,
            ('u', 2) => Element::U16,
            ('i', 2) => Element::I16,
            ('u', 4) => Element::U32,
            ('i', 4) => Element::I32,
            ('u', 8) => Element::U64,
            ('i', 8) => Element::I64,
            ('f', 2) => Element::F16,
            ('f', 4) => Element::F32,
            ('f', 8) => Element::F64,
            _ => return None,
        })
    }

    fn into_array(self, path: &Path, body: Body) -> Result<Array, ReadError> {
        let unknown = || ReadError::new(path, ReadErrorKind::ElementType(format!("{}{}", self.kind, self.size)));
        let element = self.element().ok_or_else(unknown)?;
        let Self { big_endian, fortran, shape, .. } = self;
        Ok(Array { path: path.to_owned(), element, big_endian, fortran, shape, body })
    }
}

/// Opens a matrix.
pub(super) fn open(path: &Path) -> Result<Array, ReadError> {
    let (header, body) = Body::open(path, |stream| read_header(path, stream))?;
    if header.shape.len() != 2 {
        return Err(ReadError::new(path, ReadErrorKind::NotAMatrix(header.shape.len())));
    }
    header.into_array(path, body)
}

/// Reads a column of numbers or strings.
pub(super) fn read_column(path: &Path) -> Result<Column, ReadError> {
    let (header, body) = Body::open(path, |stream| read_header(path, stream))?;
    if header.kind != 'U' {
        return header.into_array(path, body)?.into_column();
    }
    let [rows] = header.shape[..] else {
        return Err(ReadError::new(path, ReadErrorKind::NotAColumn(header.shape.len())));
    };
    let bytes = array::total_bytes(path, &[rows], header.size)?;
    let all = body.read_whole(path, bytes)?;
    let unit = if header.big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
    let text = |(row, cell): (usize, &[u8])| {
        let text: Option<String> =
            cell.chunks_exact(4).map(|c| char::from_u32(unit(c.try_into().expect("chunks of 4")))).collect();
        let text = text.ok_or_else(|| ReadError::new(path, ReadErrorKind::NotUtf8).at_row(row as u64))?;
        Ok(text.trim_end_matches('\0').to_owned())
    };
    if header.size == 0 {
        return Ok(Column::Text(vec![String::new(); rows.min(1 << 32) as usize]));
    }
    all.chunks_exact(header.size).enumerate().map(text).collect::<Result<_, _>>().map(Column::Text)
}

/// True if the file begins with the header that we write for such an array. What follows it is hashed, so nothing of the
/// file can change unnoticed.
pub(super) fn is_ours(path: &Path, descr: &str, shape: &[u64]) -> bool {
    let mut start = [0; HEADER_BYTES];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == header(descr, shape)
}

/// The type of a column as we write it: strings have the width of the longest.
pub(super) fn column_descr(kind: ColumnKind, longest: usize) -> String {
    match kind {
        ColumnKind::Int => "<i8".to_owned(),
        ColumnKind::Float => "<f8".to_owned(),
        ColumnKind::Text => format!("<U{longest}"),
    }
}

fn read_header(path: &Path, stream: &mut dyn Read) -> Result<Header, ReadError> {
    let fault = |kind| ReadError::new(path, kind);
    let mut start = [0; 8];
    array::read_header(path, stream, &mut start)?;
    if &start[..6] != MAGIC {
        return Err(fault(ReadErrorKind::WrongMagic("an .npy")));
    }
    let length = match start[6] {
        1 => {
            let mut length = [0; 2];
            array::read_header(path, stream, &mut length)?;
            u64::from(u16::from_le_bytes(length))
        }
        2 | 3 => {
            let mut length = [0; 4];
            array::read_header(path, stream, &mut length)?;
            u64::from(u32::from_le_bytes(length))
        }
        _ => return Err(fault(ReadErrorKind::Header("npy versions 1 to 3 are known"))),
    };
    if length > HEADER_LIMIT {
        return Err(fault(ReadErrorKind::HeaderTooLarge { bytes: length, limit: HEADER_LIMIT }));
    }
    let mut text = vec![0; length as usize];
    array::read_header(path, stream, &mut text)?;
    let text = String::from_utf8(text).map_err(|_| fault(ReadErrorKind::Header("not UTF-8")))?;
    parse(&text).map_err(fault)
}

/// Reads the header's Python dictionary: `descr`, `fortran_order` and `shape`, in any order, nothing else.
fn parse(text: &str) -> Result<Header, ReadErrorKind> {
    let mut rest = Literal(text.trim());
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    rest.expect('{')?;
    while !rest.take('}') {
        let key = rest.string()?;
        rest.expect(':')?;
        let fresh = match key {
            "descr" if rest.0.starts_with('[') => {
                return Err(ReadErrorKind::ElementType("with named fields".to_owned()));
            }
            "descr" => descr.replace(rest.string()?).is_none(),
            "fortran_order" => fortran.replace(rest.boolean()?).is_none(),
            "shape" => shape.replace(rest.tuple()?).is_none(),
            _ => return Err(ReadErrorKind::Header("unknown key")),
        };
        if !fresh {
            return Err(ReadErrorKind::Header("a key occurs twice"));
        }
        if !rest.take(',') {
            rest.expect('}')?;
            break;
        }
    }
    if !rest.0.is_empty() {
        return Err(ReadErrorKind::Header("text after the dictionary"));
    }
    let (Some(descr), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
        return Err(ReadErrorKind::Header("descr, fortran_order or shape is missing"));
    };
    let unknown = || ReadErrorKind::ElementType(super::error::one_line(descr));
    let (big_endian, kind) = match descr.split_at_checked(1) {
        Some(("<" | "|", kind)) => (false, kind),
        Some((">", kind)) => (true, kind),
        Some(("=", kind)) => (cfg!(target_endian = "big"), kind),
        _ => return Err(unknown()),
    };
    let (kind, size) = kind.split_at_checked(1).ok_or_else(unknown)?;
    let kind = kind.chars().next().ok_or_else(unknown)?;
    if kind == 'O' {
        return Err(ReadErrorKind::ElementType("object (a pickle)".to_owned()));
    }
    let size: usize = size.parse().map_err(|_| unknown())?;
    let size = if kind == 'U' { size.checked_mul(4).ok_or_else(unknown)? } else { size };
    Ok(Header { big_endian, kind, size, fortran, shape })
}

/// What is left of a Python literal.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    fn take(&mut self, token: char) -> bool {
        match self.0.strip_prefix(token) {
            Some(rest) => {
                self.0 = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: char) -> Result<(), ReadErrorKind> {
        if self.take(token) { Ok(()) } else { Err(ReadErrorKind::Header("not a dictionary as numpy writes it")) }
    }

    fn string(&mut self) -> Result<&'a str, ReadErrorKind> {
        let quote = if self.0.starts_with('"') { '"' } else { '\'' };
        let inner = self.0.strip_prefix(quote).ok_or(ReadErrorKind::Header("a string is missing"))?;
        let (string, rest) = inner.split_once(quote).ok_or(ReadErrorKind::Header("a string is not closed"))?;
        self.0 = rest.trim_start();
        Ok(string)
    }

    fn boolean(&mut self) -> Result<bool, ReadErrorKind> {
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.strip_prefix(word) {
                self.0 = rest.trim_start();
                return Ok(value);
            }
        }
        Err(ReadErrorKind::Header("fortran_order is neither True nor False"))
    }

    fn tuple(&mut self) -> Result<Vec<u64>, ReadErrorKind> {
        let mut axes = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            let digits = self.0.len() - self.0.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, rest) = self.0.split_at(digits);
            self.0 = rest.trim_start_matches('L').trim_start(); // Python 2 wrote long integers like this
            if number.is_empty() {
                return Err(ReadErrorKind::Header("shape is not a tuple of sizes"));
            }
            axes.push(number.parse().map_err(|_| ReadErrorKind::TooLarge)?);
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(axes)
    }
}

/// A version 1 header of [`HEADER_BYTES`] for little-endian values in C order.
pub(crate) fn header(descr: &str, shape: &[u64]) -> [u8; HEADER_BYTES] {
    let axes: String = shape.iter().map(|axis| format!("{axis}, ")).collect();
    let axes = if shape.len() == 1 { axes.trim_end() } else { axes.trim_end_matches(", ") };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({axes}), }}");
    let mut header = [b' '; HEADER_BYTES];
    header[..6].copy_from_slice(MAGIC);
    header[6..10].copy_from_slice(&[1, 0, (HEADER_BYTES - 10) as u8, 0]);
    header[10..10 + text.len()].copy_from_slice(text.as_bytes());
    header[HEADER_BYTES - 1] = b'\n';
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_numpy_and_others_write() {
        let plain = Header { big_endian: false, kind: 'f', size: 4, fortran: false, shape: vec![3, 4] };
        for text in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }          \n",
            "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (3, 4)}",
            "{'shape':(3L,4L),'fortran_order':False,'descr':'<f4'}",
        ] {
            assert_eq!(parse(text).unwrap(), plain, "{text}");
        }
        assert_eq!(parse("{'descr': '|b1', 'fortran_order': True, 'shape': (), }").unwrap().shape, Vec::<u64>::new());
        assert_eq!(parse("{'descr': '>U7', 'fortran_order': True, 'shape': (5,), }").unwrap().size, 28);
    }

    #[test]
    fn our_own_header_reads_back() {
        for (descr, shape) in [("<f4", vec![u64::MAX, u64::MAX]), ("<U4294967295", vec![u64::MAX]), ("|u1", vec![1, 2])]
        {
            let bytes = header(descr, &shape);
            let back = read_header(Path::new("x.npy"), &mut &bytes[..]).unwrap();
            assert_eq!(back.shape, shape);
            assert_eq!(bytes.len() % 64, 0);
        }
    }
}
