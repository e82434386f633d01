//! Intervals where they are hard: norms lost in noise, equal rows, small sketches, shared noise, rounding.
//!
//! Where an interval's true coverage is 95%, fewer than 93% of 2,000 trials are covered with probability alpha = 3e-5
//! (binomial law). Keys and seeds are fixed, so each test has the same outcome in every run.

use crate::support::{Draw, released};
use scumble::estimate::{self, Estimate, RowRef};
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::Seed;
use scumble::release::Release;
use scumble::vectors::{Range, Rows, Scalars};

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
