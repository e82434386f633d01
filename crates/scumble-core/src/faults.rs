//! Mistakes that someone could make or has shipped, each written once. Exact tests reject them on the integers, and the
//! audit finds them by sampling. For tests only (feature `testing`).

use crate::mechanism::{Side, level};
use crate::noise::{FlipTable, Laplace, Noise, SecretRng, Staircase};
use crate::projection::Seed;
use num_bigint::BigInt;
use num_rational::BigRational;

/// How far one unit moves in the cases that show a fault, in grid steps.
pub const STEPS: u64 = 6;

/// The largest draw that [`cut`] keeps.
pub const LAST: i64 = 12;

fn laws(steps: u64, epsilon: &BigRational) -> [Noise; 2] {
    let made = "a fault is made of numbers that a mechanism takes";
    [Laplace::new(steps, epsilon).expect(made).into(), Staircase::least_variance(steps, epsilon).expect(made).into()]
}

/// 1: Laplace and staircase noise for a unit that moves one step less than it does.
pub fn a_step_less(steps: u64, epsilon: &BigRational) -> [Noise; 2] {
    laws(steps - 1, epsilon)
}

/// 2: Laplace and staircase noise at .95 of the scale.
pub fn scale_times_0_95(steps: u64, epsilon: &BigRational) -> [Noise; 2] {
    laws(steps, &(epsilon * BigRational::new(20.into(), 19.into())))
}

/// 3: a half is rounded to the even neighbour, so that a move by one step may become two.
pub fn rounded_to_even(u: f64) -> i32 {
    u.round_ties_even() as i32
}

/// 4: a flip less likely by 2^-64. No sample can show it.
pub fn rounded_down(honest: &FlipTable) -> FlipTable {
    let mut thresholds = honest.thresholds().to_vec();
    thresholds[1] -= 1;
    FlipTable::from_thresholds(thresholds).expect("as many as before")
}

/// 5: smooth flips and those of the ceil rule, for an epsilon a tenth larger.
pub fn for_another_epsilon(epsilon: &BigRational) -> [FlipTable; 2] {
    let more = epsilon * BigRational::new(BigInt::from(11), 10.into());
    [FlipTable::smooth(&more), FlipTable::ceil_rule(&more)].map(|table| table.expect("a positive epsilon"))
}

/// 6: zero is minus for certain, where a coin belongs.
pub fn certain_at_zero(x: i64) -> bool {
    x == 0
}

/// 6: zero is one level too deep on the minus side.
pub fn too_deep_at_zero(x: i64) -> (bool, u64) {
    if x == 0 { (false, 2) } else { level(x, STEPS, Side::CoinAtZero) }
}

/// 7: levels by floor, so that the first is reached at once.
pub fn level_by_floor(x: i64) -> (bool, u64) {
    (x > 0, if x == 0 { 0 } else { x.unsigned_abs() / STEPS + 1 })
}

/// 8: levels of a beta that is one step smaller.
pub fn level_of_a_smaller_beta(x: i64) -> (bool, u64) {
    level(x, STEPS - 1, Side::Above(0))
}

/// 9: draws beyond [`LAST`] are drawn again, which cuts the tail.
pub fn cut(noise: &Noise, rng: &mut SecretRng) -> i64 {
    let mut draw = [LAST + 1];
    while draw[0].abs() > LAST {
        noise.fill(&mut draw, rng);
    }
    draw[0]
}

/// 10: noise from the public seed.
pub fn rng_of(seed: &Seed) -> SecretRng {
    SecretRng::for_tests(u64::from(seed.0[0]))
}

/// 12: signs of which the last is never flipped.
pub fn flipped_but_the_last(x: &[i64], table: &FlipTable, rng: &mut SecretRng) -> Vec<bool> {
    let last = x.len() - 1;
    x.iter().enumerate().map(|(j, x)| (*x > 0) ^ (j != last && table.flip(1, rng))).collect()
}

/// 14: side and level from a sum of floats, which jumps by two where it should jump by one.
pub fn level_of_floats(sum: f64, beta: f64) -> (bool, u64) {
    (sum > 0.0, (sum.abs() / beta).ceil() as u64)
}
