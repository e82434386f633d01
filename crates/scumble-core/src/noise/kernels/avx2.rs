//! The kernels for AVX2.

use super::{Cuts, FLIP_CLASSES, Guide, LANES, OCTAVES, Prefixes, Reciprocal, UNUSED, scalar};
use crate::simd::avx2::{in_order, load, store, twice};
use std::arch::x86_64::*;

/// Lists the set bits of a mask as `first + bit`.
#[cold]
pub(super) fn list(mut mask: u32, first: usize, ties: &mut Vec<u32>) {
    while mask != 0 {
        ties.push(first as u32 + mask.trailing_zeros());
        mask &= mask - 1;
    }
}

/// The classes of the 32 values of an output, as bytes in order.
struct Classifier<'a> {
    cuts: &'a [i16],
    reciprocal: Option<([__m256i; 2], Option<[__m256i; 2]>)>,
}

impl<'a> Classifier<'a> {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(cuts: &'a Cuts) -> Self {
        let reciprocal = cuts.reciprocal.map(|Reciprocal { offset, factor, ends }| {
            let ends = ends.map(|(low, high)| [low, high].map(|end| _mm256_set1_epi16(end)));
            ([offset, factor as i16].map(|number| _mm256_set1_epi16(number)), ends)
        });
        Self { cuts: &cuts.cuts, reciprocal }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn classes(&self, x: &[i16]) -> __m256i {
        let (mut first, mut second) = (load(x), load(&x[16..]));
        let (first, second) = match self.reciprocal {
            Some(([offset, factor], ends)) => {
                if let Some([low, high]) = ends {
                    first = _mm256_min_epi16(_mm256_max_epi16(first, low), high);
                    second = _mm256_min_epi16(_mm256_max_epi16(second, low), high);
                }
                (
                    _mm256_mulhi_epu16(_mm256_add_epi16(first, offset), factor),
                    _mm256_mulhi_epu16(_mm256_add_epi16(second, offset), factor),
                )
            }
            None => {
                let mut classes = (_mm256_setzero_si256(), _mm256_setzero_si256());
                for &cut in self.cuts {
                    let cut = _mm256_set1_epi16(cut);
                    classes.0 = _mm256_sub_epi16(classes.0, _mm256_cmpgt_epi16(first, cut));
                    classes.1 = _mm256_sub_epi16(classes.1, _mm256_cmpgt_epi16(second, cut));
                }
                classes
            }
        };
        in_order(_mm256_packus_epi16(first, second))
    }
}

/// High and low bytes of 16-bit thresholds by class, in both halves of a register. Biased for signed comparisons.
#[derive(Clone, Copy)]
struct ByteTables {
    high: __m256i,
    low: __m256i,
}

impl ByteTables {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(prefixes: &Prefixes) -> Self {
        let [high, low] = prefixes.bytes.each_ref().map(|bytes| biased(twice(bytes)));
        Self { high, low }
    }

    /// High and low bytes of each lane's threshold.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(&self, class: __m256i) -> (__m256i, __m256i) {
        (_mm256_shuffle_epi8(self.high, class), _mm256_shuffle_epi8(self.low, class))
    }
}

/// Where the draw is below the threshold, and where it agrees with it. Both as high and low bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn compare(draw: (__m256i, __m256i), threshold: (__m256i, __m256i)) -> (__m256i, __m256i) {
    let equal = _mm256_cmpeq_epi8(threshold.0, draw.0);
    let below_low = _mm256_and_si256(equal, _mm256_cmpgt_epi8(threshold.1, draw.1));
    let below = _mm256_or_si256(_mm256_cmpgt_epi8(threshold.0, draw.0), below_low);
    (below, _mm256_and_si256(equal, _mm256_cmpeq_epi8(threshold.1, draw.1)))
}

/// The biased high and low random bytes of an output.
#[inline]
#[target_feature(enable = "avx2")]
fn random_bytes(random: &[u8]) -> (__m256i, __m256i) {
    (biased(load(random)), biased(load(&random[LANES..])))
}

/// Bytes as signed comparisons need them.
#[inline]
#[target_feature(enable = "avx2")]
fn biased(bytes: __m256i) -> __m256i {
    _mm256_xor_si256(bytes, _mm256_set1_epi8(i8::MIN))
}

#[target_feature(enable = "avx2")]
pub(super) fn flip(
    x: &[i16],
    cuts: &Cuts,
    thresholds: &Prefixes<FLIP_CLASSES>,
    plus_from: usize,
    random: &[u8],
    bits: &mut [u8],
    ties: &mut Vec<u32>,
) {
    let halves = |half: usize| {
        let [high, low] = thresholds.bytes.each_ref().map(|bytes| biased(twice(&bytes.as_chunks::<16>().0[half])));
        ByteTables { high, low }
    };
    let tables = [halves(0), halves(1)];
    match cuts.cuts.len() < 16 {
        true => flip_by(x, cuts, plus_from, random, bits, ties, |class| tables[0].of(class)),
        false => flip_by(x, cuts, plus_from, random, bits, ties, |class| {
            let upper = _mm256_slli_epi16::<3>(class); // bit 4 of a class decides
            select(tables[1].of(class), tables[0].of(class), upper)
        }),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn flip_by(
    x: &[i16],
    cuts: &Cuts,
    plus_from: usize,
    random: &[u8],
    bits: &mut [u8],
    ties: &mut Vec<u32>,
    thresholds: impl Fn(__m256i) -> (__m256i, __m256i),
) {
    let classifier = Classifier::new(cuts);
    let minus_most = _mm256_set1_epi8(plus_from as i8 - 1);
    let outputs = x.chunks_exact(LANES).zip(random.chunks_exact(2 * LANES));
    let (mut packed, mut taken) = (_mm256_setzero_si256(), 0);
    let mut bytes = bits.chunks_exact_mut(LANES);
    for (output, (x, random)) in outputs.enumerate() {
        let class = classifier.classes(x);
        let (below, tied) = compare(random_bytes(random), thresholds(class));
        let bit = _mm256_xor_si256(_mm256_cmpgt_epi8(class, minus_most), below);
        // Doubling and subtracting -1 shifts the bit in.
        packed = _mm256_sub_epi8(_mm256_add_epi8(packed, packed), bit);
        taken += 1;
        if taken == 8 {
            store(bytes.next().expect("a byte for eight outputs"), packed);
            (packed, taken) = (_mm256_setzero_si256(), 0);
        }
        let tied = _mm256_movemask_epi8(tied) as u32;
        if tied != 0 {
            list(tied, output * LANES, ties);
        }
    }
    if taken > 0 {
        (taken..8).for_each(|_| packed = _mm256_add_epi8(packed, packed));
        store(bytes.next().expect("a byte for the last outputs"), packed);
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn symbols(
    x: &[i16],
    cuts: &Cuts,
    borders: &[Prefixes],
    random: &[u8],
    out: &mut [u8],
    ties: &mut Vec<u32>,
) {
    let classifier = Classifier::new(cuts);
    assert!(borders.len() < 16, "at most 16 symbols");
    let levels = usize::BITS - borders.len().leading_zeros(); // this many halvings leave no border
    let nodes = Nodes::new(levels, borders);
    let (all, last) = (_mm256_set1_epi8((1 << levels) - 1), _mm256_set1_epi8(borders.len() as i8));
    let outputs = x.chunks_exact(LANES).zip(random.chunks_exact(2 * LANES)).zip(out.chunks_exact_mut(LANES));
    for (output, ((x, random), out)) in outputs.enumerate() {
        let class = classifier.classes(x);
        let draw = random_bytes(random);
        // The answers "below" as bits, the first most significant: how many borders are not reached.
        let (mut short, mut tied) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        let mut is_below = |threshold: (__m256i, __m256i)| {
            let (below, equal) = compare(draw, threshold);
            short = _mm256_sub_epi8(_mm256_add_epi8(short, short), below);
            tied = _mm256_or_si256(tied, equal);
            below
        };
        // One after another, not in a loop: only then does everything stay in registers.
        let a = is_below(nodes.one.of(class));
        if levels > 1 {
            let b = is_below(of_two(&nodes.two, class, a));
            if levels > 2 {
                let c = is_below(of_four(&nodes.four, class, [a, b]));
                if levels > 3 {
                    is_below(of_eight(&nodes.eight, class, [a, b, c]));
                }
            }
        }
        store(out, _mm256_min_epu8(_mm256_sub_epi8(all, short), last));
        let tied = _mm256_movemask_epi8(tied) as u32;
        if tied != 0 {
            list(tied, output * LANES, ties);
        }
    }
}

/// The borders as a tree: the one in the middle, those in the middle of each half, and so on.
struct Nodes {
    one: ByteTables,
    two: [ByteTables; 2],
    four: [ByteTables; 4],
    eight: [ByteTables; 8],
}

impl Nodes {
    /// Where borders are missing, the last is repeated.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(levels: u32, borders: &[Prefixes]) -> Self {
        let none = ByteTables { high: _mm256_setzero_si256(), low: _mm256_setzero_si256() };
        let mut nodes = Self { one: none, two: [none; 2], four: [none; 4], eight: [none; 8] };
        let rows = [std::slice::from_mut(&mut nodes.one), &mut nodes.two, &mut nodes.four, &mut nodes.eight];
        for (row, level) in rows.into_iter().zip(0..levels) {
            for (at, node) in row.iter_mut().enumerate() {
                let border = (2 * at + 1) * (1 << (levels - 1 - level)) - 1;
                *node = ByteTables::new(&borders[border.min(borders.len() - 1)]);
            }
        }
        nodes
    }
}

/// The second thresholds, and where a byte's highest bit is set (the answer was "below") the first.
#[inline]
#[target_feature(enable = "avx2")]
fn select(lower: (__m256i, __m256i), upper: (__m256i, __m256i), below: __m256i) -> (__m256i, __m256i) {
    (_mm256_blendv_epi8(upper.0, lower.0, below), _mm256_blendv_epi8(upper.1, lower.1, below))
}

#[inline]
#[target_feature(enable = "avx2")]
fn of_two([lower, upper]: &[ByteTables; 2], class: __m256i, below: __m256i) -> (__m256i, __m256i) {
    select(lower.of(class), upper.of(class), below)
}

#[inline]
#[target_feature(enable = "avx2")]
fn of_four([a, b, c, d]: &[ByteTables; 4], class: __m256i, [first, second]: [__m256i; 2]) -> (__m256i, __m256i) {
    select(of_two(&[*a, *b], class, second), of_two(&[*c, *d], class, second), first)
}

#[inline]
#[target_feature(enable = "avx2")]
fn of_eight(nodes: &[ByteTables; 8], class: __m256i, [first, second, third]: [__m256i; 3]) -> (__m256i, __m256i) {
    let [a, b, c, d, e, f, g, h] = *nodes;
    let below = [second, third];
    select(of_four(&[a, b, c, d], class, below), of_four(&[e, f, g, h], class, below), first)
}

#[target_feature(enable = "avx2")]
pub(super) fn guided(guide: &Guide, random: &[u8], out: &mut [i16], ties: &mut Vec<u32>) {
    assert_eq!(guide.cells.len(), ((OCTAVES as usize) << guide.bits) + 1);
    let (low, used) = (_mm256_set1_epi32(0xffff), _mm256_set1_epi32((u32::MAX >> 1 >> UNUSED << UNUSED) as i32));
    let (base, rest_mask) = (_mm256_set1_epi32(guide.base() as i32), _mm256_set1_epi32(guide.rest_mask() as i32));
    let shift = _mm_cvtsi32_si128(23 - guide.bits as i32);
    let eight = |word: __m256i| {
        // The conversion of these 24 bits is exact: it finds the highest bit and puts the others after it.
        let position = _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_and_si256(word, used)));
        let index = _mm256_sub_epi32(_mm256_srl_epi32(position, shift), base);
        let index = _mm256_max_epi32(index, _mm256_setzero_si256());
        // SAFETY: an index is that of a cell: the highest bit of a draw is at most bit 30, the last octave's.
        let cell = |index: i64| unsafe { *guide.cells.get_unchecked(index as usize) } as i32;
        let two = |indices: i64| [cell(indices & 0xffff_ffff), cell(indices >> 32)]; // none is negative
        let [a, b] = two(_mm256_extract_epi64::<0>(index));
        let [c, d] = two(_mm256_extract_epi64::<1>(index));
        let [e, f] = two(_mm256_extract_epi64::<2>(index));
        let [g, h] = two(_mm256_extract_epi64::<3>(index));
        let cell = _mm256_setr_epi32(a, b, c, d, e, f, g, h); // faster here than a gather
        let (rest, threshold) = (_mm256_and_si256(position, rest_mask), _mm256_and_si256(cell, low));
        let below = _mm256_cmpgt_epi32(threshold, rest);
        let open = _mm256_or_si256(_mm256_cmpeq_epi32(threshold, rest), cell); // the sign bit is what counts
        let magnitude = _mm256_sub_epi32(_mm256_srli_epi32::<16>(cell), below);
        let sign = _mm256_srai_epi32::<31>(word);
        let signed = _mm256_sub_epi32(_mm256_xor_si256(magnitude, sign), sign);
        (signed, _mm256_movemask_ps(_mm256_castsi256_ps(open)) as u32)
    };
    let (blocks, rest) = random.as_chunks::<64>();
    let (outs, out_rest) = out.as_chunks_mut::<16>();
    let mut at = 0;
    for (random, out) in blocks.iter().zip(outs) {
        let ((a, open_a), (b, open_b)) = (eight(load(random)), eight(load(&random[32..])));
        // Only crowded cells leave 16 bits, and those are drawn by the caller: truncation as in the plain kernel.
        let narrow = |v: __m256i| _mm256_srai_epi32::<16>(_mm256_slli_epi32::<16>(v));
        let both = _mm256_packs_epi32(narrow(a), narrow(b));
        store(out, in_order(both));
        let open = open_a | open_b << 8;
        if open != 0 {
            list(open, at, ties);
        }
        at += 16;
    }
    let first = ties.len();
    scalar::guided(guide, rest, out_rest, ties);
    ties[first..].iter_mut().for_each(|tie| *tie += at as u32);
}
