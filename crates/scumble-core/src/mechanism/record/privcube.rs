//! PrivCube: publish a vertex `y` of the cube {-1,1}^k, likelier where it agrees with the record. Unit `record`.
//!
//! Ours. Symbols: `w` integer weights, a function of one record · `M` cap size, `E <= e^epsilon` odds, both public.
//! The M vertices with the largest `<y,w>` have weight E, the others 1; where M falls inside a level of equal scores,
//! its members share what is left of the cap evenly. The weights add up to `M E + 2^k - M` for EVERY w, so each
//! probability lies in `[1, E]` over that total: pure epsilon between any two records, with no assumption on norms,
//! ranges or floats. `E` is an integer over 2^64 rounded down, which rounds toward more noise.
//! Sampled as a mixture: a uniform vertex with weight `2^k`, a member of the cap with weight `M (E-1)`. Both are always
//! drawn, by loops whose length depends on k only: the running time reveals neither the weights nor which is published.

use super::odds::Odds;
use super::vertices::{Vertices, WEIGHT_LIMIT};
use super::{Cap, Gain};
use crate::error::{MechanismError, ParameterError, Refusal};
use crate::exact::WorstRatio;
use crate::mechanism::parameters::{Purpose, Setup};
use crate::mechanism::recipe::Recipe;
use crate::noise::{Choice, SecretRng};
use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};
use std::cell::RefCell;

/// Weights are spread to this standard deviation before rounding: about 1% of the correlation is lost to it.
const SPREAD: f64 = 2.5;

thread_local! {
    static VERTICES: RefCell<Vertices> = RefCell::default(); // 0.9 MB at k = 128: not rebuilt for every row
}

/// The mechanism with its public integers.
#[derive(Debug, Clone)]
pub struct Privcube {
    k: usize,
    cap: u128,    // M, at most 2^(k-1)
    odds: Odds,   // E
    coin: Choice, // 0: a member of the cap, 1: any vertex
    gain: Gain,
}

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    super::recipe(setup, |k, epsilon| Ok(Cap::Privcube(Privcube::for_purpose(k, epsilon, setup.parameters.purpose)?)))
}

impl Privcube {
    /// Fixes and checks every public number. Reads no private data, so its errors may be shown to anyone.
    pub fn new(k: usize, epsilon: &BigRational) -> Result<Self, ParameterError> {
        Self::for_purpose(k, epsilon, None)
    }

    /// The same with the cap that suits a purpose. The cap is public, so the proof is the same for any.
    pub(crate) fn for_purpose(
        k: usize,
        epsilon: &BigRational,
        purpose: Option<Purpose>,
    ) -> Result<Self, ParameterError> {
        if !(1..=128).contains(&k) {
            return Err(MechanismError::PrivcubeK { k }.into());
        }
        let odds = Odds::new(epsilon)?;
        let typical = Typical::new(k);
        let cap = match purpose {
            Some(Purpose::Search) => search_cap(k, epsilon, &odds),
            Some(Purpose::Training) => typical.best_cap(&odds, |mean| mean),
            None => typical.best_cap(&odds, |mean| mean * mean.sqrt()),
        };
        let gain = typical.gain(cap, &odds);
        let uniform = Odds::denom() << k;
        let coin = Choice::new([odds.excess() * cap, uniform]);
        let cube = Self { k, cap, odds, coin, gain };
        cube.check()?;
        Ok(cube)
    }

    /// Proves on the integers that run that every probability lies in `[1, E]/total`.
    ///
    /// A vertex has weight 1 from the uniform part and between 0 and `E-1` from the cap: at most, because the cap's
    /// weight `M (E-1)` is spread over at least M vertices of which none gets more than the M-th part.
    fn check(&self) -> Result<(), ParameterError> {
        let vertices = BigUint::one() << self.k;
        let cap = BigUint::from(self.cap);
        let total = &cap * &self.odds.numer + (&vertices - &cap) * Odds::denom();
        let holds = self.cap >= 1
            && &cap + &cap <= vertices
            && self.coin.weight(0) == &cap * self.odds.excess()
            && self.coin.weight(1) == &vertices * Odds::denom()
            && *self.coin.total() == total;
        if holds { Ok(()) } else { Err(Refusal::Privcube.into()) }
    }

    /// Size of the sketch.
    pub fn k(&self) -> usize {
        self.k
    }

    /// `M`, out of 2^k.
    pub fn cap(&self) -> u128 {
        self.cap
    }

    /// The worst ratio between any two records: exactly E.
    pub fn worst_ratio(&self) -> WorstRatio {
        self.odds.worst_ratio()
    }

    /// What an estimator needs to know about the release; public.
    pub fn gain(&self) -> Gain {
        self.gain
    }

    /// Publishes one record. Bit 1 means plus; the first coordinate is the most significant bit of byte 0.
    ///
    /// # Panics
    /// If `w` has not k entries in -7..=7, or `out` not `ceil(k/8)` bytes.
    pub fn release(&self, w: &[i32], out: &mut [u8], rng: &mut SecretRng) {
        pack(self.vertex(w, rng), self.k, out);
    }

    /// Replaces a projected record by its released bits, 0 and 1.
    pub(crate) fn apply(&self, x: &mut [i64], rng: &mut SecretRng) {
        let mut w = [0; 128];
        let w = &mut w[..self.k];
        weights(x, w);
        let y = self.vertex(w, rng);
        x.iter_mut().enumerate().for_each(|(i, bit)| *bit = (y >> i & 1) as i64);
    }

    fn vertex(&self, w: &[i32], rng: &mut SecretRng) -> u128 {
        assert_eq!(w.len(), self.k, "k weights");
        VERTICES.with_borrow_mut(|vertices| {
            vertices.count(w);
            self.draw(w, vertices, rng)
        })
    }

    fn draw(&self, w: &[i32], vertices: &Vertices, rng: &mut SecretRng) -> u128 {
        let in_cap = self.coin.draw(rng) == 0;
        let uniform = rng.up_to(u128::MAX >> (128 - self.k));
        let rank = rng.up_to(self.cap - 1);
        let last = self.last_level(vertices);
        let tie = rng.up_to(vertices.at(last).wrapping_sub(1));
        let member = self.member(w, vertices, last, rank, tie);
        // No branch on which of the two is published.
        let mask = 0u128.wrapping_sub(u128::from(in_cap));
        (member & mask) | (uniform & !mask)
    }

    /// The penalty at which the cap ends: `count(< d) < M <= count(<= d)`.
    fn last_level(&self, vertices: &Vertices) -> usize {
        vertices.locate(self.cap - 1).0
    }

    /// Member `rank` of the cap; the last level is shared evenly, by a number `tie` among all of that level.
    fn member(&self, w: &[i32], vertices: &Vertices, last: usize, rank: u128, tie: u128) -> u128 {
        let (penalty, within) = vertices.locate(rank);
        vertices.vertex(w, penalty, if penalty == last { tie } else { within })
    }

    /// The law of the release for one record, by running the sampler's own choices over all its draws.
    ///
    /// # Panics
    /// If k is above 12, or `w` has not k entries in -7..=7.
    pub fn probabilities(&self, w: &[i32]) -> Vec<BigRational> {
        let mut vertices = Vertices::default();
        vertices.count(w);
        self.probabilities_by(w, &vertices)
    }

    fn probabilities_by(&self, w: &[i32], vertices: &Vertices) -> Vec<BigRational> {
        assert!(self.k <= 12 && w.len() == self.k, "enumeration is for k <= 12");
        let last = self.last_level(vertices);
        let ties = vertices.at(last);
        let mut hits = vec![0u128; 1 << self.k]; // of the M * ties draws (rank, tie)
        for rank in 0..self.cap {
            // Below the last level the tie is not looked at, so one look covers all.
            if vertices.locate(rank).0 < last {
                hits[self.member(w, vertices, last, rank, 0) as usize] += ties;
            } else {
                (0..ties).for_each(|tie| hits[self.member(w, vertices, last, rank, tie) as usize] += 1);
            }
        }
        let uniform = BigRational::new(self.coin.weight(1).into(), BigUint::from(hits.len()).into());
        let share = BigRational::new(self.coin.weight(0).into(), (BigUint::from(self.cap) * ties).into());
        let total = BigRational::from_integer(self.coin.total().clone().into());
        hits.into_iter().map(|n| (&uniform + &share * BigRational::from_integer(n.into())) / &total).collect()
    }

    /// `E<y,w>` for one record. It depends on w through counts only, but it is private: never publish it.
    #[cfg(test)]
    pub(crate) fn expected_score(&self, w: &[i32]) -> f64 {
        let mut vertices = Vertices::default();
        vertices.count(w);
        let norm1 = w.iter().map(|w| f64::from(w.abs())).sum();
        let share = super::odds::ratio(&self.coin.weight(0), self.coin.total());
        share * cap_moments(&vertices, norm1, self.cap).0
    }
}

/// Integer weights of a projected record: spread to 2.5, rounded, clipped to -7..=7; a zero record has zero weights.
///
/// Any function of one record would be private, so floats are fine here.
///
/// # Panics
/// If the lengths differ.
pub fn weights(x: &[i64], w: &mut [i32]) {
    assert_eq!(x.len(), w.len(), "a weight for each coordinate");
    let norm = x.iter().map(|&x| (x as f64).powi(2)).sum::<f64>().sqrt();
    let scale = if norm > 0.0 { SPREAD * (x.len() as f64).sqrt() / norm } else { 0.0 };
    let limit = f64::from(WEIGHT_LIMIT);
    w.iter_mut().zip(x).for_each(|(w, &x)| *w = (x as f64 * scale).round().clamp(-limit, limit) as i32);
}

/// Writes coordinate i of the vertex into bit i, counted from the most significant bit of byte 0.
fn pack(vertex: u128, k: usize, out: &mut [u8]) {
    assert_eq!(out.len(), k.div_ceil(8), "one bit for each coordinate");
    let bytes = vertex.reverse_bits().to_be_bytes();
    out.copy_from_slice(&bytes[..out.len()]);
}

/// Mean and mean square of `<y,w>` over the cap, where the last level counts by its share.
fn cap_moments(vertices: &Vertices, norm1: f64, cap: u128) -> (f64, f64) {
    let (last, _) = vertices.locate(cap - 1);
    let (mut left, mut first, mut second) = (cap, 0.0, 0.0);
    for penalty in 0..=last {
        let members = if penalty == last { left } else { vertices.at(penalty) };
        let score = norm1 - 2.0 * penalty as f64;
        first += members as f64 * score;
        second += members as f64 * score * score;
        left -= members;
    }
    (first / cap as f64, second / cap as f64)
}

/// `M = floor(q 2^k)` with `q = p / (p + (1-p) E)`: a member of the cap is drawn with probability p, which is .6 up to
/// epsilon 12, .9 at 20 and .93 from 30 on, on lines between. In exact rationals, so that it is the same on every machine.
fn search_cap(k: usize, epsilon: &BigRational, odds: &Odds) -> u128 {
    let ratio = |num: i64, den: i64| BigRational::new(num.into(), den.into());
    let p = if *epsilon <= ratio(12, 1) {
        ratio(3, 5)
    } else if *epsilon <= ratio(20, 1) {
        ratio(3, 5) + (epsilon - ratio(12, 1)) * ratio(3, 80)
    } else {
        (ratio(9, 10) + (epsilon - ratio(20, 1)) * ratio(3, 1000)).min(ratio(93, 100))
    };
    let e = BigRational::new(odds.numer.clone().into(), Odds::denom().into());
    let q = &p / (&p + (BigRational::one() - &p) * e);
    let cap = (q * BigRational::from_integer((BigUint::one() << k).into())).floor().to_integer();
    cap.to_u128().unwrap_or(u128::MAX).clamp(1, 1 << (k - 1))
}

/// The record for which the cap is chosen: as many coordinates of each absolute weight as a Gaussian vector has.
struct Typical {
    k: usize,
    norm1: f64,
    norm2: f64,
    vertices: Vertices,
}

impl Typical {
    fn new(k: usize) -> Self {
        // The share of |w| >= v is P(|Z| >= (v - 1/2)/2.5).
        let at_least = |v: i32| {
            let z = (f64::from(v) - 0.5) / SPREAD;
            (k as f64 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)).round() as usize
        };
        let mut w = vec![0; k];
        (1..=WEIGHT_LIMIT).for_each(|v| w[..at_least(v).min(k)].fill(v));
        w[0] = w[0].max(1); // k = 1 still has a direction
        let mut vertices = Vertices::default();
        vertices.count(&w);
        let norm1 = w.iter().map(|&w| f64::from(w)).sum();
        let norm2 = w.iter().map(|&w| f64::from(w * w)).sum::<f64>().sqrt();
        Self { k, norm1, norm2, vertices }
    }

    /// The cap that ends with one of the typical record's levels and has the largest `share * worth(mean)`.
    ///
    /// The plain mean is best for training; search, which lives on the rows that stand out, wants a smaller cap. On real
    /// embeddings this exponent costs training less than .01 and gives search most of what there is to gain.
    fn best_cap(&self, odds: &Odds, worth: fn(f64) -> f64) -> u128 {
        let half = 1u128 << (self.k - 1);
        let mut best = (0.0, half);
        let mut cap = 0u128;
        for penalty in 0.. {
            cap += self.vertices.at(penalty); // no wrap: the loop ends at half of all vertices
            if cap > half {
                break;
            }
            if self.vertices.at(penalty) > 0 {
                let (mean, _) = cap_moments(&self.vertices, self.norm1, cap);
                let merit = odds.share(&cap.into(), self.k) * worth(mean);
                best = if merit > best.0 { (merit, cap) } else { best };
            }
            if cap == half {
                break;
            }
        }
        best.1
    }

    fn gain(&self, cap: u128, odds: &Odds) -> Gain {
        let share = odds.share(&cap.into(), self.k);
        let (mean, second) = cap_moments(&self.vertices, self.norm1, cap);
        // Scores against x^ instead of w/|w|: rounding turned the direction by the cosine 2.5 sqrt(k)/|w|.
        let cosine = (SPREAD * (self.k as f64).sqrt() / self.norm2).min(1.0);
        let scale = cosine / self.norm2;
        let second = second * scale * scale + (1.0 - cosine * cosine);
        Gain::new(self.k, share, mean * scale, second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::rational;
    use num_traits::ToPrimitive;

    fn cube(k: usize, epsilon: f64) -> Privcube {
        Privcube::new(k, &rational(epsilon)).unwrap()
    }

    fn counted(w: &[i32]) -> Vertices {
        let mut vertices = Vertices::default();
        vertices.count(w);
        vertices
    }

    fn score(w: &[i32], y: usize) -> i32 {
        w.iter().enumerate().map(|(i, w)| if y >> i & 1 == 1 { *w } else { -w }).sum()
    }

    /// The definition, word for word, with no table: E above t, 1 below, phi E + 1 - phi at t.
    fn definition(cube: &Privcube, w: &[i32]) -> Vec<BigRational> {
        let scores: Vec<i32> = (0..1 << cube.k).map(|y| score(w, y)).collect();
        let count = |holds: &dyn Fn(i32) -> bool| scores.iter().filter(|&&s| holds(s)).count() as u128;
        let t = *scores.iter().find(|&&t| count(&|s| s > t) < cube.cap && cube.cap <= count(&|s| s >= t)).unwrap();
        let phi = BigRational::new((cube.cap - count(&|s| s > t)).into(), count(&|s| s == t).into());
        let one = BigRational::one();
        let e = BigRational::new(cube.odds.numer.clone().into(), Odds::denom().into());
        let total = &e * BigRational::from_integer(cube.cap.into())
            + BigRational::from_integer(((1u128 << cube.k) - cube.cap).into());
        let weight = |s: i32| match s.cmp(&t) {
            std::cmp::Ordering::Greater => e.clone(),
            std::cmp::Ordering::Less => one.clone(),
            std::cmp::Ordering::Equal => &phi * &e + &one - &phi,
        };
        scores.into_iter().map(|s| weight(s) / &total).collect()
    }

    /// Sums to 1, every probability in [1, E]/total, and equal to the definition.
    fn is_right(cube: &Privcube, w: &[i32], law: &[BigRational]) -> bool {
        let total = cube.coin.total();
        let bound = |weight: BigUint| BigRational::new(weight.into(), total.clone().into());
        let (least, most) = (bound(Odds::denom()), bound(cube.odds.numer.clone()));
        law.iter().sum::<BigRational>().is_one()
            && law.iter().all(|p| (&least..=&most).contains(&p))
            && law == definition(cube, w)
    }

    /// 200 weight vectors: zero, unit, dense, extreme, for k = 1..=12.
    fn weight_vectors() -> Vec<Vec<i32>> {
        let mut rng = SecretRng::for_tests(200);
        let mut draw = |low: i32, high: i32| low + rng.below_u32((high - low + 1) as u32) as i32;
        let mut all = Vec::new();
        for k in 1..=12usize {
            all.push(vec![0; k]);
            all.push(vec![7; k]);
            all.push((0..k).map(|i| if i % 2 == 0 { 7 } else { -7 }).collect());
            all.push((0..k).map(|i| i32::from(i == k / 2)).collect());
            all.push((0..k).map(|i| if i == 0 { -7 } else { 0 }).collect());
            all.push((0..k).map(|i| if i == 0 { 7 } else { 1 }).collect());
        }
        for i in all.len()..200 {
            let k = 2 + i % 11;
            let limit = [1, 3, 7][i % 3];
            all.push((0..k).map(|_| draw(-limit, limit)).collect());
        }
        all
    }

    #[test]
    fn exact_law_on_200_weight_vectors() {
        let vectors = weight_vectors();
        assert_eq!(vectors.len(), 200);
        for (i, w) in vectors.iter().enumerate() {
            let epsilon = [0.1, 1.0, 3.0, 6.0, 20.0][i % 5];
            let cube = cube(w.len(), epsilon);
            assert!(is_right(&cube, w, &cube.probabilities(w)), "epsilon {epsilon} {w:?}");
            assert!(cube.worst_ratio().at_most_exp(&rational(epsilon)));
        }
    }

    /// Search and training caps: other public numbers under the same proof, in exact rationals.
    #[test]
    fn caps_of_every_purpose_have_the_law() {
        for (i, w) in weight_vectors().iter().enumerate().step_by(3) {
            let epsilon = [0.1, 1.0, 3.0, 6.0, 13.0, 25.0][i / 3 % 6];
            for purpose in [Purpose::Search, Purpose::Training] {
                let cube = Privcube::for_purpose(w.len(), &rational(epsilon), Some(purpose)).unwrap();
                assert!(is_right(&cube, w, &cube.probabilities(w)), "{purpose:?} epsilon {epsilon} {w:?}");
            }
        }
        for (epsilon, p) in
            [(5.0, 0.6), (12.0, 0.6), (16.0, 0.75), (20.0, 0.9), (25.0, 0.915), (30.0, 0.93), (40.0, 0.93)]
        {
            let cap = search_cap(64, &rational(epsilon), &Odds::new(&rational(epsilon)).unwrap()) as f64;
            let expected = p / (p + (1.0 - p) * f64::exp(epsilon)) * 2f64.powi(64);
            assert!((cap / expected - 1.0).abs() < 1e-6 || (cap - expected).abs() < 2.0, "{epsilon}: {cap} {expected}");
        }
    }

    #[test]
    fn planted_faults_are_found() {
        let w = [0, 0, 3, -1, 2, 7, -5, 1];
        let right = cube(8, 3.0);
        let vertices = counted(&w);
        let last = right.last_level(&vertices);
        let above: u128 = (0..last).map(|d| vertices.at(d)).sum();
        assert!(above < right.cap && right.cap < above + vertices.at(last), "the cap ends inside a level");
        // The level at the boundary left out, or counted whole: each of the others gets too much, or too little.
        for cap in [above, above + vertices.at(last)] {
            let wrong = Privcube { cap, ..right.clone() };
            assert!(!is_right(&right, &w, &wrong.probabilities(&w)));
            assert!(wrong.check().is_err());
        }
        // A cap size that depends on w.
        let size = |w: &[i32]| right.cap - u128::from(w[5] > 5);
        let wrong = Privcube { cap: size(&w), ..right.clone() };
        assert!(!is_right(&right, &w, &wrong.probabilities(&w)));
        // A count that is off by one: at the top level, at the boundary, inside the table.
        for (row, penalty) in [(8, 2), (8, last), (1, 0)] {
            let mut wrong = vertices.clone();
            assert!(wrong.at(2) > 1);
            wrong.plant(row, penalty, -1);
            assert!(!is_right(&right, &w, &right.probabilities_by(&w, &wrong)), "row {row}");
        }
    }

    /// Chi-square of draws at k = 8 against the exact law, 255 degrees of freedom.
    fn chi_square(law: &[BigRational], draws: usize, mut draw: impl FnMut() -> usize) -> f64 {
        let mut counts = [0u32; 256];
        (0..draws).for_each(|_| counts[draw()] += 1);
        let expected = |y: usize| law[y].to_f64().unwrap() * draws as f64;
        counts.iter().enumerate().map(|(y, &n)| (f64::from(n) - expected(y)).powi(2) / expected(y)).sum()
    }

    #[test]
    fn sampler_law_by_chi_square() {
        let w = [0, 0, 3, -1, 2, 7, -5, 1];
        let cube = cube(8, 3.0);
        let law = cube.probabilities(&w);
        let mut rng = SecretRng::for_tests(88);
        let mut out = [0];
        let chi = chi_square(&law, 10_000_000, || {
            cube.release(&w, &mut out, &mut rng);
            usize::from(out[0].reverse_bits())
        });
        assert!(chi < 377.0, "{chi}"); // alpha = 1e-6
        // Planted faults, with a tenth of the draws: the boundary left out, a count off by one, a uniform part unmasked.
        let vertices = counted(&w);
        let (last, mut wrong_counts) = (cube.last_level(&vertices), vertices.clone());
        let above = (0..last).map(|d| vertices.at(d)).sum();
        let smaller = Privcube { cap: above, ..cube.clone() };
        assert!(chi_square(&law, 1_000_000, || smaller.draw(&w, &vertices, &mut rng) as usize) > 1e3);
        wrong_counts.plant(1, 0, -1);
        assert!(chi_square(&law, 1_000_000, || cube.draw(&w, &wrong_counts, &mut rng) as usize) > 1e3);
        assert!(chi_square(&law, 1_000_000, || cube.draw(&w, &vertices, &mut rng) as usize | 2) > 1e3);
    }

    #[test]
    fn large_k_meets_the_expected_score() {
        let mut rng = SecretRng::for_tests(5);
        for k in [63, 64, 65, 127, 128] {
            for epsilon in [2.0, 10.0, 30.0] {
                let cube = cube(k, epsilon);
                let dense: Vec<i32> = (0..k).map(|_| rng.below_u32(15) as i32 - 7).collect();
                for w in [dense, vec![0; k], vec![7; k], (0..k as i32).map(|i| i32::from(i == 3)).collect()] {
                    let vertices = counted(&w);
                    let n = 2000;
                    let scores: Vec<f64> = (0..n)
                        .map(|_| cube.draw(&w, &vertices, &mut rng))
                        .map(|y| {
                            w.iter().enumerate().map(|(i, w)| f64::from(if y >> i & 1 == 1 { *w } else { -w })).sum()
                        })
                        .collect();
                    let mean = scores.iter().sum::<f64>() / f64::from(n);
                    let error = (scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>()).sqrt() / f64::from(n);
                    // 6 standard errors for each of 60 means.
                    assert!((mean - cube.expected_score(&w)).abs() <= 6.0 * error + 1e-9, "k {k} epsilon {epsilon}");
                }
            }
        }
    }

    #[test]
    fn zero_record_is_uniform_at_every_k() {
        let mut rng = SecretRng::for_tests(6);
        for k in [64, 128] {
            let cube = cube(k, 30.0);
            let vertices = counted(&vec![0; k]);
            let mut ones = vec![0i32; k];
            for _ in 0..4000 {
                let y = cube.draw(&vec![0; k], &vertices, &mut rng);
                ones.iter_mut().enumerate().for_each(|(i, n)| *n += (y >> i & 1) as i32);
            }
            // Standard deviation 32; 6 of them for each of 192 bits, the last included.
            assert!(ones.iter().all(|n| (n - 2000).abs() < 190), "{ones:?}");
        }
    }

    #[test]
    fn weights_are_spread_rounded_and_clipped() {
        let mut w = [9; 4];
        weights(&[0; 4], &mut w);
        assert_eq!(w, [0; 4]);
        weights(&[1000, -1000, 1000, -1000], &mut w);
        assert_eq!(w, [3, -3, 3, -3]); // 2.5, half away from zero
        weights(&[i64::MAX, i64::MIN, 0, 0], &mut w);
        assert_eq!(w, [4, -4, 0, 0]);
        let mut long = [0; 100];
        weights(&std::array::from_fn::<_, 100, _>(|i| i64::from(i == 0)), &mut long);
        assert_eq!(long[0], WEIGHT_LIMIT);
    }

    #[test]
    fn first_coordinate_is_the_most_significant_bit() {
        let mut out = [0; 2];
        pack(0b1_0000_0011, 9, &mut out);
        assert_eq!(out, [0b1100_0000, 0b1000_0000]);
    }

    #[test]
    fn bad_parameters_are_refused() {
        for (k, epsilon) in [(0, 1.0), (129, 1.0), (8, 0.0), (8, -1.0), (8, 501.0), (8, 1e-30)] {
            assert!(Privcube::new(k, &rational(epsilon)).is_err(), "{k} {epsilon}");
        }
    }
}
