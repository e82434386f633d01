//! Flips and symbols in blocks. The classes of all values are found once, at construction, by the same function that
//! the plain sampler uses. A draw then compares 16 random bits with prefixes of its class's thresholds; on a tie it is
//! extended by further bits.
//!
//! Every value goes the same way: classes are looked up in registers if they fit there, else all of them in a table by
//! value, else each by the function itself. A draw takes 16 bits, and one more word if these agree with a threshold.

use super::coin::FlipTable;
use super::kernels::{self, CLASSES, Cuts, FLIP_CLASSES, LANES, Prefixes};
use super::rng::BLOCK;
use super::source::LaneSource;
use super::symbols::SymbolTable;
use crate::simd::{self, Level};
use std::fmt;
use std::sync::Arc;

/// Outputs whose random bytes fill one refill.
const OUTPUTS: usize = BLOCK / (2 * LANES);

/// Values of 16 or 32 bits. One that 16 bits cannot hold is clamped to 16 bits, which keeps its class.
pub trait Value: Copy + Into<i64> {
    /// The values in 16 bits, each the nearest: the slice itself, or a copy in `room`.
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
        let nearest = |x: i32| x.clamp(-i32::from(i16::MAX), i16::MAX.into()) as i16;
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

/// The most values that have a place of their own in a table.
const MOST_PLACES: i64 = 1 << 18;

/// A function of every value up to a bound: tabled if there are not too many, else computed each time.
#[derive(Clone)]
enum ByValue<T> {
    Table { bound: i64, entries: Vec<T> },
    Rule(Arc<dyn Fn(i64) -> T + Send + Sync>),
}

impl<T: Copy> ByValue<T> {
    fn new(bound: i64, rule: impl Fn(i64) -> T + Send + Sync + 'static) -> Self {
        match 2 * bound < MOST_PLACES {
            true => Self::Table { bound, entries: (-bound..=bound).map(rule).collect() },
            false => Self::Rule(Arc::new(rule)),
        }
    }

    /// A lane without a row may hold a value beyond the bound.
    #[inline]
    fn of(&self, x: i64) -> T {
        match self {
            Self::Table { bound, entries } => entries[(x.clamp(-bound, *bound) + bound) as usize],
            Self::Rule(rule) => rule(x),
        }
    }
}

/// Side and level of a value.
type Rule = Arc<dyn Fn(i64) -> (bool, u64) + Send + Sync>;

/// Bits of all values of an output, flipped by class.
#[derive(Clone)]
pub struct BlockFlips {
    table: FlipTable,
    rule: Rule,
    way: FlipWay,
}

/// How the side of a value and the prefix of its threshold are found.
#[derive(Clone)]
enum FlipWay {
    Registers { cuts: Cuts, plus_from: usize, prefixes: Prefixes<FLIP_CLASSES> },
    Each(ByValue<(bool, u16)>),
}

impl fmt::Debug for BlockFlips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockFlips({:?})", self.table)
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
        let rule: Rule = Arc::new(rule);
        let (by, prefixes) = (rule.clone(), table.clone());
        let of = move |x: i64| {
            let (plus, level) = by(x);
            (plus, (prefixes.threshold(level) >> 48) as u16)
        };
        let Some(cuts) = Cuts::new(bound, FLIP_CLASSES, |a, b| of(a) == of(b)) else {
            return Some(Self { table: table.clone(), rule, way: FlipWay::Each(ByValue::new(bound, of)) });
        };
        let classes: Vec<(bool, u16)> = cuts.members().map(|x| of(x.into())).collect();
        let plus_from = classes.iter().position(|(plus, _)| *plus).unwrap_or(classes.len());
        if classes[plus_from..].iter().any(|(plus, _)| !plus) {
            return None;
        }
        let prefixes = Prefixes::new(classes.iter().map(|(_, prefix)| *prefix));
        Some(Self { table: table.clone(), rule, way: FlipWay::Registers { cuts, plus_from, prefixes } })
    }

    /// The bits of `x`, outputs of 32 values each; eight outputs share a byte, the first most significant.
    ///
    /// # Panics
    /// If `bits` is too short.
    pub fn draw<V: Value>(&self, x: &[V], bits: &mut [u8], source: &mut impl LaneSource) {
        self.draw_at(simd::level(), x, bits, source);
    }

    fn draw_at<V: Value>(&self, level: Level, x: &[V], bits: &mut [u8], source: &mut impl LaneSource) {
        let (mut ties, mut open) = (Vec::new(), Vec::new());
        in_chunks(x, |x, narrow, first| {
            let bits = &mut bits[first / 8 * LANES..][..(x.len() / LANES).div_ceil(8) * LANES];
            ties.clear();
            let random = source.coins(x.len() / LANES);
            match &self.way {
                FlipWay::Registers { cuts, plus_from, prefixes } => {
                    kernels::flip(level, narrow, cuts, prefixes, *plus_from, random, bits, &mut ties);
                }
                FlipWay::Each(by_value) => flip_each(x, by_value, random, bits, &mut ties),
            }
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

/// What [`kernels::flip`] does, for any number of classes.
fn flip_each<V: Value>(x: &[V], by_value: &ByValue<(bool, u16)>, random: &[u8], bits: &mut [u8], ties: &mut Vec<u32>) {
    bits.fill(0);
    for (i, &x) in x.iter().enumerate() {
        let ((plus, prefix), draw) = (by_value.of(x.into()), first_bits(random, i));
        let output = i / LANES;
        bits[output / 8 * LANES + i % LANES] |= u8::from(plus ^ (draw < prefix)) << (7 - output % 8);
        if draw == prefix {
            ties.push(i as u32);
        }
    }
}

/// Symbols of all values of an output, by class.
#[derive(Clone)]
pub struct BlockSymbols {
    table: SymbolTable,
    class: ByValue<u32>,
    registers: Option<(Cuts, Vec<Prefixes>)>, // prefixes by border, then by class
}

impl fmt::Debug for BlockSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockSymbols({} symbols)", self.table.symbols())
    }
}

impl BlockSymbols {
    /// For values up to `bound`, and the function that gives a value its row of the table.
    pub fn new(table: &SymbolTable, bound: i64, class: impl Fn(i64) -> usize + Send + Sync + 'static) -> Self {
        let registers = Cuts::new(bound, CLASSES, |a, b| class(a) == class(b)).map(|cuts| {
            let prefix = |at: usize| {
                let word = |x: i16| (table.borders(class(x.into()))[at] >> (table.bits() - 16)) as u16;
                Prefixes::new(cuts.members().map(word))
            };
            let prefixes = (0..table.symbols() - 1).map(prefix).collect();
            (cuts, prefixes)
        });
        Self { table: table.clone(), class: ByValue::new(bound, move |x| class(x) as u32), registers }
    }

    /// True if all classes are looked up in registers.
    #[cfg(test)]
    pub(crate) fn holds_all(&self) -> bool {
        self.registers.is_some()
    }

    /// The symbols of `x`, outputs of 32 values each, in the same order.
    ///
    /// # Panics
    /// If `out` is too short.
    pub fn draw<V: Value>(&self, x: &[V], out: &mut [u8], source: &mut impl LaneSource) {
        self.draw_at(simd::level(), x, out, source);
    }

    fn draw_at<V: Value>(&self, level: Level, x: &[V], out: &mut [u8], source: &mut impl LaneSource) {
        let (mut ties, mut open) = (Vec::new(), Vec::new());
        in_chunks(x, |x, narrow, first| {
            let out = &mut out[first * LANES..][..x.len()];
            ties.clear();
            let random = source.coins(x.len() / LANES);
            match &self.registers {
                Some((cuts, prefixes)) => kernels::symbols(level, narrow, cuts, prefixes, random, out, &mut ties),
                None => self.draw_each(x, random, out, &mut ties),
            }
            open.clear();
            open.extend(ties.iter().map(|&tie| (tie as usize, first_bits(random, tie as usize))));
            for &(tie, bits_so_far) in &open {
                let more = || source.more(first * LANES + tie).next_u64();
                out[tie] = self.table.decide(self.class.of(x[tie].into()) as usize, bits_so_far, more);
            }
        });
    }

    /// What [`kernels::symbols`] does, for any number of classes.
    fn draw_each<V: Value>(&self, x: &[V], random: &[u8], out: &mut [u8], ties: &mut Vec<u32>) {
        let shift = self.table.bits() - 16;
        for (i, (&x, out)) in x.iter().zip(out).enumerate() {
            let draw = u64::from(first_bits(random, i));
            let borders = self.table.borders(self.class.of(x.into()) as usize);
            *out = borders.iter().map(|border| u8::from(draw >= border >> shift)).sum();
            if borders.iter().fold(false, |tied, border| tied | (draw == border >> shift)) {
                ties.push(i as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::rational;
    use crate::noise::{SecretRng, response_weights};

    const BOUND: i64 = 1020;

    type Rule = fn(i64) -> (bool, u64);

    /// Classes by compared cuts, by a reciprocal, more than one register holds, more than two hold, and by a reciprocal
    /// between wide classes at the ends.
    fn flips() -> Vec<(BlockFlips, FlipTable, Rule)> {
        let table = FlipTable::ceil_rule(&rational(0.5)).unwrap();
        let rules: [Rule; 5] = [
            |x| (x > 0, x.unsigned_abs().div_ceil(255)),
            |x| if x > 0 { (true, x.unsigned_abs().div_ceil(255)) } else { (false, (-x / 255) as u64 + 1) },
            |x| (x > 0, x.unsigned_abs().div_ceil(70)),
            |x| (x > 0, x.unsigned_abs().div_ceil(20)),
            |x| if x > 0 { (true, x.unsigned_abs().div_ceil(90).min(4)) } else { (false, (-x / 90 + 1).min(4) as u64) },
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
                        match &block.way {
                            FlipWay::Registers { cuts, plus_from: from, prefixes } => {
                                kernels::flip(level, &values, cuts, prefixes, *from, &random, &mut bits, &mut ties);
                            }
                            FlipWay::Each(by_value) => flip_each(&values, by_value, &random, &mut bits, &mut ties),
                        }
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

    /// Zones of equal width with this many symbols, up to the most.
    fn symbols(symbols: usize) -> BlockSymbols {
        let epsilon = rational(2.0);
        let table = SymbolTable::rounded(&response_weights(symbols, &epsilon), symbols, &epsilon).unwrap();
        let width = 2 * BOUND / symbols as i64 + 1;
        BlockSymbols::new(&table, BOUND, move |x| ((x + BOUND) / width) as usize)
    }

    /// More classes than a register holds.
    fn lattice(symbols: usize, classes: usize) -> BlockSymbols {
        let epsilon = rational(2.0);
        let weights = response_weights(symbols, &epsilon);
        let rows: Vec<_> = (0..classes).map(|class| weights[class * symbols / classes].clone()).collect();
        let table = SymbolTable::rounded(&rows, classes, &epsilon).unwrap();
        let width = 2 * BOUND / classes as i64 + 1;
        let block = BlockSymbols::new(&table, BOUND, move |x| ((x + BOUND) / width) as usize);
        assert!(!block.holds_all());
        block
    }

    /// The same for symbols, whatever their number.
    #[test]
    fn symbols_decide_only_what_is_certain() {
        let many = |symbols: usize| lattice(symbols, 40);
        for block in [2, 3, 4, 5, 8, 9, 15, 16].map(symbols).into_iter().chain([3, 16].map(many)) {
            let shift = block.table.bits() - 16;
            for x in [-1020, -700, -1, 0, 1, 340, 1020] {
                let borders = block.table.borders(block.class.of(x) as usize);
                let symbol = |draw: u64| borders.iter().filter(|border| draw >= **border).count() as u8;
                for level in Level::all() {
                    for prefix in (0..=u16::MAX).step_by(LANES) {
                        let random: Vec<u8> =
                            (0..2 * LANES).map(|at| (prefix + (at % LANES) as u16).to_be_bytes()[at / LANES]).collect();
                        let (mut out, mut ties) = ([0; LANES], Vec::new());
                        let values = [x as i16; LANES];
                        match &block.registers {
                            Some((cuts, words)) => {
                                kernels::symbols(level, &values, cuts, words, &random, &mut out, &mut ties);
                            }
                            None => block.draw_each(&values, &random, &mut out, &mut ties),
                        }
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
        for ((block, ..), symbols) in
            flips().into_iter().zip([3, 5, 16, 7].map(symbols).into_iter().chain([lattice(5, 40)]))
        {
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

    /// Bits flip with their class's probability, with ties: 2 million draws per class, 5.5 deviations (alpha = 4e-8).
    #[test]
    fn flip_rates_are_exact() {
        let mut rng = SecretRng::for_tests(9);
        for (block, table, rule) in flips() {
            for x in [-1020, -300, 0, 1, 256, 800, 1020] {
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

    /// A source of given bits that counts what is taken.
    struct Counting {
        bits: Vec<u8>,
        coins: usize,
        more: Vec<usize>,
        rng: SecretRng,
    }

    impl crate::noise::Source for Counting {
        fn words(&mut self, _: usize) -> &[u8] {
            unreachable!("flips and symbols take coins")
        }

        fn more(&mut self, at: usize) -> &mut SecretRng {
            self.more.push(at);
            &mut self.rng
        }
    }

    impl LaneSource for Counting {
        fn coins(&mut self, outputs: usize) -> &[u8] {
            self.coins += outputs;
            &self.bits[..2 * LANES * outputs]
        }
    }

    /// The randomness that a block takes does not depend on its rows: 16 bits per value, and a word more exactly where these
    /// agree with a threshold, for values in the middle and at the end of the range alike, with any number of classes.
    #[test]
    fn the_bits_taken_are_the_same_for_every_row() {
        let outputs = 8;
        let bits: Vec<u8> = (0..2 * LANES * outputs).map(|i| ((i * 7919) >> 3) as u8).collect();
        for (block, table, rule) in flips() {
            for level in Level::all() {
                for x in [0, 1, -1, 60, -300, 1019, -1020, 1020] {
                    let threshold = (table.threshold(rule(x).1) >> 48) as u16;
                    let ties =
                        (0..LANES * outputs).filter(|&at| first_bits(&bits, at) == threshold).collect::<Vec<_>>();
                    let mut source =
                        Counting { bits: bits.clone(), coins: 0, more: vec![], rng: SecretRng::for_tests(1) };
                    let mut out = vec![0; LANES];
                    block.draw_at(level, &vec![x as i16; LANES * outputs], &mut out, &mut source);
                    assert_eq!((source.coins, &source.more), (outputs, &ties), "{x} {level:?}");
                }
            }
        }
        for block in [symbols(3), symbols(16), lattice(5, 40)] {
            let shift = block.table.bits() - 16;
            for x in [0, -1020, 1020] {
                let borders = block.table.borders(block.class.of(x) as usize);
                let tied = |at: &usize| borders.iter().any(|b| b >> shift == u64::from(first_bits(&bits, *at)));
                let ties: Vec<usize> = (0..LANES * outputs).filter(tied).collect();
                let mut source = Counting { bits: bits.clone(), coins: 0, more: vec![], rng: SecretRng::for_tests(1) };
                block.draw(&vec![x as i32; LANES * outputs], &mut vec![0; LANES * outputs], &mut source);
                assert_eq!((source.coins, source.more), (outputs, ties), "{x}");
            }
        }
    }
}
