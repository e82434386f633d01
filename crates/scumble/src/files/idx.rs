//! The IDX format of MNIST: two zero bytes, a type code, the number of axes, the axes, all big-endian.

use super::array::{self, Array, Body, Element};
use super::error::{ReadError, ReadErrorKind};
use std::io::Read;
use std::path::Path;

/// Opens an array of any number of axes.
pub(super) fn open(path: &Path) -> Result<Array, ReadError> {
    let ((element, shape), body) = Body::open(path, |stream| read_header(path, stream))?;
    Ok(Array { path: path.to_owned(), element, big_endian: true, fortran: false, shape, body })
}

/// Opens images or vectors, one row each.
pub(super) fn open_rows(path: &Path) -> Result<Array, ReadError> {
    let array = open(path)?;
    if array.shape.len() < 2 {
        return Err(ReadError::new(path, ReadErrorKind::NotAMatrix(array.shape.len())));
    }
    Ok(array)
}

fn read_header(path: &Path, stream: &mut dyn Read) -> Result<(Element, Vec<u64>), ReadError> {
    let mut start = [0; 4];
    array::read_header(path, stream, &mut start)?;
    let element = match start {
        [0, 0, 0x08, _] => Element::U8,
        [0, 0, 0x09, _] => Element::I8,
        [0, 0, 0x0B, _] => Element::I16,
        [0, 0, 0x0C, _] => Element::I32,
        [0, 0, 0x0D, _] => Element::F32,
        [0, 0, 0x0E, _] => Element::F64,
        _ => return Err(ReadError::new(path, ReadErrorKind::WrongMagic("an IDX"))),
    };
    let mut axes = vec![0; 4 * usize::from(start[3])];
    array::read_header(path, stream, &mut axes)?;
    let axis = |bytes: &[u8]| u64::from(u32::from_be_bytes(bytes.try_into().expect("chunks of 4")));
    Ok((element, axes.chunks_exact(4).map(axis).collect()))
}
