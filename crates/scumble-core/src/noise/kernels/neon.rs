//! The kernels for NEON: an output is two registers of bytes. Guided draws look up cells singly, like the plain kernel.

pub(super) use super::scalar::guided;
use super::{CLASSES, Cuts, FLIP_CLASSES, LANES, Prefixes, Reciprocal};
use crate::simd::neon::{load, store};
use std::arch::aarch64::*;

/// Lists the lanes of an output whose bytes are set, as `first + lane`.
#[inline]
#[target_feature(enable = "neon")]
fn list([low, high]: [uint8x16_t; 2], first: usize, ties: &mut Vec<u32>) {
    if vmaxvq_u32(vreinterpretq_u32_u8(vorrq_u8(low, high))) != 0 {
        let mut lanes = [0; LANES];
        store(&mut lanes, low);
        store(&mut lanes[16..], high);
        list_bytes(&lanes, first, ties);
    }
}

#[cold]
fn list_bytes(lanes: &[u8; LANES], first: usize, ties: &mut Vec<u32>) {
    ties.extend((first as u32..).zip(lanes).filter(|(_, tied)| **tied != 0).map(|(at, _)| at));
}

/// The lower bytes of words.
#[inline]
#[target_feature(enable = "neon")]
fn narrowed([a, b]: [uint16x8_t; 2]) -> uint8x16_t {
    vuzp1q_u8(vreinterpretq_u8_u16(a), vreinterpretq_u8_u16(b))
}

/// The classes of 16 values.
#[inline]
#[target_feature(enable = "neon")]
fn classes(cuts: &Cuts, x: [int16x8_t; 2]) -> uint8x16_t {
    narrowed(match cuts.reciprocal {
        Some(Reciprocal { offset, factor, ends }) => x.map(|x| {
            let x = ends.map_or(x, |(low, high)| vminq_s16(vmaxq_s16(x, vdupq_n_s16(low)), vdupq_n_s16(high)));
            let x = vreinterpretq_u16_s16(vaddq_s16(x, vdupq_n_s16(offset)));
            let products = [vmull_n_u16(vget_low_u16(x), factor), vmull_high_n_u16(x, factor)];
            let [a, b] = products.map(|product| vreinterpretq_u16_u32(product));
            vuzp2q_u16(a, b) // the upper halves
        }),
        None => cuts.cuts.iter().fold([vdupq_n_u16(0); 2], |[a, b], &cut| {
            let cut = vdupq_n_s16(cut);
            [vsubq_u16(a, vcgtq_s16(x[0], cut)), vsubq_u16(b, vcgtq_s16(x[1], cut))]
        }),
    })
}

/// Where the draw has reached the threshold, and where it agrees with it. Both as high and low bytes.
#[inline]
#[target_feature(enable = "neon")]
fn compare(draw: [uint8x16_t; 2], threshold: [uint8x16_t; 2]) -> (uint8x16_t, uint8x16_t) {
    let equal = vceqq_u8(draw[0], threshold[0]);
    let reached = vbslq_u8(equal, vcgeq_u8(draw[1], threshold[1]), vcgeq_u8(draw[0], threshold[0]));
    (reached, vandq_u8(equal, vceqq_u8(draw[1], threshold[1])))
}

/// The values of half an output, and the high and low bytes of their draws.
#[inline]
#[target_feature(enable = "neon")]
fn draws(x: &[i16], random: &[u8], half: usize) -> ([int16x8_t; 2], [uint8x16_t; 2]) {
    let (x, random) = (&x[16 * half..], &random[16 * half..]);
    ([load(x), load(&x[8..])], [load(random), load(&random[LANES..])])
}

#[target_feature(enable = "neon")]
pub(super) fn flip(
    x: &[i16],
    cuts: &Cuts,
    thresholds: &Prefixes<FLIP_CLASSES>,
    plus_from: usize,
    random: &[u8],
    bits: &mut [u8],
    ties: &mut Vec<u32>,
) {
    assert!(random.len() >= 2 * x.len(), "a draw for every value");
    assert!(bits.len() >= x.len().div_ceil(8 * LANES) * LANES, "a byte for eight outputs");
    let tables = thresholds.bytes.map(|table| uint8x16x2_t(load(&table), load(&table[16..])));
    let (none, plus_from) = (vdupq_n_u8(0), vdupq_n_u8(plus_from as u8));
    let bytes = x.chunks(8 * LANES).zip(random.chunks(16 * LANES)).zip(bits.chunks_exact_mut(LANES));
    for (byte, ((x, random), bits)) in bytes.enumerate() {
        let mut packed = [none; 2];
        for (output, (x, random)) in x.chunks_exact(LANES).zip(random.chunks_exact(2 * LANES)).enumerate() {
            let mut tied = [none; 2];
            for half in 0..2 {
                let (x, draw) = draws(x, random, half);
                let class = classes(cuts, x);
                let (reached, equal) = compare(draw, tables.map(|table| vqtbl2q_u8(table, class)));
                let bit = veorq_u8(vcltq_u8(class, plus_from), reached); // both sides are negated
                packed[half] = vsliq_n_u8::<1>(bit, packed[half]); // keeps the lowest bit and puts the others above
                tied[half] = equal;
            }
            list(tied, (8 * byte + output) * LANES, ties);
        }
        let missing = vdupq_n_s8(8 - (x.len() / LANES) as i8);
        store(bits, vshlq_u8(packed[0], missing));
        store(&mut bits[16..], vshlq_u8(packed[1], missing));
    }
}

#[target_feature(enable = "neon")]
pub(super) fn symbols(
    x: &[i16],
    cuts: &Cuts,
    borders: &[Prefixes],
    random: &[u8],
    out: &mut [u8],
    ties: &mut Vec<u32>,
) {
    assert!((1..16).contains(&borders.len()), "2 to 16 symbols");
    assert!(random.len() >= 2 * x.len() && out.len() >= x.len(), "a draw and room for every value");
    // This many halvings leave no border. With constants, their look-ups stay in registers.
    match usize::BITS - borders.len().leading_zeros() {
        1 => symbols_by::<1>(x, cuts, borders, random, out, ties),
        2 => symbols_by::<2>(x, cuts, borders, random, out, ties),
        3 => symbols_by::<3>(x, cuts, borders, random, out, ties),
        _ => symbols_by::<4>(x, cuts, borders, random, out, ties),
    }
}

#[target_feature(enable = "neon")]
fn symbols_by<const HALVINGS: usize>(
    x: &[i16],
    cuts: &Cuts,
    borders: &[Prefixes],
    random: &[u8],
    out: &mut [u8],
    ties: &mut Vec<u32>,
) {
    let nodes = nodes(HALVINGS, borders);
    let (none, last) = (vdupq_n_u8(0), vdupq_n_u8(borders.len() as u8));
    let outputs = x.chunks_exact(LANES).zip(random.chunks_exact(2 * LANES)).zip(out.chunks_exact_mut(LANES));
    for (output, ((x, random), out)) in outputs.enumerate() {
        let mut tied = [none; 2];
        for half in 0..2 {
            let (x, draw) = draws(x, random, half);
            let class = classes(cuts, x);
            // The answers "reached" as bits, the first most significant: how many borders are reached.
            let mut answers = none;
            for halving in 0..HALVINGS {
                let at = vsliq_n_u8::<4>(class, answers); // the answers choose the node
                let (reached, equal) = compare(draw, [of(&nodes[0], halving, at), of(&nodes[1], halving, at)]);
                answers = vsliq_n_u8::<1>(reached, answers);
                tied[half] = vorrq_u8(tied[half], equal);
            }
            store(&mut out[16 * half..], vminq_u8(answers, last));
        }
        list(tied, output * LANES, ties);
    }
}

/// Byte tables of the borders as a tree: the one in the middle, those in the middle of each half, and so on.
type Nodes = [[u8; CLASSES]; 15];

/// The high and the low bytes. Where borders are missing, the last is repeated.
fn nodes(halvings: usize, borders: &[Prefixes]) -> [Nodes; 2] {
    let mut nodes = [[[0; CLASSES]; 15]; 2];
    for halving in 0..halvings {
        for at in 0..1 << halving {
            let border = ((2 * at + 1) << (halvings - 1 - halving)) - 1;
            let tables = borders[border.min(borders.len() - 1)].bytes;
            nodes.iter_mut().zip(tables).for_each(|(nodes, table)| nodes[(1 << halving) - 1 + at] = table);
        }
    }
    nodes
}

/// The bytes at `16 node + class` of a halving's nodes.
#[inline]
#[target_feature(enable = "neon")]
fn of(nodes: &Nodes, halving: usize, at: uint8x16_t) -> uint8x16_t {
    let four = |n: usize| uint8x16x4_t(load(&nodes[n]), load(&nodes[n + 1]), load(&nodes[n + 2]), load(&nodes[n + 3]));
    match halving {
        0 => vqtbl1q_u8(load(&nodes[0]), at),
        1 => vqtbl2q_u8(uint8x16x2_t(load(&nodes[1]), load(&nodes[2])), at),
        2 => vqtbl4q_u8(four(3), at),
        // What the second four do not hold stays as the first four gave it.
        _ => vqtbx4q_u8(vqtbl4q_u8(four(7), at), four(11), vsubq_u8(at, vdupq_n_u8(64))),
    }
}
