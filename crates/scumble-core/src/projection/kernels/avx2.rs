//! The kernels for AVX2. Where the compiler vectorises the plain code well, it is the plain code compiled for AVX2.

use super::{Bin, ENTRY, GROUP, GROUPS, LANES, PAIRS, PASS, Quantiser, TILE, scalar};
use crate::simd::avx2::{
    Matrix, in_order, joined, load, store, transposed_bytes, transposed_numbers, transposed_words,
};
use std::arch::x86_64::*;

/// Compiles a plain kernel for AVX2.
macro_rules! recompiled {
    ($($name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?;)*) => {
        $(
            #[target_feature(enable = "avx2")]
            pub(super) fn $name($($arg: $type),*) $(-> $out)? {
                scalar::$name($($arg),*)
            }
        )*
    };
}
recompiled! {
    quantise_f64_i16(q: Quantiser, from: &[f64], to: &mut [i16]) -> bool;
    quantise_f64_i32(q: Quantiser, from: &[f64], to: &mut [i32]) -> bool;
    oporp_i16(cells: &[i16], entries: &[u32], bins: &[Bin], starts: &[i16], out: &mut [i16]);
    oporp_i32(cells: &[i32], entries: &[u32], bins: &[Bin], starts: &[i32], out: &mut [i32]);
    pack(codes: &[u8], digits: usize, base: u8, out: &mut [u8]);
    is_rising(index: &[u32]) -> bool;
    join_banks(banks: &[i32], out: &mut [i16]) -> bool;
}

/// The constants of the quantiser in registers.
#[derive(Clone, Copy)]
struct Rounding {
    scale: __m256,
    clip: [__m256; 2],
}

impl Rounding {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(q: Quantiser, (low, high): (f32, f32)) -> Self {
        Self { scale: _mm256_set1_ps(q.twice_per_unit as f32), clip: [_mm256_set1_ps(low), _mm256_set1_ps(high)] }
    }

    /// Eight values on the grid, clipped; `most` keeps the largest bits of a value without its sign.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn round(&self, from: &[f32], most: &mut __m256i) -> __m256i {
        let bits = load(from);
        *most = _mm256_max_epi32(*most, _mm256_and_si256(bits, _mm256_set1_epi32(i32::MAX)));
        let v = _mm256_castsi256_ps(bits);
        let twice = _mm256_mul_ps(v, self.scale);
        let twice = _mm256_min_ps(_mm256_max_ps(twice, self.clip[0]), self.clip[1]);
        // Above 2^31 the conversion gives the least integer: the clip ends there for grids of 31 bits only, whose
        // callers take the plain kernel.
        let twice = _mm256_cvttps_epi32(_mm256_floor_ps(twice));
        _mm256_srai_epi32::<1>(_mm256_add_epi32(twice, _mm256_set1_epi32(1)))
    }
}

/// True if these are bits of finite values: infinity comes after them.
#[inline]
#[target_feature(enable = "avx2")]
fn are_finite(most: __m256i) -> bool {
    _mm256_movemask_epi8(_mm256_cmpgt_epi32(_mm256_set1_epi32(f32::INFINITY.to_bits() as i32), most)) == -1
}

#[target_feature(enable = "avx2")]
pub(super) fn quantise_f32_i16(q: Quantiser, from: &[f32], to: &mut [i16]) -> bool {
    // Twice the bounds are exact, and are rounded to the bounds: no clipping is needed afterwards.
    let rounding = Rounding::new(q, (2.0 * q.bounds.0 as f32, 2.0 * q.bounds.1 as f32));
    let mut most = _mm256_setzero_si256();
    let (blocks, rest) = from.as_chunks::<16>();
    let (out, out_rest) = to.as_chunks_mut::<16>();
    for (v, q) in blocks.iter().zip(out) {
        let (low, high) = v.split_at(8);
        let (low, high) = (rounding.round(low, &mut most), rounding.round(high, &mut most));
        store(q, in_order(_mm256_packs_epi32(low, high)));
    }
    scalar::quantise_f32_i16(q, rest, out_rest) && are_finite(most)
}

#[target_feature(enable = "avx2")]
pub(super) fn quantise_f32_i32(q: Quantiser, from: &[f32], to: &mut [i32]) -> bool {
    if q.bounds.0 < -(1 << 29) || q.bounds.1 > 1 << 29 {
        return scalar::quantise_f32_i32(q, from, to);
    }
    let rounding = Rounding::new(q, q.clip_f32());
    let (lo, hi) = (_mm256_set1_epi32(q.bounds.0), _mm256_set1_epi32(q.bounds.1));
    let mut most = _mm256_setzero_si256();
    let (blocks, rest) = from.as_chunks::<8>();
    let (out, out_rest) = to.as_chunks_mut::<8>();
    for (v, q) in blocks.iter().zip(out) {
        store(q, _mm256_min_epi32(_mm256_max_epi32(rounding.round(v, &mut most), lo), hi));
    }
    scalar::quantise_f32_i32(q, rest, out_rest) && are_finite(most)
}

#[target_feature(enable = "avx2")]
pub(super) fn transpose_u8(from: &[u8], stride: usize, rows: usize, columns: usize, to: &mut [u8]) {
    if rows != LANES {
        return scalar::transpose_u8(from, stride, rows, columns, to);
    }
    let matrix = Matrix::new(from, stride, LANES, columns);
    let whole = columns / 16 * 16;
    for c in (0..whole).step_by(16) {
        // Register r holds 16 columns of rows r and r + 16.
        // SAFETY: 32 rows and at least c + 16 columns are there.
        let v = transposed_bytes(|r| unsafe { matrix.two(r, r + 16, c) });
        for (lanes, v) in to[c * LANES..].chunks_exact_mut(LANES).zip(v) {
            store(lanes, v);
        }
    }
    if whole < columns {
        scalar::transpose_u8(&from[whole..], stride, rows, columns - whole, &mut to[whole * LANES..]);
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn transpose_i16(from: &[i16], stride: usize, rows: usize, columns: usize, to: &mut [i16]) {
    if rows != LANES {
        return scalar::transpose_i16(from, stride, rows, columns, to);
    }
    let matrix = Matrix::new(from, stride, LANES, columns);
    let whole = columns / 8 * 8;
    for c in (0..whole).step_by(8) {
        for half in [0, 16] {
            // SAFETY: 32 rows and at least c + 8 columns are there.
            let v = transposed_words(|r| unsafe { matrix.two(half + r, half + r + 8, c) });
            for (lanes, v) in to[c * LANES..].chunks_exact_mut(LANES).zip(v) {
                store(&mut lanes[half..], v);
            }
        }
    }
    if whole < columns {
        scalar::transpose_i16(&from[whole..], stride, rows, columns - whole, &mut to[whole * LANES..]);
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn untranspose_i16(from: &[i16], rows: usize, stride: usize, to: &mut [i16]) {
    let outputs = from.len() / LANES;
    let matrix = Matrix::new(from, LANES, outputs, LANES);
    let whole = if rows == LANES { outputs / 16 * 16 } else { 0 };
    for j in (0..whole).step_by(16) {
        for r in (0..LANES).step_by(8) {
            // SAFETY: at least j + 16 outputs are there, of 32 lanes each.
            let v = transposed_words(|i| unsafe { matrix.two(j + i, j + i + 8, r) });
            for (i, v) in v.into_iter().enumerate() {
                store(&mut to[(r + i) * stride + j..][..16], v);
            }
        }
    }
    if whole < outputs {
        scalar::untranspose_i16(&from[whole * LANES..], rows, stride, &mut to[whole..]);
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn untranspose_u8(from: &[u8], rows: usize, stride: usize, to: &mut [u8]) {
    let outputs = from.len() / LANES;
    let matrix = Matrix::new(from, LANES, outputs, LANES);
    let whole = if rows == LANES { outputs / 32 * 32 } else { 0 };
    for j in (0..whole).step_by(32) {
        for r in [0, 16] {
            // Register i holds 16 rows of outputs j + i and j + i + 16.
            // SAFETY: at least j + 32 outputs are there, of 32 lanes each.
            let v = transposed_bytes(|i| unsafe { matrix.two(j + i, j + i + 16, r) });
            for (i, v) in v.into_iter().enumerate() {
                store(&mut to[(r + i) * stride + j..][..32], v);
            }
        }
    }
    if whole < outputs {
        scalar::untranspose_u8(&from[whole * LANES..], rows, stride, &mut to[whole..]);
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn transpose_i32(from: &[i32], stride: usize, rows: usize, columns: usize, to: &mut [i32]) {
    if rows != LANES {
        return scalar::transpose_i32(from, stride, rows, columns, to);
    }
    let matrix = Matrix::new(from, stride, LANES, columns);
    let whole = columns / 8 * 8;
    for c in (0..whole).step_by(8) {
        for r in (0..LANES).step_by(8) {
            // Register i holds 4 columns of rows i and i + 4.
            for c in [c, c + 4] {
                // SAFETY: 32 rows and at least c + 4 columns are there.
                let v = transposed_numbers(|i| unsafe { matrix.two(r + i, r + i + 4, c) });
                for (j, v) in v.into_iter().enumerate() {
                    store(&mut to[(c + j) * LANES + r..], v);
                }
            }
        }
    }
    if whole < columns {
        scalar::transpose_i32(&from[whole..], stride, rows, columns - whole, &mut to[whole * LANES..]);
    }
}

/// Factors (+-1, +-1) of a pair of cells, by their two minus bits, once for each of `N` lanes.
pub(super) type Factors<const N: usize> = [[[i8; 2]; N]; 4];

pub(super) const fn factors<const N: usize>() -> Factors<N> {
    [[[1, 1]; N], [[-1, 1]; N], [[1, -1]; N], [[-1, -1]; N]]
}

#[target_feature(enable = "avx2")]
pub(super) fn oporp_u8(cells: &[u8], entries: &[u32], bins: &[Bin], starts: &[i16], out: &mut [i16]) {
    const FACTORS: Factors<16> = factors();
    let cells = cells.as_chunks::<LANES>().0;
    let lanes_of = |entry: u32| &cells[(entry >> 1) as usize];
    let (out, mut at) = (out.as_chunks_mut::<LANES>().0, 0);
    for &Bin { end, output } in bins {
        let start = _mm256_set1_epi16(starts[output]);
        let (mut low, mut high) = (start, start);
        let (pairs, last) = entries[at..end].as_chunks::<2>();
        for &[a, b] in pairs {
            let factors = load(&FACTORS[(a & 1 | (b & 1) << 1) as usize]);
            let (a, b) = (load(lanes_of(a)), load(lanes_of(b)));
            // Products of at most 255 in pairs: the saturation at 32767 is out of reach.
            low = _mm256_add_epi16(low, _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), factors));
            high = _mm256_add_epi16(high, _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), factors));
        }
        if let &[a] = last {
            let factors = load(&FACTORS[(a & 1) as usize]);
            let (a, none) = (load(lanes_of(a)), _mm256_setzero_si256());
            low = _mm256_add_epi16(low, _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, none), factors));
            high = _mm256_add_epi16(high, _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, none), factors));
        }
        let [first, second] = joined(low, high);
        store(&mut out[output], first);
        store(&mut out[output][16..], second);
        at = end;
    }
}

/// Signed sums of every pattern of a group, for one register of lanes: 32 bytes per entry.
type GroupTable = [[u8; 32]; 1 << GROUP];

/// The tables of a pass, on cache lines of their own.
#[repr(align(64))]
struct Tables([GroupTable; GROUPS]);

impl Tables {
    fn new() -> Box<Self> {
        Box::new(Self([[[0; 32]; 1 << GROUP]; GROUPS]))
    }
}

/// Two attributes of all lanes, interleaved within halves of registers.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Pair([[i16; 16]; 4]);

/// Fills a table from the cells of up to [`GROUP`] attributes; missing ones count as 0.
macro_rules! group_table {
    ($name:ident, $cell:ty, $add:ident, $sub:ident) => {
        #[inline]
        #[target_feature(enable = "avx2")]
        fn $name(cells: &[$cell], at: usize, table: &mut GroupTable) {
            // Pattern 0 subtracts all; setting bit i adds attribute i twice.
            let mut none = _mm256_setzero_si256();
            for cells in cells.chunks_exact(LANES).take(GROUP) {
                none = $sub(none, load(&cells[at..]));
            }
            store(&mut table[0], none);
            let mut attributes = cells.chunks_exact(LANES);
            for i in 0..GROUP {
                let cell = attributes.next().map_or(_mm256_setzero_si256(), |cells| load(&cells[at..]));
                let twice = $add(cell, cell);
                for pattern in 0..1 << i {
                    let with = $add(load(&table[pattern]), twice);
                    store(&mut table[pattern | 1 << i], with);
                }
            }
        }
    };
}
group_table!(table_i16, i16, _mm256_add_epi16, _mm256_sub_epi16);
group_table!(table_i32, i32, _mm256_add_epi32, _mm256_sub_epi32);

/// True if every pattern names an entry of its table.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn are_offsets(patterns: &[u16]) -> bool {
    patterns.iter().fold(0, |most, &offset| offset.max(most)) <= ((1 << GROUP) - 1) * ENTRY
}

/// The sum of the entries that an output's patterns name.
macro_rules! group_sum {
    ($tables:ident, $patterns:ident, $add:ident) => {{
        let patterns: &[u16; GROUPS] = $patterns;
        let mut sum = _mm256_setzero_si256();
        for g in 0..GROUPS {
            let table: *const u8 = $tables.0[g].as_ptr().cast();
            // SAFETY: all patterns were found to be offsets of whole entries within a table.
            let entry = unsafe { _mm256_loadu_si256(table.add(usize::from(patterns[g])).cast()) };
            sum = $add(sum, entry);
        }
        sum
    }};
}

#[target_feature(enable = "avx2")]
pub(super) fn rademacher_i16(cells: &[i16], patterns: &[u16], out: &mut [i32]) {
    assert!(are_offsets(patterns));
    let outputs = out.len() / LANES;
    let mut tables = Tables::new();
    for (cells, patterns) in cells.chunks(PASS * LANES).zip(patterns.chunks_exact(outputs * GROUPS)) {
        let groups = cells.len().div_ceil(GROUP * LANES);
        for half in [0, 16] {
            for (g, table) in tables.0.iter_mut().enumerate() {
                if g < groups {
                    table_i16(&cells[g * GROUP * LANES..], half, table);
                } else {
                    table.fill([0; 32]);
                }
            }
            for (patterns, out) in patterns.as_chunks().0.iter().zip(out.chunks_exact_mut(LANES)) {
                let sum = group_sum!(tables, patterns, _mm256_add_epi16);
                let parts = [_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum)];
                for (part, out) in parts.into_iter().zip(out[half..].chunks_exact_mut(8)) {
                    let total = _mm256_add_epi32(load(out), _mm256_cvtepi16_epi32(part));
                    store(out, total);
                }
            }
        }
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn rademacher_i32(cells: &[i32], patterns: &[u16], out: &mut [i32]) {
    assert!(are_offsets(patterns));
    let outputs = out.len() / LANES;
    let mut tables = Tables::new();
    for (cells, patterns) in cells.chunks(PASS * LANES).zip(patterns.chunks_exact(outputs * GROUPS)) {
        let groups = cells.len().div_ceil(GROUP * LANES);
        for part in [0, 8, 16, 24] {
            for (g, table) in tables.0.iter_mut().enumerate() {
                if g < groups {
                    table_i32(&cells[g * GROUP * LANES..], part, table);
                } else {
                    table.fill([0; 32]);
                }
            }
            for (patterns, out) in patterns.as_chunks().0.iter().zip(out.chunks_exact_mut(LANES)) {
                let sum = group_sum!(tables, patterns, _mm256_add_epi32);
                let total = _mm256_add_epi32(load(&out[part..]), sum);
                store(&mut out[part..], total);
            }
        }
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn weighted_i16(cells: &[i16], weights: &[u32], out: &mut [i32]) {
    assert!((cells.len() / LANES).is_multiple_of(2), "attributes are multiplied in pairs");
    let outputs = (out.len() / LANES).next_multiple_of(TILE);
    let mut pairs = [Pair([[0; 16]; 4]); PAIRS];
    out.fill(0);
    for (cells, weights) in cells.chunks(2 * PAIRS * LANES).zip(weights.chunks(outputs * PAIRS)) {
        let pairs = &mut pairs[..cells.len() / (2 * LANES)];
        for (pair, cells) in pairs.iter_mut().zip(cells.chunks_exact(2 * LANES)) {
            for (half, [low, high]) in pair.0.as_chunks_mut().0.iter_mut().enumerate() {
                let (a, b) = (load(&cells[16 * half..]), load(&cells[LANES + 16 * half..]));
                store(low, _mm256_unpacklo_epi16(a, b));
                store(high, _mm256_unpackhi_epi16(a, b));
            }
        }
        for (weights, out) in weights.chunks_exact(TILE * pairs.len()).zip(out.chunks_mut(TILE * LANES)) {
            let mut sums = [[_mm256_setzero_si256(); 4]; TILE]; // as many as the registers hold beside a pair
            for (pair, weights) in pairs.iter().zip(weights.as_chunks::<TILE>().0) {
                let pair = [load(&pair.0[0]), load(&pair.0[1]), load(&pair.0[2]), load(&pair.0[3])];
                for (&w, sums) in weights.iter().zip(&mut sums) {
                    let w = _mm256_set1_epi32(w as i32);
                    for (sum, pair) in sums.iter_mut().zip(pair) {
                        *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pair, w));
                    }
                }
            }
            for (out, [a, b, c, d]) in out.chunks_exact_mut(LANES).zip(sums) {
                let ([first, second], [third, fourth]) = (joined(a, b), joined(c, d));
                for (out, sum) in out.chunks_exact_mut(8).zip([first, second, third, fourth]) {
                    let total = _mm256_add_epi32(load(out), sum);
                    store(out, total);
                }
            }
        }
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn sparse_i16(cells: &[i16], attributes: &[u32], starts: &[usize], most: usize, out: &mut [i32]) {
    let cells = cells.as_chunks::<LANES>().0;
    // Sums of all lanes of the listed attributes.
    let sum = |list: &[u32]| {
        let mut sums = [_mm256_setzero_si256(); 2];
        for &attribute in list {
            let lanes = &cells[attribute as usize];
            sums = [_mm256_add_epi16(sums[0], load(lanes)), _mm256_add_epi16(sums[1], load(&lanes[16..]))];
        }
        sums.map(|sum| {
            let halves = [_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum)];
            halves.map(|half| _mm256_cvtepi16_epi32(half))
        })
    };
    for (ends, out) in starts.windows(3).step_by(2).zip(out.chunks_exact_mut(LANES)) {
        let mut total = [[_mm256_setzero_si256(); 2]; 2];
        for part in attributes[ends[0]..ends[1]].chunks(most) {
            for (total, sum) in total.as_flattened_mut().iter_mut().zip(sum(part).as_flattened()) {
                *total = _mm256_add_epi32(*total, *sum);
            }
        }
        for part in attributes[ends[1]..ends[2]].chunks(most) {
            for (total, sum) in total.as_flattened_mut().iter_mut().zip(sum(part).as_flattened()) {
                *total = _mm256_sub_epi32(*total, *sum);
            }
        }
        for (out, total) in out.chunks_exact_mut(8).zip(total.as_flattened()) {
            store(out, *total);
        }
    }
}
