//! What one release costs an account, and what several cost together.
//!
//! Releases of the same row compose. A loss is kept as the pair of laws that is hardest to distinguish within its
//! promise, and pairs compose exactly, so no valid rule gives less: for pure losses it is Kairouz, Oh and Viswanath
//! (KOV), for Gaussian ones `mu = sqrt(sum mu_i²)`, and for mixtures the two together. Without a delta only the sum is
//! left.
//!
//! The pairs: `epsilon`-DP is randomized response, loss ±epsilon. `(epsilon, delta)`-DP is the same with probability
//! `1 - delta`, and a breach otherwise (KOV). Gaussian noise is N(0,1) against N(mu,1).

use crate::error::{AccountingError, LibraryError, NotPrivate};
use num_rational::BigRational;
use num_traits::ToPrimitive;
use scumble_core::calibration::{SLACK, gaussian};
use scumble_core::mechanism::{Mechanism, Perturbation};
use scumble_core::noise::Noise;
use scumble_core::privacy::{Guarantee, Notion, Promise, Unit, check_delta};
use serde::{Deserialize, Serialize};

/// Sums of decimal fractions are compared with this tolerance: 0.1 three times is 0.3.
const ROUNDING: f64 = 1e-12;

/// Most rows of a person: enough for anyone, and quick to compose.
const MOST_ROWS: usize = 10_000;

/// The neighbours that an account protects: a unit, and how far it may move.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbours {
    /// The unit.
    pub unit: Unit,
    /// The most that it may move; `None` for any distance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
}

impl Neighbours {
    /// Neighbours of this unit, moving by at most `beta`; `None` for any distance.
    pub fn new(unit: Unit, beta: Option<f64>) -> Result<Self, LibraryError> {
        match (unit, beta) {
            (_, Some(beta)) if !(beta > 0.0 && beta.is_finite()) => Err(AccountingError::Beta.into()),
            (Unit::Record, Some(_)) => Err(AccountingError::RecordWithBeta.into()),
            (Unit::Attribute | Unit::L1 | Unit::L2 | Unit::Record, _) => Ok(Self { unit, beta }),
        }
    }

    /// Those of a mechanism's promise. Values are clipped to the range, so a beta that spans it covers any move.
    fn of(mechanism: &Mechanism, guarantee: &Guarantee) -> Self {
        let unit = guarantee.unit;
        let any = unit == Unit::Record || guarantee.beta >= diameter(mechanism, unit);
        Self { unit, beta: (!any).then_some(guarantee.beta) }
    }

    /// In plain words.
    pub fn sentence(&self) -> String {
        match (self.unit, self.beta) {
            (Unit::Record, _) | (Unit::L1 | Unit::L2, None) => Unit::Record.sentence(0.0),
            (Unit::Attribute, None) => "two rows that differ in ONE attribute, by any amount".into(),
            (unit, Some(beta)) => unit.sentence(beta),
        }
    }
}

/// How far apart two rows can be after clipping, in the unit's own distance.
fn diameter(mechanism: &Mechanism, unit: Unit) -> f64 {
    let parameters = mechanism.parameters();
    let (p, width) = (parameters.dim as f64, parameters.range.width());
    match unit {
        Unit::Attribute => width,
        Unit::L1 => p * width,
        Unit::L2 => p.sqrt() * width,
        Unit::Record => f64::INFINITY,
    }
}

/// What one release costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Upper bound on the loss.
    pub epsilon: f64,
    /// Failure probability; 0 for a pure promise.
    pub delta: f64,
    /// For Gaussian noise: sensitivity over sigma, and how far the integer table is from that law.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaussian: Option<Gaussian>,
}

/// Gaussian noise composes better than its (epsilon, delta) says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gaussian {
    /// Sensitivity over sigma, rounded up.
    pub mu: f64,
    /// Total variation distance of a row's noise from the continuous law, rounded up.
    pub distance: f64,
}

impl Loss {
    /// What a release by this mechanism costs the neighbours that it was made for.
    pub fn of(mechanism: &Mechanism) -> Result<(Neighbours, Self), LibraryError> {
        let guarantee = match mechanism.promise() {
            Promise::Private(guarantee) => guarantee,
            Promise::NotPrivate(_) => {
                return Err(NotPrivate::NoEpsilon { mechanism: mechanism.id() }.into());
            }
        };
        let Guarantee { epsilon, delta, .. } = *guarantee;
        let noise = match mechanism.perturbation() {
            Perturbation::Noise { noise: Noise::Gaussian(noise), .. }
            | Perturbation::NoisySign { noise: Noise::Gaussian(noise) } => Some(noise),
            Perturbation::Noise { .. }
            | Perturbation::NoisySign { .. }
            | Perturbation::Flips { .. }
            | Perturbation::Cap(_)
            | Perturbation::Symbols { .. }
            | Perturbation::Individual { .. } => None,
        };
        // A delta that also covers the draw of the matrix says nothing about mu.
        let every_matrix = mechanism.id() != scumble_core::mechanism::MechanismId::DpRpGAnalytic;
        let gaussian = match noise.filter(|_| guarantee.notion == Notion::Approximate && every_matrix) {
            None => None,
            Some(noise) => {
                let k = BigRational::from_integer(mechanism.k().into());
                let distance = (noise.distance() * k).to_f64().unwrap_or(1.0).next_up();
                // The largest mu that the promise allows: the noise that ran has at most that.
                let mu = (1.0 + 4.0 * SLACK) / gaussian::sigma_optimal(epsilon, delta, 1.0)?;
                Some(Gaussian { mu, distance })
            }
        };
        Ok((Neighbours::of(mechanism, guarantee), Self { epsilon, delta, gaussian }))
    }

    /// What the release costs an account that keeps these neighbours, if they are no further apart in the release's own
    /// distance than a chain of its neighbours reaches; `None` if the release protects less than the account keeps.
    ///
    /// record covers every unit, l2 covers l1 and attribute (Euclidean distance is at most the sum of the moves), l1
    /// covers attribute. A distance of n betas costs n times (group privacy): clipped rows between two rows exist.
    pub fn charged(mechanism: &Mechanism, account: &Neighbours) -> Result<Option<Self>, LibraryError> {
        let (own, loss) = Self::of(mechanism)?;
        let covers = match (own.unit, account.unit) {
            (Unit::Record, _)
            | (Unit::L2, Unit::L2 | Unit::L1 | Unit::Attribute)
            | (Unit::L1, Unit::L1 | Unit::Attribute)
            | (Unit::Attribute, Unit::Attribute) => true,
            (Unit::L2, Unit::Record)
            | (Unit::L1, Unit::Record | Unit::L2)
            | (Unit::Attribute, Unit::Record | Unit::L2 | Unit::L1) => false,
        };
        let steps = match own.beta {
            None => 1.0,
            Some(beta) => {
                // Clipping bounds the account's distance, in the release's own units.
                let moved = if account.unit == Unit::Attribute { Unit::Attribute } else { own.unit };
                let far = account.beta.unwrap_or(f64::INFINITY).min(diameter(mechanism, moved));
                (far / beta * (1.0 - ROUNDING)).ceil().max(1.0)
            }
        };
        Ok(covers.then(|| loss.for_steps(steps)))
    }

    /// Epsilon and delta of a release for a person who has at most `rows` rows in it.
    ///
    /// Each row is randomised on its own, so `rows` of them compose as `rows` releases of one row: pure losses add up, or
    /// compose exactly where a `delta` is asked for; Gaussian ones compose at the release's own delta, unless another is
    /// asked for; for other approximate ones the deltas add up.
    pub(crate) fn of_person(
        mechanism: &Mechanism,
        rows: usize,
        delta: Option<f64>,
    ) -> Result<(f64, f64), LibraryError> {
        let (_, loss) = Self::of(mechanism)?;
        if !(1..=MOST_ROWS).contains(&rows) {
            return Err(AccountingError::RowsPerPerson { rows, most: MOST_ROWS }.into());
        }
        delta.map(check_delta).transpose()?;
        let n = rows as f64;
        let summed = (n * loss.delta).min(1.0);
        let delta = delta.unwrap_or(if loss.gaussian.is_some() { loss.delta } else { summed });
        if rows == 1 && delta == loss.delta {
            return Ok((loss.epsilon, loss.delta));
        }
        let sum = if delta >= summed { (n * loss.epsilon).next_up() } else { f64::INFINITY };
        let epsilon = match delta {
            0.0 => sum,
            delta => Budget { epsilon: sum, delta }.spent(&vec![loss; rows]).min(sum),
        };
        match epsilon.is_finite() {
            true => Ok((epsilon, delta)),
            false => Err(AccountingError::PersonDelta { rows, delta, enough: summed }.into()),
        }
    }

    fn for_steps(self, n: f64) -> Self {
        let Self { epsilon, delta, gaussian } = self;
        let (total, delta) = scumble_core::calibration::composition::group(epsilon, delta, n as u64);
        let gaussian = gaussian.map(|Gaussian { mu, distance }| Gaussian { mu: n * mu, distance });
        Self { epsilon: total, delta, gaussian }
    }

    /// True for numbers that a release could have.
    pub(crate) fn is_sane(&self) -> bool {
        let gaussian = self.gaussian.is_none_or(|Gaussian { mu, distance }| {
            mu > 0.0 && mu <= 1e6 && (0.0..1.0).contains(&distance) && self.delta > 0.0
        });
        self.epsilon > 0.0 && self.epsilon <= 1e9 && (0.0..=1.0).contains(&self.delta) && gaussian
    }

    /// In plain words.
    pub fn words(&self) -> String {
        match self.delta {
            0.0 => format!("epsilon {}", self.epsilon),
            delta => format!("epsilon {}, delta {delta:e}", self.epsilon),
        }
    }
}

/// What an account may spend.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The most that the loss of all releases together may be.
    pub epsilon: f64,
    /// Except with this failure probability.
    pub delta: f64,
}

impl Budget {
    /// Checks the domain.
    pub fn new(epsilon: f64, delta: f64) -> Result<Self, LibraryError> {
        if !(epsilon > 0.0 && epsilon <= 1e6) {
            return Err(AccountingError::BudgetEpsilon { epsilon }.into());
        }
        if !(0.0..1.0).contains(&delta) {
            return Err(AccountingError::BudgetDelta { delta }.into());
        }
        Ok(Self { epsilon, delta })
    }

    /// True if all these releases of a row together stay within it.
    pub fn covers(&self, losses: &[Loss]) -> bool {
        match pure_sum(losses) {
            Some(sum) if sum <= self.epsilon * (1.0 + ROUNDING) => true,
            _ => {
                self.delta > 0.0
                    && Composed::all(losses).any(|c| c.delta(self.epsilon) <= self.delta * (1.0 + ROUNDING))
            }
        }
    }

    /// The least epsilon that holds for all these releases together at the budget's delta; infinite if there is none.
    pub fn spent(&self, losses: &[Loss]) -> f64 {
        let sum = pure_sum(losses).unwrap_or(f64::INFINITY);
        if self.delta == 0.0 || losses.is_empty() {
            return sum;
        }
        let least = |composed: Composed| {
            let enough = |epsilon: f64| composed.delta(epsilon) <= self.delta;
            if enough(0.0) {
                return 0.0;
            }
            // Bisection to nine digits, rounded up; beyond 1e4 the promise is empty anyway.
            let (mut low, mut high) = (0.0, 1.0);
            while !enough(high) {
                (low, high) = (high, 2.0 * high);
                if high > 1e4 {
                    return f64::INFINITY;
                }
            }
            while high - low > 1e-9 * high {
                let middle = 0.5 * (low + high);
                if enough(middle) { high = middle } else { low = middle }
            }
            high
        };
        Composed::all(losses).map(least).fold(sum, f64::min)
    }

    /// The largest epsilon that one more pure release may have, to four digits, rounded down.
    pub fn left(&self, losses: &[Loss]) -> f64 {
        let with = |epsilon: f64| {
            let mut losses = losses.to_vec();
            losses.push(Loss { epsilon, delta: 0.0, gaussian: None });
            losses
        };
        let sum = (self.epsilon - pure_sum(losses).unwrap_or(f64::INFINITY)).max(0.0);
        let (mut low, mut high) = (sum, self.epsilon);
        if self.delta == 0.0 || !self.covers(losses) {
            return sum;
        }
        while high - low > 1e-4 * self.epsilon {
            let middle = 0.5 * (low + high);
            if self.covers(&with(middle)) { low = middle } else { high = middle }
        }
        low
    }
}

/// The sum, if no release needs a delta.
fn pure_sum(losses: &[Loss]) -> Option<f64> {
    let sum: Option<f64> = losses.iter().map(|loss| (loss.delta == 0.0).then_some(loss.epsilon)).sum();
    sum.map(|sum| sum + 0.0) // the sum of nothing is -0.0
}

/// The loss of all releases together: a breach, or a step of a lattice plus a Gaussian loss.
struct Composed {
    /// Probability that no (epsilon, delta) release breaches.
    sound: f64,
    /// One step of the lattice.
    step: f64,
    /// Probabilities of the losses `(2i - n) step`, i = 0..=n.
    mass: Vec<f64>,
    /// `sqrt(sum mu_i²)`; 0 without Gaussian noise.
    mu: f64,
    /// Of all the integer tables together.
    distance: f64,
}

impl Composed {
    /// Both ways to see Gaussian noise: by its mu, or by its (epsilon, delta) like any other.
    fn all(losses: &[Loss]) -> impl Iterator<Item = Self> {
        let plain = losses
            .iter()
            .any(|loss| loss.gaussian.is_some())
            .then(|| Self::new(&losses.iter().map(|loss| Loss { gaussian: None, ..*loss }).collect::<Vec<_>>()));
        std::iter::once(Self::new(losses)).chain(plain)
    }

    fn new(losses: &[Loss]) -> Self {
        let (mut sound, mut mu2, mut distance) = (1.0, 0.0, 0.0);
        let mut epsilons = Vec::new();
        for Loss { epsilon, delta, gaussian } in losses {
            match gaussian {
                Some(gaussian) => {
                    mu2 += gaussian.mu * gaussian.mu;
                    distance += gaussian.distance;
                }
                None => {
                    epsilons.push(epsilon.max(1e-100)); // a fraction of less might round to zero
                    sound *= 1.0 - delta;
                }
            }
        }
        let (step, steps) = lattice(&epsilons, mu2 > 0.0);
        let mut mass = vec![1.0];
        for &n in &steps {
            // Randomized response of loss ±n steps: n places up or none in terms of i.
            let stay = 1.0 / (1.0 + libm::exp(-(n as f64) * step));
            let mut next = vec![0.0; mass.len() + n];
            for (i, &p) in mass.iter().enumerate() {
                next[i] += p * (1.0 - stay);
                next[i + n] += p * stay;
            }
            mass = next;
        }
        Self { sound, step, mass, mu: mu2.sqrt() * (1.0 + 4.0 * SLACK), distance }
    }

    /// Delta at `epsilon`, rounded up by more than the sums can err.
    fn delta(&self, epsilon: f64) -> f64 {
        let n = self.mass.len() - 1;
        let delta: f64 = self
            .mass
            .iter()
            .enumerate()
            .map(|(i, &p)| {
                let rest = epsilon - (2.0 * i as f64 - n as f64) * self.step;
                match p {
                    _ if self.mu == 0.0 => p * (-libm::expm1(rest)).max(0.0),
                    p if p < 1e-40 => p, // delta is at most 1: not worth an integral
                    p => p * gaussian_delta(rest, self.mu),
                }
            })
            .sum();
        let tables = (1.0 + libm::exp(epsilon)) * self.distance;
        ((1.0 - self.sound) + self.sound * delta) * (1.0 + 1e-10) + tables
    }
}

/// Delta of Gaussian noise at any epsilon: `delta(-a) = 1 - e^-a + e^-a delta(a)`, for the pair is symmetric.
fn gaussian_delta(epsilon: f64, mu: f64) -> f64 {
    if epsilon >= 0.0 {
        return gaussian::delta_gaussian(epsilon, mu);
    }
    -libm::expm1(epsilon) + libm::exp(epsilon) * gaussian::delta_gaussian(-epsilon, mu)
}

/// A step and whole numbers of it that are at least these epsilons: exact where they have a common measure, else as fine
/// as the work allows, which is less where every point needs an integral.
fn lattice(epsilons: &[f64], integrals: bool) -> (f64, Vec<usize>) {
    let least = epsilons.iter().copied().fold(f64::INFINITY, f64::min);
    let sum: f64 = epsilons.iter().sum();
    let count = epsilons.len().max(1);
    let exact = if integrals { 1 << 10 } else { (1 << 26) / count };
    for parts in 1..=20 {
        let step = least / f64::from(parts);
        let near = |&epsilon: &f64| (epsilon / step - (epsilon / step).round()).abs() < 1e-9 * epsilon / step;
        if sum / step <= exact as f64 && epsilons.iter().all(near) {
            let steps: Vec<usize> = epsilons.iter().map(|epsilon| (epsilon / step).round() as usize).collect();
            let step = epsilons.iter().zip(&steps).map(|(epsilon, &n)| epsilon / n as f64).fold(0.0, f64::max);
            return (step, steps);
        }
    }
    let most = if integrals { 1 << 10 } else { ((1 << 24) / count).clamp(1 << 10, 1 << 17) };
    let step = sum / most as f64;
    (step, epsilons.iter().map(|epsilon| (epsilon / step).ceil() as usize).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble_core::calibration::composition::{gaussian_to_zcdp, pure_to_zcdp};
    use scumble_core::calibration::composition::{gdp_delta, gdp_epsilon, kov_delta, zcdp_epsilon};
    use scumble_core::mechanism::{MechanismId, Parameters, Required};
    use scumble_core::projection::Seed;
    use scumble_core::vectors::Range;

    fn pure(epsilon: f64) -> Loss {
        Loss { epsilon, delta: 0.0, gaussian: None }
    }

    fn normal(mu: f64) -> Loss {
        Loss { epsilon: 50.0, delta: 0.5, gaussian: Some(Gaussian { mu, distance: 0.0 }) }
    }

    fn mechanism(id: MechanismId, unit: Unit, epsilon: f64, beta: f64) -> Mechanism {
        let range = Range::new(0.0, 1.0).unwrap();
        let mut parameters =
            Parameters::new(Required { mechanism: id, dim: 16, k: 4, epsilon, beta, range, seed: Seed([1; 32]) });
        parameters.unit = unit;
        if matches!(id, MechanismId::DpOporp | MechanismId::RawGOpt | MechanismId::IdpSignrpRr) {
            parameters.delta = Some(1e-6);
        }
        parameters.i_understand_this_is_not_dp = true;
        Mechanism::new(parameters).unwrap()
    }

    /// A fuzzer found that steps of a vanishing epsilon round to zero.
    #[test]
    fn vanishing_losses_add_up() {
        let budget = Budget::new(1.0, 1e-6).unwrap();
        for others in [vec![], vec![pure(0.5), normal(0.1)]] {
            let losses = [vec![pure(1e-320); 3], others].concat();
            assert!(budget.covers(&losses) && budget.spent(&losses).is_finite() && budget.left(&losses) > 0.0);
        }
    }

    #[test]
    fn without_a_delta_losses_add_up() {
        let budget = Budget::new(0.3, 0.0).unwrap();
        assert!(budget.covers(&[pure(0.1); 3]));
        assert!(!budget.covers(&[pure(0.1), pure(0.1), pure(0.1001)]));
        assert!((budget.spent(&[pure(0.1); 3]) - 0.3).abs() < 1e-15);
        assert!((budget.left(&[pure(0.1)]) - 0.2).abs() < 1e-15);
        assert!(!Budget::new(100.0, 0.0).unwrap().covers(&[normal(0.1)]));
    }

    #[test]
    fn equal_pure_losses_compose_by_kov_and_gaussians_by_their_mu() {
        for (n, epsilon) in [(1, 1.0), (10, 0.1), (40, 0.5)] {
            let composed = Composed::new(&vec![pure(epsilon); n]);
            for at in [0.0, 0.3, 1.0, 4.0] {
                let kov = kov_delta(n as u64, epsilon, at);
                assert!((composed.delta(at) - kov).abs() <= 1e-9 * kov + 1e-15, "{n} {epsilon} {at}");
            }
        }
        let composed = Composed::new(&[normal(0.3), normal(0.4)]);
        for at in [0.0, 0.5, 2.0] {
            assert!((composed.delta(at) / gdp_delta(0.5, at) - 1.0).abs() < 1e-9);
        }
        let budget = Budget::new(9.0, 1e-6).unwrap();
        assert!((budget.spent(&[normal(0.3), normal(0.4)]) / gdp_epsilon(0.5, 1e-6).unwrap() - 1.0).abs() < 1e-6);
    }

    /// Brute force over all outcomes of three unequal randomized responses and one (epsilon, delta) release.
    #[test]
    fn unequal_losses_are_bounded_by_the_hockey_stick_and_touch_it() {
        let epsilons = [0.31, 0.7, 1.234];
        let (extra, breach) = (0.55, 1e-3);
        let all = [epsilons[0], epsilons[1], epsilons[2], extra];
        let losses: Vec<Loss> =
            epsilons.iter().map(|&e| pure(e)).chain([Loss { epsilon: extra, delta: breach, gaussian: None }]).collect();
        for at in [0.1, 1.0, 2.0] {
            let hockey: f64 = (0..16u32)
                .map(|bits| {
                    let (mut here, mut there) = (1.0, 1.0);
                    for (i, &epsilon) in all.iter().enumerate() {
                        let stay = 1.0 / (1.0 + libm::exp(-epsilon));
                        let (a, b) = if bits >> i & 1 == 1 { (stay, 1.0 - stay) } else { (1.0 - stay, stay) };
                        (here, there) = (here * a, there * b);
                    }
                    (here - libm::exp(at) * there).max(0.0)
                })
                .sum();
            let exact = breach + (1.0 - breach) * hockey;
            let found = Composed::new(&losses).delta(at);
            assert!(found >= exact && found <= exact * (1.0 + 1e-3), "{at}: {found} {exact}");
        }
    }

    #[test]
    fn mixtures_cost_no_more_than_zcdp_and_no_less_than_a_part() {
        let losses = [pure(0.5), pure(0.5), pure(0.5), normal(0.4), normal(0.3)];
        let budget = Budget::new(20.0, 1e-6).unwrap();
        let spent = budget.spent(&losses);
        let rho = 3.0 * pure_to_zcdp(0.5) + gaussian_to_zcdp(0.5);
        assert!(spent < zcdp_epsilon(rho, 1e-6).unwrap(), "{spent}");
        assert!(spent > gdp_epsilon(0.5, 1e-6).unwrap());
        assert!(budget.covers(&losses));
        assert!(!Budget::new(spent * 0.999, 1e-6).unwrap().covers(&losses));
        let left = budget.left(&losses);
        assert!(left > 15.0 && left < 20.0, "{left}");
    }

    /// A planted fault: with a lattice that rounds down the third budget would pass.
    #[test]
    fn many_small_releases_gain_from_a_delta() {
        let losses = vec![pure(0.1); 100];
        assert!(!Budget::new(9.9, 0.0).unwrap().covers(&losses));
        let spent = Budget::new(9.0, 1e-6).unwrap().spent(&losses);
        assert!((4.0..6.0).contains(&spent), "{spent}");
        assert!(!Budget::new(spent - 1e-6, 1e-6).unwrap().covers(&losses));
    }

    #[test]
    fn stronger_units_cover_weaker_ones_and_never_the_reverse() {
        let account = |unit, beta| Neighbours { unit, beta };
        let cost = |m: &Mechanism, unit, beta| Loss::charged(m, &account(unit, beta)).unwrap().map(|loss| loss.epsilon);
        let attribute = mechanism(MechanismId::DpOporpStaircase, Unit::Attribute, 2.0, 0.25);
        let l1 = mechanism(MechanismId::DpOporpLaplace, Unit::L1, 2.0, 0.5);
        let l2 = mechanism(MechanismId::DpOporp, Unit::L2, 2.0, 0.5);
        let record = mechanism(MechanismId::Signcap, Unit::Record, 2.0, 1.0);
        assert_eq!(cost(&attribute, Unit::Attribute, Some(0.25)), Some(2.0));
        assert_eq!(cost(&attribute, Unit::Attribute, Some(0.2)), Some(2.0));
        assert_eq!(cost(&attribute, Unit::Attribute, Some(0.5)), Some(4.0));
        assert_eq!(cost(&attribute, Unit::Attribute, None), Some(8.0)); // the range is [0, 1]
        assert_eq!(cost(&attribute, Unit::L1, Some(0.25)), None);
        assert_eq!(cost(&attribute, Unit::Record, None), None);
        assert_eq!(cost(&l1, Unit::Attribute, None), Some(4.0));
        assert_eq!(cost(&l1, Unit::L1, Some(1.0)), Some(4.0));
        assert_eq!(cost(&l1, Unit::L2, Some(0.1)), None);
        assert_eq!(cost(&l2, Unit::L1, Some(0.5)), Some(2.0));
        assert_eq!(cost(&l2, Unit::L2, Some(0.5)), Some(2.0));
        assert_eq!(cost(&l2, Unit::Record, None), None);
        for unit in [Unit::Attribute, Unit::L1, Unit::L2, Unit::Record] {
            assert_eq!(cost(&record, unit, None), Some(2.0));
        }
        let whole = mechanism(MechanismId::DpOporpStaircase, Unit::Attribute, 2.0, 1.0);
        assert_eq!(Loss::of(&whole).unwrap().0, account(Unit::Attribute, None));
        assert!(Loss::of(&mechanism(MechanismId::IdpSignrpRr, Unit::Attribute, 1.0, 1.0)).unwrap_err().is_refusal());
    }

    /// By hand: pure losses add up, Gaussian ones have mu sqrt(n), and a delta buys what exact composition gives.
    #[test]
    fn a_person_pays_for_each_row_by_the_best_rule() {
        let pure = mechanism(MechanismId::DpOporpStaircase, Unit::Attribute, 0.5, 1.0);
        let of = |m: &Mechanism, rows, delta| Loss::of_person(m, rows, delta);
        assert_eq!(of(&pure, 1, None), Ok((0.5, 0.0)));
        let (epsilon, delta) = of(&pure, 8, None).unwrap();
        assert!((4.0..4.0 + 1e-12).contains(&epsilon) && delta == 0.0);
        let (less, delta) = of(&pure, 8, Some(1e-3)).unwrap();
        assert!(less < 4.0 && less > 0.5 * 8f64.sqrt() && delta == 1e-3, "{less}");
        let normal = mechanism(MechanismId::RawGOpt, Unit::Attribute, 1.0, 1.0);
        let (epsilon, delta) = of(&normal, 4, None).unwrap();
        let mu = 2.0 * Loss::of(&normal).unwrap().1.gaussian.unwrap().mu;
        assert_eq!(delta, 1e-6);
        assert!((epsilon / gdp_epsilon(mu, 1e-6).unwrap() - 1.0).abs() < 1e-6, "{epsilon}");
        assert!(epsilon < 4.0);
        for rows in [0, MOST_ROWS + 1] {
            assert!(of(&pure, rows, None).is_err());
        }
        assert!(of(&pure, 2, Some(1.0)).is_err());
        assert!(of(&mechanism(MechanismId::IdpSignrpRr, Unit::Attribute, 1.0, 1.0), 2, None).unwrap_err().is_refusal());
        // The planted fault: composing n rows as one would claim less than n rows cost.
        assert!(of(&normal, 4, None).unwrap().0 > of(&normal, 3, None).unwrap().0);
    }

    #[test]
    fn a_gaussian_release_has_the_mu_of_its_promise() {
        let (_, loss) = Loss::of(&mechanism(MechanismId::RawGOpt, Unit::Attribute, 1.0, 1.0)).unwrap();
        let Gaussian { mu, distance } = loss.gaussian.unwrap();
        assert!((gdp_delta(mu, 1.0) / 1e-6 - 1.0).abs() < 1e-6);
        assert!(distance < 1e-15);
        let (_, pure) = Loss::of(&mechanism(MechanismId::RawLaplace, Unit::Attribute, 1.0, 1.0)).unwrap();
        assert_eq!(pure, Loss { epsilon: 1.0, delta: 0.0, gaussian: None });
    }
}
