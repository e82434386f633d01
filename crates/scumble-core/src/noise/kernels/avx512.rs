//! The kernels for AVX-512: 32 values per register as 16-bit words, answers as masks, tables of 32 words per register.

use super::avx2::list;
use super::{Cuts, FLIP_CLASSES, Guide, LANES, OCTAVES, Prefixes, Reciprocal, UNUSED, scalar};
use crate::simd::avx2;
use crate::simd::avx512::load;
use std::arch::x86_64::*;

/// The classes of the 32 values of an output.
struct Classifier<'a> {
    cuts: &'a [i16],
    reciprocal: Option<([__m512i; 2], Option<[__m512i; 2]>)>,
}

impl<'a> Classifier<'a> {
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn new(cuts: &'a Cuts) -> Self {
        let reciprocal = cuts.reciprocal.map(|Reciprocal { offset, factor, ends }| {
            let ends = ends.map(|(low, high)| [low, high].map(|end| _mm512_set1_epi16(end)));
            ([offset, factor as i16].map(|number| _mm512_set1_epi16(number)), ends)
        });
        Self { cuts: &cuts.cuts, reciprocal }
    }

    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn classes(&self, x: __m512i) -> __m512i {
        match self.reciprocal {
            Some(([offset, factor], ends)) => {
                let x = ends.map_or(x, |[low, high]| _mm512_min_epi16(_mm512_max_epi16(x, low), high));
                _mm512_mulhi_epu16(_mm512_add_epi16(x, offset), factor)
            }
            None => {
                let mut classes = _mm512_setzero_si512();
                for &cut in self.cuts {
                    classes = plus_one(classes, _mm512_cmpgt_epi16_mask(x, _mm512_set1_epi16(cut)));
                }
                classes
            }
        }
    }
}

/// One more where the mask says so.
#[inline]
#[target_feature(enable = "avx512bw")]
fn plus_one(v: __m512i, mask: u32) -> __m512i {
    _mm512_mask_add_epi16(v, mask, v, _mm512_set1_epi16(1))
}

/// Thresholds of 16 classes, two nodes per register.
#[inline]
#[target_feature(enable = "avx512bw")]
fn table([first, second]: [&Prefixes; 2]) -> __m512i {
    let [first, second] = [first, second].map(|node| avx2::load(&node.words));
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second)
}

/// The random words of an output, from its 32 high and 32 low bytes.
#[inline]
#[target_feature(enable = "avx512vbmi")]
fn random_words(random: &[u8], order: __m512i) -> __m512i {
    _mm512_permutexvar_epi8(order, load(random))
}

/// Where the bytes of [`random_words`] come from.
const ORDER: [u8; 2 * LANES] = {
    let mut places = [0; 2 * LANES];
    let mut i = 0;
    while i < LANES {
        (places[2 * i], places[2 * i + 1]) = ((LANES + i) as u8, i as u8);
        i += 1;
    }
    places
};

#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi")]
pub(super) fn flip(
    x: &[i16],
    cuts: &Cuts,
    thresholds: &Prefixes<FLIP_CLASSES>,
    plus_from: usize,
    random: &[u8],
    bits: &mut [u8],
    ties: &mut Vec<u32>,
) {
    let classifier = Classifier::new(cuts);
    let (table, order) = (load(&thresholds.words), load(&ORDER));
    let minus_most = _mm512_set1_epi16(plus_from as i16 - 1);
    let outputs = x.chunks_exact(LANES).zip(random.chunks_exact(2 * LANES));
    let (mut packed, mut taken) = (_mm256_setzero_si256(), 0);
    let mut bytes = bits.chunks_exact_mut(LANES);
    for (output, (x, random)) in outputs.enumerate() {
        let (x, draw) = (load(x), random_words(random, order));
        let class = classifier.classes(x);
        let threshold = _mm512_permutexvar_epi16(class, table);
        let bit = _mm512_cmpgt_epi16_mask(class, minus_most) ^ _mm512_cmplt_epu16_mask(draw, threshold);
        packed = _mm256_add_epi8(packed, packed);
        packed = _mm256_mask_add_epi8(packed, bit, packed, _mm256_set1_epi8(1));
        taken += 1;
        if taken == 8 {
            avx2::store(bytes.next().expect("a byte for eight outputs"), packed);
            (packed, taken) = (_mm256_setzero_si256(), 0);
        }
        let tied = _mm512_cmpeq_epi16_mask(draw, threshold);
        if tied != 0 {
            list(tied, output * LANES, ties);
        }
    }
    if taken > 0 {
        (taken..8).for_each(|_| packed = _mm256_add_epi8(packed, packed));
        avx2::store(bytes.next().expect("a byte for the last outputs"), packed);
    }
}

#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi")]
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
    let (order, last) = (load(&ORDER), _mm512_set1_epi16(borders.len() as i16));
    let outputs = x.chunks_exact(LANES).zip(random.chunks_exact(2 * LANES)).zip(out.chunks_exact_mut(LANES));
    for (output, ((x, random), out)) in outputs.enumerate() {
        let (x, draw) = (load(x), random_words(random, order));
        let class = classifier.classes(x);
        // The answers "reached" as bits, the first most significant: how many borders are.
        let (mut reached, mut tied) = (_mm512_setzero_si512(), 0);
        for level in 0..MOST_LEVELS {
            if level == levels {
                break; // a loop to a constant is unrolled: only then does everything stay in registers
            }
            let threshold = nodes.thresholds(level, _mm512_add_epi16(_mm512_slli_epi16::<4>(reached), class));
            reached = plus_one(_mm512_add_epi16(reached, reached), _mm512_cmpge_epu16_mask(draw, threshold));
            tied |= _mm512_cmpeq_epi16_mask(draw, threshold);
        }
        avx2::store(out, _mm512_cvtepi16_epi8(_mm512_min_epu16(reached, last)));
        if tied != 0 {
            list(tied, output * LANES, ties);
        }
    }
}

/// Halvings that leave no border of 16 symbols.
const MOST_LEVELS: u32 = 4;

/// The borders as a tree: the one in the middle, those in the middle of each half, and so on.
struct Nodes {
    one: __m512i,
    two: __m512i,
    four: [__m512i; 2],
    eight: [__m512i; 4],
}

impl Nodes {
    /// Where borders are missing, the last is repeated.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn new(levels: u32, borders: &[Prefixes]) -> Self {
        let pair = |level: u32, pair: usize| {
            let words = |at: usize| {
                let border = (2 * at + 1) * (1 << levels >> 1 >> level) - 1;
                &borders[border.min(borders.len() - 1)]
            };
            if level < levels { table([words(2 * pair), words(2 * pair + 1)]) } else { _mm512_setzero_si512() }
        };
        Self {
            one: pair(0, 0),
            two: pair(1, 0),
            four: [pair(2, 0), pair(2, 1)],
            eight: [pair(3, 0), pair(3, 1), pair(3, 2), pair(3, 3)],
        }
    }

    /// The thresholds at places `16 node + class` of a level.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn thresholds(&self, level: u32, at: __m512i) -> __m512i {
        match level {
            0 => _mm512_permutexvar_epi16(at, self.one),
            1 => _mm512_permutexvar_epi16(at, self.two),
            2 => _mm512_permutex2var_epi16(self.four[0], at, self.four[1]),
            _ => {
                let lower = _mm512_permutex2var_epi16(self.eight[0], at, self.eight[1]);
                let upper = _mm512_permutex2var_epi16(self.eight[2], at, self.eight[3]);
                _mm512_mask_blend_epi16(_mm512_test_epi16_mask(at, _mm512_set1_epi16(64)), lower, upper)
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn guided(guide: &Guide, random: &[u8], out: &mut [i16], ties: &mut Vec<u32>) {
    assert_eq!(guide.cells.len(), ((OCTAVES as usize) << guide.bits) + 1);
    let (low, used) = (_mm512_set1_epi32(0xffff), _mm512_set1_epi32((u32::MAX >> 1 >> UNUSED << UNUSED) as i32));
    let (base, rest_mask) = (_mm512_set1_epi32(guide.base() as i32), _mm512_set1_epi32(guide.rest_mask() as i32));
    let shift = _mm_cvtsi32_si128(23 - guide.bits as i32);
    let zero = _mm512_setzero_si512();
    let (blocks, rest) = random.as_chunks::<64>();
    let (outs, out_rest) = out.as_chunks_mut::<16>();
    let mut at = 0;
    for (random, out) in blocks.iter().zip(outs) {
        let word = load(random);
        // The conversion of these 24 bits is exact: it finds the highest bit and puts the others after it.
        let position = _mm512_castps_si512(_mm512_cvtepi32_ps(_mm512_and_si512(word, used)));
        let index = _mm512_sub_epi32(_mm512_srl_epi32(position, shift), base);
        let index = _mm512_max_epi32(index, zero);
        // SAFETY: an index is that of a cell: the highest bit of a draw is at most bit 30, the last octave's.
        let cell = unsafe { _mm512_i32gather_epi32::<4>(index, guide.cells.as_ptr().cast()) };
        let (rest, threshold) = (_mm512_and_si512(position, rest_mask), _mm512_and_si512(cell, low));
        let below = _mm512_cmplt_epi32_mask(rest, threshold);
        let open = _mm512_cmpeq_epi32_mask(rest, threshold) | _mm512_movepi32_mask(cell); // crowded: the sign bit
        let magnitude = _mm512_srli_epi32::<16>(cell);
        let magnitude = _mm512_mask_add_epi32(magnitude, below, magnitude, _mm512_set1_epi32(1));
        let signed = _mm512_mask_sub_epi32(magnitude, _mm512_movepi32_mask(word), zero, magnitude);
        avx2::store(out, _mm512_cvtepi32_epi16(signed)); // truncation as in the plain kernel
        if open != 0 {
            list(open.into(), at, ties);
        }
        at += 16;
    }
    let first = ties.len();
    scalar::guided(guide, rest, out_rest, ties);
    ties[first..].iter_mut().for_each(|tie| *tie += at as u32);
}
