//! The kernels for AVX-512. The 32 rows of a block are one register of 16-bit words. Transpositions are limited by a
//! unit that is just as wide in AVX2, so they use its kernels.

use super::avx2::{Factors, are_offsets};
pub(super) use super::avx2::{transpose_i16, transpose_i32, transpose_u8, untranspose_i16, untranspose_u8};
use super::{Bin, ENTRY, GROUP, GROUPS, LANES, PAIRS, PASS, Quantiser, TILE, scalar};
use crate::simd::avx2;
use crate::simd::avx512::{load, store, widened};
use std::arch::x86_64::*;

/// Compiles a plain kernel for AVX-512.
macro_rules! recompiled {
    ($($name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?;)*) => {
        $(
            #[target_feature(enable = "avx512bw,avx512dq,avx512vl")]
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
    scale: __m512,
    clip: [__m512; 2],
}

impl Rounding {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(q: Quantiser, (low, high): (f32, f32)) -> Self {
        Self { scale: _mm512_set1_ps(q.twice_per_unit as f32), clip: [_mm512_set1_ps(low), _mm512_set1_ps(high)] }
    }

    /// Sixteen values on the grid, clipped; `most` keeps the largest bits of a value without its sign.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn round(&self, from: &[f32], most: &mut __m512i) -> __m512i {
        let bits = load(from);
        *most = _mm512_max_epi32(*most, _mm512_and_si512(bits, _mm512_set1_epi32(i32::MAX)));
        let twice = _mm512_mul_ps(_mm512_castsi512_ps(bits), self.scale);
        let twice = _mm512_min_ps(_mm512_max_ps(twice, self.clip[0]), self.clip[1]);
        // As for AVX2, grids whose clip ends above 2^31 take the plain kernel.
        let twice = _mm512_cvt_roundps_epi32::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(twice);
        _mm512_srai_epi32::<1>(_mm512_add_epi32(twice, _mm512_set1_epi32(1)))
    }
}

/// True if these are bits of finite values: infinity comes after them.
#[inline]
#[target_feature(enable = "avx512f")]
fn are_finite(most: __m512i) -> bool {
    _mm512_cmpge_epi32_mask(most, _mm512_set1_epi32(f32::INFINITY.to_bits() as i32)) == 0
}

#[target_feature(enable = "avx512f")]
pub(super) fn quantise_f32_i16(q: Quantiser, from: &[f32], to: &mut [i16]) -> bool {
    // Twice the bounds are exact, and are rounded to the bounds: no clipping is needed afterwards.
    let rounding = Rounding::new(q, (2.0 * q.bounds.0 as f32, 2.0 * q.bounds.1 as f32));
    let mut most = _mm512_setzero_si512();
    let (blocks, rest) = from.as_chunks::<16>();
    let (out, out_rest) = to.as_chunks_mut::<16>();
    for (v, q) in blocks.iter().zip(out) {
        avx2::store(q, _mm512_cvtsepi32_epi16(rounding.round(v, &mut most)));
    }
    scalar::quantise_f32_i16(q, rest, out_rest) && are_finite(most)
}

#[target_feature(enable = "avx512f")]
pub(super) fn quantise_f32_i32(q: Quantiser, from: &[f32], to: &mut [i32]) -> bool {
    if q.bounds.0 < -(1 << 29) || q.bounds.1 > 1 << 29 {
        return scalar::quantise_f32_i32(q, from, to);
    }
    let rounding = Rounding::new(q, q.clip_f32());
    let (lo, hi) = (_mm512_set1_epi32(q.bounds.0), _mm512_set1_epi32(q.bounds.1));
    let mut most = _mm512_setzero_si512();
    let (blocks, rest) = from.as_chunks::<16>();
    let (out, out_rest) = to.as_chunks_mut::<16>();
    for (v, q) in blocks.iter().zip(out) {
        store(q, _mm512_min_epi32(_mm512_max_epi32(rounding.round(v, &mut most), lo), hi));
    }
    scalar::quantise_f32_i32(q, rest, out_rest) && are_finite(most)
}

/// Lane i of a first and of a second register of 32 bytes, side by side.
const PAIRED: [u8; 64] = {
    let mut places = [0; 64];
    let mut i = 0;
    while i < 32 {
        (places[2 * i], places[2 * i + 1]) = (i as u8, 32 + i as u8);
        i += 1;
    }
    places
};

#[target_feature(enable = "avx512bw,avx512vbmi")]
pub(super) fn oporp_u8(cells: &[u8], entries: &[u32], bins: &[Bin], starts: &[i16], out: &mut [i16]) {
    const FACTORS: Factors<32> = super::avx2::factors();
    let cells = cells.as_chunks::<LANES>().0;
    let lanes_of = |entry: u32| avx2::load(&cells[(entry >> 1) as usize]);
    let paired = load(&PAIRED);
    let product = |a: __m256i, b: __m256i, factors: u32| {
        let both = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b);
        // Products of at most 255 in pairs: the saturation at 32767 is out of reach.
        _mm512_maddubs_epi16(_mm512_permutexvar_epi8(paired, both), load(&FACTORS[factors as usize]))
    };
    let (out, mut at) = (out.as_chunks_mut::<LANES>().0, 0);
    for &Bin { end, output } in bins {
        let mut sum = _mm512_set1_epi16(starts[output]);
        let (pairs, last) = entries[at..end].as_chunks::<2>();
        for &[a, b] in pairs {
            sum = _mm512_add_epi16(sum, product(lanes_of(a), lanes_of(b), a & 1 | (b & 1) << 1));
        }
        if let &[a] = last {
            sum = _mm512_add_epi16(sum, product(lanes_of(a), _mm256_setzero_si256(), a & 1));
        }
        store(&mut out[output], sum);
        at = end;
    }
}

/// Groups whose tables are made at a time: with entries twice as long, half as many fit the L1 cache.
const TOGETHER: usize = GROUPS / 2;

/// Signed sums of every pattern of a group, for one register of lanes.
type GroupTable = [[u8; 64]; 1 << GROUP];

/// The tables of half a pass, on cache lines of their own.
#[repr(align(64))]
struct Tables([GroupTable; TOGETHER]);

impl Tables {
    fn new() -> Box<Self> {
        Box::new(Self([[[0; 64]; 1 << GROUP]; TOGETHER]))
    }
}

/// Fills the tables from the cells of up to [`TOGETHER`] groups, from lane `at` on; missing attributes count as 0.
macro_rules! group_tables {
    ($name:ident, $cell:ty, $add:ident, $sub:ident) => {
        #[inline]
        #[target_feature(enable = "avx512bw")]
        fn $name(cells: &[$cell], at: usize, tables: &mut Tables) {
            let mut cells = cells.chunks_exact(LANES);
            for table in &mut tables.0 {
                let mut group = [_mm512_setzero_si512(); GROUP];
                for (attribute, cells) in group.iter_mut().zip(&mut cells) {
                    *attribute = load(&cells[at..]);
                }
                // Pattern 0 subtracts all; setting bit i adds attribute i twice.
                let none = group.iter().fold(_mm512_setzero_si512(), |none, &attribute| $sub(none, attribute));
                store(&mut table[0], none);
                for (i, attribute) in group.into_iter().enumerate() {
                    let twice = $add(attribute, attribute);
                    for pattern in 0..1 << i {
                        let with = $add(load(&table[pattern]), twice);
                        store(&mut table[pattern | 1 << i], with);
                    }
                }
            }
        }
    };
}
group_tables!(tables_i16, i16, _mm512_add_epi16, _mm512_sub_epi16);
group_tables!(tables_i32, i32, _mm512_add_epi32, _mm512_sub_epi32);

/// Adds to `sum` the entries that an output's patterns name.
macro_rules! add_entries {
    ($sum:expr, $tables:ident, $patterns:expr, $add:ident) => {{
        const { assert!(ENTRY == 32, "offsets are half of those into these tables") };
        let patterns: &[u16; TOGETHER] = $patterns;
        let mut sum = $sum;
        for g in 0..TOGETHER {
            let table: *const u8 = $tables.0[g].as_ptr().cast();
            // SAFETY: all patterns were found to be offsets of whole entries within a table of entries half as long.
            let entry = unsafe { _mm512_loadu_si512(table.add(2 * usize::from(patterns[g])).cast()) };
            sum = $add(sum, entry);
        }
        sum
    }};
}

/// The first and the second half of each output's patterns.
#[inline]
fn half_patterns(patterns: &[u16], half: usize) -> impl Iterator<Item = &[u16; TOGETHER]> {
    patterns.as_chunks::<TOGETHER>().0.iter().skip(half).step_by(2)
}

#[target_feature(enable = "avx512bw")]
pub(super) fn rademacher_i16(cells: &[i16], patterns: &[u16], out: &mut [i32]) {
    assert!(are_offsets(patterns));
    let outputs = out.len() / LANES;
    let mut tables = Tables::new();
    let mut firsts = vec![[0i16; LANES]; outputs];
    for (cells, patterns) in cells.chunks(PASS * LANES).zip(patterns.chunks_exact(outputs * GROUPS)) {
        let (first, second) = cells.split_at(cells.len().min(PASS / 2 * LANES));
        tables_i16(first, 0, &mut tables);
        for (patterns, first) in half_patterns(patterns, 0).zip(&mut firsts) {
            store(first, add_entries!(_mm512_setzero_si512(), tables, patterns, _mm512_add_epi16));
        }
        tables_i16(second, 0, &mut tables);
        let outputs = half_patterns(patterns, 1).zip(&firsts).zip(out.chunks_exact_mut(LANES));
        for ((patterns, first), out) in outputs {
            let sum = add_entries!(load(first), tables, patterns, _mm512_add_epi16);
            for (sum, out) in widened(sum).into_iter().zip(out.chunks_exact_mut(16)) {
                let total = _mm512_add_epi32(load(out), sum);
                store(out, total);
            }
        }
    }
}

#[target_feature(enable = "avx512bw")]
pub(super) fn rademacher_i32(cells: &[i32], patterns: &[u16], out: &mut [i32]) {
    assert!(are_offsets(patterns));
    let outputs = out.len() / LANES;
    let mut tables = Tables::new();
    for (cells, patterns) in cells.chunks(PASS * LANES).zip(patterns.chunks_exact(outputs * GROUPS)) {
        for (half, cells) in cells.chunks(PASS / 2 * LANES).enumerate() {
            for part in [0, 16] {
                tables_i32(cells, part, &mut tables);
                for (patterns, out) in half_patterns(patterns, half).zip(out.chunks_exact_mut(LANES)) {
                    let total = add_entries!(load(&out[part..]), tables, patterns, _mm512_add_epi32);
                    store(&mut out[part..], total);
                }
            }
        }
    }
}

/// Tiles of outputs whose sums are in registers at a time.
const TILES: usize = 4;

/// Two attributes of all lanes, interleaved within quarters of registers.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Pair([[i16; LANES]; 2]);

#[target_feature(enable = "avx512bw,avx512vnni")]
pub(super) fn weighted_i16(cells: &[i16], weights: &[u32], out: &mut [i32]) {
    assert!((cells.len() / LANES).is_multiple_of(2), "attributes are multiplied in pairs");
    let outputs = (out.len() / LANES).next_multiple_of(TILE);
    let mut pairs = [Pair([[0; LANES]; 2]); PAIRS];
    // Quarters of the sums of even and of odd quarters of the lanes, in order.
    let (first, second) = (_mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15));
    out.fill(0);
    for (cells, weights) in cells.chunks(2 * PAIRS * LANES).zip(weights.chunks(outputs * PAIRS)) {
        let pairs = &mut pairs[..cells.len() / (2 * LANES)];
        for (pair, cells) in pairs.iter_mut().zip(cells.chunks_exact(2 * LANES)) {
            let (a, b) = (load(cells), load(&cells[LANES..]));
            store(&mut pair.0[0], _mm512_unpacklo_epi16(a, b));
            store(&mut pair.0[1], _mm512_unpackhi_epi16(a, b));
        }
        let tile = TILE * pairs.len();
        for (weights, out) in weights.chunks(TILES * tile).zip(out.chunks_mut(TILES * TILE * LANES)) {
            // Tiles beyond the last are the last again, and are not kept.
            let last = weights.len() / tile - 1;
            let of = |t: usize| weights[t.min(last) * tile..][..tile].as_chunks::<TILE>().0.iter();
            let mut sums = [[_mm512_setzero_si512(); 2]; TILES * TILE];
            for ((((pair, a), b), c), d) in pairs.iter().zip(of(0)).zip(of(1)).zip(of(2)).zip(of(3)) {
                let pair = [load(&pair.0[0]), load(&pair.0[1])];
                for (&w, sums) in [a, b, c, d].into_iter().flatten().zip(&mut sums) {
                    let w = _mm512_set1_epi32(w as i32);
                    sums[0] = _mm512_dpwssd_epi32(sums[0], pair[0], w);
                    sums[1] = _mm512_dpwssd_epi32(sums[1], pair[1], w);
                }
            }
            for (out, [a, b]) in out.chunks_exact_mut(LANES).zip(sums) {
                for (out, order) in out.chunks_exact_mut(16).zip([first, second]) {
                    let total = _mm512_add_epi32(load(out), _mm512_permutex2var_epi64(a, order, b));
                    store(out, total);
                }
            }
        }
    }
}

#[target_feature(enable = "avx512bw")]
pub(super) fn sparse_i16(cells: &[i16], attributes: &[u32], starts: &[usize], most: usize, out: &mut [i32]) {
    let cells = cells.as_chunks::<LANES>().0;
    // Sums of all lanes of the listed attributes.
    let sum = |list: &[u32]| {
        let mut sum = _mm512_setzero_si512();
        for &attribute in list {
            sum = _mm512_add_epi16(sum, load(&cells[attribute as usize]));
        }
        widened(sum)
    };
    for (ends, out) in starts.windows(3).step_by(2).zip(out.chunks_exact_mut(LANES)) {
        let mut total = [_mm512_setzero_si512(); 2];
        for part in attributes[ends[0]..ends[1]].chunks(most) {
            for (total, sum) in total.iter_mut().zip(sum(part)) {
                *total = _mm512_add_epi32(*total, sum);
            }
        }
        for part in attributes[ends[1]..ends[2]].chunks(most) {
            for (total, sum) in total.iter_mut().zip(sum(part)) {
                *total = _mm512_sub_epi32(*total, sum);
            }
        }
        for (out, total) in out.chunks_exact_mut(16).zip(total) {
            store(out, total);
        }
    }
}
