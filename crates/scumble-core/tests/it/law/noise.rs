//! The noise laws: exact inequalities over a window, known answers, and the samplers against their exact
//! probabilities. Streams are fixed, so a statistical test passes or fails for good; alpha = 1e-6 throughout.

use super::projection::chi_square;
use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};
use scumble_core::exact::{Exp, rational};
use scumble_core::noise::{Coin, FlipTable, Laplace, Noise, NoiseKey, RoundedGaussian, SecretRng, Staircase};
use serde_json::Value;

const DRAWS: usize = 10_000_000;

fn stream(number: u8) -> SecretRng {
    SecretRng::keyed(&NoiseKey::from_bytes([number; 32]), &[b"noise laws"])
}

fn laplace(sensitivity: u64, epsilon: f64) -> Noise {
    Laplace::new(sensitivity, &rational(epsilon)).unwrap().into()
}

fn staircase(sensitivity: u64, epsilon: f64) -> Noise {
    Staircase::least_variance(sensitivity, &rational(epsilon)).unwrap().into()
}

fn gaussian(sigma: f64) -> Noise {
    RoundedGaussian::new(&rational(sigma), 128).unwrap().into()
}

/// One by one, and in blocks.
type Fill = fn(&Noise) -> Box<dyn FnMut(&mut [i64], &mut SecretRng) + '_>;
const FILLS: [Fill; 2] = [
    |law| Box::new(|out, rng| law.fill(out, rng)),
    |law| {
        let blocks = law.blocks().expect("tables");
        let (mut narrow, mut wide) = (Vec::new(), Vec::new());
        Box::new(move |out, rng| {
            narrow.resize(out.len(), 0);
            blocks.fill(&mut narrow, &mut wide, rng);
            out.iter_mut().zip(&narrow).for_each(|(to, &n)| *to = n.into());
            wide.iter().for_each(|&(at, n)| out[at] = n);
        })
    },
];

/// The worse of both ways to draw.
fn misfit(sampled: &Noise, claimed: &Noise, rng: &mut SecretRng) -> f64 {
    FILLS.map(|fill| misfit_of(fill, sampled, claimed, rng)).into_iter().fold(0.0, f64::max)
}

/// Draws from `sampled` against the probabilities of `claimed`: chi-square over its critical value. One cell a value
/// while it expects 20 draws or more, and one for each tail.
fn misfit_of(fill: Fill, sampled: &Noise, claimed: &Noise, rng: &mut SecretRng) -> f64 {
    let p = |n: i64| claimed.weight(n).to_f64().unwrap();
    let expects = |n: i64| p(n) * DRAWS as f64;
    let reach = (1..).take_while(|&n| expects(n) >= 20.0).last().unwrap_or(0);
    let cells = 2 * reach as usize + 1;
    let mut probabilities: Vec<f64> = (0..=reach).map(p).collect();
    probabilities = probabilities.iter().skip(1).rev().chain(&probabilities).copied().collect();
    let tail = (1.0 - probabilities.iter().sum::<f64>()) / 2.0;
    let mut counts = vec![0u64; cells];
    let mut tails = [0u64; 2];

    let mut block = vec![0; 4096];
    let mut fill = fill(sampled);
    for start in (0..DRAWS).step_by(block.len()) {
        let block = &mut block[..(DRAWS - start).min(4096)];
        fill(block, rng);
        for &n in block.iter() {
            match counts.get_mut((n.saturating_add(reach)) as usize) {
                Some(count) => *count += 1,
                None => tails[usize::from(n > 0)] += 1,
            }
        }
    }
    if tail * DRAWS as f64 > 5.0 {
        probabilities.extend([tail, tail]);
        counts.extend(tails);
    } else {
        assert!(tails.iter().sum::<u64>() < 40, "{tails:?} draws in tails that expect fewer than 10");
    }
    chi_square(&counts, &probabilities)
}

#[test]
fn laplace_draws_follow_the_exact_law() {
    for (i, (sensitivity, epsilon)) in [(1, 1.0), (1, 20.0), (8, 1.0), (64, 20.0), (1000, 2.0)].into_iter().enumerate()
    {
        let law = laplace(sensitivity, epsilon);
        let misfit = misfit(&law, &law, &mut stream(i as u8));
        assert!(misfit < 1.0, "sensitivity {sensitivity}, epsilon {epsilon}: {misfit}");
    }
}

#[test]
fn staircase_draws_follow_the_exact_law() {
    for (i, (sensitivity, epsilon)) in [(1, 1.0), (16, 0.05), (64, 1.0), (100, 5.0), (64, 10.0)].into_iter().enumerate()
    {
        let law = staircase(sensitivity, epsilon);
        let misfit = misfit(&law, &law, &mut stream(20 + i as u8));
        assert!(misfit < 1.0, "sensitivity {sensitivity}, epsilon {epsilon}: {misfit}");
    }
}

#[test]
fn gaussian_draws_follow_the_exact_law() {
    for (i, sigma) in [0.3, 1.0, 17.3, 1000.0].into_iter().enumerate() {
        let law = gaussian(sigma);
        let misfit = misfit(&law, &law, &mut stream(40 + i as u8));
        assert!(misfit < 1.0, "sigma {sigma}: {misfit}");
    }
}

/// Planted fault: one percent more or less scale is rejected by the same statistic, as is a wrong first step.
#[test]
fn a_scale_off_by_one_percent_is_rejected() {
    for (sampled, claimed) in [
        (laplace(8, 1.0 / 1.01), laplace(8, 1.0)),
        (laplace(8, 1.0 / 0.99), laplace(8, 1.0)),
        (staircase(101, 5.0), staircase(100, 5.0)),
        (gaussian(17.3 * 1.01), gaussian(17.3)),
        (gaussian(1000.0 * 1.01), gaussian(1000.0)),
    ] {
        for fill in FILLS {
            let misfit = misfit_of(fill, &sampled, &claimed, &mut stream(60));
            assert!(misfit > 1.0, "{sampled:?}: {misfit}");
        }
    }
    let Noise::Staircase(right) = staircase(100, 5.0) else { unreachable!() };
    let wrong = Staircase::from_steps(right.ratio(), 100, right.width() + 1).unwrap().into();
    assert!(misfit(&wrong, &right.into(), &mut stream(61)) > 1.0);
}

#[test]
fn coins_and_flips_follow_their_thresholds() {
    let mut rng = stream(80);
    let table = FlipTable::ceil_rule(&rational(1.0)).unwrap();
    let rejected = |chance: f64, mut toss: Box<dyn FnMut() -> bool + '_>| {
        let shown = (0..DRAWS).filter(|_| toss()).count() as u64;
        chi_square(&[shown, DRAWS as u64 - shown], &[chance, 1.0 - chance]) > 1.0
    };
    for level in 0..6 {
        let chance = table.probability(level).to_f64().unwrap();
        assert!(!rejected(chance, Box::new(|| table.flip(level, &mut rng))), "level {level}");
    }
    // Power: one percent more.
    let coin = Coin::new(table.threshold(1) / 100 * 101);
    assert!(rejected(table.probability(1).to_f64().unwrap(), Box::new(|| coin.toss(&mut rng))));
}

/// Is P(n) <= e^epsilon P(n + m) for all n of the window and all |m| <= B? In exact rationals.
fn is_private(weight: impl Fn(i64) -> BigRational, sensitivity: i64, epsilon: f64) -> bool {
    let bound = Exp::new(&rational(epsilon));
    let window = 4 * sensitivity + 3;
    let weights: Vec<BigRational> = (-window - sensitivity..=window + sensitivity).map(weight).collect();
    let part = |n: &num_bigint::BigInt| n.to_biguint().unwrap();
    weights.windows(sensitivity as usize + 1).all(|near| {
        let (first, others) = (&near[0], &near[1..]);
        let holds = |a: &BigRational, b: &BigRational| {
            let (num, den): (BigUint, BigUint) = (part(a.numer()) * part(b.denom()), part(a.denom()) * part(b.numer()));
            if den.is_zero() { num.is_zero() } else { bound.at_least(&num, &den) }
        };
        others.iter().all(|other| holds(first, other) && holds(other, first))
    })
}

#[test]
fn the_inequality_holds_for_every_shift_and_no_larger_one() {
    for sensitivity in [1, 2, 5, 9] {
        for epsilon in [0.1, 1.0, 3.0, 10.0] {
            for law in [laplace(sensitivity, epsilon), staircase(sensitivity, epsilon)] {
                let b = sensitivity as i64;
                assert!(is_private(|n| law.weight(n), b, epsilon), "{law:?} at {epsilon}");
                // The budget is used: 1 part in 10^9 less epsilon is too little.
                assert!(!is_private(|n| law.weight(n), b, epsilon * (1.0 - 1e-9)), "{law:?} at {epsilon}");
                // Planted fault "beta off by one".
                assert!(!is_private(|n| law.weight(n), b + 1, epsilon), "{law:?} at {epsilon}");
                // Planted fault "cut tail".
                let cut = |n: i64| if n.abs() > 3 * b { BigRational::zero() } else { law.weight(n) };
                assert!(!is_private(cut, b, epsilon), "{law:?} at {epsilon}");
            }
        }
    }
}

/// Planted fault "noise scale x 0.95": the law built for 95% of the sensitivity fails the check at all of it.
#[test]
fn narrow_noise_is_refused() {
    for law in [laplace(95, 1.0), staircase(95, 1.0)] {
        assert!(law.check(95, &rational(1.0)).is_ok());
        assert!(law.check(100, &rational(1.0)).is_err_and(|e| e.is_refusal()));
    }
}

#[test]
fn checked_epsilon_is_just_below_the_asked_one() {
    for epsilon in [0.01, 0.5, 1.0, 5.0, 20.0] {
        for law in [laplace(100, epsilon), staircase(100, epsilon)] {
            let checked = law.worst_ratio(100).unwrap().epsilon();
            assert!(checked <= epsilon && checked > epsilon * (1.0 - 1e-9), "{checked} for {epsilon}");
        }
        let checked = FlipTable::ceil_rule(&rational(epsilon)).unwrap().worst_ratio().epsilon();
        assert!(checked <= epsilon && checked > epsilon * (1.0 - 1e-9), "{checked} for {epsilon}");
    }
}

fn rows(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/oracle/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let json: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    json["rows"].as_array().unwrap().clone()
}

fn field(row: &Value, name: &str) -> f64 {
    row[name].as_str().unwrap().parse().unwrap()
}

#[track_caller]
fn agrees(exact: BigRational, row: &Value, name: &str) {
    let (found, expected) = (exact.to_f64().unwrap(), field(row, name));
    assert!((found / expected - 1.0).abs() < 1e-12, "{name}: {found} against {row}");
}

#[test]
fn known_answers_of_the_pure_laws() {
    for row in rows("discrete_staircase") {
        let law = Staircase::least_variance(field(&row, "Delta_int") as u64, &rational(field(&row, "eps"))).unwrap();
        assert_eq!(law.width() as f64, field(&row, "r"), "{row}");
        agrees(law.weight(0), &row, "p0");
        agrees(law.variance(), &row, "variance");
    }
    for row in rows("discrete_laplace") {
        let law = Laplace::new(field(&row, "Delta_int") as u64, &rational(field(&row, "eps"))).unwrap();
        agrees(law.weight(0), &row, "p0");
        agrees(law.variance(), &row, "variance");
    }
}

#[test]
fn known_answers_of_the_flip_rules() {
    for row in rows("sign_flip_probs") {
        let (level, epsilon) = (field(&row, "L") as u64, rational(field(&row, "eps")));
        for (table, name) in [
            (FlipTable::randomized_response(&epsilon), "flip_rr"),
            (FlipTable::smooth(&epsilon), "flip_paper_smooth"),
            (FlipTable::ceil_rule(&epsilon), "flip_ceil"),
        ] {
            let (exact, expected) = (table.unwrap().probability(level), field(&row, name));
            // Rounded up by a unit of 2^-64 a level; never down.
            let above = exact.to_f64().unwrap() - expected;
            assert!(above.abs() <= expected * 1e-14 + 20.0 * 2f64.powi(-64), "{name}: {above} in {row}");
        }
    }
}

/// A wide table is as exact as a narrow one, and its moments are those of a rounded Gaussian.
#[test]
fn a_table_of_twenty_thousand_steps() {
    let Noise::Gaussian(law) = gaussian(20_000.0) else { unreachable!() };
    assert!(law.distance() < rational(1e-32));
    let error = law.variance() - rational(20_000.0).pow(2) - BigRational::new(1.into(), 12.into());
    assert!(error.abs() < rational(1e-20));
}
