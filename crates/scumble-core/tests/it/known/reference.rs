//! Every mechanism against `reference/mechanisms.py`, which was written from the paper and docs/mechanisms.md, not from here.
//!
//! Quantised and projected integers, the integers of the laws and symbol tables are equal. The reference's probabilities
//! are ideal ones; what runs is rounded toward more noise, so they may differ by (u = 2^-64):
//!
//! | law | tolerance |
//! |---|---|
//! | discrete Laplace | a = R u, R rounded up: relative u (1/(1-a) + 1/(1+a) + \|n\|/a) |
//! | discrete staircase | b = R u, R rounded up: relative u (falls/b + total'(b)/total(b)) |
//! | rounded Gaussian | sigma at most 1e-6 above sigma*, which leaves a millionth of delta for its table and covers two roundings; unit l2 of a dense matrix 1e-2, its operator norm is an upper bound. Relative 1e-6 (1 + (n+1)^2/sigma^2) |
//! | sign of noise | 1e-6, from sigma |
//! | flips | never below; at most u (2 + 1/(1-e^-epsilon')) above, since a level is raised to stay within e^epsilon' of the one before; where epsilon' is solved for, 1e-10 above |
//! | cap of vertices | E = floor(2^64 e^epsilon) u: relative 4u |

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};
use scumble_core::mechanism::record::privcube::weights;
use scumble_core::mechanism::{
    Cap, Classes, IndividualNoise, Mechanism, MechanismId, Parameters, Perturbation, Side, SignrpMode,
};
use scumble_core::noise::Noise;
use scumble_core::privacy::Unit;
use scumble_core::projection::Seed;
use scumble_core::vectors::PrivateRow;
use serde_json::Value;

const BITS: u32 = 400; // the smallest probability here is about 2^-60
const UNIT: f64 = 18_446_744_073_709_551_616.0; // 2^64

type Outcome = Result<(), String>;
type VertexLaw = Box<dyn Fn(&[bool]) -> BigRational>;

fn check(holds: bool, what: impl Fn() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(what()) }
}

/// A probability over 2^400.
#[derive(Debug, Clone)]
struct Fixed(BigInt);

impl Fixed {
    fn of(p: &BigRational) -> Self {
        Self((p.numer() << BITS) / p.denom())
    }

    fn parse(text: &Value) -> Self {
        let text = text.as_str().expect("digits in a string");
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits: BigInt = format!("{whole}{fraction}").parse().expect("decimal digits");
        Self((digits << BITS) / BigInt::from(10).pow(fraction.len() as u32))
    }

    fn value(&self) -> f64 {
        BigRational::new(self.0.clone(), BigInt::from(1) << BITS).to_f64().expect("finite")
    }

    fn rest(&self) -> Self {
        Self((BigInt::from(1) << BITS) - &self.0)
    }

    /// |self - ideal| <= units 2^-64 ideal.
    fn close(&self, ideal: &Self, units: f64) -> bool {
        ((&self.0 - &ideal.0).abs() << 64) <= &ideal.0 * BigInt::from(units as u128 + 1)
    }

    /// |self - ideal| <= units 2^-64.
    fn near(&self, ideal: &Self, units: f64) -> bool {
        (&self.0 - &ideal.0).abs() <= BigInt::from(units as u128 + 1) << (BITS - 64)
    }

    /// 0 <= self - ideal <= units 2^-64, but for the last digit of the ideal.
    fn above(&self, ideal: &Self, units: f64) -> bool {
        self.near(ideal, units) && &self.0 - &ideal.0 >= -(BigInt::from(1) << (BITS - 120))
    }
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

fn integers(value: &Value) -> Vec<i64> {
    list(value).iter().map(|v| v.as_i64().expect("an integer")).collect()
}

fn cases() -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("../../vectors/v1/mechanisms.json")).unwrap();
    list(&file["cases"]).clone()
}

fn parameters(case: &Value) -> Parameters {
    serde_json::from_value(case["parameters"].clone()).unwrap()
}

/// The mechanism of these parameters against what the case says.
fn compare(case: &Value, parameters: Parameters) -> Outcome {
    let mechanism = Mechanism::new(parameters).map_err(|error| error.to_string())?;
    check(i64::from(mechanism.grid().exponent()) == case["grid_exponent"], || "grid".into())?;
    calibration(&mechanism, &case["calibration"])?;
    for row in list(&case["rows"]) {
        let q: Vec<i32> =
            list(&row["values"]).iter().map(|u| mechanism.grid().quantise(u.as_f64().unwrap()).unwrap()).collect();
        check(q.iter().map(|&q| i64::from(q)).eq(integers(&row["quantised"])), || format!("quantised {q:?}"))?;
        let mut x = vec![0; mechanism.k()];
        mechanism.projection().apply(PrivateRow::Dense(&q), &mut x);
        check(x == integers(&row["projected"]), || format!("projected {x:?}"))?;
        output(&mechanism, case, row, &x)?;
    }
    Ok(())
}

/// The integers of the law.
fn calibration(mechanism: &Mechanism, expected: &Value) -> Outcome {
    let same = |what: &str, found: String| {
        let text = expected[what].as_str().map_or_else(|| expected[what].to_string(), str::to_owned);
        check(found == text, || format!("{what} is {found}, not {text}"))
    };
    let optional = |found: Option<i64>| found.map_or("null".into(), |n| n.to_string());
    match mechanism.perturbation() {
        Perturbation::Noise { shift, clip, radius, noise } => {
            same("shift", shift.to_string())?;
            same("clip", optional(*clip))?;
            same("radius", optional(radius.map(|r| r as i64)))?;
            match noise {
                Noise::Laplace(law) => same("ratio", law.ratio().to_string()),
                Noise::Staircase(law) => {
                    same("ratio", law.ratio().to_string())?;
                    same("sensitivity", law.sensitivity().to_string())?;
                    same("width", law.width().to_string())
                }
                Noise::Gaussian(law) => sigma(mechanism, law.sigma(), expected),
            }
        }
        Perturbation::NoisySign { noise: Noise::Gaussian(law) } => sigma(mechanism, law.sigma(), expected),
        Perturbation::Flips { steps, side, .. } => {
            same("threshold", optional(if let Side::Above(b) = side { Some(*b) } else { None }))?;
            let wanted = list(&expected["steps"]);
            let fits = wanted.iter().enumerate().all(|(j, wanted)| {
                let step = if steps.len() == 1 { steps[0] } else { steps[j] };
                wanted.as_u64().is_none_or(|wanted| wanted == step) // null: the flips know no level
            });
            check(fits, || format!("steps {steps:?}"))
        }
        Perturbation::Symbols { classes: Classes::Lattice { steps, per_beta, .. }, .. } => {
            same("beta_steps", steps.to_string())?;
            same("per_beta", per_beta.to_string())
        }
        Perturbation::Symbols { classes: Classes::Zones { cuts }, .. } => {
            check(*cuts == integers(&expected["cuts"]), || format!("cuts {cuts:?}"))
        }
        Perturbation::Cap(cap) => {
            same("odds", cap.worst_ratio().num.to_string())?;
            match cap {
                Cap::Privcube(cube) => same("cap", cube.cap().to_string()),
                Cap::Signcap(cap) => same("tau", cap.tau().to_string()),
                Cap::Privbook(book) => same("favoured", book.favoured().to_string()),
            }
        }
        Perturbation::Individual { steps, touched, inner } => {
            same("touched", touched.to_string())?;
            let wanted: Vec<u64> = integers(&expected["steps"]).into_iter().map(|n| n as u64).collect();
            check(*steps == wanted, || format!("steps {steps:?}"))?;
            match inner {
                IndividualNoise::Gaussian(Noise::Gaussian(law)) => sigma(mechanism, law.sigma(), expected),
                _ => Ok(()),
            }
        }
        _ => Err("not a law of the reference".into()),
    }
}

/// Unit l2 of a dense matrix takes an upper bound of its operator norm.
fn norm_is_a_bound(mechanism: &Mechanism) -> bool {
    mechanism.parameters().unit == Unit::L2 && mechanism.projection().is_dense_matrix()
}

/// How far sigma may lie above its ideal, in units of 2^-64.
fn sigma_units(mechanism: &Mechanism) -> f64 {
    UNIT * if norm_is_a_bound(mechanism) { 1e-2 } else { 1e-6 }
}

fn sigma(mechanism: &Mechanism, found: &BigRational, expected: &Value) -> Outcome {
    let (found, ideal) = (Fixed::of(found), Fixed::parse(&expected["sigma"]));
    // A spectral norm of the reference is a double: its last digit may be rounded up.
    let least = Fixed(&ideal.0 - (&ideal.0 >> 48));
    check(found.0 >= least.0 && found.close(&ideal, sigma_units(mechanism)), || {
        format!("sigma {} for {}", found.value(), ideal.value())
    })
}

/// The law of one row's output.
fn output(mechanism: &Mechanism, case: &Value, row: &Value, x: &[i64]) -> Outcome {
    let law = |j: usize, y: i64| mechanism.perturbation().probability(x, j, y);
    match mechanism.perturbation() {
        Perturbation::Noise { noise, .. } => {
            for (j, prepared) in integers(&row["prepared"]).into_iter().enumerate() {
                for point in list(&case["noise"]) {
                    let n = point[0].as_i64().unwrap();
                    let (found, ideal) = (Fixed::of(&law(j, prepared + n)), Fixed::parse(&point[1]));
                    check(found.close(&ideal, noise_units(mechanism, noise, n)), || {
                        format!("P(n = {n}) is {}, not {}", found.value(), ideal.value())
                    })?;
                }
            }
            Ok(())
        }
        Perturbation::Symbols { table, .. } => {
            check(u64::from(table.bits()) == row["bits"], || "bits of the table".into())?;
            for (j, expected) in list(&row["symbols"]).iter().enumerate() {
                for (y, entry) in list(expected).iter().enumerate() {
                    let found = law(j, y as i64) * (BigInt::from(1) << table.bits());
                    check(found.to_string() == entry.as_str().unwrap(), || format!("symbol {y} of {j}: {found}"))?;
                }
            }
            check(law(0, list(&row["symbols"][0]).len() as i64).is_zero(), || "a symbol too many".into())
        }
        Perturbation::Cap(cap) => vertices(cap, row, x),
        _ => {
            for (j, ideal) in list(&row["plus"]).iter().enumerate() {
                bit(mechanism, case, &Fixed::of(&law(j, 1)), &Fixed::parse(ideal))
                    .map_err(|error| format!("bit {j} at {}: {error}", x[j]))?;
            }
            Ok(())
        }
    }
}

/// See the table above; the derivatives of ln P by the ratio.
fn noise_units(mechanism: &Mechanism, noise: &Noise, n: i64) -> f64 {
    let n = n.abs() as f64;
    match noise {
        Noise::Laplace(law) => {
            let a = law.ratio() as f64 / UNIT;
            1.0 / (1.0 - a) + 1.0 / (1.0 + a) + n / a
        }
        Noise::Staircase(law) => {
            let (b, period, r) = (law.ratio() as f64 / UNIT, law.sensitivity() as f64, law.width() as f64);
            let total = 2.0 * (r + b * (period - r)) / (1.0 - b) - 1.0;
            let falls = ((n + period - r) / period).floor();
            falls / b + 2.0 * period / (1.0 - b).powi(2) / total
        }
        Noise::Gaussian(law) => {
            let sigma = law.sigma().to_f64().unwrap();
            sigma_units(mechanism) * (1.0 + ((n + 1.0) / sigma).powi(2))
        }
    }
}

fn bit(mechanism: &Mechanism, case: &Value, found: &Fixed, ideal: &Fixed) -> Outcome {
    let wrong = || format!("P(1) is {}, not {}", found.value(), ideal.value());
    let epsilon = match mechanism.perturbation() {
        Perturbation::Flips { .. } => Fixed::parse(&case["calibration"]["epsilon_per_bit"]).value(),
        Perturbation::Individual { inner: IndividualNoise::Flips(tables), .. } => {
            mechanism.parameters().epsilon / tables.len() as f64
        }
        _ => return check(found.near(ideal, UNIT * 1e-6), wrong),
    };
    let solved = mechanism.parameters().delta.is_some();
    let units = 2.0 + 1.0 / -(-epsilon).exp_m1() + if solved { UNIT * 1e-10 * epsilon } else { 0.0 };
    // The flip is the smaller side.
    let half = BigInt::from(1) << (BITS - 1);
    let (flip, ideal_flip) = if ideal.0 > half { (found.rest(), ideal.rest()) } else { (found.clone(), ideal.clone()) };
    let paper = mechanism.parameters().signrp_mode == SignrpMode::Paper;
    // Mode paper rests on the check of the tight law, not on the last digit of its own integral.
    check(if paper { flip.near(&ideal_flip, units) } else { flip.above(&ideal_flip, units) }, wrong)
}

fn vertices(cap: &Cap, row: &Value, x: &[i64]) -> Outcome {
    let by_vertex: VertexLaw = match cap {
        Cap::Privcube(cube) => {
            let mut w = vec![0; x.len()];
            weights(x, &mut w);
            let expected = integers(&row["weights"]);
            check(w.iter().map(|&w| i64::from(w)).eq(expected), || format!("weights {w:?}"))?;
            let law = cube.probabilities(&w);
            Box::new(move |y| law[y.iter().enumerate().map(|(i, &plus)| usize::from(plus) << i).sum::<usize>()].clone())
        }
        Cap::Signcap(cap) => {
            let (law, signs) = (cap.probabilities(), x.iter().map(|&x| x > 0).collect::<Vec<_>>());
            Box::new(move |y| law[y.iter().zip(&signs).filter(|(a, b)| a == b).count()].clone())
        }
        Cap::Privbook(book) => {
            for (word, (found, ideal)) in book.probabilities(x).iter().zip(list(&row["words"])).enumerate() {
                let (found, ideal) = (Fixed::of(found), Fixed::parse(ideal));
                check(found.close(&ideal, 4.0), || format!("word {word}: {}", found.value()))?;
            }
            return check(book.words() == list(&row["words"]).len(), || "words".into());
        }
    };
    for vertex in list(&row["vertices"]) {
        let y: Vec<bool> = vertex[0].as_str().unwrap().bytes().map(|b| b == b'1').collect();
        let (found, ideal) = (Fixed::of(&by_vertex(&y)), Fixed::parse(&vertex[1]));
        check(found.close(&ideal, 4.0), || format!("vertex {vertex}: {}", found.value()))?;
    }
    Ok(())
}

#[test]
fn every_mechanism_has_the_law_of_the_reference() {
    let cases = cases();
    for id in MechanismId::ALL.iter().filter(|id| **id != MechanismId::Privbook) {
        assert!(cases.iter().any(|case| case["parameters"]["mechanism"] == id.as_str()), "no vectors for {id}");
    }
    let faults: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            compare(case, parameters(case)).err().map(|error| format!("{}: {error}", case["parameters"]))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Planted faults: one percent of epsilon or of delta, one percent and a step of beta, another matrix: all are seen.
#[test]
fn a_change_of_one_percent_is_seen() {
    let grid = |case: &Value| case["grid_exponent"].as_i64().map(|exponent| exponent as i32);
    for case in cases() {
        let honest = Parameters { grid_exponent: grid(&case), ..parameters(&case) };
        let seen = |planted: Parameters| compare(&case, planted).is_err();
        assert!(!seen(honest.clone()));
        assert!(seen(Parameters { epsilon: honest.epsilon * 1.01, ..honest.clone() }), "epsilon of {honest:?}");
        if let Some(delta) = honest.delta {
            let factor = if norm_is_a_bound(&Mechanism::new(honest.clone()).unwrap()) { 1.5 } else { 1.01 };
            let delta = Some(factor * delta);
            assert!(seen(Parameters { delta, ..honest.clone() }), "delta of {honest:?}");
        }
        let calibration = &case["calibration"];
        let looks_at_beta = honest.unit != Unit::Record
            && calibration["cuts"].is_null()
            && calibration["clip"].is_null()
            && !(honest.mechanism == MechanismId::DpSignrpRr && honest.delta.is_none());
        if looks_at_beta {
            // On a coarse grid one percent may lie within the same step.
            let beta = honest.beta * 1.01 + honest.grid_exponent.map_or(0.0, |exponent| f64::from(exponent).exp2());
            assert!(seen(Parameters { beta, ..honest.clone() }), "beta of {honest:?}");
        }
        // The blocks of an image and the words of a book are what they are, whatever the seed.
        let seeded = !honest.mechanism.is_raw() && honest.bins.is_none() && honest.book.is_none();
        if seeded && honest.projection.is_none_or(|kind| kind.to_string() != "none") {
            let seed = Seed([1; 32]);
            assert!(seen(Parameters { seed, ..honest.clone() }), "seed of {honest:?}");
        }
    }
}
