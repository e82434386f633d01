//! The plain kernels: what the vector ones are checked against, and what their unvectorised ends use.

use super::{Bin, ENTRY, GROUP, GROUPS, LANES, PAIRS, PASS, Quantiser, TILE};

macro_rules! quantise {
    ($name:ident, $clip:ident, $float:ty, $int:ty) => {
        #[inline(always)]
        pub(super) fn $name(q: Quantiser, from: &[$float], to: &mut [$int]) -> bool {
            let (lo, hi) = q.bounds;
            let (low, high) = q.$clip();
            let scale = q.twice_per_unit as $float;
            let mut finite = true;
            for (q, &v) in to.iter_mut().zip(from) {
                finite &= v.to_bits() << 1 < <$float>::INFINITY.to_bits() << 1; // without the sign
                let twice = v * scale;
                let twice = if twice > low { twice } else { low };
                let twice = if twice < high { twice } else { high };
                let twice = twice.floor() as i32;
                *q = ((twice >> 1) + (twice & 1)).max(lo).min(hi) as $int;
            }
            finite
        }
    };
}
quantise!(quantise_f32_i16, clip_f32, f32, i16);
quantise!(quantise_f32_i32, clip_f32, f32, i32);
quantise!(quantise_f64_i16, clip_f64, f64, i16);
quantise!(quantise_f64_i32, clip_f64, f64, i32);

#[inline(always)]
fn transpose<T: Copy + Default>(from: &[T], stride: usize, rows: usize, columns: usize, to: &mut [T]) {
    for (c, lanes) in to[..columns * LANES].chunks_exact_mut(LANES).enumerate() {
        for (r, cell) in lanes.iter_mut().enumerate() {
            *cell = if r < rows { from[r * stride + c] } else { T::default() };
        }
    }
}

pub(super) fn transpose_u8(from: &[u8], stride: usize, rows: usize, columns: usize, to: &mut [u8]) {
    transpose(from, stride, rows, columns, to);
}

pub(super) fn transpose_i16(from: &[i16], stride: usize, rows: usize, columns: usize, to: &mut [i16]) {
    transpose(from, stride, rows, columns, to);
}

pub(super) fn transpose_i32(from: &[i32], stride: usize, rows: usize, columns: usize, to: &mut [i32]) {
    transpose(from, stride, rows, columns, to);
}

#[inline(always)]
fn untranspose<T: Copy>(from: &[T], rows: usize, stride: usize, to: &mut [T]) {
    for (j, lanes) in from.chunks_exact(LANES).enumerate() {
        for (r, &x) in lanes[..rows].iter().enumerate() {
            to[r * stride + j] = x;
        }
    }
}

pub(super) fn untranspose_i16(from: &[i16], rows: usize, stride: usize, to: &mut [i16]) {
    untranspose(from, rows, stride, to);
}

pub(super) fn untranspose_u8(from: &[u8], rows: usize, stride: usize, to: &mut [u8]) {
    untranspose(from, rows, stride, to);
}

/// Adds up the named cells of every output.
macro_rules! oporp {
    ($name:ident, $cell:ty, $sum:ty) => {
        #[inline(always)]
        pub(super) fn $name(cells: &[$cell], entries: &[u32], bins: &[Bin], starts: &[$sum], out: &mut [$sum]) {
            let cells = cells.as_chunks::<LANES>().0;
            let (out, mut at) = (out.as_chunks_mut::<LANES>().0, 0);
            for &Bin { end, output } in bins {
                let (mut sums, mut lack) = ([0; LANES], starts[output]);
                for &entry in &entries[at..end] {
                    // All ones for minus: x ^ -1 = -x - 1, and the ones are added back at the end.
                    let minus = -((entry & 1) as $sum);
                    lack = <$sum>::wrapping_sub(lack, minus);
                    for (sum, &cell) in sums.iter_mut().zip(&cells[(entry >> 1) as usize]) {
                        *sum = <$sum>::wrapping_add(*sum, <$sum>::from(cell) ^ minus);
                    }
                }
                out[output].iter_mut().zip(sums).for_each(|(lane, sum)| *lane = sum.wrapping_add(lack));
                at = end;
            }
        }
    };
}
oporp!(oporp_u8, u8, i16);
oporp!(oporp_i16, i16, i16);
oporp!(oporp_i32, i32, i32);

macro_rules! rademacher {
    ($name:ident, $cell:ty) => {
        pub(super) fn $name(cells: &[$cell], patterns: &[u16], out: &mut [i32]) {
            let outputs = out.len() / LANES;
            for (cells, patterns) in cells.chunks(PASS * LANES).zip(patterns.chunks_exact(outputs * GROUPS)) {
                for (patterns, out) in patterns.chunks_exact(GROUPS).zip(out.chunks_exact_mut(LANES)) {
                    for (i, cells) in cells.chunks_exact(LANES).enumerate() {
                        let plus = patterns[i / GROUP] / ENTRY >> (i % GROUP) & 1 == 1;
                        for (sum, &cell) in out.iter_mut().zip(cells) {
                            *sum += if plus { i32::from(cell) } else { -i32::from(cell) };
                        }
                    }
                }
            }
        }
    };
}
rademacher!(rademacher_i16, i16);
rademacher!(rademacher_i32, i32);

#[inline(always)]
pub(super) fn sparse_i16(cells: &[i16], attributes: &[u32], starts: &[usize], most: usize, out: &mut [i32]) {
    let lanes = |attribute: u32| &cells[attribute as usize * LANES..][..LANES];
    for (ends, out) in starts.windows(3).step_by(2).zip(out.chunks_exact_mut(LANES)) {
        out.fill(0);
        for part in attributes[ends[0]..ends[1]].chunks(most) {
            let mut sums = [0i16; LANES];
            for &attribute in part {
                sums.iter_mut().zip(lanes(attribute)).for_each(|(sum, &cell)| *sum = sum.wrapping_add(cell));
            }
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = out.wrapping_add(sum.into()));
        }
        for part in attributes[ends[1]..ends[2]].chunks(most) {
            let mut sums = [0i16; LANES];
            for &attribute in part {
                sums.iter_mut().zip(lanes(attribute)).for_each(|(sum, &cell)| *sum = sum.wrapping_add(cell));
            }
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = out.wrapping_sub(sum.into()));
        }
    }
}

pub(super) fn weighted_i16(cells: &[i16], weights: &[u32], out: &mut [i32]) {
    let outputs = (out.len() / LANES).next_multiple_of(TILE);
    out.fill(0);
    for (cells, weights) in cells.chunks(2 * PAIRS * LANES).zip(weights.chunks(outputs * PAIRS)) {
        let count = cells.len() / (2 * LANES);
        for (j, out) in out.chunks_exact_mut(LANES).enumerate() {
            let weights = &weights[j / TILE * TILE * count..];
            for (at, cells) in cells.chunks_exact(2 * LANES).enumerate() {
                let pair = weights[at * TILE + j % TILE];
                let (a, b) = (i32::from(pair as i16), i32::from((pair >> 16) as i16));
                for (l, sum) in out.iter_mut().enumerate() {
                    *sum += a * i32::from(cells[l]) + b * i32::from(cells[LANES + l]);
                }
            }
        }
    }
}

#[inline(always)]
pub(super) fn is_rising(index: &[u32]) -> bool {
    index.iter().zip(index.iter().skip(1)).fold(true, |rising, (a, b)| rising & (a < b))
}

#[inline(always)]
pub(super) fn join_banks(banks: &[i32], out: &mut [i16]) -> bool {
    let mut lost = 0;
    for (x, [minus, plus]) in out.iter_mut().zip(banks.as_chunks().0) {
        let sum = plus.wrapping_sub(*minus);
        *x = (sum as i16).max(-i16::MAX); // -32768 has no opposite, and is not a value of 16 bits here
        lost |= sum ^ i32::from(*x);
    }
    lost == 0
}

/// Inlined with the bases in use as constants, so that the product becomes shifts and adds.
#[inline(always)]
pub(super) fn pack(codes: &[u8], digits: usize, base: u8, out: &mut [u8]) {
    match base {
        2 => pack_base(codes, digits, 2, out),
        3 => pack_base(codes, digits, 3, out),
        4 => pack_base(codes, digits, 4, out),
        16 => pack_base(codes, digits, 16, out),
        _ => pack_base(codes, digits, base, out),
    }
}

#[inline(always)]
fn pack_base(codes: &[u8], digits: usize, base: u8, out: &mut [u8]) {
    for (bytes, codes) in out.chunks_exact_mut(LANES).zip(codes.chunks(digits * LANES)) {
        let mut packed = [0u8; LANES];
        for codes in codes.chunks_exact(LANES) {
            packed.iter_mut().zip(codes).for_each(|(byte, &code)| *byte = byte.wrapping_mul(base).wrapping_add(code));
        }
        for _ in codes.len() / LANES..digits {
            packed.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(base));
        }
        bytes.copy_from_slice(&packed);
    }
}
