//! Tables of symbol probabilities: a row for every class of inputs, a column for every symbol, entries integers over
//! 2^32 or 2^62.
//!
//! Classes are numbered so that neighbouring inputs lie at most `reach` classes apart. One comparison carries the proof:
//! in every column, entries of rows within reach differ at most by the factor e^epsilon. It is made in exact integers,
//! on the very entries that are drawn from, and no table exists without it.

use super::SecretRng;
use crate::error::ParameterError;
use crate::exact::WorstRatio;
use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::ToPrimitive;
use serde_json::{Value, json};

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
    /// Checks that the entries are a law a row and that neighbours are within e^epsilon of each other in every column.
    pub fn new(bits: u32, rows: Vec<Vec<u64>>, reach: usize, epsilon: &BigRational) -> Result<Self, ParameterError> {
        let symbols = rows.first().map_or(0, Vec::len);
        if !(2..=MOST_SYMBOLS).contains(&symbols) || rows.iter().any(|row| row.len() != symbols) {
            return Err(ParameterError::invalid(format!(
                "a symbol table needs 2 to {MOST_SYMBOLS} columns in each row"
            )));
        }
        if !matches!(bits, 32 | 62) || rows.iter().any(|row| sum(row) != 1 << bits || row.contains(&0)) {
            return Err(ParameterError::invalid("each row of a symbol table must be positive and sum to 2^32 or 2^62"));
        }
        let worst = worst_ratio(&rows, reach);
        if !worst.at_most_exp(epsilon) {
            return Err(ParameterError::not_private(
                format!(
                    "two neighbouring rows of the symbol table have entries {} and {}, a ratio above e^epsilon",
                    worst.num, worst.den
                ),
                "a larger epsilon, or another number of symbols",
            ));
        }
        let below = rows
            .iter()
            .flat_map(|row| {
                row[..symbols - 1].iter().scan(0, |sum, entry| {
                    *sum += entry;
                    Some(*sum)
                })
            })
            .collect();
        Ok(Self { bits, reach, rows, below, worst })
    }

    /// The table of rows proportional to `weights`: a little of the uniform law is mixed in, entries are rounded down,
    /// and each row's largest entry takes what is left.
    ///
    /// The mixed part is what pays for the rounding: it leaves every true inequality a margin of (e^epsilon - 1) times
    /// its own entry, far more than the units that rounding moves.
    pub fn rounded(weights: &[Vec<BigUint>], reach: usize, epsilon: &BigRational) -> Result<Self, ParameterError> {
        let (bits, mixed) = resolution(epsilon);
        let rows = weights.iter().map(|row| round_row(row, bits, mixed)).collect();
        Self::new(bits, rows, reach, epsilon)
    }

    /// The same law without the classes at either end that only repeat their neighbour, and how many went at each end.
    pub fn trimmed(mut self) -> (Self, usize) {
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
        let width = self.symbols() - 1;
        // Every border is looked at: the time does not tell the symbol.
        self.below[class * width..(class + 1) * width].iter().map(|&border| usize::from(draw >= border)).sum()
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
    pub fn parameters(&self) -> Value {
        let text = |row: &Vec<u64>| row.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        json!({
            "law": "symbol-table", "denominator_bits": self.bits, "neighbour_classes": self.reach,
            "table": self.rows.iter().map(text).collect::<Vec<_>>(),
        })
    }
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
pub fn response_weights(classes: usize, epsilon: &BigRational) -> Vec<Vec<BigUint>> {
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
