//! Intervals where they are hard: norms lost in noise, equal rows, small sketches, shared noise, rounding.
//!
//! Where an interval's true coverage is 95%, fewer than 93% of 2,000 trials are covered with probability alpha = 3e-5
//! (binomial law). Keys and seeds are fixed, so each test has the same outcome in every run.

use crate::support::{Draw, released};
use scumble::columns::Column;
use scumble::estimate::{self, Estimate, EstimateError, NotIdentifiable, RowRef};
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::Seed;
use scumble::release::{Release, Releaser};
use scumble::search::ExactQueries;
use scumble::statistics::{self, Options, Target};
use scumble::vectors::{Range, Rows, Scalars};
use scumble_core::noise::NoiseKey;

fn mechanism(id: MechanismId, dim: usize, k: usize, epsilon: f64, (lo, hi): (f64, f64), seed: usize) -> Mechanism {
    let mut bytes = [3; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let range = Range::new(lo, hi).unwrap();
    Mechanism::new(Parameters::new(Required {
        mechanism: id,
        dim,
        k,
        epsilon,
        beta: hi - lo,
        range,
        seed: Seed(bytes),
    }))
    .unwrap()
}

fn dot(u: &[f32], v: &[f32]) -> f64 {
    u.iter().zip(v).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

fn cosine_of(u: &[f32], v: &[f32]) -> f64 {
    dot(u, v) / (dot(u, u) * dot(v, v)).sqrt()
}

/// How often intervals hold their truth; an estimate without a value does not count.
#[derive(Default)]
struct Coverage {
    held: usize,
    asked: usize,
}

impl Coverage {
    fn add(&mut self, told: &Estimate, truth: f64) {
        let (from, to) = told.interval;
        if !told.value.is_nan() {
            assert!(from < to && told.variance > 0.0, "no width: {told:?}");
            self.asked += 1;
            self.held += usize::from((from - 1e-9..=to + 1e-9).contains(&truth));
        }
    }

    fn check(&self, what: &str) {
        let share = self.held as f64 / self.asked as f64;
        println!("{what}: {share:.4} of {}", self.asked);
        assert!(self.asked >= 500 && share >= 0.93, "{what}: covers {share:.4} of {}", self.asked);
    }
}

/// The rows two by two, with the two vectors of each pair.
fn each_pair<'a>(
    release: &'a Release,
    rows: &'a [f32],
    dim: usize,
) -> impl Iterator<Item = (RowRef<'a>, RowRef<'a>, &'a [f32], &'a [f32])> {
    rows.chunks_exact(2 * dim).enumerate().map(move |(i, pair)| {
        let row = |row| RowRef::new(release, row).unwrap();
        (row(2 * i), row(2 * i + 1), &pair[..dim], &pair[dim..])
    })
}

/// Pictures of 28 by 28 with one bright block each, most of them dark: like digits, most norms are lost at epsilon 1.
fn pictures(count: usize, seed: u64) -> Vec<f32> {
    let mut draw = Draw::new(seed);
    let picture = |draw: &mut Draw| -> Vec<f32> {
        let mut at = |span: f64| (draw.uniform() * span) as usize;
        let (left, top, wide, high) = (at(14.0), at(14.0), 6 + at(9.0), 6 + at(9.0));
        let inside = |i: usize| (left..left + wide).contains(&(i % 28)) && (top..top + high).contains(&(i / 28));
        (0..784).map(|i| if inside(i) { 100.0 + (155.0 * draw.uniform()) as f32 } else { 0.0 }).collect()
    };
    (0..count).flat_map(|_| picture(&mut draw)).collect()
}

#[test]
fn cosines_hold_where_norms_are_lost_in_noise() {
    for (id, k) in [(MechanismId::DpOporpStaircase, 256), (MechanismId::RawStaircase, 784)] {
        for epsilon in [1.0, 2.0, 4.0] {
            let (mut cosines, mut angles) = (Coverage::default(), Coverage::default());
            for trial in 0..50 {
                let rows = pictures(80, trial);
                let mechanism = mechanism(id, 784, k, epsilon, (0.0, 255.0), trial as usize);
                let release = released(&mechanism, None, trial as u8, Rows::dense(Scalars::F32(&rows), 784));
                for (a, b, u, v) in each_pair(&release, &rows, 784) {
                    cosines.add(&estimate::cosine(a, b).unwrap(), cosine_of(u, v));
                    angles.add(&estimate::angle(a, b).unwrap(), cosine_of(u, v).acos());
                }
            }
            cosines.check(&format!("cosine of {id} at {epsilon}"));
            angles.check(&format!("angle of {id} at {epsilon}"));
        }
    }
}

#[test]
fn cosines_of_equal_rows_have_a_width() {
    let mut draw = Draw::new(8);
    for (k, epsilon) in [(16, 30.0), (64, 30.0), (64, 10.0), (64, 5.0)] {
        let (mut cosines, mut angles) = (Coverage::default(), Coverage::default());
        for trial in 0..100 {
            let row: Vec<f32> = (0..64).map(|_| (16.0 * draw.uniform().powi(2)) as f32).collect();
            let rows: Vec<f32> = std::iter::repeat_n(row, 40).flatten().collect();
            let mechanism = mechanism(MechanismId::DpOporpStaircase, 64, k, epsilon, (0.0, 16.0), trial);
            let release = released(&mechanism, None, trial as u8, Rows::dense(Scalars::F32(&rows), 64));
            for (a, b, ..) in each_pair(&release, &rows, 64) {
                let told = estimate::cosine(a, b).unwrap();
                assert!(told.value.is_nan() || (-1.0 <= told.interval.0 && told.interval.1 <= 1.0), "{told:?}");
                cosines.add(&told, 1.0);
                angles.add(&estimate::angle(a, b).unwrap(), 0.0);
            }
        }
        cosines.check(&format!("equal rows, k = {k}, epsilon {epsilon}"));
        angles.check(&format!("angle of equal rows, k = {k}, epsilon {epsilon}"));
    }
}

fn is(told: Result<Estimate, EstimateError>, reason: NotIdentifiable) -> bool {
    matches!(told, Err(EstimateError::NotIdentifiable(found)) if found == reason)
}

/// A row and a copy of it, or two sticky releases of an unchanged row, have the same noise.
#[test]
fn rows_that_share_their_noise_are_not_compared() {
    let mut draw = Draw::new(9);
    let rows: Vec<f32> = (0..5 * 64).map(|_| draw.uniform() as f32).collect();
    let table = Rows::dense(Scalars::F32(&rows), 64);
    let bits = {
        let range = Range::new(0.0, 1.0).unwrap();
        let id = MechanismId::DpSignrpRr;
        Mechanism::new(Parameters::new(Required {
            mechanism: id,
            dim: 64,
            k: 32,
            epsilon: 40.0,
            beta: 1.0,
            range,
            seed: Seed([1; 32]),
        }))
        .unwrap()
    };
    let values = mechanism(MechanismId::DpOporpStaircase, 64, 32, 1.0, (0.0, 1.0), 1);
    for (mechanism, reason) in [(values, NotIdentifiable::SameRow), (bits, NotIdentifiable::SameBits)] {
        let compared: fn(RowRef<'_>, RowRef<'_>) -> Result<Estimate, EstimateError> = match reason {
            NotIdentifiable::SameRow => estimate::squared_distance,
            _ => estimate::angle,
        };
        let check = |before: &Release, after: &Release, (i, j): (usize, usize)| {
            let (a, b) = (RowRef::new(before, i).unwrap(), RowRef::new(after, j).unwrap());
            assert!(is(compared(a, b), reason), "{reason:?}: rows {i} and {j}");
            let other = RowRef::new(after, (j + 1) % 3).unwrap();
            assert!(compared(a, other).is_ok(), "{reason:?}: different rows");
        };
        // A copy of one release with fresh noise.
        let fresh = Release::from_rows(&Releaser::new(mechanism.clone(), None).unwrap(), table).unwrap();
        check(&fresh, &fresh.clone(), (1, 1));
        let again = Release::from_rows(&Releaser::new(mechanism.clone(), None).unwrap(), table).unwrap();
        let independent = compared(RowRef::new(&fresh, 1).unwrap(), RowRef::new(&again, 1).unwrap());
        assert!(independent.is_ok(), "two releases with noise of their own");
        // Sticky, by row number: the second release has fewer rows.
        let fewer = Rows::dense(Scalars::F32(&rows[..3 * 64]), 64);
        let [before, after] = [table, fewer].map(|rows| released(&mechanism, None, 7, rows));
        check(&before, &after, (1, 1));
        // Sticky, by id: the rows stand at other places.
        let releaser = Releaser::new(mechanism.clone(), None).unwrap().keyed(NoiseKey::from_bytes([7; 32]));
        let with_ids = |from: i64, rows: &[f32]| {
            let ids: Vec<i64> = (from..from + (rows.len() / 64) as i64).collect();
            let mut bytes = Vec::new();
            let table = Rows::dense(Scalars::F32(rows), 64);
            releaser.release(table, 0, |i| ids[i].to_le_bytes().to_vec(), &mut bytes).unwrap();
            Release::new(&releaser, bytes, Some(Column::Int(ids.clone())), None)
        };
        let [before, after] = [with_ids(10, &rows), with_ids(11, &rows[64..4 * 64])];
        check(&before, &after, (2, 1));
    }
}

/// 5% of the people say yes to all of 100 questions: lengths vary far more than those of a normal law.
#[test]
fn squared_lengths_hold_where_few_people_say_yes_to_all() {
    const TRIALS: usize = 2000;
    let mechanism = mechanism(MechanismId::RawStaircase, 100, 100, 2.0, (0.0, 1.0), 0);
    let mut draw = Draw::new(10);
    let mut release = |trial: usize| {
        let answer: Vec<f32> = (0..200).map(|_| f32::from(u8::from(draw.uniform() < 0.05))).collect();
        let rows: Vec<f32> = answer.iter().flat_map(|&x| std::iter::repeat_n(x, 100)).collect();
        let mut key = [5; 32];
        key[..8].copy_from_slice(&trial.to_le_bytes());
        let releaser = Releaser::new(mechanism.clone(), None).unwrap().keyed(NoiseKey::from_bytes(key));
        Release::from_rows(&releaser, Rows::dense(Scalars::F32(&rows), 100)).unwrap()
    };
    let [mut now, mut drift] = [0, 0];
    let mut before = release(TRIALS);
    for trial in 0..TRIALS {
        let after = release(trial);
        let held = |told: &statistics::Told, truth: f64| {
            let (from, to) = told.family().unwrap().figures[0].interval;
            usize::from((from..=to).contains(&truth))
        };
        now += held(&statistics::of(&after, &Options::default()).unwrap().squared_norm, 5.0);
        drift += held(&statistics::difference(&before, &after, &Options::default()).unwrap().squared_norm, 0.0);
        before = after;
    }
    let [now, drift] = [now, drift].map(|held| held as f64 / TRIALS as f64);
    println!("squared length: {now:.4}, drift {drift:.4}");
    assert!(now >= 0.93 && drift >= 0.93, "{now} {drift}");
}

#[test]
fn angles_from_bits_hold_for_nearly_equal_rows() {
    for (k, epsilon, apart) in
        [(32, 30.0, 0.05f64), (64, 64.0, 0.05), (256, 200.0, 0.01), (32, 30.0, 3.09), (8, 8.0, 1.0)]
    {
        let mut coverage = Coverage::default();
        for trial in 0..100 {
            let mut row = vec![0.0; 16];
            row[0] = 0.5;
            let mut other = vec![0.0; 16];
            (other[0], other[1]) = ((0.5 * apart.cos()) as f32, (0.5 * apart.sin()) as f32);
            let rows: Vec<f32> = std::iter::repeat_n([row, other].concat(), 20).flatten().collect();
            let mechanism = {
                let mut parameters =
                    mechanism(MechanismId::DpSignrpRr, 16, k, epsilon, (-1.0, 1.0), trial).parameters().clone();
                parameters.projection = Some("gaussian".parse().unwrap());
                Mechanism::new(parameters).unwrap()
            };
            let release = released(&mechanism, None, trial as u8, Rows::dense(Scalars::F32(&rows), 16));
            for (a, b, ..) in each_pair(&release, &rows, 16) {
                let told = estimate::angle(a, b).unwrap();
                let (from, to) = told.interval;
                assert!(0.0 <= from && to <= std::f64::consts::PI && (from..=to).contains(&told.value), "{told:?}");
                coverage.add(&told, apart);
            }
        }
        coverage.check(&format!("angle {apart} from {k} bits at {epsilon}"));
    }
}

#[test]
fn small_sketches_hold_their_truth() {
    let mut draw = Draw::new(11);
    for (k, epsilon) in [(4, 20.0), (8, 20.0), (16, 20.0), (4, 5.0), (8, 5.0), (16, 5.0), (32, 5.0)] {
        for id in [MechanismId::DpOporpLaplace, MechanismId::DpRpL] {
            let [mut inner, mut query, mut norm, mut distance, mut cosine] =
                std::array::from_fn(|_| Coverage::default());
            for trial in 0..2000 {
                let row: Vec<f32> = (0..128).map(|_| draw.uniform() as f32).collect();
                let other: Vec<f32> = row.iter().map(|x| 0.5 * x + 0.5 * draw.uniform() as f32).collect();
                let rows = [row, other].concat();
                let mechanism = mechanism(id, 128, k, epsilon, (0.0, 1.0), trial);
                let table = Rows::dense(Scalars::F32(&rows), 128);
                let (release, exact) =
                    (released(&mechanism, None, trial as u8, table), ExactQueries::project(&mechanism, table).unwrap());
                for (a, b, u, v) in each_pair(&release, &rows, 128) {
                    cosine.add(&estimate::cosine(a, b).unwrap(), cosine_of(u, v));
                    inner.add(&estimate::inner_product(a, b).unwrap(), dot(u, v));
                    query.add(&estimate::inner_product_with_query(a, exact.row(1)).unwrap(), dot(u, v));
                    norm.add(&estimate::squared_norm(a).unwrap(), dot(u, u));
                    let apart = dot(u, u) + dot(v, v) - 2.0 * dot(u, v);
                    distance.add(&estimate::squared_distance(a, b).unwrap(), apart);
                }
            }
            cosine.check(&format!("cosine of {id}, k = {k}, epsilon {epsilon}"));
            inner.check(&format!("inner product of {id}, k = {k}, epsilon {epsilon}"));
            query.check(&format!("inner product with a query, {id}, k = {k}, epsilon {epsilon}"));
            norm.check(&format!("squared norm of {id}, k = {k}, epsilon {epsilon}"));
            distance.check(&format!("squared distance of {id}, k = {k}, epsilon {epsilon}"));
        }
    }
}

#[test]
fn too_small_sketches_are_refused() {
    let rows: Vec<f32> = (0..2 * 64).map(|i| (i % 7) as f32 / 7.0).collect();
    let release = |k: usize| {
        let mechanism = mechanism(MechanismId::DpOporpLaplace, 64, k, 5.0, (0.0, 1.0), 0);
        released(&mechanism, None, 1, Rows::dense(Scalars::F32(&rows), 64))
    };
    let few = release(3);
    let (a, b) = (RowRef::new(&few, 0).unwrap(), RowRef::new(&few, 1).unwrap());
    let told = [
        estimate::inner_product(a, b),
        estimate::inner_product_with_query(a, &[1.0; 3]),
        estimate::squared_norm(a),
        estimate::squared_distance(a, b),
        estimate::cosine(a, b),
        estimate::angle(a, b),
    ];
    assert!(told.into_iter().all(|told| is(told, NotIdentifiable::FewCoordinates)));
    // A query that the projection loses tells nothing about any row.
    let enough = release(16);
    let lost = estimate::inner_product_with_query(RowRef::new(&enough, 0).unwrap(), &[0.0; 16]);
    assert!(is(lost, NotIdentifiable::LostQuery));
}

/// Single floats near 20,000 are .002 apart, and equal rows are all rounded alike: no number of rows averages it away.
#[test]
fn means_of_large_values_have_room_for_their_rounding() {
    let mechanism = mechanism(MechanismId::RawStaircase, 2, 2, 10.0, (2e4, 2e4 + 1.0), 0);
    let rows: Vec<f64> = (0..50_000).flat_map(|_| [20000.2613, 20000.8]).collect();
    for trial in 0..20 {
        let release = released(&mechanism, None, trial, Rows::dense(Scalars::F64(&rows), 2));
        let told = statistics::of(&release, &Options { target: Target::Rows, ..Options::default() }).unwrap();
        for told in [&told.mean, &told.attribute_mean] {
            let (from, to) = told.family().unwrap().figures[0].interval;
            assert!((from..=to).contains(&20000.2613) && to - from < 0.01, "{from} {to}");
        }
        let (from, to) = told.squared_norm.family().unwrap().figures[0].interval;
        assert!((from..=to).contains(&(20000.2613f64.powi(2) + 20000.8f64.powi(2))), "{from} {to}");
    }
}
