//! Tables of symbol probabilities: a row for every class of inputs, a column for every symbol, entries integers over
//! 2^32 or 2^62.
//!
//! Classes are numbered so that neighbouring inputs lie at most `reach` classes apart. One comparison carries the proof:
//! in every column, entries of rows within reach differ by at most the factor e^epsilon. It is made in exact integers,
//! on the very entries that are drawn from, and no table exists without it.

use super::SecretRng;
use crate::error::{NoiseError, ParameterError, Refusal};
use crate::exact::WorstRatio;
use crate::facts::Fact;
use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::ToPrimitive;

/// The most symbols that a table may have: two symbols then share a byte.
pub const MOST_SYMBOLS: usize = 16;

/// A checked table. Holds public numbers only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolTable {
    bits: u32,
    reach: usize,
    rows: Vec<Vec<u64>>,
    below: Vec<u64>, // row by row, the sums of the first 1, 2, .. symbols - 1 entries: what a draw is compared with
    worst: WorstRatio,
}

impl SymbolTable {
    /// Checks that each row's entries are a law and that neighbours are within e^epsilon of each other in every column.
    pub fn new(bits: u32, rows: Vec<Vec<u64>>, reach: usize, epsilon: &BigRational) -> Result<Self, ParameterError> {
        if !has_equal_rows(&rows) {
            return Err(NoiseError::SymbolColumns { most: MOST_SYMBOLS }.into());
        }
        if !has_laws(bits, &rows) {
            return Err(NoiseError::SymbolLaw.into());
        }
        let worst = worst_ratio(&rows, reach);
        if !worst.at_most_exp(epsilon) {
            return Err(Refusal::SymbolTable { larger: worst.num, smaller: worst.den }.into());
        }
        Ok(Self { bits, reach, below: borders(&rows), rows, worst })
    }

    /// A table of laws that someone else has derived and vouches for: neighbours are not compared here.
    pub(crate) fn vouched(bits: u32, rows: Vec<Vec<u64>>) -> Option<Self> {
        let worst = WorstRatio { num: BigUint::ZERO, den: BigUint::ZERO, power: 1 };
        let fits = has_equal_rows(&rows) && has_laws(bits, &rows);
        fits.then(|| Self { bits, reach: 0, below: borders(&rows), rows, worst })
    }

    /// The table of rows proportional to `weights`: a little of the uniform law is mixed in, entries are rounded down,
    /// and each row's largest entry takes what is left over.
    ///
    /// The mixed part pays for the rounding: it leaves every true inequality a margin of (e^epsilon - 1) times
    /// its own entry, far more than the units that rounding moves.
    pub fn rounded(weights: &[Vec<BigUint>], reach: usize, epsilon: &BigRational) -> Result<Self, ParameterError> {
        let (bits, mixed) = resolution(epsilon);
        let rows = weights.iter().map(|row| round_row(row, bits, mixed)).collect();
        Self::new(bits, rows, reach, epsilon)
    }

    /// The same law without the classes at either end that only repeat their neighbour, and how many went at each end.
    pub(crate) fn trimmed(mut self) -> (Self, usize) {
        let mut dropped = 0;
        while let [first, second, .., before, last] = &self.rows[..]
            && first == second
            && before == last
        {
            self.rows.remove(0);
            self.rows.pop();
            dropped += 1;
        }
        let width = self.symbols() - 1;
        self.below.drain(..dropped * width);
        self.below.truncate(self.rows.len() * width);
        (self, dropped)
    }

    /// Draws the symbol of an input of this class.
    #[inline]
    pub fn draw(&self, class: usize, rng: &mut SecretRng) -> usize {
        let draw = if self.bits == 32 { u64::from(rng.next_u32()) } else { rng.next_u64() >> 2 };
        // Every border is looked at, so the running time does not reveal the symbol.
        self.borders(class).iter().map(|&border| usize::from(draw >= border)).sum()
    }

    /// The same from the first 16 bits; the upper ones of the 64 that `more` gives follow if these agree with a border.
    #[inline]
    pub(crate) fn decide(&self, class: usize, first: u16, more: impl FnOnce() -> u64) -> u8 {
        let (rest, first) = (self.bits - 16, u64::from(first));
        let borders = self.borders(class);
        let tied = borders.iter().any(|&border| border >> rest == first);
        let draw = first << rest | if tied { more() >> (64 - rest) } else { 0 };
        borders.iter().map(|&border| u8::from(draw >= border)).sum()
    }

    /// The borders between the symbols of a class, over 2^bits.
    #[inline]
    pub(super) fn borders(&self, class: usize) -> &[u64] {
        let width = self.symbols() - 1;
        &self.below[class * width..(class + 1) * width]
    }

    /// Number of symbols.
    #[inline]
    pub fn symbols(&self) -> usize {
        self.rows[0].len()
    }

    /// The entries: probabilities times 2^bits, a row for every class.
    pub fn rows(&self) -> &[Vec<u64>] {
        &self.rows
    }

    /// 32 or 62.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// How many classes apart neighbours can be.
    pub fn reach(&self) -> usize {
        self.reach
    }

    /// The largest ratio between neighbours.
    pub fn worst_ratio(&self) -> WorstRatio {
        self.worst.clone()
    }

    /// The integers for the certificate. Rows are texts, so that readers without 64-bit numbers lose no digit.
    pub fn facts(&self) -> Fact {
        let text = |row: &Vec<u64>| row.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        Fact::Fields(vec![
            ("law", "symbol-table".into()),
            ("denominator_bits", self.bits.into()),
            ("neighbour_classes", self.reach.into()),
            ("table", Fact::list(self.rows.iter().map(text))),
        ])
    }
}

fn has_equal_rows(rows: &[Vec<u64>]) -> bool {
    let symbols = rows.first().map_or(0, Vec::len);
    (2..=MOST_SYMBOLS).contains(&symbols) && rows.iter().all(|row| row.len() == symbols)
}

fn has_laws(bits: u32, rows: &[Vec<u64>]) -> bool {
    matches!(bits, 32 | 62) && rows.iter().all(|row| sum(row) == 1 << bits && !row.contains(&0))
}

/// Row by row, the sums of the first 1, 2, .. entries.
fn borders(rows: &[Vec<u64>]) -> Vec<u64> {
    let sums = |row: &Vec<u64>| -> Vec<u64> {
        let add = |sum: &mut u64, entry: &u64| {
            *sum += entry;
            Some(*sum)
        };
        row[..row.len() - 1].iter().scan(0, add).collect()
    };
    rows.iter().flat_map(sums).collect()
}

/// Bits of the denominator, and the share of the uniform law as a negative power of two.
fn resolution(epsilon: &BigRational) -> (u32, u32) {
    if *epsilon > BigRational::from_integer(8.into()) {
        (62, 40) // e^-epsilon would drown in 2^-16
    } else if *epsilon < BigRational::new(1.into(), 64.into()) {
        (62, 16) // a unit of 2^-32 would be more than the margin
    } else {
        (32, 16)
    }
}

fn sum(row: &[u64]) -> u128 {
    row.iter().map(|&entry| u128::from(entry)).sum()
}

/// floor(2^bits ((1 - 2^-mixed) w / total + 2^-mixed / symbols)), the rest to the first largest entry.
fn round_row(weights: &[BigUint], bits: u32, mixed: u32) -> Vec<u64> {
    let symbols = BigUint::from(weights.len());
    let total: BigUint = weights.iter().sum();
    let share = (BigUint::from(1u32) << mixed) - 1u32;
    let denominator = (&symbols * &total) << mixed;
    let entry =
        |w: &BigUint| (((&share * w * &symbols + &total) << bits) / &denominator).to_u64().expect("at most 2^bits");
    let mut row: Vec<u64> = weights.iter().map(entry).collect();
    let rest = (1u128 << bits) - sum(&row);
    let largest = (0..row.len()).rev().max_by_key(|&at| row[at]).expect("a row has entries");
    row[largest] += rest as u64;
    row
}

/// The largest ratio of two entries of one column in rows within reach.
fn worst_ratio(rows: &[Vec<u64>], reach: usize) -> WorstRatio {
    let mut worst = (1u64, 1u64);
    for (at, row) in rows.iter().enumerate() {
        for other in &rows[at + 1..rows.len().min(at.saturating_add(reach).saturating_add(1))] {
            for (&a, &b) in row.iter().zip(other) {
                let (num, den) = (a.max(b), a.min(b));
                // num/den > worst: entries are below 2^63, so the products fit.
                if u128::from(num) * u128::from(worst.1) > u128::from(worst.0) * u128::from(den) {
                    worst = (num, den);
                }
            }
        }
    }
    WorstRatio { num: worst.0.into(), den: worst.1.into(), power: 1 }
}

/// e^epsilon and 1 in units of 2^-[`FRACTION`]: the weights of randomized response.
const FRACTION: u32 = 256;

/// Weights of randomized response over `classes`: e^epsilon to stay, 1 for every other symbol.
pub(crate) fn response_weights(classes: usize, epsilon: &BigRational) -> Vec<Vec<BigUint>> {
    let stay = crate::exact::exp_floor(epsilon, FRACTION).magnitude().clone();
    let other = BigUint::from(1u32) << FRACTION;
    (0..classes)
        .map(|class| (0..classes).map(|y| if y == class { stay.clone() } else { other.clone() }).collect())
        .collect()
}

/// The discrete staircase for sensitivity `r` (high for the first `high` of every r values), summed over cells.
///
/// Row J = -last..=last, column c: the weight of all n with J + n in cell c. Cells are `width` integers wide, numbered
/// from -`centre` (the cell around 0), and the first and the last reach to infinity.
pub fn staircase_weights(
    epsilon: &BigRational,
    (r, high): (usize, usize),
    last: usize,
    (symbols, width): (usize, usize),
) -> Vec<Vec<BigUint>> {
    let b = crate::exact::exp_floor(&-epsilon, FRACTION).magnitude().clone();
    let one = BigUint::from(1u32) << FRACTION;
    let centre = (symbols - 1) / 2;
    let periods = (last + symbols * width).div_ceil(r) + 1;
    // u(n) = b^q on the high step, b^(q+1) on the low one, in units of 2^-FRACTION.
    let mut powers = vec![one.clone()];
    (0..=periods).for_each(|q| powers.push((&powers[q] * &b) >> FRACTION));
    let u = |n: usize| &powers[n / r + usize::from(n % r >= high)];
    // tail[n] = u(n) + u(n+1) + ...; from a whole period on it is geometric.
    let ends = periods * r;
    let mut tail = vec![BigUint::ZERO; ends + 1];
    tail[ends] = &powers[periods] * (BigUint::from(high) * &one + BigUint::from(r - high) * &b) / (&one - &b);
    (0..ends).rev().for_each(|n| tail[n] = &tail[n + 1] + u(n));
    let total = &tail[0] + &tail[1];
    // Weight of all n <= at.
    let up_to = |at: i64| match at {
        0.. => &total - &tail[at as usize + 1],
        _ => tail[at.unsigned_abs() as usize].clone(),
    };
    let row = |j: i64| {
        let border = |c: usize| (c as i64 - centre as i64 + 1) * width as i64 - 1 - (width as i64 - 1) / 2 - j;
        let mut weights: Vec<BigUint> = Vec::with_capacity(symbols);
        let mut before = BigUint::ZERO;
        for c in 0..symbols {
            let through = if c + 1 < symbols { up_to(border(c)) } else { total.clone() };
            weights.push(&through - &before);
            before = through;
        }
        weights
    };
    (-(last as i64)..=last as i64).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::One;

    fn ratio(num: i64, den: i64) -> BigRational {
        BigRational::new(num.into(), den.into())
    }

    fn lattice(epsilon: &BigRational, r: usize, symbols: usize, width: usize) -> Vec<Vec<BigUint>> {
        let high = r.div_ceil(2);
        staircase_weights(epsilon, (r, high), 60 * r, (symbols, width))
    }

    /// Every table is checked as it is made; its loss is close to what was asked for.
    #[test]
    fn tables_spend_nearly_all_of_epsilon_and_no_more() {
        for (num, den) in [(1, 1000), (1, 10), (1, 2), (1, 1), (2, 1), (3, 1), (5, 1), (8, 1), (10, 1), (20, 1)] {
            let epsilon = ratio(num, den);
            let mut tables: Vec<_> = [2, 3, 5, 16]
                .map(|zones| SymbolTable::rounded(&response_weights(zones, &epsilon), zones, &epsilon))
                .into();
            for r in [1, 2, 4, 8] {
                for (symbols, width) in [(2, 1), (3, 1), (4, 2), (5, 1), (16, 1), (16, 3)] {
                    tables.push(SymbolTable::rounded(&lattice(&epsilon, r, symbols, width), r, &epsilon));
                }
            }
            for table in tables {
                let worst = table.unwrap().worst_ratio();
                assert!(worst.at_most_exp(&epsilon));
                assert!(!worst.at_most_exp(&(&epsilon * ratio(95, 100))), "epsilon {epsilon}: {worst:?}");
            }
        }
    }

    /// For r = 1 the weights are those of the two-sided geometric law: P(y > 0 | J = 0) = b/(1+b), P(y > 0 | 1) = 1/(1+b).
    #[test]
    fn geometric_rows_have_their_closed_form() {
        let epsilon = ratio(1, 1);
        let b = crate::exact::exp_floor(&-&epsilon, 200);
        let one = num_bigint::BigInt::one() << 200;
        let rows = lattice(&epsilon, 1, 2, 1);
        for (j, share) in [(0, &b), (1, &one)] {
            let row = &rows[60 + j];
            let found: num_bigint::BigInt = ((&row[1] << 200u32) / (&row[0] + &row[1])).into();
            let expected = (share << 200) / (&one + &b);
            let off = if found > expected { found - expected } else { expected - found };
            assert!(off.bits() < 40, "{j}");
        }
    }

    /// Cells are cut where the documentation says: each row's weights are sums of the noise law.
    #[test]
    fn cells_add_up_and_mirror() {
        let epsilon = ratio(3, 1);
        for (symbols, width) in [(3, 1), (5, 3), (3, 5)] {
            let rows = lattice(&epsilon, 2, symbols, width);
            for (row, mirrored) in rows.iter().zip(rows.iter().rev()) {
                assert_eq!(row.iter().sum::<BigUint>(), rows[0].iter().sum());
                assert!(row.iter().eq(mirrored.iter().rev()), "odd cells are symmetric");
            }
        }
    }

    #[test]
    fn a_planted_fault_is_found() {
        let epsilon = ratio(1, 1);
        let (b, whole) = (1u64 << 28, 1u64 << 32);
        let a = crate::exact::exp_floor(&epsilon, 28).to_u64().unwrap();
        let two = |a: u64| SymbolTable::new(32, vec![vec![a, whole - a], vec![b, whole - b]], 1, &epsilon);
        assert!(two(a).is_ok());
        assert!(two(a + 1).is_err(), "an entry one unit past its bound");
        assert!(
            SymbolTable::new(32, vec![vec![a, whole - a - 1], vec![b, whole - b]], 1, &epsilon).is_err(),
            "not a law"
        );
        assert!(
            SymbolTable::new(32, vec![vec![0, whole], vec![0, whole]], 1, &epsilon).is_err(),
            "an impossible symbol"
        );

        let other = SymbolTable::rounded(&lattice(&ratio(102, 100), 2, 3, 1), 2, &ratio(102, 100)).unwrap();
        assert!(SymbolTable::new(32, other.rows().to_vec(), 2, &epsilon).is_err(), "a table for another epsilon");
        assert!(
            SymbolTable::new(32, other.rows().to_vec(), 3, &ratio(102, 100)).is_err(),
            "neighbours one class further"
        );

        // J clamped to -1..=1 before noise for sensitivity 1, although neighbours are 2 points apart.
        let clamped = &lattice(&epsilon, 1, 3, 1)[59..=61];
        assert!(SymbolTable::rounded(clamped, 1, &epsilon).is_ok());
        assert!(SymbolTable::rounded(clamped, 2, &epsilon).is_err(), "clamping with the wrong sensitivity");
    }

    #[test]
    fn trimming_keeps_the_law() {
        let epsilon = ratio(2, 1);
        let full = SymbolTable::rounded(&lattice(&epsilon, 1, 3, 1), 1, &epsilon).unwrap();
        let (short, dropped) = full.clone().trimmed();
        assert!(dropped > 20 && short.rows().len() + 2 * dropped == full.rows().len());
        for class in 0..full.rows().len() {
            assert_eq!(
                full.rows()[class],
                short.rows()[class.clamp(dropped, full.rows().len() - 1 - dropped) - dropped]
            );
        }
        let again = SymbolTable::new(32, short.rows().to_vec(), 1, &epsilon).unwrap();
        assert_eq!(again, short);
    }

    /// Sum of squared deviations over expectations, scaled by 2^20 and rounded down.
    fn chi_square(counts: &[u64], row: &[u64], draws: u64, bits: u32) -> u64 {
        let scaled = |(&count, &entry): (&u64, &u64)| {
            let expected = BigRational::new((BigUint::from(entry) * draws).into(), (BigUint::one() << bits).into());
            let off = BigRational::from_integer(count.into()) - &expected;
            (&off * &off / expected * BigRational::from_integer((1 << 20).into())).to_integer().to_u64().unwrap()
        };
        counts.iter().zip(row).map(scaled).sum()
    }

    /// 10^7 draws of each of several rows; alpha = 1e-6 in all: critical values of chi-square with 2, 4 and 15 degrees.
    #[test]
    fn draws_follow_the_table() {
        const DRAWS: u64 = 10_000_000;
        let mut rng = SecretRng::for_tests(11);
        for (epsilon, r, symbols, critical) in
            [(ratio(1, 1), 1, 3, 32), (ratio(5, 1), 2, 5, 40), (ratio(10, 1), 4, 16, 62)]
        {
            let table = SymbolTable::rounded(&lattice(&epsilon, r, symbols, 1), r, &epsilon).unwrap();
            let class = 60 * r + 1;
            let mut counts = vec![0u64; symbols];
            (0..DRAWS).for_each(|_| counts[table.draw(class, &mut rng)] += 1);
            let row = &table.rows()[class];
            let likely: Vec<usize> =
                (0..symbols).filter(|&y| (row[y] as u128 * DRAWS as u128) >> table.bits() >= 5).collect();
            let pick = |from: &[u64]| likely.iter().map(|&y| from[y]).collect::<Vec<_>>();
            let chi = |row: &[u64]| chi_square(&pick(&counts), &pick(row), DRAWS, table.bits()) >> 20;
            assert!(chi(row) < critical, "epsilon {epsilon}: {}", chi(row));
            // Planted fault: one part in 200 of the likeliest symbol moved to its neighbour.
            let mut moved = row.clone();
            let at = (0..symbols).max_by_key(|&y| row[y]).unwrap();
            let part = row[at] / 200;
            moved[at] -= part;
            moved[(at + 1) % symbols] += part;
            assert!(chi(&moved) > critical, "the test must see a shift of half a percent");
        }
    }
}
