//! A crate that depends on the core, built as dependants build it: without the workspace's overflow checks.
//!
//! Builds mechanisms from extreme public numbers. Whatever is promised is computed again in exact arithmetic, from the
//! numbers that were asked for and the integers that would run. Prints what came out; fails on a panic or a promise that
//! the second computation does not confirm.

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive};
use scumble_core::exact::{at_most_exp, gaussian_delta_upper, rational};
use scumble_core::mechanism::{Mechanism, MechanismId, NotionKind, Parameters, Required, Perturbation};
use scumble_core::noise::Noise;
use scumble_core::privacy::Unit;
use scumble_core::projection::Seed;
use scumble_core::vectors::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn main() {
    let mut draw = Draw(20);
    let all = named().into_iter().chain((0..1000).map(|_| random(&mut draw)));
    let (mut confirmed, mut refused, mut failed) = (0, 0, 0);
    for parameters in all {
        let shown = format!("{parameters:?}");
        match catch_unwind(AssertUnwindSafe(|| Mechanism::new(parameters).map(|mechanism| confirm(&mechanism)))) {
            Ok(Ok(Ok(()))) => confirmed += 1,
            Ok(Err(_)) => refused += 1,
            Ok(Ok(Err(why))) => {
                println!("NOT CONFIRMED, {why}: {shown}");
                failed += 1;
            }
            Err(_) => {
                println!("PANIC: {shown}");
                failed += 1;
            }
        }
    }
    println!("{confirmed} confirmed, {refused} refused, {failed} failed");
    std::process::exit(i32::from(failed > 0));
}

/// The sets that a review found, and their kind.
fn named() -> Vec<Parameters> {
    use MechanismId::*;
    let mut all = Vec::new();
    for beta in [1e30, 1e18, 1e19, 3.5e19, f64::MAX] {
        for id in [RawLaplace, DpOporpLaplace, DpRpL, DpSignrpRrSmooth, DpSignrpCeil] {
            let mut parameters = plain(id, beta, Range { lo: 0.0, hi: 1.0 });
            parameters.unit = Unit::L1;
            all.push(parameters);
        }
    }
    for norm in [1e30, 1e40, f64::MAX] {
        let mut parameters = plain(DpSignrpRr, 0.1, Range { lo: 0.0, hi: 1.0 });
        (parameters.delta, parameters.norm_bound) = (Some(1e-6), Some(norm));
        all.push(parameters);
    }
    for clip in [1e12, 1e30] {
        let mut parameters = plain(DpOporpLaplace, 0.1, Range { lo: 0.0, hi: 1.0 });
        (parameters.sketch_clip, parameters.repeats, parameters.k) = (Some(clip), 4, 8);
        all.push(parameters);
    }
    all
}

fn plain(id: MechanismId, beta: f64, range: Range) -> Parameters {
    Parameters::new(Required { mechanism: id, dim: 8, k: 4, epsilon: 1.0, beta, range, seed: Seed([9; 32]) })
}

fn random(draw: &mut Draw) -> Parameters {
    use MechanismId::*;
    let ids = [
        RawLaplace,
        RawLaplace,
        RawStaircase,
        RawStaircase,
        RawGOpt,
        DpRpL,
        DpRpL,
        DpRpGOptB,
        DpOporp,
        DpOporpLaplace,
        DpOporpLaplace,
        DpOporpStaircase,
        DpSignrpRr,
        DpSignrpRrSmooth,
        DpSignrpCeil,
        DpSignoporpRr,
        DpSignoporpRrSmooth,
        DpSignoporpCeil,
        DpOporpZones,
        Privcube,
        Signcap,
    ];
    let id = *draw.of(&ids);
    // Half of the sets are ordinary but for one number or two, so that many promises are made.
    let tame = *draw.of(&[true, false]);
    let pick = |draw: &mut Draw, ordinary: &[f64], extreme: &[f64]| {
        let wild = !tame || *draw.of(&[true, false, false, false]);
        if wild { *draw.of(extreme) } else { *draw.of(ordinary) }
    };
    let maybe = |draw: &mut Draw, extreme: &[f64]| {
        let given = if tame { *draw.of(&[true, false, false, false]) } else { *draw.of(&[true, false]) };
        given.then(|| *draw.of(extreme))
    };
    let lo = pick(draw, &[-1.0, -0.1, 0.0, 0.7], &[-1e300, -1e12, -1e6, 1e-30, 100.0, 1e9]);
    let width = pick(draw, &[0.1, 0.3, 1.0, 255.0], &[1e-300, 1e-9, 1e9, 1e18, 1e300]);
    let betas = [1e-300, 1e-30, 1e-9, 1e3, 1e9, 1e15, 1e18, 1e19, 4e19, 1e30, 1e300];
    let beta = pick(draw, &[0.01, 0.3, 1.0, 2.5], &betas);
    let mut parameters = plain(id, beta, Range { lo, hi: lo + width });
    parameters.dim = *draw.of(&[1, 2, 8, 33]);
    parameters.k = if id.is_raw() { parameters.dim } else { *draw.of(&[1, 2, 4, 8]) };
    parameters.epsilon = pick(draw, &[0.1, 1.0, 3.0], &[1e-300, 1e-9, 1e-3, 20.0, 299.0]);
    parameters.unit = match id.is_record() {
        true => Unit::Record,
        false => *draw.of(&[Unit::Attribute, Unit::Attribute, Unit::Attribute, Unit::L1, Unit::L1, Unit::L2]),
    };
    parameters.repeats = *draw.of(&[1, 1, 1, 2]);
    let approximate = id.notion() == NotionKind::Approximate;
    parameters.delta = if approximate { Some(pick(draw, &[1e-6], &[1e-100, 0.5])) } else { None };
    parameters.sketch_clip = maybe(draw, &[1e-9, 0.1, 1e14, 1e30]);
    parameters.clip_norm = maybe(draw, &[1.0, 1e14, 1e300]);
    parameters.norm_bound = maybe(draw, &[1.0, 1e19, 1e30, 1e300]);
    parameters.grid_exponent =
        maybe(draw, &[-1000.0, -62.0, -30.0, -8.0, 0.0, 60.0, 900.0]).map(|exponent| exponent as i32);
    parameters
}

/// Computes the promise again: sensitivity from what was asked for, loss from the integers that would run.
fn confirm(mechanism: &Mechanism) -> Result<(), String> {
    let parameters = mechanism.parameters();
    let Some(guarantee) = mechanism.promise().guarantee() else { return Ok(()) };
    if guarantee.epsilon != parameters.epsilon || guarantee.checked_epsilon > guarantee.epsilon {
        return Err("another epsilon than was asked for".into());
    }
    let epsilon = rational(guarantee.epsilon);
    let moved = moved(mechanism); // of the quantised row, in l1; none for l2 and record
    let projection = mechanism.projection();
    match (mechanism.perturbation(), &moved) {
        (Perturbation::Noise { shift, clip, noise, .. }, Some(moved)) => {
            let weights = BigInt::from(projection.max_norm1());
            let mut sensitivity = div_ceil(moved * &weights, &(BigInt::one() << *shift));
            if *shift > 0 {
                sensitivity += projection.k();
            }
            if let (Some(c), Unit::Attribute) = (clip, parameters.unit) {
                sensitivity = sensitivity.min(BigInt::from(*c) * 2 * &weights);
            }
            pure_or_gaussian(mechanism, noise, &sensitivity, moved, &epsilon)
        }
        (Perturbation::Flips { steps, table, .. }, Some(moved)) if parameters.delta.is_none() => {
            let largest = projection.max_abs_per_output();
            let reaches = |(j, &w): (usize, &u32)| {
                let step = if steps.len() == 1 { steps[0] } else { steps[j] };
                // Randomized response looks at no level; else one move must not pass one level.
                table.thresholds().len() <= 2 || BigInt::from(step) >= (moved * w)
            };
            let touched = match mechanism.projection().is_dense_matrix() {
                true => parameters.k,
                false => parameters.repeats,
            };
            let worst = table.worst_ratio();
            let each = &epsilon / BigInt::from(touched);
            let holds = largest.iter().enumerate().all(reaches) && at_most_exp(&worst.num, &worst.den, &each);
            if holds { Ok(()) } else { Err("flips".into()) }
        }
        (Perturbation::Symbols { table, .. }, Some(_)) => {
            let (worst, each) = (table.worst_ratio(), &epsilon / BigInt::from(parameters.repeats));
            if at_most_exp(&worst.num, &worst.den, &each) { Ok(()) } else { Err("symbols".into()) }
        }
        _ => Ok(()), // their own checks do not rest on a number of steps
    }
}

fn pure_or_gaussian(
    mechanism: &Mechanism,
    noise: &Noise,
    sensitivity: &BigInt,
    moved: &BigInt,
    epsilon: &BigRational,
) -> Result<(), String> {
    let whole: BigUint = BigUint::one() << 64u32;
    match noise {
        Noise::Laplace(law) => {
            let each = epsilon / sensitivity;
            let holds = at_most_exp(&whole, &law.ratio().into(), &each);
            if holds { Ok(()) } else { Err(format!("Laplace noise for {sensitivity} steps")) }
        }
        Noise::Staircase(law) => {
            // One touched bin per repetition: each spends its share.
            let repeats = BigInt::from(mechanism.parameters().repeats);
            let one = sensitivity / BigInt::from(mechanism.projection().max_norm1());
            let falls = div_ceil(one, &law.sensitivity().into());
            let holds = at_most_exp(&whole, &law.ratio().into(), &(epsilon / (repeats * falls)));
            if holds { Ok(()) } else { Err("staircase noise".into()) }
        }
        Noise::Gaussian(law) => {
            let guarantee = mechanism.promise().guarantee().expect("a promise");
            if mechanism.projection().is_dense_matrix() && mechanism.projection().max_norm1() != mechanism.k() as u64 {
                return Ok(()); // fractions were rounded away: not computed again here
            }
            // The norm of a row of W, rounded up; weights are 1 and -1.
            let norm = (mechanism.projection().max_norm1() as f64).sqrt().next_up();
            let mu = BigRational::from_integer(moved.clone()) * rational(norm) / law.sigma();
            if mu.to_f64().is_none_or(|mu| mu > 1e6) {
                return Err("Gaussian noise is far too narrow".into());
            }
            let delta = gaussian_delta_upper(epsilon, &mu, 2048);
            // The library's own sensitivity is rounded up by parts in 1e12; so may this one be.
            let slack = rational(guarantee.delta) * rational(1e-9);
            if delta <= rational(guarantee.delta) + slack { Ok(()) } else { Err("Gaussian noise".into()) }
        }
    }
}

/// The most that a quantised row may move in l1, from the numbers that were asked for.
fn moved(mechanism: &Mechanism) -> Option<BigInt> {
    let Parameters { beta, dim, unit, .. } = *mechanism.parameters();
    let (lo, hi) = mechanism.grid().bounds();
    let step = power_of_two(mechanism.grid().exponent());
    let steps = (rational(beta) / step).ceil().to_integer();
    match unit {
        Unit::Attribute => Some(steps.min(BigInt::from(hi) - BigInt::from(lo)).max(BigInt::one())),
        Unit::L1 => Some(steps + dim),
        _ => None,
    }
}

fn power_of_two(exponent: i32) -> BigRational {
    let power = BigRational::from_integer(BigInt::one() << exponent.unsigned_abs());
    if exponent < 0 { power.recip() } else { power }
}

fn div_ceil(a: BigInt, b: &BigInt) -> BigInt {
    debug_assert!(!a.is_negative());
    (a + b - 1) / b
}

/// Numbers that follow from a seed.
struct Draw(u64);

impl Draw {
    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        &all[(self.0 >> 33) as usize % all.len()]
    }
}
