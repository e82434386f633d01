//! Projection of many rows at a time: quantise, turn rows into lanes, add up. Equal to [`Projection::apply`] row by row.
//!
//! No sum of the projection can leave its lane: the bound for the grid's largest integer is proven when the projector
//! is made, and it decides between 16 and 32 bits.

use super::dense_blocks::{Cells, Sums, Widths};
use super::kernels::{self, Bin, LANES, Quantiser};
use super::oporp::Sum;
use super::{Projection, ProjectionKind};
use crate::error::DataError;
use crate::parallel;
use crate::simd::{self, Aligned, Level};
use crate::vectors::content::{Attribute, Contents};
use crate::vectors::{Grid, Layout, PrivateRow, QuantisedRow, Rows, Scalars};
use std::ops::Range;

/// Columns of bytes that are turned into lanes at a time: between them the next block is prefetched.
const BYTE_COLUMNS: usize = 64;

/// Columns that are quantised before they are turned into lanes: the tile stays in the L1 cache.
const COLUMNS: usize = 256;

/// Projected rows side by side: output j of row r at `j * LANES + r`. Lanes beyond the rows hold no row.
#[derive(Debug, Clone)]
pub(crate) enum Sketches {
    I16(Aligned<i16>),
    I32(Aligned<i32>),
    I64(Aligned<i64>),
}

impl Sketches {
    fn new(width: Width, values: usize) -> Self {
        match width {
            Width::I16 => Self::I16(Aligned::new(values)),
            Width::I32 => Self::I32(Aligned::new(values)),
            Width::I64 => Self::I64(Aligned::new(values)),
        }
    }

    fn width(&self) -> Width {
        match self {
            Self::I16(_) => Width::I16,
            Self::I32(_) => Width::I32,
            Self::I64(_) => Width::I64,
        }
    }

    /// The first rows of the block one after another, `k` values each.
    pub(crate) fn rows<S: Sum>(&self, k: usize, out: &mut [S]) {
        match self {
            Self::I16(x) => rows_of(x, k, out),
            Self::I32(x) => rows_of(x, k, out),
            Self::I64(x) => rows_of(x, k, out),
        }
    }
}

fn rows_of<T: Copy + Into<i64>, S: Sum>(x: &[T], k: usize, out: &mut [S]) {
    const OUTPUTS: usize = 8; // a cache line of every row at a time
    for (tile, x) in x.chunks(OUTPUTS * LANES).enumerate() {
        for (r, row) in out.chunks_exact_mut(k).enumerate() {
            for (to, lanes) in row[tile * OUTPUTS..].iter_mut().zip(x.chunks_exact(LANES)) {
                *to = S::of(lanes[r].into());
            }
        }
    }
}

/// What a projector remembers between blocks: room, and whether sums of sparse rows need 32 bits.
#[derive(Default)]
pub(crate) struct Room {
    cells8: Aligned<u8>,
    cells16: Aligned<i16>,
    cells32: Aligned<i32>,
    tile16: Aligned<i16>,
    tile32: Aligned<i32>,
    banks: Aligned<i32>,
    values: Vec<i32>,
    row: QuantisedRow,
    wide: bool,
}

/// A projection and a grid, ready for blocks.
#[derive(Debug)]
pub(crate) struct BlockProjector {
    projection: Projection,
    grid: Grid,
    sums: Width,
    dense: Option<Widths>,
    /// What each bin starts from: minus its public centre, which the bound includes.
    starts16: Vec<i16>,
    starts32: Vec<i32>,
    level: Level,
}

/// Bits of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    I16,
    I32,
    I64,
}

impl BlockProjector {
    /// `None` where blocks would gain nothing, or sums could exceed 32 bits.
    pub(crate) fn new(projection: &Projection, grid: &Grid) -> Option<Self> {
        Self::at(simd::level(), projection, grid)
    }

    fn at(level: Level, projection: &Projection, grid: &Grid) -> Option<Self> {
        // Beyond 2^31 attributes an entry has no room for its sign; components go row by row.
        if projection.dim() >= 1 << 31 || projection.kind() == ProjectionKind::Components {
            return None;
        }
        let (sums, dense) = match projection.dense_law() {
            None => match projection.bound(grid.largest()) {
                bound if bound <= i128::from(i16::MAX) => (Width::I16, None),
                bound if bound <= i128::from(i32::MAX) => (Width::I32, None),
                _ => return None,
            },
            Some(law) => {
                let widths = Widths::new(law, projection.dim(), grid.largest()).filter(|_| projection.is_kept())?;
                (if widths.wide_sums { Width::I64 } else { Width::I32 }, Some(widths))
            }
        };
        let centres = projection.centres().iter().copied().chain(std::iter::repeat(0)).take(projection.k());
        let starts32: Vec<i32> = centres.map(|centre| (centre as i32).wrapping_neg()).collect();
        let starts16 = starts32.iter().map(|&start| start as i16).collect();
        Some(Self { projection: projection.clone(), grid: *grid, sums, dense, starts16, starts32, level })
    }

    /// True if rows in this layout go by blocks. Sparse rows of a dense matrix do not: they touch few of its rows.
    pub(crate) fn takes(&self, rows: Rows<'_>) -> bool {
        rows.dim() == self.projection.dim() && !(rows.is_sparse() && self.dense.is_some())
    }

    /// The largest absolute value that a sketch can have.
    pub(crate) fn bound(&self) -> i64 {
        self.projection.bound(self.grid.largest()) as i64
    }

    /// Room for the sketches of a block.
    pub(crate) fn sketches(&self) -> Sketches {
        self.sketches_of(self.sums)
    }

    fn sketches_of(&self, width: Width) -> Sketches {
        Sketches::new(width, self.projection.k() * LANES)
    }

    /// Projects up to [`LANES`] rows, and hashes them where asked to. The error carries `first_row` and the place in the block.
    pub(crate) fn project(
        &self,
        rows: Rows<'_>,
        first_row: u64,
        room: &mut Room,
        out: &mut Sketches,
        mut contents: Option<&mut Contents<'_>>,
    ) -> Result<(), DataError> {
        assert!(rows.len() <= LANES && rows.dim() == self.projection.dim(), "a block of rows of p attributes");
        touch(rows);
        if let Some(widths) = self.dense {
            return self.project_dense(widths, rows, first_row, room, out, contents);
        }
        if rows.is_sparse() {
            return self.project_sparse(rows, first_row, room, out, contents);
        }
        if out.width() != self.sums {
            *out = self.sketches(); // was narrower for sparse rows
        }
        match out {
            Sketches::I16(out) => match self.bytes(rows) {
                Some((bytes, stride)) => {
                    room.cells8.resize(rows.dim() * LANES);
                    if let Some(contents) = &mut contents {
                        contents.add(self.level, 0, bytes, stride, rows.len(), rows.dim());
                    }
                    let next = bytes.get(LANES * stride..).filter(|_| stride <= 2 * rows.dim()).unwrap_or(&[]);
                    for start in (0..rows.dim()).step_by(BYTE_COLUMNS) {
                        let columns = BYTE_COLUMNS.min(rows.dim() - start);
                        let asked = next.get(start * LANES..).unwrap_or(&[]);
                        simd::ask(self.level, &asked[..asked.len().min(columns * LANES)]);
                        let cells = &mut room.cells8[start * LANES..];
                        kernels::transpose_u8(self.level, &bytes[start..], stride, rows.len(), columns, cells);
                    }
                    let cells = &room.cells8;
                    self.add_up(&self.starts16, out, |entries, bins, starts, out| {
                        kernels::oporp_u8(self.level, cells, entries, bins, starts, out);
                    });
                }
                None => {
                    let Room { cells16, tile16, row, .. } = room;
                    self.cells(rows, first_row, row, tile16, cells16, contents)?;
                    if self.projection.kind() == ProjectionKind::Identity {
                        out.copy_from_slice(cells16);
                    } else {
                        self.add_up(&self.starts16, out, |entries, bins, starts, out| {
                            kernels::oporp_i16(self.level, cells16, entries, bins, starts, out);
                        });
                    }
                }
            },
            Sketches::I32(out) => {
                let Room { cells32, tile32, row, .. } = room;
                self.cells(rows, first_row, row, tile32, cells32, contents)?;
                if self.projection.kind() == ProjectionKind::Identity {
                    out.copy_from_slice(cells32);
                } else {
                    self.add_up(&self.starts32, out, |entries, bins, starts, out| {
                        kernels::oporp_i32(self.level, cells32, entries, bins, starts, out);
                    });
                }
            }
            Sketches::I64(_) => unreachable!("bins fit 32 bits"),
        }
        Ok(())
    }

    /// Row `r` on the grid: as [`Rows::quantise`], and much faster for rows that have been projected without a fault.
    pub(crate) fn quantise<'b>(
        &self,
        rows: Rows<'_>,
        r: usize,
        first_row: u64,
        buffer: &'b mut QuantisedRow,
    ) -> Result<PrivateRow<'b>, DataError> {
        let values = buffer.dense(rows.dim());
        if !rows.is_sparse() && i32::quantise(self.level, &self.grid, rows, r, 0, values) {
            return Ok(PrivateRow::Dense(buffer.dense(rows.dim())));
        }
        rows.quantise(r, &self.grid, first_row, buffer)
    }

    fn project_dense(
        &self,
        widths: Widths,
        rows: Rows<'_>,
        first_row: u64,
        room: &mut Room,
        out: &mut Sketches,
        contents: Option<&mut Contents<'_>>,
    ) -> Result<(), DataError> {
        let Room { cells16, cells32, tile16, tile32, row, .. } = room;
        let cells = if widths.wide_cells {
            self.cells(rows, first_row, row, tile32, cells32, contents)?;
            Cells::I32(cells32)
        } else {
            self.cells(rows, first_row, row, tile16, cells16, contents)?;
            Cells::I16(cells16)
        };
        let out = match out {
            Sketches::I32(out) => Sums::I32(out),
            Sketches::I64(out) => Sums::I64(out),
            Sketches::I16(_) => unreachable!("dense sums are wide"),
        };
        let plan = self.projection.dense_plan().expect("a dense matrix");
        plan.project(self.level, cells, self.grid.largest(), out);
        Ok(())
    }

    /// The rows' own bytes, where the grid leaves them as they are.
    fn bytes<'a>(&self, rows: Rows<'a>) -> Option<(&'a [u8], usize)> {
        let (lo, hi) = self.grid.bounds();
        match rows.layout() {
            Layout::Dense { values: Scalars::U8(bytes), row_stride, column_stride: 1 }
                if self.grid.exponent() == 0
                    && lo <= 0
                    && hi >= 255
                    && self.projection.kind() != ProjectionKind::Identity =>
            {
                Some((bytes, row_stride))
            }
            _ => None,
        }
    }

    /// Every attribute of every row on the grid, lane by lane.
    fn cells<T: Cell>(
        &self,
        rows: Rows<'_>,
        first_row: u64,
        row: &mut QuantisedRow,
        tile: &mut Aligned<T>,
        cells: &mut Aligned<T>,
        mut contents: Option<&mut Contents<'_>>,
    ) -> Result<(), DataError> {
        let dim = rows.dim();
        cells.resize(dim * LANES);
        tile.resize(COLUMNS * LANES);
        for start in (0..dim).step_by(COLUMNS) {
            let columns = COLUMNS.min(dim - start);
            for (r, tile) in tile.chunks_exact_mut(COLUMNS).enumerate().take(rows.len()) {
                ask_row(self.level, rows, r + LANES, start, columns);
                if !T::quantise(self.level, &self.grid, rows, r, start, &mut tile[..columns]) {
                    // The plain quantiser says what is wrong, and where the first fault is.
                    for i in 0..rows.len() {
                        rows.quantise(i, &self.grid, first_row, row)?;
                    }
                    unreachable!("the plain quantiser finds the fault");
                }
            }
            if let Some(contents) = &mut contents {
                contents.add(self.level, start, tile, COLUMNS, rows.len(), columns);
            }
            T::transpose(self.level, tile, COLUMNS, rows.len(), columns, &mut cells[start * LANES..]);
        }
        Ok(())
    }

    /// Runs a kernel on the bins of each repetition.
    fn add_up<T>(&self, starts: &[T], out: &mut [T], kernel: impl Fn(&[u32], &[Bin], &[T], &mut [T])) {
        let plan = self.projection.by_bin().expect("OPORP or bins");
        let bins = plan.bins.len();
        let each = plan.entries.iter().zip(starts.chunks_exact(bins)).zip(out.chunks_exact_mut(bins * LANES));
        each.for_each(|((entries, starts), out)| kernel(entries, &plan.bins, starts, out));
    }

    fn project_sparse(
        &self,
        rows: Rows<'_>,
        first_row: u64,
        room: &mut Room,
        out: &mut Sketches,
        mut contents: Option<&mut Contents<'_>>,
    ) -> Result<(), DataError> {
        let k = self.projection.k();
        if !room.wide && self.project_banks(rows, room, &mut contents) {
            if out.width() != Width::I16 {
                *out = self.sketches_of(Width::I16);
            }
            let Sketches::I16(out) = out else { unreachable!("made above") };
            kernels::transpose_i16(self.level, &room.tile16, k, rows.len(), k, out);
            return Ok(());
        }
        if out.width() != self.sums {
            *out = self.sketches();
        }
        let Room { tile16, tile32, values, row, .. } = room;
        tile32.resize(k * LANES);
        for (i, x) in tile32.chunks_exact_mut(k).enumerate().take(rows.len()) {
            let row = match self.sparse_row(rows, i, values) {
                Some(index) => PrivateRow::Sparse { dim: rows.dim(), index, value: values },
                None => rows.quantise(i, &self.grid, first_row, row)?, // says what is wrong
            };
            if let (Some(contents), PrivateRow::Sparse { index, value, .. }) = (&mut contents, row) {
                contents.set_sparse(i, index, value);
            }
            self.projection.apply_i32(row, x);
        }
        match out {
            Sketches::I32(out) => kernels::transpose_i32(self.level, tile32, k, rows.len(), k, out),
            Sketches::I64(_) => unreachable!("bins fit 32 bits"),
            Sketches::I16(out) => {
                tile16.resize(k * LANES);
                tile16.iter_mut().zip(tile32.iter()).for_each(|(to, &x)| *to = x as i16); // within the bound
                kernels::transpose_i16(self.level, tile16, k, rows.len(), k, out);
            }
        }
        Ok(())
    }

    /// Sums of sparse rows, row by row in `room.tile16`. False if there is no table yet, a row is faulty, or a sum leaves
    /// 16 bits: their bound is for rows without zeros, and is hardly ever reached.
    fn project_banks(&self, rows: Rows<'_>, room: &mut Room, contents: &mut Option<&mut Contents<'_>>) -> bool {
        let (k, Some(bins)) = (self.projection.k(), self.projection.oporp()) else { return false };
        let Room { tile16, banks, values, wide, .. } = room;
        tile16.resize(k * LANES);
        banks.resize(2 * k);
        for (i, x) in tile16.chunks_exact_mut(k).enumerate().take(rows.len()) {
            banks.fill(0);
            let Some(index) = self.sparse_row(rows, i, values) else { return false };
            if let Some(contents) = contents {
                contents.set_sparse(i, index, values);
            }
            if !bins.add_to_banks(index, values, banks) {
                return false;
            }
            let mut fits = kernels::join_banks(self.level, banks, x);
            for (x, &c) in x.iter_mut().zip(self.projection.centres()) {
                let centred = i64::from(*x) - c;
                *x = (centred as i16).max(-i16::MAX);
                fits &= i64::from(*x) == centred;
            }
            if !fits {
                *wide = true;
                return false;
            }
        }
        true
    }

    /// The attributes of a sparse row, with their values on the grid; `None` if anything is wrong with them.
    fn sparse_row<'a>(&self, rows: Rows<'a>, i: usize, values: &mut Vec<i32>) -> Option<&'a [u32]> {
        let Layout::Sparse { offsets, index, values: scalars } = rows.layout() else { return None };
        let (start, end) = (offsets[i], offsets[i + 1]);
        // About as many attributes follow as this row has: they are prefetched while this row is summed.
        let following = end..(2 * end - start).min(index.len());
        simd::ask(self.level, &index[following.clone()]);
        ask(self.level, scalars, following);
        let index = &index[start..end];
        let outside = index.last().is_some_and(|&last| last as usize >= rows.dim());
        if outside || !kernels::is_rising(self.level, index) || !self.grid.range().holds_zero() {
            return None;
        }
        values.resize(index.len(), 0);
        let flat = Rows::strided(scalars, 1, scalars.len(), scalars.len(), 1);
        i32::quantise(self.level, &self.grid, flat, 0, start, values).then_some(index)
    }
}

/// Reads the block once from end to end: the kernels that follow jump from row to row, which no prefetcher foresees.
fn touch(rows: Rows<'_>) {
    let Layout::Dense { values, row_stride, column_stride: 1 } = rows.layout() else { return };
    let len = (rows.len().saturating_sub(1) * row_stride + rows.dim()).min(values.len());
    macro_rules! each_line {
        ($v:ident) => {{
            let step = 64 / size_of_val(&$v[0]);
            $v[..len].iter().step_by(step).for_each(|value| {
                std::hint::black_box(*value);
            });
        }};
    }
    match values {
        _ if len == 0 || row_stride > 2 * rows.dim() => {}
        Scalars::U8(v) => each_line!(v),
        Scalars::I8(v) => each_line!(v),
        Scalars::I16(v) => each_line!(v),
        Scalars::F16(v) => each_line!(v),
        Scalars::F32(v) => each_line!(v),
        Scalars::I32(v) => each_line!(v),
        Scalars::F64(v) => each_line!(v),
        Scalars::I64(v) => each_line!(v),
    }
}

/// Prefetches columns of a row of the next block, if there is one.
fn ask_row(level: Level, rows: Rows<'_>, r: usize, start: usize, columns: usize) {
    let Layout::Dense { values, row_stride, column_stride: 1 } = rows.layout() else { return };
    let at = r * row_stride + start;
    ask(level, values, at..at + columns);
}

/// Prefetches these values, if there are that many.
fn ask(level: Level, values: Scalars<'_>, asked: Range<usize>) {
    macro_rules! each {
        ($($kind:ident)*) => { match values { $(Scalars::$kind(v) => simd::ask(level, v.get(asked).unwrap_or(&[])),)* } };
    }
    each!(F16 F32 F64 U8 I8 I16 I32 I64);
}

/// All rows projected, row by row; what a user of the projection alone calls.
impl Projection {
    /// `x_ij = sum_a W_aj q_ia` for every row i, exactly, on all cores, as 32-bit or 64-bit integers.
    ///
    /// # Panics
    /// If `out` does not hold `rows.len() * k` values, or a sum could leave its type.
    pub fn apply_rows<S: Sum>(&self, rows: Rows<'_>, grid: &Grid, out: &mut [S]) -> Result<(), DataError> {
        let k = self.k();
        assert!(self.bound(grid.largest()) <= i128::from(S::MOST), "a projected value could leave its type");
        assert_eq!(out.len(), rows.len() * k, "one value an output");
        let projector = BlockProjector::new(self, grid).filter(|projector| projector.takes(rows));
        parallel::try_chunks(
            out,
            LANES * k,
            || (Room::default(), projector.as_ref().map(BlockProjector::sketches)),
            |(room, sketches), block, out| {
                let start = block * LANES;
                let block = rows.slice(start, out.len() / k);
                match (&projector, sketches) {
                    (Some(projector), Some(sketches)) => {
                        projector.project(block, start as u64, room, sketches, None)?;
                        sketches.rows(k, out);
                    }
                    _ => {
                        let mut x = vec![0; k];
                        for (i, out) in out.chunks_exact_mut(k).enumerate() {
                            self.apply(block.quantise(i, grid, start as u64, &mut room.row)?, &mut x);
                            out.iter_mut().zip(&x).for_each(|(to, &x)| *to = S::of(x));
                        }
                    }
                }
                Ok(())
            },
        )
    }
}

/// An integer that a cell can be.
pub(super) trait Cell: Attribute + Default {
    /// Columns `start..` of a dense row on the grid; false if one of them is not a finite number.
    fn quantise(level: Level, grid: &Grid, rows: Rows<'_>, r: usize, start: usize, to: &mut [Self]) -> bool;

    fn transpose(level: Level, from: &[Self], stride: usize, rows: usize, columns: usize, to: &mut [Self]);
}

macro_rules! cell {
    ($cell:ty, $from_f32:ident, $from_f64:ident, $transpose:ident) => {
        impl Cell for $cell {
            fn quantise(level: Level, grid: &Grid, rows: Rows<'_>, r: usize, start: usize, to: &mut [Self]) -> bool {
                let Layout::Dense { values, row_stride, column_stride } = rows.layout() else { return false };
                let at = r * row_stride + start * column_stride;
                let (lo, hi) = grid.bounds();
                let quantiser = Quantiser { twice_per_unit: 2.0 / grid.step(), bounds: (lo, hi) };
                let in_range = (-100..=100).contains(&grid.exponent()); // a 32-bit float holds 2/g
                macro_rules! integers {
                    ($v:ident) => {{
                        for (j, to) in to.iter_mut().enumerate() {
                            *to = grid.quantise_integer(i64::from($v[at + j * column_stride])) as $cell;
                        }
                        true
                    }};
                }
                match values {
                    Scalars::F32(v) if column_stride == 1 && in_range => {
                        kernels::$from_f32(level, quantiser, &v[at..at + to.len()], to)
                    }
                    Scalars::F64(v) if column_stride == 1 && in_range => {
                        kernels::$from_f64(level, quantiser, &v[at..at + to.len()], to)
                    }
                    // Whole steps and bounds that the type holds: only the clip is left.
                    Scalars::I16(v) if column_stride == 1 && grid.exponent() == 0 && fits_i16(lo) && fits_i16(hi) => {
                        let (lo, hi) = (lo as i16, hi as i16);
                        to.iter_mut().zip(&v[at..]).for_each(|(to, &v)| *to = v.clamp(lo, hi).into());
                        true
                    }
                    Scalars::U8(v) if column_stride == 1 && grid.exponent() == 0 && lo <= 0 && hi >= 255 => {
                        to.iter_mut().zip(&v[at..]).for_each(|(to, &v)| *to = v.into());
                        true
                    }
                    Scalars::U8(v) => integers!(v),
                    Scalars::I8(v) => integers!(v),
                    Scalars::I16(v) => integers!(v),
                    Scalars::I32(v) => integers!(v),
                    Scalars::I64(v) => integers!(v),
                    Scalars::F16(_) | Scalars::F32(_) | Scalars::F64(_) => to.iter_mut().enumerate().all(|(j, to)| {
                        match grid.quantise(values.get(at + j * column_stride)) {
                            Ok(q) => {
                                *to = q as $cell;
                                true
                            }
                            Err(_) => false,
                        }
                    }),
                }
            }

            fn transpose(level: Level, from: &[Self], stride: usize, rows: usize, columns: usize, to: &mut [Self]) {
                kernels::$transpose(level, from, stride, rows, columns, to);
            }
        }
    };
}
cell!(i16, quantise_f32_i16, quantise_f64_i16, transpose_i16);
cell!(i32, quantise_f32_i32, quantise_f64_i32, transpose_i32);

fn fits_i16(x: i32) -> bool {
    i16::try_from(x).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::{Bins, Origin, Seed};
    use crate::vectors::Range;
    use std::sync::Arc;

    fn plain(projection: &Projection, grid: &Grid, rows: Rows<'_>) -> Vec<Vec<i64>> {
        let mut buffer = QuantisedRow::default();
        let mut row = |i| {
            let mut x = vec![0; projection.k()];
            projection.apply(rows.quantise(i, grid, 0, &mut buffer).unwrap(), &mut x);
            x
        };
        (0..rows.len()).map(&mut row).collect()
    }

    fn blocks(level: Level, projection: &Projection, grid: &Grid, rows: Rows<'_>) -> Vec<Vec<i64>> {
        let projector = BlockProjector::at(level, projection, grid).expect("supported");
        let (mut room, mut sketches) = (Room::default(), projector.sketches());
        let mut all = Vec::new();
        for start in (0..rows.len()).step_by(LANES) {
            let block = rows.slice(start, LANES.min(rows.len() - start));
            projector.project(block, 0, &mut room, &mut sketches, None).unwrap();
            let mut out = vec![0; block.len() * projection.k()];
            sketches.rows(projection.k(), &mut out);
            all.extend(out.chunks_exact(projection.k()).map(<[i64]>::to_vec));
        }
        all
    }

    /// Sums of both widths, every scalar type, dimensions 1..=300 and beyond, whole and partial blocks, repetitions.
    #[test]
    fn blocks_equal_rows_bit_for_bit_at_every_level() {
        let noise = |i: usize| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
        for (case, dim) in (1..=300).step_by(13).chain([784, 1000]).enumerate() {
            let n = [1, 31, 32, 33, 65][case % 5];
            let t = 1 + case % 2;
            let bins = (dim / (1 + case % 4)).max(1);
            let kinds = [
                ProjectionKind::Oporp { repeats: t },
                ProjectionKind::Identity,
                ProjectionKind::Rademacher,
                ProjectionKind::VerySparse { s: 3.0 },
                ProjectionKind::Uniform,
                ProjectionKind::Gaussian,
            ];
            let bytes: Vec<u8> = (0..n * dim).map(|i| noise(i) as u8).collect();
            let shorts: Vec<i16> = (0..n * dim).map(|i| noise(i) as i16).collect();
            let floats: Vec<f32> = (0..n * dim).map(|i| noise(i) as f32 / 4096.0 - 2048.0).collect();
            let doubles: Vec<f64> = floats.iter().map(|&v| f64::from(v) * 0.7).collect();
            let small: Vec<f32> = floats.iter().map(|&v| v / 1024.0).collect();
            for kind in kinds {
                let k = if kind == ProjectionKind::Identity { dim } else { bins * t };
                let projection = Projection::new(kind, Seed([case as u8; 32]), dim, k).unwrap();
                for (scalars, lo, hi, exponent) in [
                    (Scalars::U8(&bytes), 0.0, 255.0, 0),
                    (Scalars::U8(&bytes), 10.0, 200.0, -1),
                    (Scalars::I16(&shorts), -1000.0, 1000.0, 0),
                    (Scalars::I16(&shorts), -40000.0, 40000.0, -2),
                    (Scalars::F32(&small), -1.0, 1.0, -8),
                    (Scalars::F32(&floats), -100.3, 1999.9, -3),
                    (Scalars::F64(&doubles), -100.3, 1999.9, -3),
                    (Scalars::F64(&doubles), -0.1, 0.1, -10),
                ] {
                    let grid = Grid::new(Range::new(lo, hi).unwrap(), exponent).unwrap();
                    let rows = Rows::dense(scalars, dim);
                    if BlockProjector::new(&projection, &grid).is_none() {
                        // Kinds that have no kernel for values beyond 16 bits.
                        let narrow = matches!(kind, ProjectionKind::VerySparse { .. } | ProjectionKind::Uniform);
                        assert!(narrow || kind == ProjectionKind::Gaussian, "{kind} {dim}");
                        continue;
                    }
                    let expected = plain(&projection, &grid, rows);
                    for level in Level::all() {
                        assert!(blocks(level, &projection, &grid, rows) == expected, "{kind} {dim} {n} {level:?}");
                    }
                }
            }
        }
    }

    /// Bins of very different sizes that start from public centres, in 8, 16 and 32 bits.
    #[test]
    fn bins_with_centres_equal_rows_bit_for_bit_at_every_level() {
        let noise = |i: usize| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
        for (dim, k) in [(40, 7), (300, 64), (784, 256)] {
            let bin = |i: usize| if i < k { i } else { i * i / 3 % k };
            let placed =
                |i: usize| (i < k || !i.is_multiple_of(11)).then(|| (bin(i) as u32, noise(i).is_multiple_of(3)));
            let places: Vec<_> = (0..dim).map(placed).collect();
            let bins = Arc::new(Bins::new(&places, k, Origin::Made).unwrap());
            let bytes: Vec<u8> = (0..45 * dim).map(|i| noise(i) as u8).collect();
            let floats: Vec<f32> = (0..45 * dim).map(|i| noise(i) as f32 / 4096.0 - 2048.0).collect();
            let cases: [(Scalars<'_>, f64, f64, i32, i64); 3] = [
                (Scalars::U8(&bytes), 0.0, 255.0, 0, 700),
                (Scalars::F32(&floats), -1.0, 1.0, -5, 90),
                (Scalars::F32(&floats), -100.0, 1999.0, -9, 1 << 19),
            ];
            for (scalars, lo, hi, exponent, most) in cases {
                let centres = (0..k).map(|j| (j as i64 * 37 - 11) % most).collect();
                let projection = Projection::with_bins(bins.clone(), Seed([9; 32])).centred(centres);
                let grid = Grid::new(Range::new(lo, hi).unwrap(), exponent).unwrap();
                let rows = Rows::dense(scalars, dim);
                let expected = plain(&projection, &grid, rows);
                for level in Level::all() {
                    assert!(blocks(level, &projection, &grid, rows) == expected, "{dim} {lo} {level:?}");
                }
            }
        }
    }

    #[test]
    fn all_rows_at_once_equal_one_by_one() {
        let (n, dim) = (75, 90);
        let bytes: Vec<u8> = (0..n * dim).map(|i| ((i * 7919) >> 3) as u8).collect();
        let rows = Rows::dense(Scalars::U8(&bytes), dim);
        for (kind, exponent) in [("oporp:2", 0), ("rademacher", -4), ("gaussian", 0), ("gaussian", -20)] {
            let projection = Projection::new(kind.parse().unwrap(), Seed([3; 32]), dim, 22).unwrap();
            let grid = Grid::new(Range::new(0.0, 255.0).unwrap(), exponent).unwrap();
            let mut out = vec![0i64; n * 22];
            projection.apply_rows(rows, &grid, &mut out).unwrap();
            assert_eq!(out, plain(&projection, &grid, rows).concat(), "{kind}");
            if projection.bound(grid.largest()) < 1 << 31 {
                let mut narrow = vec![0i32; n * 22];
                projection.apply_rows(rows, &grid, &mut narrow).unwrap();
                assert!(narrow.iter().map(|&x| i64::from(x)).eq(out));
            }
        }
    }

    #[test]
    fn strides_and_sparse_rows() {
        let (n, dim, k) = (40, 50, 16);
        let projection = Projection::new(ProjectionKind::Oporp { repeats: 2 }, Seed([3; 32]), dim, k).unwrap();
        let grid = Grid::new(Range::new(-1.0, 1.0).unwrap(), -8).unwrap();
        let values: Vec<f32> = (0..n * dim).map(|i| ((i * 7919) % 2001) as f32 / 1000.0 - 1.0).collect();
        let columns = Rows::strided(Scalars::F32(&values), n, dim, 1, n);
        let offsets: Vec<usize> = (0..=n).map(|i| i * 10).collect();
        let index: Vec<u32> = (0..n * 10).map(|i| (i % 10 * 5 + i / 10 % 5) as u32).collect();
        let sparse = Rows::sparse(&offsets, &index, Scalars::F32(&values), dim);
        for rows in [columns, sparse] {
            for level in Level::all() {
                assert!(blocks(level, &projection, &grid, rows) == plain(&projection, &grid, rows));
            }
        }
    }

    /// Rows of 0 to 300 entries, before and after the table is there, with sums within 16 bits, some beyond, most beyond.
    #[test]
    fn sparse_rows_of_any_length() {
        let (dim, k) = (400, 33);
        let offsets: Vec<usize> = (0..302usize).map(|row| row * row.saturating_sub(1) / 2).collect();
        let index: Vec<u32> = (0..=300).flat_map(|n| (0..n).map(move |i| (i * 400 / n) as u32)).collect();
        let values: Vec<f32> = (0..index.len()).map(|i| ((i * 7919) % 2001) as f32 / 1000.0 - 1.0).collect();
        let rows = Rows::sparse(&offsets, &index, Scalars::F32(&values), dim);
        for exponent in [-6, -13, -20] {
            let projection = Projection::new(ProjectionKind::Oporp { repeats: 1 }, Seed([3; 32]), dim, k).unwrap();
            let grid = Grid::new(Range::new(-1.0, 1.0).unwrap(), exponent).unwrap();
            for level in Level::all() {
                assert!(blocks(level, &projection, &grid, rows) == plain(&projection, &grid, rows), "{exponent}");
            }
        }
    }

    /// Ties, ends of the range, subnormal, huge and negative-zero values go where the plain quantiser puts them.
    #[test]
    fn quantiser_agrees_on_hard_values() {
        let mut values = vec![0.0f32, -0.0, 0.5, -0.5, 1e-45, -1e-45, f32::MIN_POSITIVE, f32::MAX, f32::MIN, 1.5, -1.5];
        for steps in -2000..2000 {
            let tie = (steps as f32 + 0.5) / 256.0;
            values.extend([tie, tie.next_up(), tie.next_down(), steps as f32 / 256.0]);
        }
        let wide: Vec<f64> = values.iter().map(|&v| f64::from(v)).chain([0.499_999_999_999_999_94, -1e300]).collect();
        for (lo, hi, exponent) in [(-1.0, 1.0, -8), (-0.1, 0.3, -8), (-1e8, 1e8, -3), (-3.0, 7.7, 1), (-1e9, 1e9, 0)] {
            let grid = Grid::new(Range::new(lo, hi).unwrap(), exponent).unwrap();
            for level in Level::all() {
                for length in (0..=300).chain([values.len()]) {
                    let part = &values[values.len() - length..];
                    let mut out = vec![0i32; length];
                    let rows = Rows::dense(Scalars::F32(&values), values.len());
                    assert!(i32::quantise(level, &grid, rows, 0, values.len() - length, &mut out));
                    for (v, q) in part.iter().zip(&out) {
                        assert_eq!(*q, grid.quantise(f64::from(*v)).unwrap(), "{v:e} {level:?}");
                    }
                    if grid.largest() < 1 << 15 {
                        let mut narrow = vec![0i16; length];
                        assert!(i16::quantise(level, &grid, rows, 0, values.len() - length, &mut narrow));
                        assert!(narrow.iter().map(|&q| i32::from(q)).eq(out.iter().copied()));
                    }
                }
                let mut out = vec![0i32; wide.len()];
                assert!(i32::quantise(level, &grid, Rows::dense(Scalars::F64(&wide), wide.len()), 0, 0, &mut out));
                assert!(wide.iter().zip(&out).all(|(&v, &q)| q == grid.quantise(v).unwrap()));
            }
        }
    }

    #[test]
    fn faults_are_those_of_the_plain_quantiser() {
        let (n, dim) = (33, 40);
        let projection = Projection::new(ProjectionKind::Oporp { repeats: 1 }, Seed([3; 32]), dim, 8).unwrap();
        let grid = Grid::new(Range::new(-1.0, 1.0).unwrap(), -8).unwrap();
        for level in Level::all() {
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                for at in [0, 39, 17 * dim + 5, 31 * dim + 39] {
                    let mut values = vec![0.25f32; n * dim];
                    values[at] = bad;
                    let rows = Rows::dense(Scalars::F32(&values), dim).slice(0, 32);
                    let projector = BlockProjector::at(level, &projection, &grid).unwrap();
                    let error = projector.project(rows, 100, &mut Room::default(), &mut projector.sketches(), None);
                    let error = error.unwrap_err();
                    assert_eq!((error.row, error.column), (100 + (at / dim) as u64, Some((at % dim) as u64)));
                }
            }
        }
    }
}
