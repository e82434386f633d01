//! Flips and symbols in blocks. The classes of the values around zero are found once, at construction, by the very
//! function that the plain sampler uses; a draw then compares 16 random bits with prefixes of its class's thresholds, and
//! is extended by fresh bits on a tie. Values further out are looked at one by one.

use super::coin::FlipTable;
use super::kernels::{self, Cuts, LANES, Prefixes};
use super::rng::BLOCK;
use super::source::LaneSource;
use super::symbols::SymbolTable;
use crate::simd::{self, Level};
use std::fmt;
use std::sync::Arc;

/// Outputs whose random bytes fill one refill.
const OUTPUTS: usize = BLOCK / (2 * LANES);

/// Values of 16 or 32 bits; what 16 do not hold is cut off there, and lies outside all classes.
pub trait Value: Copy + Into<i64> {
    /// The values, or the nearest of 16 bits: themselves, or in `room`.
    fn narrow<'a>(values: &'a [Self], room: &'a mut [i16]) -> &'a [i16];
}

impl Value for i16 {
    #[inline]
    fn narrow<'a>(values: &'a [Self], _: &'a mut [i16]) -> &'a [i16] {
        values
    }
}

impl Value for i32 {
    #[inline]
    fn narrow<'a>(values: &'a [Self], room: &'a mut [i16]) -> &'a [i16] {
        let nearest = |x: i32| x.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        room.iter_mut().zip(values).for_each(|(narrow, &x)| *narrow = nearest(x));
        &room[..values.len()]
    }
}

/// Calls `draw(values, their narrow forms, number of the first)` for as many values at a time as a refill serves.
fn in_chunks<V: Value>(x: &[V], mut draw: impl FnMut(&[V], &[i16], usize)) {
    let mut room = [0; OUTPUTS * LANES];
    for (chunk, x) in x.chunks(OUTPUTS * LANES).enumerate() {
        draw(x, V::narrow(x, &mut room), chunk * OUTPUTS);
    }
}

/// The 16 random bits of a listed draw.
fn first_bits(random: &[u8], at: usize) -> u16 {
    let bytes = &random[at / LANES * 2 * LANES..][..2 * LANES];
    u16::from_be_bytes([bytes[at % LANES], bytes[LANES + at % LANES]])
}

/// Bits of all values of an output, flipped by class.
#[derive(Clone)]
pub struct BlockFlips {
    table: FlipTable,
    rule: Arc<dyn Fn(i64) -> (bool, u64) + Send + Sync>,
    cuts: Cuts,
    plus_from: usize,
    prefixes: Prefixes,
}

impl fmt::Debug for BlockFlips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockFlips({:?}, {:?})", self.table, self.cuts)
    }
}

impl BlockFlips {
    /// For values up to `bound`, and the rule that gives a value its side and the level of its flip. `None` if its plus
    /// side does not lie above its minus side.
    pub fn new(
        table: &FlipTable,
        bound: i64,
        rule: impl Fn(i64) -> (bool, u64) + Send + Sync + 'static,
    ) -> Option<Self> {
        let of = |x: i16| {
            let (plus, level) = rule(x.into());
            (plus, table.threshold(level))
        };
        let cuts = Cuts::new(bound, |a, b| of(a) == of(b));
        let classes: Vec<(bool, u64)> = cuts.members().map(of).collect();
        let plus_from = classes.iter().position(|(plus, _)| *plus).unwrap_or(classes.len());
        if classes[plus_from..].iter().any(|(plus, _)| !plus) {
            return None;
        }
        let prefixes = Prefixes::new(classes.iter().map(|(_, threshold)| (threshold >> 48) as u16));
        Some(Self { table: table.clone(), rule: Arc::new(rule), cuts, plus_from, prefixes })
    }

    #[cfg(test)]
    fn holds_all(&self) -> bool {
        self.cuts.holds_all()
    }

    /// The bits of `x`, outputs of 32 values each; eight outputs share a byte, the first most significant.
    ///
    /// # Panics
    /// If `bits` has no room.
    pub fn draw<V: Value>(&self, x: &[V], bits: &mut [u8], source: &mut impl LaneSource) {
        self.draw_at(simd::level(), x, bits, source);
    }

    fn draw_at<V: Value>(&self, level: Level, x: &[V], bits: &mut [u8], source: &mut impl LaneSource) {
        let (mut ties, mut open) = (Vec::new(), Vec::new());
        in_chunks(x, |x, narrow, first| {
            let bits = &mut bits[first / 8 * LANES..][..(x.len() / LANES).div_ceil(8) * LANES];
            ties.clear();
            let random = source.coins(x.len() / LANES);
            kernels::flip(level, narrow, &self.cuts, &self.prefixes, self.plus_from, random, bits, &mut ties);
            open.clear();
            open.extend(ties.iter().map(|&tie| (tie as usize, first_bits(random, tie as usize))));
            for &(tie, bits_so_far) in &open {
                let (plus, level) = (self.rule)(x[tie].into());
                let flip = self.table.decide(level, bits_so_far, || source.more(first * LANES + tie).next_u64());
                let mask = 0x80 >> (tie / LANES % 8);
                let byte = &mut bits[tie / (8 * LANES) * LANES + tie % LANES];
                *byte = if plus ^ flip { *byte | mask } else { *byte & !mask };
            }
        });
    }
}

/// Symbols of all values of an output, by class.
#[derive(Clone)]
pub struct BlockSymbols {
    table: SymbolTable,
    class: Arc<dyn Fn(i64) -> usize + Send + Sync>,
    cuts: Cuts,
    prefixes: Vec<Prefixes>, // by border, then by class
}

impl fmt::Debug for BlockSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockSymbols({} symbols, {:?})", self.table.symbols(), self.cuts)
    }
}

impl BlockSymbols {
    /// For values up to `bound`, and the function that gives a value its row of the table.
    pub fn new(table: &SymbolTable, bound: i64, class: impl Fn(i64) -> usize + Send + Sync + 'static) -> Self {
        let cuts = Cuts::new(bound, |a, b| class(a.into()) == class(b.into()));
        let prefix = |at: usize| {
            let word = |x: i16| (table.borders(class(x.into()))[at] >> (table.bits() - 16)) as u16;
            Prefixes::new(cuts.members().map(word))
        };
        let prefixes = (0..table.symbols() - 1).map(prefix).collect();
        Self { table: table.clone(), class: Arc::new(class), cuts, prefixes }
    }

    #[cfg(test)]
    pub(crate) fn holds_all(&self) -> bool {
        self.cuts.holds_all()
    }

    /// The symbols of `x`, outputs of 32 values each, in the same order.
    ///
    /// # Panics
    /// If `out` has no room.
    pub fn draw<V: Value>(&self, x: &[V], out: &mut [u8], source: &mut impl LaneSource) {
        self.draw_at(simd::level(), x, out, source);
    }

    fn draw_at<V: Value>(&self, level: Level, x: &[V], out: &mut [u8], source: &mut impl LaneSource) {
        let (mut ties, mut open) = (Vec::new(), Vec::new());
        in_chunks(x, |x, narrow, first| {
            let out = &mut out[first * LANES..][..x.len()];
            ties.clear();
            let random = source.coins(x.len() / LANES);
            kernels::symbols(level, narrow, &self.cuts, &self.prefixes, random, out, &mut ties);
            open.clear();
            open.extend(ties.iter().map(|&tie| (tie as usize, first_bits(random, tie as usize))));
            for &(tie, bits_so_far) in &open {
                let more = || source.more(first * LANES + tie).next_u64();
                out[tie] = self.table.decide((self.class)(x[tie].into()), bits_so_far, more);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::rational;
    use crate::noise::{SecretRng, response_weights};

    const BOUND: i64 = 1020;

    type Rule = fn(i64) -> (bool, u64);

    /// Classes by compared cuts, by a reciprocal, and more than a register holds.
    fn flips() -> Vec<(BlockFlips, FlipTable, Rule)> {
        let table = FlipTable::ceil_rule(&rational(1.0)).unwrap();
        let rules: [Rule; 3] = [
            |x| (x > 0, x.unsigned_abs().div_ceil(255)),
            |x| if x > 0 { (true, x.unsigned_abs().div_ceil(255)) } else { (false, (-x / 255) as u64 + 1) },
            |x| (x > 0, x.unsigned_abs().div_ceil(60)),
        ];
        let block = |rule: Rule| (BlockFlips::new(&table, BOUND, rule).unwrap(), table.clone(), rule);
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
                        let values = [x as i16; LANES];
                        let (from, words) = (block.plus_from, &block.prefixes);
                        kernels::flip(level, &values, &block.cuts, words, from, &random, &mut bits, &mut ties);
                        for (lane, bit) in bits.iter().enumerate() {
                            let word = u64::from(prefix + lane as u16) << 48;
                            let certain = (word < threshold) == (word | u64::MAX >> 16 < threshold);
                            let listed = ties.contains(&(lane as u32));
                            assert!(listed || certain, "{x} {word:x} {level:?}");
                            assert!(listed || *bit == if plus ^ (word < threshold) { 0x80 } else { 0 }, "{x} {word:x}");
                        }
                        assert!(ties.len() <= 1 || block.cuts.class(x as i16).is_none());
                    }
                }
            }
        }
    }

    /// Zones of equal width with so many symbols, up to the most.
    fn symbols(symbols: usize) -> BlockSymbols {
        let epsilon = rational(2.0);
        let table = SymbolTable::rounded(&response_weights(symbols, &epsilon), symbols, &epsilon).unwrap();
        let width = 2 * BOUND / symbols as i64 + 1;
        BlockSymbols::new(&table, BOUND, move |x| ((x + BOUND) / width) as usize)
    }

    /// The same for symbols, whatever their number.
    #[test]
    fn symbols_decide_only_what_is_certain() {
        for block in [2, 3, 4, 5, 8, 9, 15, 16].map(symbols) {
            let shift = block.table.bits() - 16;
            for x in [-1020, -700, -1, 0, 1, 340, 1020] {
                let borders = block.table.borders((block.class)(x));
                let symbol = |draw: u64| borders.iter().filter(|border| draw >= **border).count() as u8;
                for level in Level::all() {
                    for prefix in (0..=u16::MAX).step_by(LANES) {
                        let random: Vec<u8> =
                            (0..2 * LANES).map(|at| (prefix + (at % LANES) as u16).to_be_bytes()[at / LANES]).collect();
                        let (mut out, mut ties) = ([0; LANES], Vec::new());
                        let values = [x as i16; LANES];
                        kernels::symbols(level, &values, &block.cuts, &block.prefixes, &random, &mut out, &mut ties);
                        for (lane, &found) in out.iter().enumerate() {
                            let word = u64::from(prefix + lane as u16) << shift;
                            let all = [word, word | ((1 << shift) - 1)].map(symbol);
                            let listed = ties.contains(&(lane as u32));
                            assert!(listed || all == [found; 2], "{x} {word:x} {level:?}: {found}, not {all:?}");
                        }
                        assert!(ties.len() <= borders.len());
                    }
                }
            }
        }
    }

    #[test]
    fn every_level_draws_the_same_for_any_number_of_outputs() {
        for ((block, ..), symbols) in flips().into_iter().zip([3, 5, 16].map(symbols)) {
            for outputs in (0..=300).chain([513]) {
                let x: Vec<i16> = (0..outputs * LANES).map(|i| (i * 7919 % 2041) as i16 - BOUND as i16).collect();
                let drawn: Vec<_> = Level::all()
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
            for x in [-1020, -300, 0, 1, 256, 800, 100_000].into_iter().filter(|x| *x <= BOUND || !block.holds_all()) {
                let (plus, level) = rule(x);
                let (mut ones, values) = (0i64, vec![x as i32; 64 * LANES]);
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
            let block = BlockSymbols::new(&table, 15, move |x| ((x + 15) as usize / 2).min(symbols - 1));
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
