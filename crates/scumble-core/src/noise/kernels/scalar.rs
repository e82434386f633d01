//! The plain kernels.

use super::{CROWDED, Cuts, FLIP_CLASSES, Guide, LANES, Prefixes};

/// Value and 16 random bits of every draw, in order.
#[inline(always)]
fn draws<'a>(x: &'a [i16], random: &'a [u8]) -> impl Iterator<Item = (usize, i16, u16)> + 'a {
    x.iter().enumerate().map(|(i, &x)| {
        let bytes = &random[i / LANES * 2 * LANES..][..2 * LANES];
        (i, x, u16::from_be_bytes([bytes[i % LANES], bytes[LANES + i % LANES]]))
    })
}

pub(super) fn flip(
    x: &[i16],
    cuts: &Cuts,
    thresholds: &Prefixes<FLIP_CLASSES>,
    plus_from: usize,
    random: &[u8],
    bits: &mut [u8],
    ties: &mut Vec<u32>,
) {
    bits.fill(0);
    for (i, x, draw) in draws(x, random) {
        let class = cuts.class(x);
        let threshold = thresholds.words[class];
        let bit = (class >= plus_from) ^ (draw < threshold);
        let output = i / LANES;
        bits[output / 8 * LANES + i % LANES] |= u8::from(bit) << (7 - output % 8);
        if draw == threshold {
            ties.push(i as u32);
        }
    }
}

pub(super) fn symbols(
    x: &[i16],
    cuts: &Cuts,
    borders: &[Prefixes],
    random: &[u8],
    out: &mut [u8],
    ties: &mut Vec<u32>,
) {
    for (i, x, draw) in draws(x, random) {
        let class = cuts.class(x);
        out[i] = borders.iter().map(|border| u8::from(draw >= border.words[class])).sum();
        if borders.iter().any(|border| draw == border.words[class]) {
            ties.push(i as u32);
        }
    }
}

pub(super) fn guided(guide: &Guide, random: &[u8], out: &mut [i16], ties: &mut Vec<u32>) {
    for (i, (out, &word)) in out.iter_mut().zip(random.as_chunks::<4>().0).enumerate() {
        let word = u32::from_le_bytes(word);
        let draw = word & (u32::MAX >> 1);
        let cell = guide.cells[guide.cell(draw)];
        let (rest, threshold) = (guide.rest(draw), cell & 0xffff);
        let magnitude = (cell >> 16) as i32 + i32::from(rest < threshold);
        *out = (if word >> 31 == 1 { -magnitude } else { magnitude }) as i16;
        if rest == threshold || cell & CROWDED != 0 {
            ties.push(i as u32);
        }
    }
}
