//! The kernels for NEON. Where the compiler vectorises the plain code well, it is the plain code: every such processor has
//! what it uses.

pub(super) use super::scalar::{
    is_rising, join_banks, pack, quantise_f32_i16, quantise_f32_i32, quantise_f64_i16, quantise_f64_i32,
};
use super::{Bin, ENTRY, GROUP, GROUPS, LANES, PAIRS, PASS, TILE, scalar};
use crate::simd::neon::{load, store, transposed_bytes, transposed_numbers, transposed_words};
use std::arch::aarch64::*;

/// Turns blocks of [`LANES`] rows into lanes, and back, by squares as wide as a register.
macro_rules! transpositions {
    ($cell:ty, $square:ident, $name:ident $(, $back:ident)?) => {
        #[target_feature(enable = "neon")]
        pub(super) fn $name(from: &[$cell], stride: usize, rows: usize, columns: usize, to: &mut [$cell]) {
            const SIDE: usize = 16 / size_of::<$cell>();
            if rows != LANES || columns < SIDE {
                return scalar::$name(from, stride, rows, columns, to);
            }
            let whole = columns / SIDE * SIDE;
            for r in (0..LANES).step_by(SIDE) {
                // Cut to one length: a column is then checked once for all rows.
                let rows: [_; SIDE] = std::array::from_fn(|i| &from[(r + i) * stride..][..whole]);
                let squares = to[..whole * LANES].as_chunks_mut::<LANES>().0.as_chunks_mut::<SIDE>().0;
                for (c, lanes) in (0..whole).step_by(SIDE).zip(squares) {
                    let v = $square(|i| load(&rows[i][c..]));
                    lanes.iter_mut().zip(v).for_each(|(lanes, v)| store(&mut lanes[r..], v));
                }
            }
            if whole < columns {
                scalar::$name(&from[whole..], stride, rows, columns - whole, &mut to[whole * LANES..]);
            }
        }
        $(
            #[target_feature(enable = "neon")]
            pub(super) fn $back(from: &[$cell], rows: usize, stride: usize, to: &mut [$cell]) {
                const SIDE: usize = 16 / size_of::<$cell>();
                let outputs = from.len() / LANES;
                if rows != LANES || outputs < SIDE {
                    return scalar::$back(from, rows, stride, to);
                }
                let whole = outputs / SIDE * SIDE;
                for r in (0..LANES).step_by(SIDE) {
                    let mut rows = to[r * stride..].chunks_mut(stride);
                    let mut rows: [_; SIDE] = std::array::from_fn(|_| &mut rows.next().expect("a row")[..whole]);
                    let squares = from.as_chunks::<LANES>().0.as_chunks::<SIDE>().0;
                    for (j, lanes) in (0..whole).step_by(SIDE).zip(squares) {
                        let v = $square(|i| load(&lanes[i][r..]));
                        rows.iter_mut().zip(v).for_each(|(row, v)| store(&mut row[j..], v));
                    }
                }
                if whole < outputs {
                    scalar::$back(&from[whole * LANES..], rows, stride, &mut to[whole..]);
                }
            }
        )?
    };
}
transpositions!(u8, transposed_bytes, transpose_u8, untranspose_u8);
transpositions!(i16, transposed_words, transpose_i16, untranspose_i16);
transpositions!(i32, transposed_numbers, transpose_i32);

#[target_feature(enable = "neon")]
pub(super) fn oporp_u8(cells: &[u8], entries: &[u32], bins: &[Bin], starts: &[i16], out: &mut [i16]) {
    let cells = cells.as_chunks::<LANES>().0;
    let (out, mut at) = (out.as_chunks_mut::<LANES>().0, 0);
    for &Bin { end, output } in bins {
        let (mut sums, mut excess) = ([vdupq_n_u16(0); LANES / 8], (starts[output] as u16).wrapping_neg());
        for &entry in &entries[at..end] {
            // All ones for minus: x ^ 255 = 255 - x, and the 255s are subtracted at the end.
            let minus = ((entry & 1) as u8).wrapping_neg();
            excess = excess.wrapping_add(minus.into());
            let cells = &cells[(entry >> 1) as usize];
            for half in 0..2 {
                let x = veorq_u8(load(&cells[16 * half..]), vdupq_n_u8(minus));
                sums[2 * half] = vaddw_u8(sums[2 * half], vget_low_u8(x));
                sums[2 * half + 1] = vaddw_high_u8(sums[2 * half + 1], x);
            }
        }
        for (lanes, sum) in out[output].as_chunks_mut::<8>().0.iter_mut().zip(sums) {
            store(lanes, vreinterpretq_s16_u16(vsubq_u16(sum, vdupq_n_u16(excess))));
        }
        at = end;
    }
}

/// Adds up the named cells of every output.
macro_rules! oporp {
    ($name:ident, $cell:ty, $set:ident, $add:ident, $xor:ident) => {
        #[target_feature(enable = "neon")]
        pub(super) fn $name(cells: &[$cell], entries: &[u32], bins: &[Bin], starts: &[$cell], out: &mut [$cell]) {
            const SIDE: usize = 16 / size_of::<$cell>();
            let cells = cells.as_chunks::<LANES>().0;
            let (out, mut at) = (out.as_chunks_mut::<LANES>().0, 0);
            for &Bin { end, output } in bins {
                let (mut sums, mut lack) = ([$set(0); LANES / SIDE], starts[output]);
                for &entry in &entries[at..end] {
                    // All ones for minus: x ^ -1 = -x - 1, and the ones are added back at the end.
                    let minus = -((entry & 1) as $cell);
                    lack = lack.wrapping_sub(minus);
                    let cells = cells[(entry >> 1) as usize].as_chunks::<SIDE>().0;
                    for (sum, cells) in sums.iter_mut().zip(cells) {
                        *sum = $add(*sum, $xor(load(cells), $set(minus)));
                    }
                }
                for (lanes, sum) in out[output].as_chunks_mut::<SIDE>().0.iter_mut().zip(sums) {
                    store(lanes, $add(sum, $set(lack)));
                }
                at = end;
            }
        }
    };
}
oporp!(oporp_i16, i16, vdupq_n_s16, vaddq_s16, veorq_s16);
oporp!(oporp_i32, i32, vdupq_n_s32, vaddq_s32, veorq_s32);

/// For cells of a type: what fills a table of signed sums of every pattern of a group, and the kernel that adds up the
/// entries that patterns name. An entry is two registers of lanes.
macro_rules! rademacher {
    ($cell:ty, $set:ident, $add:ident, $sub:ident, $table:ident, $name:ident, $add_to:ident) => {
        /// Fills a table from the cells of up to [`GROUP`] attributes; missing ones count as 0.
        #[inline]
        #[target_feature(enable = "neon")]
        fn $table(cells: &[$cell], table: &mut [[[$cell; 16 / size_of::<$cell>()]; 2]; 1 << GROUP]) {
            const SIDE: usize = 16 / size_of::<$cell>();
            for half in 0..2 {
                // Pattern 0 subtracts all; setting bit i adds attribute i twice.
                let (mut none, mut attributes) = ($set(0), [$set(0); GROUP]);
                for (attribute, cells) in attributes.iter_mut().zip(cells.chunks(LANES)) {
                    *attribute = load(&cells[half * SIDE..]);
                    none = $sub(none, *attribute);
                }
                store(&mut table[0][half], none);
                for (i, attribute) in attributes.into_iter().enumerate() {
                    let twice = $add(attribute, attribute);
                    for pattern in 0..1 << i {
                        let with = $add(load(&table[pattern][half]), twice);
                        store(&mut table[pattern | 1 << i][half], with);
                    }
                }
            }
        }

        #[target_feature(enable = "neon")]
        pub(super) fn $name(cells: &[$cell], patterns: &[u16], out: &mut [i32]) {
            const SIDE: usize = 16 / size_of::<$cell>();
            let outputs = out.len() / LANES;
            let mut tables = Box::new([[[[0; SIDE]; 2]; 1 << GROUP]; GROUPS]);
            for (cells, patterns) in cells.chunks(PASS * LANES).zip(patterns.chunks_exact(outputs * GROUPS)) {
                for part in (0..LANES).step_by(2 * SIDE) {
                    for (g, table) in tables.iter_mut().enumerate() {
                        $table(cells.get(g * GROUP * LANES + part..).unwrap_or_default(), table);
                    }
                    for (patterns, out) in patterns.as_chunks::<GROUPS>().0.iter().zip(out.chunks_exact_mut(LANES)) {
                        let mut sums = [$set(0); 2];
                        for (table, pattern) in tables.iter().zip(patterns) {
                            let [low, high] = &table[usize::from(pattern / ENTRY) % table.len()];
                            sums = [$add(sums[0], load(low)), $add(sums[1], load(high))];
                        }
                        $add_to(&mut out[part..], sums[0]);
                        $add_to(&mut out[part + SIDE..], sums[1]);
                    }
                }
            }
        }
    };
}
rademacher!(i16, vdupq_n_s16, vaddq_s16, vsubq_s16, table_i16, rademacher_i16, add_words);
rademacher!(i32, vdupq_n_s32, vaddq_s32, vsubq_s32, table_i32, rademacher_i32, add_numbers);

#[inline]
#[target_feature(enable = "neon")]
fn add_words(out: &mut [i32], words: int16x8_t) {
    let (low, high) = (vaddw_s16(load(out), vget_low_s16(words)), vaddw_high_s16(load(&out[4..]), words));
    store(out, low);
    store(&mut out[4..], high);
}

#[inline]
#[target_feature(enable = "neon")]
fn add_numbers(out: &mut [i32], numbers: int32x4_t) {
    let sum = vaddq_s32(load(out), numbers);
    store(out, sum);
}

#[target_feature(enable = "neon")]
pub(super) fn weighted_i16(cells: &[i16], weights: &[u32], out: &mut [i32]) {
    assert!((cells.len() / LANES).is_multiple_of(2), "attributes are multiplied in pairs");
    let outputs = (out.len() / LANES).next_multiple_of(TILE);
    out.fill(0);
    for (cells, weights) in cells.chunks(2 * PAIRS * LANES).zip(weights.chunks(outputs * PAIRS)) {
        let pairs = cells.as_chunks::<{ 2 * LANES }>().0;
        for (weights, out) in weights.chunks_exact(TILE * pairs.len()).zip(out.chunks_mut(TILE * LANES)) {
            let mut sums = [[vdupq_n_s32(0); LANES / 4]; TILE]; // as many as the registers hold beside a pair
            for (pair, &[v, w]) in pairs.iter().zip(weights.as_chunks::<TILE>().0) {
                let weights = vcreate_s16(u64::from(v) | u64::from(w) << 32);
                for i in 0..LANES / 8 {
                    let (a, b) = (load(&pair[8 * i..]), load(&pair[LANES + 8 * i..]));
                    let (low_a, low_b) = (vget_low_s16(a), vget_low_s16(b));
                    let [v, w] = &mut sums;
                    v[2 * i] = vmlal_lane_s16::<0>(v[2 * i], low_a, weights);
                    v[2 * i] = vmlal_lane_s16::<1>(v[2 * i], low_b, weights);
                    v[2 * i + 1] = vmlal_high_lane_s16::<0>(v[2 * i + 1], a, weights);
                    v[2 * i + 1] = vmlal_high_lane_s16::<1>(v[2 * i + 1], b, weights);
                    w[2 * i] = vmlal_lane_s16::<2>(w[2 * i], low_a, weights);
                    w[2 * i] = vmlal_lane_s16::<3>(w[2 * i], low_b, weights);
                    w[2 * i + 1] = vmlal_high_lane_s16::<2>(w[2 * i + 1], a, weights);
                    w[2 * i + 1] = vmlal_high_lane_s16::<3>(w[2 * i + 1], b, weights);
                }
            }
            for (out, sums) in out.chunks_exact_mut(LANES).zip(sums) {
                out.chunks_exact_mut(4).zip(sums).for_each(|(out, sum)| add_numbers(out, sum));
            }
        }
    }
}

#[target_feature(enable = "neon")]
pub(super) fn sparse_i16(cells: &[i16], attributes: &[u32], starts: &[usize], most: usize, out: &mut [i32]) {
    let cells = cells.as_chunks::<LANES>().0;
    // Sums of all lanes of the listed attributes.
    let sum = |list: &[u32]| {
        let mut sums = [vdupq_n_s16(0); LANES / 8];
        for &attribute in list {
            let cells = cells[attribute as usize].as_chunks::<8>().0;
            sums.iter_mut().zip(cells).for_each(|(sum, cells)| *sum = vaddq_s16(*sum, load(cells)));
        }
        sums
    };
    for (ends, out) in starts.windows(3).step_by(2).zip(out.chunks_exact_mut(LANES)) {
        let mut total = [[vdupq_n_s32(0); 2]; LANES / 8];
        for part in attributes[ends[0]..ends[1]].chunks(most) {
            for ([low, high], sum) in total.iter_mut().zip(sum(part)) {
                (*low, *high) = (vaddw_s16(*low, vget_low_s16(sum)), vaddw_high_s16(*high, sum));
            }
        }
        for part in attributes[ends[1]..ends[2]].chunks(most) {
            for ([low, high], sum) in total.iter_mut().zip(sum(part)) {
                (*low, *high) = (vsubw_s16(*low, vget_low_s16(sum)), vsubw_high_s16(*high, sum));
            }
        }
        for (out, total) in out.chunks_exact_mut(4).zip(total.as_flattened()) {
            store(out, *total);
        }
    }
}
