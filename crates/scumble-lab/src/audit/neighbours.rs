//! Neighbour pairs to audit with: worst-case constructions and random ones, from public numbers alone.
//!
//! Every pair is checked in exact rationals to be a pair of neighbours under the claim, so that an audit never accuses a
//! mechanism over inputs that it does not promise anything about.

use num_rational::BigRational;
use num_traits::{Signed, Zero};
use scumble::mechanism::Mechanism;
use scumble::privacy::Unit;
use scumble::projection::Projection;
use scumble::recall::Fixed;
use scumble::vectors::Range;
use scumble_core::exact::rational;
use serde::Serialize;
use std::collections::BTreeSet;

/// Two rows that a claim makes hard to tell apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// What is special about it.
    pub name: &'static str,
    /// The rows, made up: they hold nothing private.
    pub rows: [Vec<f64>; 2],
    /// Each sample is a release of its own, with a known row beside the audited one.
    pub with_company: bool,
}

impl Pair {
    /// The attributes that differ, in words.
    pub fn change(&self) -> String {
        let [u, v] = &self.rows;
        let moved: Vec<usize> = (0..u.len()).filter(|&i| u[i] != v[i]).collect();
        match moved[..] {
            [i] => format!("#{i} {} -> {}", short(u[i]), short(v[i])),
            _ => format!("{} attributes", moved.len()),
        }
    }
}

/// Six digits are enough to see what moved.
fn short(x: f64) -> String {
    let rounded = (x * 1e6).round() / 1e6;
    if rounded == x { format!("{x}") } else { format!("{rounded}~") }
}

/// Weights are looked at for at most this many attributes.
const SCANNED: usize = 4096;

/// Pairs made at random, besides the constructed ones.
const RANDOM: usize = 6;

/// Every pair that is tried.
pub(super) fn pairs(mechanism: &Mechanism, seen: impl Fn(&[f64]) -> Vec<f64>) -> Vec<Pair> {
    let maker = Maker::new(mechanism);
    let mut pairs = match mechanism.parameters().unit {
        Unit::Record => maker.records(),
        Unit::Attribute => maker.one_attribute(),
        unit @ (Unit::L1 | Unit::L2) => [maker.one_attribute(), maker.many_attributes(unit)].concat(),
    };
    let company = pairs.first().map(|pair| Pair { name: "beside a known row", with_company: true, ..pair.clone() });
    pairs.extend(company);
    // What the way in makes of a row is what must be a neighbour.
    for pair in &mut pairs {
        pair.rows = [0, 1].map(|side| seen(&pair.rows[side]));
    }
    let beta = mechanism.promise().guarantee().map_or(mechanism.parameters().beta, |guarantee| guarantee.beta);
    pairs.retain(|pair| are_neighbours(&pair.rows, mechanism.parameters().unit, beta, mechanism.parameters().range));
    pairs
}

/// The definition of the unit, in exact arithmetic. A beta of the whole range allows any replacement: what lies outside
/// is clipped to it.
fn are_neighbours([u, v]: &[Vec<f64>; 2], unit: Unit, beta: f64, range: Range) -> bool {
    let moved = || u.iter().zip(v).filter(|(a, b)| a != b).map(|(a, b)| (rational(*a) - rational(*b)).abs());
    let sum = |each: &dyn Fn(BigRational) -> BigRational| moved().map(each).fold(BigRational::zero(), |a, b| a + b);
    let beta_exact = rational(beta);
    moved().count() > 0
        && match unit {
            Unit::Attribute => {
                moved().count() == 1 && (beta >= range.width() || moved().all(|change| change <= beta_exact))
            }
            Unit::L1 => sum(&|change| change) <= beta_exact,
            Unit::L2 => sum(&|change| &change * &change) <= &beta_exact * &beta_exact,
            Unit::Record => true,
        }
}

struct Maker<'a> {
    projection: &'a Projection,
    range: Range,
    beta: f64,
    step: f64,
    dim: usize,
    near_zero: f64, // the value of the range nearest to zero
}

impl<'a> Maker<'a> {
    fn new(mechanism: &'a Mechanism) -> Self {
        let parameters = mechanism.parameters();
        let range = parameters.range;
        Self {
            projection: mechanism.projection(),
            range,
            beta: mechanism.promise().guarantee().map_or(parameters.beta.min(range.width()), |claim| claim.beta),
            step: mechanism.grid().step(),
            dim: parameters.dim,
            near_zero: 0f64.clamp(range.lo, range.hi),
        }
    }

    fn weights(&self, attribute: usize) -> Vec<i32> {
        let mut weights = vec![0; self.projection.k()];
        self.projection.weights(attribute, &mut weights);
        weights
    }

    fn zeros(&self) -> Vec<f64> {
        vec![self.near_zero; self.dim]
    }

    /// An attribute of the first output, one of the last, and the heaviest.
    fn attributes(&self) -> Vec<usize> {
        let scanned: Vec<Vec<i32>> = (0..self.dim.min(SCANNED)).map(|i| self.weights(i)).collect();
        let size = |weights: &[i32]| weights.iter().map(|w| u64::from(w.unsigned_abs())).sum::<u64>();
        let touching = |output: usize| scanned.iter().position(|weights| weights[output] != 0);
        let heaviest = (0..scanned.len()).max_by_key(|&i| size(&scanned[i]));
        [heaviest, touching(self.projection.k() - 1), touching(0)]
            .into_iter()
            .flatten()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// `from` moved by `by`, but never by more than beta in exact arithmetic.
    fn moved(&self, from: f64, by: f64) -> f64 {
        let beta = rational(self.beta);
        let mut to = from + by;
        while (rational(to) - rational(from)).abs() > beta {
            to = if to > from { to.next_down() } else { to.next_up() };
        }
        to
    }

    /// From where to where one attribute moves, all the others at zero.
    fn moves(&self) -> Vec<(&'static str, f64, f64)> {
        let Self { range: Range { lo, hi }, beta, step, near_zero, .. } = *self;
        let from = |name, from: f64, by: f64| (name, from, self.moved(from, by));
        let edge = |at: f64| ((at / step).floor() + 0.5) * step; // where the quantiser turns from one step to the next
        let mut moves = vec![
            from("across zero", near_zero - beta / 2.0, beta),
            from("from zero up", near_zero, beta),
            from("from zero down", near_zero, -beta),
            from("from beta up", near_zero + beta, beta),
            from("around zero, by quarters", near_zero - beta / 4.0, beta),
            from("around zero, by eighths", near_zero - beta / 8.0, beta),
            from("lower end of the range", lo, beta),
            from("upper end of the range", hi, -beta),
            from("over the upper end", hi - beta / 2.0, beta),
            from("over the lower end", lo + beta / 2.0, -beta),
            from("from a rounding edge", edge(near_zero), beta),
            from("from the next rounding edge", edge(near_zero) + step, beta),
            from("to just below a rounding edge", edge(near_zero).next_down(), beta),
        ];
        if beta >= self.range.width() {
            moves.push(("far outside the range", lo - 16.0 * (hi - lo), hi + 16.0 * (hi - lo)));
        }
        moves
    }

    fn one_attribute(&self) -> Vec<Pair> {
        let mut pairs = Vec::new();
        let mut add = |name, base: &[f64], i: usize, from: f64, to: f64| {
            let mut rows = [base.to_vec(), base.to_vec()];
            (rows[0][i], rows[1][i]) = (from, to);
            pairs.push(Pair { name, rows, with_company: false });
        };
        let attributes = self.attributes();
        for &i in &attributes {
            for (name, from, to) in self.moves() {
                add(name, &self.zeros(), i, from, to);
            }
            let middle = self.near_zero + self.beta / 2.0;
            let (from, base) = (self.near_zero, self.cancelling(i, middle));
            add("across zero, the others balanced", &base, i, from, self.moved(from, self.beta));
            if let Some((base, from, to)) = self.float_trap(i) {
                add("decimals that cancel", &base, i, from, to);
            }
        }
        let mut random = Fixed::new(9);
        for at in 0..RANDOM {
            let base = self.random_row(&mut random, at);
            let i = if at % 2 == 0 { attributes[at / 2 % attributes.len()] } else { random.below(self.dim) };
            let from = self.range.lo + random.uniform() * (self.range.hi - self.range.lo);
            let by = if from + self.beta <= self.range.hi { self.beta } else { -self.beta };
            add("random", &base, i, from, self.moved(from, by));
        }
        pairs
    }

    /// Even over the range, at its ends, or mostly zero.
    fn random_row(&self, random: &mut Fixed, kind: usize) -> Vec<f64> {
        let Range { lo, hi } = self.range;
        (0..self.dim)
            .map(|_| match kind % 3 {
                0 => lo + random.uniform() * (hi - lo),
                1 => [lo, hi][random.below(2)],
                _ => {
                    if random.below(4) == 0 {
                        lo + random.uniform() * (hi - lo)
                    } else {
                        self.near_zero
                    }
                }
            })
            .collect()
    }

    /// Other attributes such that every projected value is near zero while attribute i is at `middle`: then moving it
    /// turns as many signs as the range allows. Coordinate descent on the squares.
    fn cancelling(&self, i: usize, middle: f64) -> Vec<f64> {
        let others: Vec<(usize, Vec<i32>)> =
            (0..self.dim.min(256)).filter(|&o| o != i).map(|o| (o, self.weights(o))).collect();
        let mut row = self.zeros();
        let mut x: Vec<f64> = self.weights(i).iter().map(|&w| f64::from(w) * middle).collect();
        for (o, weights) in &others {
            x.iter_mut().zip(weights).for_each(|(x, &w)| *x += f64::from(w) * row[*o]);
        }
        for (o, weights) in others.iter().cycle().take(4 * others.len()) {
            let squares: f64 = weights.iter().map(|&w| f64::from(w).powi(2)).sum();
            let product: f64 = weights.iter().zip(&x).map(|(&w, x)| f64::from(w) * x).sum();
            if squares > 0.0 {
                let to = (row[*o] - product / squares).clamp(self.range.lo, self.range.hi);
                x.iter_mut().zip(weights).for_each(|(x, &w)| *x += f64::from(w) * (to - row[*o]));
                row[*o] = to;
            }
        }
        row
    }

    /// Multiples of beta whose sum in floats lands on another level than their exact sum, for code that adds in floats.
    fn float_trap(&self, i: usize) -> Option<(Vec<f64>, f64, f64)> {
        let output = self.weights(i).iter().position(|w| *w != 0)?;
        let signs: Vec<f64> = (0..self.dim.min(SCANNED)).map(|o| f64::from(self.weights(o)[output].signum())).collect();
        let Range { lo, hi } = self.range;
        let (least, most) = ((lo / self.beta).ceil() as i64, (hi / self.beta).floor() as i64);
        if self.dim > SCANNED || most - least < 2 || most - least > 1 << 20 {
            return None;
        }
        let level = |row: &[f64]| (row.iter().zip(&signs).map(|(u, w)| u * w).sum::<f64>().abs() / self.beta).ceil();
        let mut random = Fixed::new(14);
        (0..4000).find_map(|_| {
            let whole: Vec<i64> =
                (0..self.dim).map(|_| least + random.below((most - least) as usize + 1) as i64).collect();
            // Decimals as people write them: 3 * 0.1 is not the double nearest to 0.3.
            let mut row: Vec<f64> = whole.iter().map(|&m| nearest_decimal(m as f64 * self.beta)).collect();
            let (from, to) = (row[i], nearest_decimal((whole[i] + 1) as f64 * self.beta));
            let before = level(&row);
            row[i] = to;
            let jump = (level(&row) - before).abs() >= 2.0 && to <= hi;
            let allowed = (rational(to) - rational(from)).abs() <= rational(self.beta);
            (jump && allowed).then_some((row, from, to))
        })
    }

    /// Units under which several attributes move at once.
    fn many_attributes(&self, unit: Unit) -> Vec<Pair> {
        let count = self.dim.min(SCANNED);
        let mut pairs = Vec::new();
        let mut add = |name, rows| pairs.push(Pair { name, rows, with_company: false });
        for output in [0, self.projection.k() - 1] {
            let signs: Vec<f64> = (0..count).map(|i| f64::from(self.weights(i)[output])).collect();
            // Spread evenly over the attributes that enter this output, all pushing it the same way.
            let touching = signs.iter().filter(|&&w| w != 0.0).count().max(1) as f64;
            let each = self.beta / if unit == Unit::L1 { touching } else { touching.sqrt() } * (1.0 - 1e-9);
            let mut rows = [self.zeros(), self.zeros()];
            for (i, w) in signs.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                rows[0][i] -= w.signum() * each / 2.0;
                rows[1][i] += w.signum() * each / 2.0;
            }
            add("spread over one output", rows);
            // Every attribute crosses a rounding edge by next to nothing, and one moves by what is left.
            let edge = ((self.near_zero / self.step).floor() + 0.5) * self.step;
            let mut rows = [self.zeros(), self.zeros()];
            for (i, w) in signs.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                let (low, high) = (edge.next_down(), edge);
                (rows[0][i], rows[1][i]) = if *w > 0.0 { (low, high) } else { (high, low) };
            }
            if let Some(i) = signs.iter().position(|w| *w != 0.0) {
                rows[1][i] = rows[0][i] + signs[i].signum() * self.beta * (1.0 - 1e-9);
            }
            add("every attribute over a rounding edge", rows);
        }
        let direction = self.top_direction(count);
        let norm: f64 = match unit {
            Unit::L1 => direction.iter().map(|v| v.abs()).sum(),
            Unit::Attribute | Unit::L2 | Unit::Record => direction.iter().map(|v| v * v).sum::<f64>().sqrt(),
        };
        let mut rows = [self.zeros(), self.zeros()];
        for (i, v) in direction.iter().enumerate() {
            let half = v / norm * self.beta * (1.0 - 1e-9) / 2.0;
            rows[0][i] -= half;
            rows[1][i] += half;
        }
        add("along the strongest direction", rows);
        pairs
    }

    /// Power iteration on W W^T: the direction that the projection stretches most.
    fn top_direction(&self, count: usize) -> Vec<f64> {
        let weights: Vec<Vec<i32>> = (0..count).map(|i| self.weights(i)).collect();
        let mut direction: Vec<f64> = (0..count).map(|i| 1.0 + i as f64 / count as f64).collect();
        for _ in 0..30 {
            let mut x = vec![0.0; self.projection.k()];
            for (v, row) in direction.iter().zip(&weights) {
                x.iter_mut().zip(row).for_each(|(x, &w)| *x += v * f64::from(w));
            }
            direction = weights.iter().map(|row| row.iter().zip(&x).map(|(&w, x)| f64::from(w) * x).sum()).collect();
            let norm = direction.iter().map(|v: &f64| v * v).sum::<f64>().sqrt().max(1e-300);
            direction.iter_mut().for_each(|v| *v /= norm);
        }
        direction
    }

    /// Any record for any other.
    fn records(&self) -> Vec<Pair> {
        let Range { lo, hi } = self.range;
        let mirrored = |row: &[f64]| row.iter().map(|v| lo + hi - v).collect::<Vec<f64>>();
        let mut random = Fixed::new(9);
        let mut pairs = Vec::new();
        let mut add = |name, rows| pairs.push(Pair { name, rows, with_company: false });
        for kind in 0..2 * RANDOM {
            let row = self.random_row(&mut random, kind);
            add("a record and its mirror image", [row.clone(), mirrored(&row)]);
        }
        // The row that pushes every output as far as it goes, and its opposite.
        let pushing: Vec<f64> = (0..self.dim)
            .map(
                |i| if i < SCANNED && self.weights(i).iter().map(|&w| i64::from(w)).sum::<i64>() < 0 { lo } else { hi },
            )
            .collect();
        add("the ends of the range", [pushing.clone(), mirrored(&pushing)]);
        add("an empty record and a full one", [self.zeros(), vec![hi; self.dim]]);
        for kind in 0..RANDOM {
            add("random", [self.random_row(&mut random, kind), self.random_row(&mut random, kind + 1)]);
        }
        pairs
    }
}

/// The double nearest to a decimal of six digits.
fn nearest_decimal(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}
