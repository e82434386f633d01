//! Flips and symbols in blocks: the class of every value in `-bound..=bound` is found once, at construction, by the very
//! function that the plain sampler uses; a draw then compares 16 random bits with prefixes of its class's thresholds and
//! is extended by fresh bits on a tie.

use super::coin::FlipTable;
use super::kernels::{self, Cuts, LANES, Prefixes};
use super::rng::{BLOCK, SecretRng};
use super::symbols::SymbolTable;
use crate::simd::{self, Level};

/// Outputs whose random bytes fill one refill.
const OUTPUTS: usize = BLOCK / (2 * LANES);

/// Bits of all values of an output, flipped by class.
#[derive(Debug, Clone)]
pub struct BlockFlips {
    cuts: Cuts,
    plus_from: usize,
    thresholds: Vec<u64>,
    prefixes: Prefixes,
}

impl BlockFlips {
    /// The rule that gives a value its side and the level of its flip. `None` if it has too many classes, or a plus side
    /// that does not lie above the minus side.
    pub fn new(table: &FlipTable, bound: i16, rule: impl Fn(i16) -> (bool, u64)) -> Option<Self> {
        let mut of_class: Vec<(bool, u64)> = Vec::new();
        for x in -bound..=bound {
            let (plus, level) = rule(x);
            let found = (plus, table.threshold(level));
            if of_class.last() != Some(&found) {
                of_class.push(found);
            }
        }
        let plus_from = of_class.iter().position(|(plus, _)| *plus).unwrap_or(of_class.len());
        if of_class[plus_from..].iter().any(|(plus, _)| !plus) {
            return None;
        }
        let class = std::cell::Cell::new(0);
        let cuts = Cuts::new(bound, |x| {
            let (plus, level) = rule(x);
            if of_class[class.get()] != (plus, table.threshold(level)) {
                class.set(class.get() + 1);
            }
            class.get()
        })?;
        let thresholds: Vec<u64> = of_class.iter().map(|(_, threshold)| *threshold).collect();
        let prefixes = Prefixes { words: thresholds.iter().map(|t| (t >> 48) as u16).collect() };
        Some(Self { cuts, plus_from, thresholds, prefixes })
    }

    /// The bits of `x`, outputs of `LANES` values each; eight outputs share a byte, the first most significant.
    ///
    /// # Panics
    /// If `bits` has no room, or a value lies beyond the bound.
    pub fn draw(&self, x: &[i16], bits: &mut [u8], rng: &mut SecretRng) {
        self.draw_at(simd::level(), x, bits, rng);
    }

    fn draw_at(&self, level: Level, x: &[i16], bits: &mut [u8], rng: &mut SecretRng) {
        let mut ties = Vec::new();
        for (x, bits) in x.chunks(OUTPUTS * LANES).zip(bits.chunks_mut(OUTPUTS / 8 * LANES)) {
            ties.clear();
            let random = rng.take(2 * x.len());
            kernels::flip(level, x, &self.cuts, &self.prefixes, self.plus_from, random, bits, &mut ties);
            for tie in ties.iter().map(|&tie| tie as usize) {
                // The first 16 bits agree: 48 more decide.
                let class = self.cuts.class(x[tie]);
                let flip = rng.next_u64() >> 16 < self.thresholds[class] & (u64::MAX >> 16);
                let mask = 0x80 >> (tie / LANES % 8);
                let byte = &mut bits[tie / (8 * LANES) * LANES + tie % LANES];
                *byte = if (class >= self.plus_from) ^ flip { *byte | mask } else { *byte & !mask };
            }
        }
    }
}

/// Symbols of all values of an output, by class.
#[derive(Debug, Clone)]
pub struct BlockSymbols {
    cuts: Cuts,
    bits: u32,
    borders: Vec<Vec<u64>>,  // by class, the sums of the first 1, 2, .. entries
    prefixes: Vec<Prefixes>, // by border, then by class
}

impl BlockSymbols {
    /// The symbols of a table whose classes are these. `None` if there are too many.
    pub fn new(table: &SymbolTable, bound: i16, class: impl Fn(i16) -> usize) -> Option<Self> {
        let first = class(-bound);
        let cuts = Cuts::new(bound, |x| class(x).wrapping_sub(first))?;
        let row = |class: usize| table.borders(first + class).to_vec();
        let borders: Vec<Vec<u64>> = (0..cuts.len()).map(row).collect();
        let prefix =
            |at: usize| Prefixes { words: borders.iter().map(|row| (row[at] >> (table.bits() - 16)) as u16).collect() };
        let prefixes = (0..table.symbols() - 1).map(prefix).collect();
        Some(Self { cuts, bits: table.bits(), borders, prefixes })
    }

    /// The symbols of `x`, outputs of `LANES` values each, in the same order.
    ///
    /// # Panics
    /// If `out` has no room, or a value lies beyond the bound.
    pub fn draw(&self, x: &[i16], out: &mut [u8], rng: &mut SecretRng) {
        self.draw_at(simd::level(), x, out, rng);
    }

    fn draw_at(&self, level: Level, x: &[i16], out: &mut [u8], rng: &mut SecretRng) {
        let mut ties = Vec::new();
        let mut open = Vec::new();
        for (x, out) in x.chunks(OUTPUTS * LANES).zip(out.chunks_mut(OUTPUTS * LANES)) {
            ties.clear();
            open.clear();
            let random = rng.take(2 * x.len());
            kernels::symbols(level, x, &self.cuts, &self.prefixes, random, out, &mut ties);
            for tie in ties.iter().map(|&tie| tie as usize) {
                let bytes = &random[tie / LANES * 2 * LANES..][..2 * LANES];
                open.push((tie, [bytes[tie % LANES], bytes[LANES + tie % LANES]]));
            }
            for &(tie, first) in &open {
                let more = rng.next_u64() >> (80 - self.bits); // bits - 16 of them
                let draw = u64::from(u16::from_be_bytes(first)) << (self.bits - 16) | more;
                let borders = &self.borders[self.cuts.class(x[tie])];
                out[tie] = borders.iter().map(|&border| u8::from(draw >= border)).sum();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::rational;
    use crate::noise::response_weights;

    const BOUND: i16 = 1020;

    /// Classes by compared cuts, by a reciprocal, and more than a register holds.
    #[allow(clippy::type_complexity)] // a sampler, its table, and the plain rule for both
    fn flips() -> Vec<(BlockFlips, FlipTable, fn(i16) -> (bool, u64))> {
        let table = FlipTable::ceil_rule(&rational(1.0)).unwrap();
        let rules: [fn(i16) -> (bool, u64); 3] = [
            |x| (x > 0, u64::from(x.unsigned_abs().div_ceil(255))),
            |x| if x > 0 { (true, u64::from(x.unsigned_abs().div_ceil(255))) } else { (false, (-x / 255) as u64 + 1) },
            |x| (x > 0, u64::from(x.unsigned_abs().div_ceil(60))),
        ];
        let block = |rule: fn(i16) -> (bool, u64)| (BlockFlips::new(&table, BOUND, rule).unwrap(), table.clone(), rule);
        rules.map(block).into()
    }

    /// Exhaustive over classes and 16-bit prefixes: what is not listed is what every extension gives.
    #[test]
    fn flips_decide_only_what_is_certain() {
        for (block, table, rule) in flips() {
            for x in [-1020, -1000, -766, -510, -255, -60, -1, 0, 1, 59, 255, 256, 700, 1020] {
                let (plus, flip_level) = rule(x);
                let threshold = table.threshold(flip_level);
                for level in Level::all() {
                    for prefix in (0..=u16::MAX).step_by(LANES) {
                        let random: Vec<u8> =
                            (0..2 * LANES).map(|at| (prefix + (at % LANES) as u16).to_be_bytes()[at / LANES]).collect();
                        let (mut bits, mut ties) = ([0; LANES], Vec::new());
                        let values = [x; LANES];
                        let (from, words) = (block.plus_from, &block.prefixes);
                        kernels::flip(level, &values, &block.cuts, words, from, &random, &mut bits, &mut ties);
                        for (lane, bit) in bits.iter().enumerate() {
                            let word = u64::from(prefix + lane as u16) << 48;
                            let certain = (word < threshold) == (word | u64::MAX >> 16 < threshold);
                            let listed = ties.contains(&(lane as u32));
                            assert!(listed || certain, "{x} {word:x} {level:?}");
                            assert!(listed || *bit == if plus ^ (word < threshold) { 0x80 } else { 0 }, "{x} {word:x}");
                        }
                        assert!(ties.len() <= 1);
                    }
                }
            }
        }
    }

    #[test]
    fn every_level_draws_the_same_for_any_number_of_outputs() {
        let table = SymbolTable::rounded(&response_weights(5, &rational(2.0)), 5, &rational(2.0)).unwrap();
        let symbols = BlockSymbols::new(&table, BOUND, |x| ((x + BOUND) / 410) as usize).unwrap();
        for (block, ..) in flips() {
            for outputs in (0..=300).chain([513]) {
                let x: Vec<i16> = (0..outputs * LANES).map(|i| (i * 7919 % 2041) as i16 - BOUND).collect();
                let drawn: Vec<_> = Level::all()
                    .into_iter()
                    .map(|level| {
                        let mut rng = SecretRng::for_tests(outputs as u64);
                        let mut bits = vec![0; outputs.div_ceil(8) * LANES];
                        let mut codes = vec![0; outputs * LANES];
                        block.draw_at(level, &x, &mut bits, &mut rng);
                        symbols.draw_at(level, &x, &mut codes, &mut rng);
                        (bits, codes)
                    })
                    .collect();
                assert!(drawn.iter().all(|d| *d == drawn[0]), "{outputs}");
            }
        }
    }

    /// Bits flip with their class's probability, ties included: 2 million draws a class, 5.5 deviations (alpha = 4e-8).
    #[test]
    fn flip_rates_are_exact() {
        let mut rng = SecretRng::for_tests(9);
        for (block, table, rule) in flips() {
            for x in [-1020, -300, 0, 1, 256, 800] {
                let (plus, level) = rule(x);
                let (mut ones, values) = (0i64, vec![x; 64 * LANES]);
                let mut bits = vec![0; 8 * LANES];
                for _ in 0..1000 {
                    block.draw(&values, &mut bits, &mut rng);
                    ones += bits.iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>();
                }
                let draws = 1000 * values.len() as i64;
                let flipped = if plus { draws - ones } else { ones };
                let expected = ((draws as u128 * u128::from(table.threshold(level))) >> 64) as i64;
                let variance = expected * (draws - expected) / draws + 1;
                assert!((flipped - expected).pow(2) < 31 * variance, "{x}: {flipped}, not {expected}");
            }
        }
    }

    /// Symbols come with their entries' probabilities, at 32 and at 62 bits; a planted shift of 1 in 100 is found.
    #[test]
    fn symbol_rates_are_exact() {
        let mut rng = SecretRng::for_tests(10);
        for (epsilon, symbols) in [(1.0, 3), (3.0, 16), (9.0, 5)] {
            let epsilon = rational(epsilon);
            let table = SymbolTable::rounded(&response_weights(symbols, &epsilon), symbols, &epsilon).unwrap();
            let block = BlockSymbols::new(&table, 15, |x| ((x + 15) as usize / 2).min(symbols - 1)).unwrap();
            for class in [0, symbols / 2, symbols - 1] {
                let x = vec![2 * class as i16 - 15; 64 * LANES];
                let (mut counts, mut out) = (vec![0i64; symbols], vec![0; x.len()]);
                for _ in 0..500 {
                    block.draw(&x, &mut out, &mut rng);
                    out.iter().for_each(|&symbol| counts[usize::from(symbol)] += 1);
                }
                let draws = 500 * x.len() as i64;
                let off = |at: usize, entry: u64| {
                    let expected = ((draws as u128 * u128::from(entry)) >> table.bits()) as i64;
                    let variance = expected * (draws - expected) / draws + 1;
                    (counts[at] - expected).pow(2) / variance
                };
                let row = &table.rows()[class];
                assert!((0..symbols).all(|at| off(at, row[at]) < 31), "{class}: {counts:?}");
                assert!(off(class, row[class] / 100 * 99) > 31, "a planted fault must be found");
            }
        }
    }
}
