//! What a reader is told against what an adversary can do, and promises at extreme parameters.

use scumble::mechanism::{Mechanism, MechanismId, Parameters, Perturbation, Required};
use scumble::privacy::Unit;
use scumble::projection::Seed;
use scumble::release::{Release, Releaser};
use scumble::vectors::{Range, Rows, Scalars};
use scumble_core::noise::Noise;

const TRIALS: usize = 60_000;

/// A release of `TRIALS` rows of one attribute: the first half `a`, the others `b`.
fn release(parameters: &Parameters, a: f64, b: f64) -> Release {
    let releaser = Releaser::new(Mechanism::new(parameters.clone()).unwrap(), None).unwrap();
    let values: Vec<f64> = (0..TRIALS).map(|i| if i < TRIALS / 2 { a } else { b }).collect();
    Release::from_rows(&releaser, Rows::dense(Scalars::F64(&values), 1)).unwrap()
}

/// How often the best test is right: with symmetric noise that falls on both sides it is the nearer of the two values.
fn adversary(release: &Release, a: f64, b: f64) -> f64 {
    let middle = ((a + b) / 2.0) as f32;
    let right = (0..TRIALS).filter(|&i| (release.values(i)[0] < middle) == (i < TRIALS / 2)).count();
    right as f64 / TRIALS as f64
}

/// The percentage that the statement gives for this pair.
fn told(statement: &str, pair: &str) -> f64 {
    let line = statement.lines().find(|line| line.starts_with(&format!("- {pair}: at most "))).expect(pair);
    let percent = line.rsplit("at most ").next().unwrap().split('%').next().unwrap();
    percent.parse::<f64>().unwrap() / 100.0
}

fn parameters(id: MechanismId, epsilon: f64, beta: f64, delta: Option<f64>) -> Parameters {
    let range = Range::new(-0.25, 0.25).unwrap();
    Parameters {
        delta,
        ..Parameters::new(Required { mechanism: id, dim: 1, k: 1, epsilon, beta, range, seed: Seed([3; 32]) })
    }
}

/// Five standard errors of the measured share, alpha below 1e-6 per comparison.
fn slack() -> f64 {
    5.0 * 0.5 / (TRIALS as f64).sqrt()
}

/// No adversary beats the statement, for neighbours and for the two ends of the range; where beta covers the range the
/// bound is nearly reached, so the test can see a breach.
#[test]
fn no_adversary_beats_the_statement() {
    use MechanismId::{RawGOpt, RawLaplace, RawStaircase};
    for (id, epsilon, beta, delta) in [
        (RawStaircase, 1.0, 0.5, None),
        (RawStaircase, 1.0, 0.05, None),
        (RawStaircase, 1.0, 0.0001, None),
        (RawLaplace, 0.5, 0.25, None),
        (RawGOpt, 1.0, 0.5, Some(0.05)),
        (RawGOpt, 0.5, 0.2, Some(0.01)),
        (RawGOpt, 1.0, 0.5, Some(0.4)),
    ] {
        let parameters = parameters(id, epsilon, beta, delta);
        let far = release(&parameters, -0.25, 0.25);
        let statement = far.certificate().statement();
        let near_pair = "two values at most beta apart";
        let far_pair = if beta < 0.5 { "any two values of the range" } else { near_pair };
        let (near_most, far_most) = (told(&statement, near_pair), told(&statement, far_pair));
        let measured = adversary(&far, -0.25, 0.25);
        assert!(measured <= far_most + slack(), "{id} {epsilon} {beta}: {measured} against {far_most}");
        let near = adversary(&release(&parameters, -beta / 2.0, beta / 2.0), -beta / 2.0, beta / 2.0);
        assert!(near <= near_most + slack(), "{id} {epsilon} {beta}: {near} against {near_most}");
        if id == RawStaircase && beta == 0.5 {
            assert!(measured > far_most - 0.02, "the test sees a breach: {measured} against {far_most}");
        }
        if delta == Some(0.4) {
            // Planted fault: the table of before, which left delta out.
            assert!(measured > 1.0 / (1.0 + (-epsilon).exp()) + slack(), "{measured}");
        }
        if beta <= 0.05 {
            // Planted fault: the sentence of before, which left "at most beta apart" out.
            assert!(measured > near_most + slack(), "{measured} against {near_most}");
        }
    }
}

/// "Any value" is true to the last bit: where beta is the range's width, no two values are further apart in steps.
#[test]
fn a_range_off_the_grid_counts_its_own_steps() {
    // The width of the first range is 500 as a float, a little less than it is: at 2^-2 its ends are 2001 steps apart, and
    // 500 is 2000 of them.
    let narrow = [(-0.1, 0.2), (0.1, 0.4), (0.7, 0.8), (-1.1, 2.2), (1.0 / 3.0, 2.0 / 3.0), (-0.3, 0.1)];
    for (lo, hi) in [(0.125f64.next_down(), 500.125)].into_iter().chain(narrow) {
        for exponent in -30..=-2 {
            let range = Range::new(lo, hi).unwrap();
            let beta = range.width();
            let base = Parameters::new(Required {
                mechanism: MechanismId::RawStaircase,
                dim: 1,
                k: 1,
                epsilon: 1.0,
                beta,
                range,
                seed: Seed([1; 32]),
            });
            let Ok(mechanism) = Mechanism::new(Parameters { grid_exponent: Some(exponent), ..base }) else { continue };
            let (low, high) = mechanism.grid().bounds();
            let Perturbation::Noise { noise: Noise::Staircase(law), .. } = mechanism.perturbation() else { panic!() };
            assert_eq!(law.sensitivity(), u64::from(high.abs_diff(low).max(1)), "[{lo}, {hi}] at 2^{exponent}");
            assert_eq!(mechanism.claim().any_value.map(|bound| bound.moves), Some(1));
        }
    }
}

/// The moves to any value are those of the realised grid, and a mechanism that no distance hurts says so.
#[test]
fn moves_are_counted_for_what_runs() {
    use MechanismId::{DpOporpZones, DpSignoporpRr, RawStaircase};
    let moves = |parameters: Parameters| {
        let claim = Mechanism::new(parameters).unwrap().claim();
        (claim.any_value.map(|bound| bound.moves), claim.whole_row.map(|bound| bound.moves))
    };
    let wide = |id, beta, dim| {
        let range = Range::new(0.0, 1.0).unwrap();
        Parameters::new(Required { mechanism: id, dim, k: 2, epsilon: 1.0, beta, range, seed: Seed([1; 32]) })
    };
    assert_eq!(moves(wide(RawStaircase, 0.25, 6)), (Some(4), Some(24)));
    assert_eq!(moves(wide(RawStaircase, 0.3, 6)), (Some(4), Some(24)));
    assert_eq!(moves(wide(DpOporpZones, 0.01, 6)), (Some(1), Some(6)));
    assert_eq!(moves(wide(DpSignoporpRr, 0.01, 6)), (Some(1), Some(6)));
    assert_eq!(moves(Parameters { sketch_clip: Some(0.005), ..wide(RawStaircase, 0.01, 6) }), (Some(1), Some(6)));
    let l2 = Parameters { unit: Unit::L2, delta: Some(1e-6), ..wide(MechanismId::DpOporp, 0.5, 4) };
    assert_eq!(moves(l2), (Some(2), Some(6))); // the root of 4 is rounded up to 3
}
