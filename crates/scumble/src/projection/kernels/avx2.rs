//! The kernels for AVX2. Where the compiler vectorises the plain code well, it is the plain code compiled for AVX2.

use super::{ENTRY, GROUP, GROUPS, LANES, PASS, Quantiser, scalar};
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
    oporp_i16(cells: &[i16], entries: &[u32], larger: usize, size: usize, out: &mut [i16]);
    oporp_i32(cells: &[i32], entries: &[u32], larger: usize, size: usize, out: &mut [i32]);
    pack(codes: &[u8], digits: usize, base: u8, out: &mut [u8]);
}

/// The constants of the quantiser in registers.
#[derive(Clone, Copy)]
struct Rounding {
    scale: __m256,
    clip: [__m256; 2],
    bounds: [__m256i; 2],
}

impl Rounding {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(q: Quantiser) -> Self {
        let (low, high) = q.clip_f32();
        Self {
            scale: _mm256_set1_ps(q.twice_per_unit as f32),
            clip: [_mm256_set1_ps(low), _mm256_set1_ps(high)],
            bounds: [_mm256_set1_epi32(q.bounds.0), _mm256_set1_epi32(q.bounds.1)],
        }
    }

    /// Eight values on the grid; `finite` keeps all ones only in lanes that were finite.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn round(&self, from: &[f32; 8], finite: &mut __m256) -> __m256i {
        // SAFETY: 32 bytes are readable, at any alignment.
        let v = unsafe { _mm256_loadu_ps(from.as_ptr()) };
        // v - v is 0 if v is finite, and not a number otherwise.
        *finite = _mm256_and_ps(*finite, _mm256_cmp_ps::<_CMP_ORD_Q>(_mm256_sub_ps(v, v), v));
        let twice = _mm256_mul_ps(v, self.scale);
        let twice = _mm256_min_ps(_mm256_max_ps(twice, self.clip[0]), self.clip[1]);
        // Above 2^31 the conversion gives the least integer: the clip ends there for grids of 31 bits only, whose
        // callers take the plain kernel.
        let twice = _mm256_cvttps_epi32(_mm256_floor_ps(twice));
        let q = _mm256_srai_epi32::<1>(_mm256_add_epi32(twice, _mm256_set1_epi32(1)));
        _mm256_min_epi32(_mm256_max_epi32(q, self.bounds[0]), self.bounds[1])
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn quantise_f32_i16(q: Quantiser, from: &[f32], to: &mut [i16]) -> bool {
    let rounding = Rounding::new(q);
    let mut finite = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    let (blocks, rest) = from.as_chunks::<16>();
    let (out, out_rest) = to.as_chunks_mut::<16>();
    for (v, q) in blocks.iter().zip(out) {
        let (low, high) = v.split_at(8);
        let low = rounding.round(low.as_array().expect("8 values"), &mut finite);
        let high = rounding.round(high.as_array().expect("8 values"), &mut finite);
        // Packing interleaves the halves: 0213 puts the quarters in order.
        store(q, _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(low, high)));
    }
    let whole = _mm256_movemask_ps(finite) == 0xff;
    scalar::quantise_f32_i16(q, rest, out_rest) && whole
}

#[target_feature(enable = "avx2")]
pub(super) fn quantise_f32_i32(q: Quantiser, from: &[f32], to: &mut [i32]) -> bool {
    if q.bounds.0 < -(1 << 29) || q.bounds.1 > 1 << 29 {
        return scalar::quantise_f32_i32(q, from, to);
    }
    let rounding = Rounding::new(q);
    let mut finite = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    let (blocks, rest) = from.as_chunks::<8>();
    let (out, out_rest) = to.as_chunks_mut::<8>();
    for (v, q) in blocks.iter().zip(out) {
        store(q, rounding.round(v, &mut finite));
    }
    let whole = _mm256_movemask_ps(finite) == 0xff;
    scalar::quantise_f32_i32(q, rest, out_rest) && whole
}

/// 16 bytes of two rows, one in each half.
#[inline]
#[target_feature(enable = "avx2")]
fn two_rows(first: &[u8; 16], second: &[u8; 16]) -> __m256i {
    // SAFETY: both are readable for 16 bytes, at any alignment.
    unsafe {
        let first = _mm_loadu_si128(first.as_ptr().cast());
        let second = _mm_loadu_si128(second.as_ptr().cast());
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(first), second)
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store<T>(to: &mut [T], value: __m256i) {
    assert!(size_of_val(to) >= 32);
    // SAFETY: 32 bytes are writable, at any alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load<T>(from: &[T]) -> __m256i {
    assert!(size_of_val(from) >= 32);
    // SAFETY: 32 bytes are readable, at any alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

/// Interleaves register i with register i + half: one stage of a transposition.
macro_rules! stage {
    ($from:ident, $n:literal, $low:ident, $high:ident) => {{
        let mut to = [_mm256_setzero_si256(); $n];
        for i in 0..$n / 2 {
            to[2 * i] = $low($from[i], $from[i + $n / 2]);
            to[2 * i + 1] = $high($from[i], $from[i + $n / 2]);
        }
        to
    }};
}

/// Four stages of interleaving, half against half, turn rows into columns within each half of the registers.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn transposed_16x32(row: impl Fn(usize) -> __m256i) -> [__m256i; 16] {
    let mut v = [_mm256_setzero_si256(); 16];
    for (r, v) in v.iter_mut().enumerate() {
        *v = row(r);
    }
    let v = stage!(v, 16, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8);
    let v = stage!(v, 16, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8);
    let v = stage!(v, 16, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8);
    stage!(v, 16, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8)
}

#[target_feature(enable = "avx2")]
pub(super) fn transpose_u8(from: &[u8], stride: usize, rows: usize, columns: usize, to: &mut [u8]) {
    if rows != LANES {
        return scalar::transpose_u8(from, stride, rows, columns, to);
    }
    let whole = columns / 16 * 16;
    for c in (0..whole).step_by(16) {
        // Register r holds 16 columns of rows r and r + 16.
        let row = |r: usize| from[r * stride + c..][..16].as_array().expect("16 bytes");
        let v = transposed_16x32(|r| two_rows(row(r), row(r + 16)));
        for (lanes, v) in to[c * LANES..].chunks_exact_mut(LANES).zip(v) {
            store(lanes, v);
        }
    }
    if whole < columns {
        scalar::transpose_u8(&from[whole..], stride, rows, columns - whole, &mut to[whole * LANES..]);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn transposed_8x16(row: impl Fn(usize) -> __m256i) -> [__m256i; 8] {
    let mut v = [_mm256_setzero_si256(); 8];
    for (r, v) in v.iter_mut().enumerate() {
        *v = row(r);
    }
    let v = stage!(v, 8, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16);
    let v = stage!(v, 8, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16);
    stage!(v, 8, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16)
}

#[inline]
#[target_feature(enable = "avx2")]
fn two_rows_i16(first: &[i16; 8], second: &[i16; 8]) -> __m256i {
    // SAFETY: both are readable for 16 bytes, at any alignment.
    unsafe {
        let first = _mm_loadu_si128(first.as_ptr().cast());
        let second = _mm_loadu_si128(second.as_ptr().cast());
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(first), second)
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn transpose_i16(from: &[i16], stride: usize, rows: usize, columns: usize, to: &mut [i16]) {
    if rows != LANES {
        return scalar::transpose_i16(from, stride, rows, columns, to);
    }
    let whole = columns / 8 * 8;
    for c in (0..whole).step_by(8) {
        for half in [0, 16] {
            let row = |r: usize| from[(half + r) * stride + c..][..8].as_array().expect("8 values");
            let v = transposed_8x16(|r| two_rows_i16(row(r), row(r + 8)));
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
    let whole = if rows == LANES { outputs / 16 * 16 } else { 0 };
    for j in (0..whole).step_by(16) {
        let tile = &from[j * LANES..];
        for r in (0..LANES).step_by(8) {
            let output = |j: usize| tile[j * LANES + r..][..8].as_array().expect("8 values");
            let v = transposed_8x16(|j| two_rows_i16(output(j), output(j + 8)));
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
    let whole = if rows == LANES { outputs / 32 * 32 } else { 0 };
    for j in (0..whole).step_by(32) {
        for r in [0, 16] {
            // Register i holds 16 rows of outputs j + i and j + i + 16.
            let output = |i: usize| from[(j + i) * LANES + r..][..16].as_array().expect("16 bytes");
            let v = transposed_16x32(|i| two_rows(output(i), output(i + 16)));
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
    let whole = columns / 8 * 8;
    for c in (0..whole).step_by(8) {
        for r in (0..LANES).step_by(8) {
            // Register i holds 4 columns of rows i and i + 4: two stages turn them within each half.
            for c in [c, c + 4] {
                let row = |i: usize| from[(r + i) * stride + c..][..4].as_array().expect("4 values");
                let mut v = [_mm256_setzero_si256(); 4];
                for (i, v) in v.iter_mut().enumerate() {
                    *v = two_rows_i32(row(i), row(i + 4));
                }
                let v = stage!(v, 4, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32);
                let v = stage!(v, 4, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32);
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

#[inline]
#[target_feature(enable = "avx2")]
fn two_rows_i32(first: &[i32; 4], second: &[i32; 4]) -> __m256i {
    // SAFETY: both are readable for 16 bytes, at any alignment.
    unsafe {
        let first = _mm_loadu_si128(first.as_ptr().cast());
        let second = _mm_loadu_si128(second.as_ptr().cast());
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(first), second)
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn oporp_u8(cells: &[u8], entries: &[u32], larger: usize, size: usize, out: &mut [i16]) {
    // Factors (+-1, +-1) of a pair of cells, by their two minus bits; the last is for a cell alone.
    const FACTORS: [[[i8; 2]; 16]; 4] = [[[1, 1]; 16], [[-1, 1]; 16], [[1, -1]; 16], [[-1, -1]; 16]];
    let lanes_of = |entry: u32| &cells[(entry >> 1) as usize * LANES..][..LANES];
    let mut at = 0;
    for (j, lanes) in out.chunks_exact_mut(LANES).enumerate() {
        let end = at + size + usize::from(j < larger);
        let (mut low, mut high) = (_mm256_setzero_si256(), _mm256_setzero_si256());
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
        // Interleaving worked within halves: lanes 0..8 and 16..24 are in `low`.
        store(lanes, _mm256_permute2x128_si256::<0x20>(low, high));
        store(&mut lanes[16..], _mm256_permute2x128_si256::<0x31>(low, high));
        at = end;
    }
}

/// Signed sums of every pattern of a group, for one register of lanes: 32 bytes an entry.
type GroupTable = [[u8; 32]; 1 << GROUP];

/// The tables of a pass, on cache lines of their own.
#[repr(align(64))]
struct Tables([GroupTable; GROUPS]);

impl Tables {
    fn new() -> Box<Self> {
        Box::new(Self([[[0; 32]; 1 << GROUP]; GROUPS]))
    }
}

/// Two attributes of 16 lanes, interleaved within halves.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Pair([[i16; 16]; 2]);

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
fn are_offsets(patterns: &[u16]) -> bool {
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

/// Outputs whose sums of 16 lanes fit the registers.
const OUTPUTS: usize = 6;

#[target_feature(enable = "avx2")]
pub(super) fn weighted_i16(cells: &[i16], weights: &[u32], out: &mut [i32]) {
    let dim = cells.len() / LANES;
    assert!(dim.is_multiple_of(2), "attributes are multiplied in pairs");
    let count = dim / 2;
    let mut pairs = vec![Pair([[0; 16]; 2]); count];
    for half in [0, 16] {
        for (pair, cells) in pairs.iter_mut().zip(cells.chunks_exact(2 * LANES)) {
            let (a, b) = (load(&cells[half..]), load(&cells[LANES + half..]));
            store(&mut pair.0[0], _mm256_unpacklo_epi16(a, b));
            store(&mut pair.0[1], _mm256_unpackhi_epi16(a, b));
        }
        for (weights, out) in weights.chunks(OUTPUTS * count).zip(out.chunks_mut(OUTPUTS * LANES)) {
            // A last group of fewer outputs repeats its first one; the copies are not stored.
            let here = weights.len() / count;
            let rows: [&[u32]; OUTPUTS] =
                std::array::from_fn(|o| &weights[if o < here { o } else { 0 } * count..][..count]);
            let mut sums = [[_mm256_setzero_si256(); 2]; OUTPUTS];
            for (at, pair) in pairs[..count].iter().enumerate() {
                let (low, high) = (load(&pair.0[0]), load(&pair.0[1]));
                for (row, sums) in rows.iter().zip(&mut sums) {
                    let w = _mm256_set1_epi32(row[at] as i32);
                    sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(low, w));
                    sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(high, w));
                }
            }
            for (out, [low, high]) in out.chunks_exact_mut(LANES).zip(sums) {
                store(&mut out[half..], _mm256_permute2x128_si256::<0x20>(low, high));
                store(&mut out[half + 8..], _mm256_permute2x128_si256::<0x31>(low, high));
            }
        }
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn sparse_i16(cells: &[i16], attributes: &[u32], starts: &[usize], most: usize, out: &mut [i32]) {
    // Sums of all lanes of the listed attributes.
    let sum = |list: &[u32]| {
        let mut sums = [_mm256_setzero_si256(); 2];
        for &attribute in list {
            let lanes = &cells[attribute as usize * LANES..][..LANES];
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
