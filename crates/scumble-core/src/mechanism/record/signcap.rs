//! signcap: publish `y` in {-1,1}^k that agrees with the signs of the projected record in h places. Unit `record`.
//!
//! Ours: PrivCube with all weights +-1, in O(k) for any k. Symbols: `z` signs of the projection, zero on the minus side ·
//! `h` agreements · `tau` public threshold · `E <= e^epsilon`. A vertex has weight E if it agrees with z in at least tau
//! places, else 1. The number of such vertices does not depend on z, hence neither does the total: every probability
//! lies in `[1, E]/total`, pure epsilon between any two records.
//! Sampled as h with weight `C(k,h) E^[h >= tau]`, then a uniform subset of k-h places that disagree.

use super::odds::{Odds, ratio};
use super::{Cap, Gain};
use crate::error::{MechanismError, ParameterError};
use crate::exact::WorstRatio;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::Recipe;
use crate::noise::{Choice, SecretRng};
use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::{One, Zero};

/// Beyond this the exact table of agreements would need more than about 40 MB.
const LARGEST_K: usize = 1 << 14;

/// The mechanism with its public integers.
#[derive(Debug, Clone)]
pub struct Signcap {
    k: usize,
    tau: usize,
    odds: Odds,         // E
    agreements: Choice, // law of h
    share: f64,         // how often a member of the cap, h >= tau, is drawn by the excess weight
    c1: f64,
    c2: f64,
}

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    super::recipe(setup, |k, epsilon| Ok(Cap::Signcap(Signcap::new(k, epsilon)?)))
}

impl Signcap {
    /// Fixes and checks every public number. Reads no private data, so its errors may be shown to anyone.
    pub fn new(k: usize, epsilon: &BigRational) -> Result<Self, ParameterError> {
        if !(1..=LARGEST_K).contains(&k) {
            return Err(MechanismError::SigncapK { k, most: LARGEST_K }.into());
        }
        let odds = Odds::new(epsilon)?;
        let vertices = binomials(k);
        let tau = best_threshold(&vertices, &odds);
        Ok(Self::with_threshold(odds, &vertices, tau))
    }

    fn with_threshold(odds: Odds, vertices: &[BigUint], tau: usize) -> Self {
        let k = vertices.len() - 1;
        let weight = |h: usize| if h >= tau { odds.numer.clone() } else { Odds::denom() };
        let agreements = Choice::new(vertices.iter().enumerate().map(|(h, n)| n * weight(h)));
        // Means of 2h-k and of its square over the cap: E[y_j z_j] = c1 and E[y_i z_i y_j z_j] = c2 there.
        let members: BigUint = vertices[tau..].iter().sum();
        let squares: BigUint = (tau..=k).map(|h| &vertices[h] * (2 * h).abs_diff(k).pow(2)).sum();
        let size = k as f64;
        let c1 = ratio(&(&vertices[tau] * tau), &members) / size;
        let c2 = if k > 1 { (ratio(&squares, &members) - size) / (size * (size - 1.0)) } else { 0.0 };
        let share = odds.share(&members, k);
        let cap = Self { k, tau, odds, agreements, share, c1, c2 };
        cap.check(vertices);
        cap
    }

    /// Proves on the integers that run that a vertex with h agreements has weight 1 or E over the total.
    fn check(&self, vertices: &[BigUint]) {
        let holds = vertices.iter().enumerate().all(|(h, n)| {
            let one_vertex = if h >= self.tau { self.odds.numer.clone() } else { Odds::denom() };
            self.agreements.weight(h) == n * one_vertex
        });
        assert!(holds && vertices.iter().sum::<BigUint>() == BigUint::one() << self.k, "signcap's integers agree");
    }

    /// Size of the sketch.
    pub fn k(&self) -> usize {
        self.k
    }

    /// The number of agreements from which a vertex has the larger weight.
    pub fn tau(&self) -> usize {
        self.tau
    }

    /// The worst ratio between any two records: exactly E.
    pub fn worst_ratio(&self) -> WorstRatio {
        self.odds.worst_ratio()
    }

    /// `E[y_j z_j]`, the same for every coordinate and record: `<y,q>` over it estimates `<z,q>` without bias.
    #[cfg(test)]
    pub(crate) fn retained(&self) -> f64 {
        self.share * self.c1
    }

    /// Variance of `<y,q>` for a query with the given `|q|^2` and `<z,q>`, exactly:
    /// `|q|^2 (1 - c2) + <z,q>^2 (c2 - c1^2)` with `c1 = E[y_j z_j]` and `c2 = E[y_i z_i y_j z_j]`, i != j.
    #[cfg(test)]
    pub(crate) fn score_variance(&self, squared_norm: f64, signs_times_query: f64) -> f64 {
        let (c1, c2) = (self.share * self.c1, self.share * self.c2);
        squared_norm * (1.0 - c2) + signs_times_query * signs_times_query * (c2 - c1 * c1)
    }

    /// What an estimator of `<x^,q>` needs to know about the release; public. Holds for Gaussian-like projections.
    pub fn gain(&self) -> Gain {
        let k = self.k as f64;
        // E|x|_1/|x|_2 and the mean of its square, for x uniform on the sphere.
        let kept = k * libm::exp(libm::lgamma(k / 2.0) - libm::lgamma((k + 1.0) / 2.0)) / std::f64::consts::PI.sqrt();
        let kept_square = 1.0 + (k - 1.0) * std::f64::consts::FRAC_2_PI;
        Gain::new(self.k, self.share, self.c1 * kept, 1.0 + self.c2 * (kept_square - 1.0))
    }

    /// Publishes one projected record. Bit 1 means plus; the first coordinate is the most significant bit of byte 0.
    ///
    /// # Panics
    /// If `x` has not k entries or `out` not `ceil(k/8)` bytes.
    pub fn release(&self, x: &[i64], out: &mut [u8], rng: &mut SecretRng) {
        assert!(x.len() == self.k && out.len() == self.k.div_ceil(8), "k coordinates, one bit for each");
        let h = self.agreements.draw(rng);
        out.fill(0);
        disagree_in(self.k - h, self.k, rng, |j, disagrees| out[j / 8] |= bit(x[j], disagrees) << (7 - j % 8));
    }

    /// Replaces a projected record by its released bits, 0 and 1.
    pub(crate) fn apply(&self, x: &mut [i64], rng: &mut SecretRng) {
        let h = self.agreements.draw(rng);
        disagree_in(self.k - h, self.k, rng, |j, disagrees| x[j] = bit(x[j], disagrees).into());
    }

    /// The probability of each vertex with h agreements, for h = 0..=k. The subset is uniform, so all of them share alike.
    pub fn probabilities(&self) -> Vec<BigRational> {
        let total = self.agreements.total();
        let share = |(h, n): (usize, BigUint)| BigRational::new(self.agreements.weight(h).into(), (n * total).into());
        binomials(self.k).into_iter().enumerate().map(share).collect()
    }
}

/// Zero is on the minus side.
fn bit(x: i64, disagrees: bool) -> u8 {
    u8::from((x > 0) != disagrees)
}

/// Calls `write` for every place of k, with true in a uniform subset of the given size.
fn disagree_in(places: usize, k: usize, rng: &mut SecretRng, mut write: impl FnMut(usize, bool)) {
    let mut wanted = places as u32;
    // Selection sampling: the next place is chosen with probability wanted/left. The loop's length is public.
    for j in 0..k {
        let disagrees = rng.below_u32((k - j) as u32) < wanted;
        wanted -= u32::from(disagrees);
        write(j, disagrees);
    }
}

/// `C(k,h)` for h = 0..=k.
fn binomials(k: usize) -> Vec<BigUint> {
    let next = |(h, n): &(usize, BigUint)| (*h < k).then(|| (h + 1, n * (k - h) / (h + 1)));
    std::iter::successors(Some((0, BigUint::one())), next).map(|(_, n)| n).collect()
}

/// The threshold with the largest `share * mean^(3/2)`, as for PrivCube; `sum over h >= tau of C(k,h)(2h-k) = tau C(k,tau)`.
fn best_threshold(vertices: &[BigUint], odds: &Odds) -> usize {
    let k = vertices.len() - 1;
    let mut best = (0.0, k);
    let mut cap = BigUint::zero();
    for tau in (k / 2 + 1..=k).rev() {
        cap += &vertices[tau];
        let mean = ratio(&(&vertices[tau] * tau), &cap);
        let merit = odds.share(&cap, k) * mean * mean.sqrt();
        best = if merit > best.0 { (merit, tau) } else { best };
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::rational;

    fn cap(k: usize, epsilon: f64) -> Signcap {
        Signcap::new(k, &rational(epsilon)).unwrap()
    }

    #[test]
    fn exact_law_sums_to_one_and_lies_between_one_and_e() {
        for k in [1, 2, 3, 8, 11, 64, 128, 300] {
            for epsilon in [0.01, 1.0, 5.0, 20.0, 100.0] {
                let cap = cap(k, epsilon);
                let unit = BigRational::new(Odds::denom().into(), cap.agreements.total().clone().into());
                let most = BigRational::new(cap.odds.numer.clone().into(), cap.agreements.total().clone().into());
                let law = cap.probabilities();
                let sum: BigRational =
                    law.iter().zip(binomials(k)).map(|(p, n)| p * BigRational::from_integer(n.into())).sum();
                assert!(sum.is_one());
                for (h, p) in law.iter().enumerate() {
                    assert_eq!(p, if h >= cap.tau { &most } else { &unit }, "k {k} epsilon {epsilon} h {h}");
                }
                assert!(cap.worst_ratio().at_most_exp(&rational(epsilon)) && cap.worst_ratio().epsilon() <= epsilon);
            }
        }
    }

    /// Chi-square of released bytes at k = 8 against the exact law, 255 degrees of freedom.
    fn chi_square(cap: &Signcap, x: &[i64; 8], draws: usize, mut draw: impl FnMut(&mut [u8])) -> f64 {
        let mut counts = [0u32; 256];
        let mut out = [0];
        for _ in 0..draws {
            draw(&mut out);
            counts[out[0] as usize] += 1;
        }
        let signs = x.iter().fold(0u8, |byte, &x| byte << 1 | u8::from(x > 0));
        let law: Vec<f64> = cap.probabilities().iter().map(|p| num_traits::ToPrimitive::to_f64(p).unwrap()).collect();
        let expected = |y: usize| law[8 - (y as u8 ^ signs).count_ones() as usize] * draws as f64;
        counts.iter().enumerate().map(|(y, &n)| (f64::from(n) - expected(y)).powi(2) / expected(y)).sum()
    }

    #[test]
    fn sampler_law_by_chi_square() {
        let x = [5, -3, 0, 1, -9, 2, 2, 0];
        let cap = cap(8, 2.0);
        let mut rng = SecretRng::for_tests(8);
        let chi = chi_square(&cap, &x, 10_000_000, |out| cap.release(&x, out, &mut rng));
        assert!(chi < 377.0, "{chi}"); // alpha = 1e-6
        // Planted faults, with a tenth of the draws: one disagreement too few, a place that never disagrees.
        let chi = chi_square(&cap, &x, 1_000_000, |out| {
            let places = 8 - cap.agreements.draw(&mut rng);
            out[0] = 0;
            disagree_in(places.saturating_sub(1), 8, &mut rng, |j, flip| out[0] |= bit(x[j], flip) << (7 - j));
        });
        assert!(chi > 1e4, "{chi}");
        let chi = chi_square(&cap, &x, 1_000_000, |out| {
            cap.release(&x, out, &mut rng);
            out[0] &= !1; // the last place goes out as it is
        });
        assert!(chi > 1e4, "{chi}");
    }

    #[test]
    fn moments_are_those_of_the_law() {
        let cap = cap(6, 1.5);
        let law: Vec<f64> = cap.probabilities().iter().map(|p| num_traits::ToPrimitive::to_f64(p).unwrap()).collect();
        // All coordinates of z plus: y_j z_j = y_j. Enumerate the 64 vertices.
        let q = [0.3, -1.0, 2.0, 0.0, 0.7, 1.1];
        let (mut first, mut mean, mut square) = (0.0, 0.0, 0.0);
        for y in 0..64u32 {
            let p = law[y.count_ones() as usize];
            let sign = |j: usize| if y >> j & 1 == 1 { 1.0 } else { -1.0 };
            let score: f64 = (0..6).map(|j| sign(j) * q[j]).sum();
            first += p * sign(3);
            mean += p * score;
            square += p * score * score;
        }
        let (norm, sum) = (q.iter().map(|q| q * q).sum(), q.iter().sum::<f64>());
        assert!((first - cap.retained()).abs() < 1e-12);
        assert!((mean - cap.retained() * sum).abs() < 1e-12);
        assert!((square - mean * mean - cap.score_variance(norm, sum)).abs() < 1e-12);
    }

    #[test]
    fn large_k_and_refusals() {
        let large = cap(4096, 3.0);
        let mut out = vec![0; 512];
        large.release(&vec![1; 4096], &mut out, &mut SecretRng::for_tests(1));
        let agreements: u32 = out.iter().map(|byte| byte.count_ones()).sum();
        assert!(agreements > 1800);
        for (k, epsilon) in [(0, 1.0), (LARGEST_K + 1, 1.0), (8, 0.0), (8, -1.0), (8, 501.0), (8, 1e-30)] {
            assert!(Signcap::new(k, &rational(epsilon)).is_err(), "{k} {epsilon}");
        }
    }

    #[test]
    fn zero_is_on_the_minus_side() {
        let cap = cap(9, 60.0); // so large that nothing is flipped
        let mut out = [0; 2];
        cap.release(&[0, 1, -1, 0, 0, 0, 0, 2, 3], &mut out, &mut SecretRng::for_tests(4));
        assert_eq!(out, [0b0100_0001, 0b1000_0000]);
    }
}
