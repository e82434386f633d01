//! The planted faults of [`scumble_core::faults`]: each is found by a check that the honest code passes beside it. The audit
//! finds them by sampling.

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Zero};
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required, Side, level};
use scumble::projection::Seed;
use scumble::release::{Release, Releaser};
use scumble::vectors::{Grid, Range, Rows, Scalars};
use scumble_core::exact::{at_most_exp, rational};
use scumble_core::faults::{self, LAST, STEPS};
use scumble_core::noise::{FlipTable, Laplace, Noise, SecretRng};

const B: i64 = STEPS as i64;

/// Is the law of one bit epsilon-DP for integers that move by at most B? `plus(x)` is P[+ | x].
fn is_private(plus: impl Fn(i64) -> BigRational, epsilon: f64) -> bool {
    let at_most = |a: &BigRational, b: &BigRational| {
        let part = |n: &BigInt| n.to_biguint().unwrap_or_default();
        let (num, den): (BigUint, BigUint) = (part(a.numer()) * part(b.denom()), part(a.denom()) * part(b.numer()));
        if den.is_zero() { num.is_zero() } else { at_most_exp(&num, &den, &rational(epsilon)) }
    };
    (-4 * B..=4 * B).all(|x| {
        (x - B..=x + B).all(|y| {
            let (p, q) = (plus(x), plus(y));
            at_most(&p, &q) && at_most(&(BigRational::one() - p), &(BigRational::one() - q))
        })
    })
}

fn over_2_64(numerator: impl Into<BigInt>) -> BigRational {
    BigRational::new(numerator.into(), BigInt::one() << 64)
}

/// P[+ | x] for a flip table and a rule for side and level.
fn flips(table: &FlipTable, rule: impl Fn(i64) -> (bool, u64)) -> impl Fn(i64) -> BigRational {
    move |x| {
        let (plus, level) = rule(x);
        let flip = over_2_64(table.threshold(level));
        if plus { BigRational::one() - flip } else { flip }
    }
}

/// The rules of smooth flips and of the ceil rule, as the mechanisms have them.
fn coin_at_zero(x: i64) -> (bool, u64) {
    level(x, STEPS, Side::CoinAtZero)
}

fn minus_at_zero(x: i64) -> (bool, u64) {
    level(x, STEPS, Side::Above(0))
}

#[test]
fn fault_1_sensitivity_off_by_one() {
    let epsilon = rational(1.0);
    for (steps, outcome) in [(STEPS, false), (STEPS - 1, true)] {
        for noise in faults::a_step_less(STEPS, &epsilon) {
            assert_eq!(noise.check(steps, &epsilon).is_ok(), outcome);
        }
    }
}

#[test]
fn fault_2_noise_scale_times_0_95() {
    let epsilon = rational(1.0);
    for noise in faults::scale_times_0_95(STEPS, &epsilon) {
        assert!(noise.check(STEPS, &epsilon).is_err());
        assert!(noise.check(STEPS, &rational(1.06)).is_ok());
    }
}

#[test]
fn fault_3_rounding_to_even() {
    let grid = Grid::new(Range::new(-8.0, 8.0).unwrap(), 0).unwrap();
    let ours = |x: f64| grid.quantise(x).unwrap();
    let moves =
        |q: &dyn Fn(f64) -> i32| (-14..14).map(|h| (q(f64::from(h) / 2.0 + 1.0) - q(f64::from(h) / 2.0)).abs()).max();
    assert_eq!(moves(&ours), Some(1));
    assert_eq!(moves(&faults::rounded_to_even), Some(2), "ties to even move two steps for a change of one");
}

#[test]
fn fault_4_flip_probability_rounded_down() {
    let epsilon = rational(1.0);
    let honest = FlipTable::randomized_response(&epsilon).unwrap();
    assert!(honest.check(&epsilon).is_ok());
    assert!(faults::rounded_down(&honest).check(&epsilon).is_err());
}

#[test]
fn fault_5_table_for_another_epsilon() {
    for table in faults::for_another_epsilon(&rational(1.0)) {
        assert!(table.check(&rational(1.11)).is_ok());
        assert!(table.check(&rational(1.0)).is_err());
    }
}

#[test]
fn fault_6_wrong_tie_at_zero() {
    let table = FlipTable::smooth(&rational(1.0)).unwrap();
    let honest = flips(&table, coin_at_zero);
    assert!(is_private(&honest, 1.0));
    assert!(!is_private(|x| if faults::certain_at_zero(x) { BigRational::zero() } else { honest(x) }, 1.0));
    assert!(!is_private(flips(&table, faults::too_deep_at_zero), 1.0));
}

#[test]
fn fault_7_level_by_floor() {
    let table = FlipTable::smooth(&rational(1.0)).unwrap();
    assert!(!is_private(flips(&table, faults::level_by_floor), 1.0));
}

#[test]
fn fault_8_beta_of_a_smaller_grid() {
    let table = FlipTable::ceil_rule(&rational(1.0)).unwrap();
    assert!(is_private(flips(&table, minus_at_zero), 1.0));
    assert!(!is_private(flips(&table, faults::level_of_a_smaller_beta), 1.0));
}

/// From x = 6 the output 18 is possible (n = 12), from x = 0 it is not: no epsilon covers that.
#[test]
fn fault_9_a_cut_tail() {
    let noise = Noise::Laplace(Laplace::new(STEPS, &rational(2.0)).unwrap());
    let mut rng = SecretRng::for_tests(9);
    let draws: Vec<i64> = (0..20_000).map(|_| faults::cut(&noise, &mut rng)).collect();
    assert_eq!(draws.iter().max(), Some(&LAST)); // 1.2% of the honest draws are 12 or -12
    assert!(noise.weight(LAST + B) > BigRational::zero(), "the honest law has no end");
}

fn releaser(id: MechanismId, k: usize) -> Releaser {
    let parameters = Parameters::new(Required {
        mechanism: id,
        dim: 64,
        k,
        epsilon: 1.0,
        beta: 2.0,
        range: Range::new(-1.0, 1.0).unwrap(),
        seed: Seed([3; 32]),
    });
    Releaser::new(Mechanism::new(parameters).unwrap(), None).unwrap()
}

/// True when some row of the second table equals that of the first.
fn repeats_noise(a: &[u8], b: &[u8], width: usize) -> bool {
    a.chunks_exact(width).zip(b.chunks_exact(width)).any(|(a, b)| a == b)
}

#[test]
fn fault_10_noise_from_the_public_seed() {
    let rows = vec![0.25f32; 64 * 50];
    let release =
        || Release::from_rows(&releaser(MechanismId::DpOporpLaplace, 64), Rows::dense(Scalars::F32(&rows), 64));
    let (first, second) = (release().unwrap(), release().unwrap());
    assert!(!repeats_noise(first.bytes(), second.bytes(), 64 * 4));
    let planted = || {
        let mut rng = faults::rng_of(&Seed([3; 32]));
        let mut x = [0i64; 64];
        Noise::Laplace(Laplace::new(6, &rational(1.0)).unwrap()).add_to(&mut x, &mut rng);
        x.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect::<Vec<u8>>()
    };
    assert!(repeats_noise(&planted(), &planted(), 64 * 4));
}

#[test]
fn fault_11_noise_reused_across_rows() {
    let rows = vec![0.25f32; 64 * 300];
    let release =
        Release::from_rows(&releaser(MechanismId::DpOporpLaplace, 64), Rows::dense(Scalars::F32(&rows), 64)).unwrap();
    let distinct = |bytes: &[u8]| bytes.chunks_exact(64 * 4).collect::<std::collections::HashSet<_>>().len();
    assert_eq!(distinct(release.bytes()), 300, "equal rows must not get equal noise");
    let planted: Vec<u8> = release.row(0).repeat(300);
    assert_eq!(distinct(&planted), 1);
}

/// The share of ones at each bit position. alpha: 5 standard deviations, below 1e-6 a position.
fn flip_rates_are_right(bits: &[Vec<bool>], truth: &[bool], flip: f64) -> bool {
    let n = bits.len() as f64;
    let slack = 5.0 * (flip * (1.0 - flip) / n).sqrt();
    (0..truth.len()).all(|j| {
        let flipped = bits.iter().filter(|row| row[j] != truth[j]).count() as f64 / n;
        (flipped - flip).abs() <= slack
    })
}

#[test]
fn faults_12_13_a_missing_last_flip_and_swapped_keep_and_flip() {
    const ROWS: usize = 20_000;
    let row: Vec<f32> = (0..64).map(|i| if i % 3 == 0 { 0.9 } else { -0.7 }).collect();
    let releaser = releaser(MechanismId::DpSignoporpRr, 64);
    let release = Release::from_rows(&releaser, Rows::dense(Scalars::F32(&row.repeat(ROWS)), 64)).unwrap();
    let bits: Vec<Vec<bool>> = (0..ROWS).map(|i| release.values(i).iter().map(|v| *v > 0.0).collect()).collect();
    let mut x = vec![0; 64];
    let quantised: Vec<i32> =
        row.iter().map(|v| releaser.mechanism().grid().quantise(f64::from(*v)).unwrap()).collect();
    releaser.mechanism().projection().apply(scumble::vectors::PrivateRow::Dense(&quantised), &mut x);
    let truth: Vec<bool> = x.iter().map(|v| *v > 0).collect();
    let flip = 1.0 / (1.0 + 1f64.exp());
    assert!(flip_rates_are_right(&bits, &truth, flip), "every position flips, the first and the last too");
    let table = FlipTable::randomized_response(&rational(1.0)).unwrap();
    let mut rng = SecretRng::for_tests(12);
    let unflipped: Vec<_> = (0..ROWS).map(|_| faults::flipped_but_the_last(&x, &table, &mut rng)).collect();
    assert!(!flip_rates_are_right(&unflipped, &truth, flip), "a last bit that is never flipped is found");
    let swapped: Vec<Vec<bool>> = bits.iter().map(|row| row.iter().map(|b| !b).collect()).collect();
    assert!(!flip_rates_are_right(&swapped, &truth, flip), "kept and flipped swapped is found");
}

#[test]
fn fault_14_float_sums_in_the_level() {
    // The specification's pair: in floats L jumps from 0 to 2 for a change of beta = 0.1 in one attribute.
    let rows: [[f64; 6]; 2] = [[-0.4, 0.4, 0.2, 0.0, -1.0, 0.8], [-0.4, 0.5, 0.2, 0.0, -1.0, 0.8]];
    let float_level = |row: &[f64; 6]| faults::level_of_floats(row.iter().sum(), 0.1).1;
    assert_eq!(float_level(&rows[0]).abs_diff(float_level(&rows[1])), 2);
    let grid = Grid::with_steps(Range::new(-1.0, 1.0).unwrap(), 0.1, 255).unwrap();
    let steps = grid.steps(0.1).unwrap() as i64;
    let level = |row: &[f64; 6]| {
        let x: i64 = row.iter().map(|v| i64::from(grid.quantise(*v).unwrap())).sum();
        x.unsigned_abs().div_ceil(steps as u64) as i64
    };
    assert!((level(&rows[0]) - level(&rows[1])).abs() <= 1);
}
