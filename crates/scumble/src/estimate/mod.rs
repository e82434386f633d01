//! Similarities from a release alone: value, variance, 95% interval; a refusal where the release cannot tell.
//!
//! With `s2`, `m4` the noise moments, `c` the projection's factor, `A = |u|^2`, `B = |v|^2`, `g = u.v` (`docs/mechanisms.md`, section 7):
//! inner product `x~.y~`, variance `s2(A+B) + k s2^2 + c(AB + g^2)`; squared norm `|x~|^2 - k s2`; squared distance
//! `|x~-y~|^2 - 2k s2`; cosine by the delta method, as a test of every value in [-1, 1]; angle from randomized-response
//! bits. Unknown A, B, g are replaced by their own debiased estimates; the term `-2 sum u_i^2 v_i^2`, which a release
//! cannot tell, is left out, so that intervals err on the wide side.
//!
//! Bins of a public partition are not random: their release reveals `Pu`, each attribute replaced by its bin's (signed)
//! mean, and `u.v = Pu.Pv + (u-Pu).(v-Pv)`. The second term is not noise. It is bounded by `|u-Pu| |v-Pv|`, which the
//! range and the bins' means bound in turn (`bins`). Estimates are then of the pooled rows, and intervals are widened
//! by the bound.

mod bins;
mod error;
mod quantity;

pub mod variance;

pub use error::{EstimateError, NotIdentifiable};
pub use quantity::{Quantity, UnknownQuantity};

use crate::error::SearchError;
use crate::release::{Encoding, Release};
use crate::words::number;
use scumble_core::mechanism::{MechanismId, Moments, Perturbation};
use scumble_core::noise::FlipTable;
use scumble_core::projection::ProjectionKind;

/// Two-sided 95% quantile of the normal law.
const Z95: f64 = 1.959_963_984_540_054;

/// A number with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The estimate. NaN where it is undefined (a debiased norm that is not positive).
    pub value: f64,
    /// Its variance.
    pub variance: f64,
    /// 95% interval.
    pub interval: (f64, f64),
    /// The most that the value may be off because a public partition hides what is inside its bins. It is not noise: no
    /// number of releases averages it away. The interval already includes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias: Option<f64>,
}

impl Estimate {
    fn new(value: f64, variance: f64) -> Self {
        let half = Z95 * variance.max(0.0).sqrt();
        Self { value, variance, interval: (value - half, value + half), bias: None }
    }

    /// A squared length: its variance `4 s2 D + fixed + 2 c D^2` grows with the unknown D itself, so the interval holds
    /// every D that lies within 1.96 deviations of the estimate (Wilson's construction, a quadratic in D), with the
    /// projection's own quantiles in place of its deviation.
    fn squared_length(value: f64, s2: f64, fixed: f64, c: f64) -> Self {
        let at = value.max(0.0);
        let plain = Self::new(value, 4.0 * s2 * at + fixed + 2.0 * c * at * at);
        let z2 = Z95 * Z95;
        let (below, above) = projected(c);
        let (half_b, constant) = (value + 2.0 * s2 * z2, value * value - z2 * fixed);
        let discriminant = |share: f64| half_b * half_b - (1.0 - share * share) * constant;
        if discriminant(below) < 0.0 || (above >= 1.0 && half_b <= 0.0) {
            return plain; // far below zero
        }
        let root = |share: f64| discriminant(share).max(0.0).sqrt();
        let interval = (constant / (half_b + root(above)), (half_b + root(below)) / (1.0 - below * below));
        Self { interval, ..plain }
    }

    /// A value in a 95% interval that was found first: the variance is that of a normal law with such an interval.
    fn between(value: f64, (from, to): (f64, f64)) -> Self {
        Self { value, variance: ((to - from) / (2.0 * Z95)).powi(2), interval: (from, to), bias: None }
    }

    /// Why it has no value, if it has none.
    pub fn why_undefined(&self) -> Option<&'static str> {
        const WHY: &str = "undefined: the noise is larger than a row's length, or the estimate leaves its domain";
        self.value.is_nan().then_some(WHY)
    }

    /// The value and its interval, in words.
    pub fn words(&self) -> String {
        let (value, (from, to)) = (number(self.value), self.interval);
        match self.why_undefined() {
            Some(why) => why.into(),
            None => format!("{value:<12} 95% interval {} to {}", number(from), number(to)),
        }
    }

    fn undefined() -> Self {
        Self { value: f64::NAN, variance: f64::NAN, interval: (f64::NAN, f64::NAN), bias: None }
    }
}

/// One row of a release.
#[derive(Debug, Clone, Copy)]
pub struct RowRef<'a> {
    release: &'a Release,
    row: usize,
}

impl<'a> RowRef<'a> {
    /// Row `row` of `release`.
    pub fn new(release: &'a Release, row: usize) -> Result<Self, EstimateError> {
        if row >= release.len() {
            return Err(EstimateError::NoSuchRow { row, rows: release.len() });
        }
        Ok(Self { release, row })
    }

    fn values(&self) -> Vec<f64> {
        self.release.values(self.row).into_iter().map(f64::from).collect()
    }

    /// True if the two have the same noise: the row and itself, in this release or a copy of it, or an unchanged row of
    /// two sticky releases, which gives the same bytes under the same id.
    fn shares_noise(&self, other: &Self) -> bool {
        let ((a, i), (b, j)) = ((self.release, self.row), (other.release, other.row));
        let copy = i == j && a.certificate().content.sketch == b.certificate().content.sketch;
        let same_id = match (a.ids(), b.ids()) {
            (Some(of_a), Some(of_b)) => of_a.text(i) == of_b.text(j),
            (None, None) => i == j,
            (Some(_), None) | (None, Some(_)) => false,
        };
        copy || (a.certificate().sticky && b.certificate().sticky && same_id && a.row(i) == b.row(j))
    }
}

/// The public numbers that all value estimators need.
struct Constants {
    s2: f64,
    m4: f64,
    k: f64,
    c: f64,
}

/// Moments of the noise on one decoded value, the rounding to codes included; `None` for bits and symbols.
pub(crate) fn value_noise(release: &Release) -> Option<Moments> {
    let Moments { variance, fourth } = release.mechanism().noise_moments()?;
    let rounding = release.encoder().rounding_variance();
    let fourth = fourth + 6.0 * variance * rounding + 1.8 * rounding * rounding;
    Some(Moments { variance: variance + rounding, fourth })
}

impl Constants {
    fn of(release: &Release) -> Result<Self, EstimateError> {
        let mechanism = release.mechanism();
        let Perturbation::Noise { clip, radius, .. } = mechanism.perturbation() else {
            return Err(NotIdentifiable::Bits { mechanism: mechanism.id() }.into());
        };
        if clip.is_some() || radius.is_some() {
            return Err(NotIdentifiable::Clipped.into());
        }
        if release.encoder().encoding() == Encoding::B1 {
            return Err(NotIdentifiable::OneBit.into());
        }
        let Moments { variance: s2, fourth: m4 } = value_noise(release).expect("noise mechanisms have moments");
        Ok(Self { s2, m4, k: release.k() as f64, c: mechanism.projection().variance_factor() })
    }

    fn squared_norm(&self, x: &[f64]) -> f64 {
        dot(x, x) - self.k * self.s2
    }

    /// Refuses a projection of so few coordinates that no interval holds its 93%.
    fn enough(&self) -> Result<(), NotIdentifiable> {
        if self.c > 0.25 { Err(NotIdentifiable::FewCoordinates) } else { Ok(()) }
    }

    /// The estimate of a squared norm, from [`Self::squared_norm`].
    fn length(&self, squared_norm: f64) -> Estimate {
        Estimate::squared_length(squared_norm, self.s2, self.k * (self.m4 - self.s2 * self.s2), self.c)
    }

    /// True if the norm is surely not 0.
    fn knows_norm(&self, squared_norm: f64) -> bool {
        self.length(squared_norm).interval.0 > 0.0
    }
}

/// How far a projection with factor `c` can put a squared length below and above the true one, as shares of it: the
/// 2.5% and 97.5% quantiles of chi-squared with 1/c degrees of freedom, by the cube root of Wilson and Hilferty.
fn projected(c: f64) -> (f64, f64) {
    let quantile = |z: f64| (1.0 - 2.0 * c / 9.0 + z * (2.0 * c / 9.0).sqrt()).powi(3);
    (1.0 - quantile(-Z95), quantile(Z95) - 1.0)
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

fn pair(a: RowRef<'_>, b: RowRef<'_>) -> Result<(Constants, Constants, Vec<f64>, Vec<f64>), EstimateError> {
    a.release.certificate().same_projection(b.release.certificate())?;
    if a.shares_noise(&b) {
        return Err(NotIdentifiable::SameRow.into());
    }
    Ok((Constants::of(a.release)?, Constants::of(b.release)?, a.values(), b.values()))
}

/// `u.v`.
pub fn inner_product(a: RowRef<'_>, b: RowRef<'_>) -> Result<Estimate, EstimateError> {
    let (ca, cb, x, y) = pair(a, b)?;
    if let Some((pa, pb)) = bins::Pooled::pair(a, b, &ca, &cb) {
        return Ok(pa.inner_product(&pb));
    }
    projected_inner_product(&ca, &cb, &x, &y)
}

/// For rows of one length, `u.v = (|u+v|^2 - |u-v|^2) / 4`, and the projection's errors of these two are independent,
/// so each end of the interval takes one of them at its upper end and the other at its lower.
fn projected_inner_product(ca: &Constants, cb: &Constants, x: &[f64], y: &[f64]) -> Result<Estimate, EstimateError> {
    ca.enough()?;
    let (a, b, g) = (ca.squared_norm(x), cb.squared_norm(y), dot(x, y));
    // Norms lost in noise can come out negative: cut off together, which overstates less than one by one.
    let noise = (cb.s2 * a + ca.s2 * b).max(0.0) + ca.k * ca.s2 * cb.s2;
    // g^2 overstates (u.v)^2 by the variance itself, so the noise part is subtracted first.
    let (size, shared) = ((a.max(0.0) * b.max(0.0)).sqrt(), (g * g - noise).max(0.0).sqrt().copysign(g));
    let (sum, difference) = ((0.5 * (size + shared)).max(0.0), (0.5 * (size - shared)).max(0.0));
    let (below, above) = projected(ca.c);
    // The noise may hide a part of the length that the projection puts too low: half of its own interval is added.
    let hidden = 0.5 * Z95 * (0.5 * noise).sqrt();
    let side = |low: f64, high: f64| {
        let (low, high) = ((low + hidden) * below / (1.0 - below), high * above / (1.0 + above));
        (Z95 * Z95 * noise + low * low + high * high).sqrt()
    };
    let interval = (g - side(difference, sum), g + side(sum, difference));
    Ok(Estimate { value: g, variance: noise + ca.c * (size * size + shared * shared), interval, bias: None })
}

/// `u.v` of a released row and a query that its owner keeps exact, projected by `ExactQueries`. For unit `record` it is
/// `u.v / |u|`, for unit rows the same: the norm of a row is not in such a release; value and interval then hold for rows
/// that the projection spreads like a rotation, not for rows with a handful of attributes under OPORP.
pub fn inner_product_with_query(a: RowRef<'_>, query: &[f32]) -> Result<Estimate, EstimateError> {
    if query.len() != a.release.k() {
        return Err(SearchError::QueryLength { found: query.len(), k: a.release.k() }.into());
    }
    let query: Vec<f64> = query.iter().map(|&q| q.into()).collect();
    let Perturbation::Cap(cap) = a.release.mechanism().perturbation() else {
        let constants = Constants::of(a.release)?;
        let exact = Constants { s2: 0.0, m4: 0.0, ..constants };
        if let Some(pooled) = bins::Pooled::new(a.release, &a.values(), &constants) {
            let query = bins::Pooled::new(a.release, &query, &exact).expect("the same bins");
            return Ok(pooled.inner_product(&query));
        }
        if query.iter().all(|&q| q == 0.0) {
            return Err(NotIdentifiable::LostQuery.into());
        }
        return projected_inner_product(&constants, &exact, &a.values(), &query);
    };
    let (score, squared_norm) = (dot(&a.values(), &query), dot(&query, &query));
    let spread = a.release.mechanism().projection().kind() != ProjectionKind::Components;
    let Some(gain) = cap.gain().filter(|_| spread) else {
        return Err(NotIdentifiable::PartOfRecord.into());
    };
    let Some(interval) = gain.interval(score, squared_norm, 0.05) else {
        return Err(NotIdentifiable::EmptyVertices.into());
    };
    let (value, variance) = gain.inner_product(score, squared_norm);
    Ok(Estimate { value, variance, interval, bias: None })
}

/// `|u|^2`.
pub fn squared_norm(a: RowRef<'_>) -> Result<Estimate, EstimateError> {
    let constants = Constants::of(a.release)?;
    let x = a.values();
    if let Some(pooled) = bins::Pooled::new(a.release, &x, &constants) {
        return Ok(pooled.squared_norm());
    }
    constants.enough()?;
    Ok(constants.length(constants.squared_norm(&x)))
}

/// `|u-v|^2`.
pub fn squared_distance(a: RowRef<'_>, b: RowRef<'_>) -> Result<Estimate, EstimateError> {
    let (ca, cb, x, y) = pair(a, b)?;
    if let Some((pa, pb)) = bins::Pooled::pair(a, b, &ca, &cb) {
        return Ok(pa.squared_distance(&pb));
    }
    ca.enough()?;
    let difference: Vec<f64> = x.iter().zip(&y).map(|(a, b)| a - b).collect();
    let s2 = ca.s2 + cb.s2;
    // Fourth moment of a sum of two independent symmetric variables.
    let m4 = ca.m4 + cb.m4 + 6.0 * ca.s2 * cb.s2;
    let value = dot(&difference, &difference) - ca.k * s2;
    Ok(Estimate::squared_length(value, s2, ca.k * (m4 - s2 * s2), ca.c))
}

/// `u.v / (|u| |v|)`, NaN when a debiased norm is not positive. Where the interval of a squared norm holds
/// 0, and below sixteen coordinates, the cosine's is [-1, 1].
pub fn cosine(a: RowRef<'_>, b: RowRef<'_>) -> Result<Estimate, EstimateError> {
    let (ca, cb, x, y) = pair(a, b)?;
    if bins::Pooled::pair(a, b, &ca, &cb).is_some() {
        return Err(NotIdentifiable::AngleOfBins.into());
    }
    ca.enough()?;
    let (g, na, nb) = (dot(&x, &y), ca.squared_norm(&x), cb.squared_norm(&y));
    if na <= 0.0 || nb <= 0.0 {
        return Ok(Estimate::undefined());
    }
    let (size, z2) = ((na * nb).sqrt(), Z95 * Z95);
    // Variance of `g - r |u| |v|` at the cosine r, by the delta method: no term is negative, and it is 0 for no r.
    let fixed = |&Constants { s2, m4, k, .. }: &Constants| k * (m4 - s2 * s2);
    let lengths = (fixed(&ca) * nb / na + fixed(&cb) * na / nb) / 4.0;
    let (noise, both) = (ca.s2 * nb + cb.s2 * na, ca.k * ca.s2 * cb.s2);
    let c = ca.c / (1.0 - 3.0 * ca.c); // Fisher's 1 / (k - 3)
    let variance = |r: f64| {
        let apart = 1.0 - r * r;
        apart * noise + both + r * r * lengths + c * apart * apart * na * nb
    };
    let value = (g / size).clamp(-1.0, 1.0);
    let mut interval = (-1.0, 1.0);
    if ca.c <= 0.0625 && ca.knows_norm(na) && cb.knows_norm(nb) {
        // Every r whose own variance explains the estimate (Wilson's construction); inside [-1, 1] none is lost.
        let explains = |r: f64| (value - r).powi(2) * na * nb <= z2 * variance(r);
        interval = (furthest(value, -1.0, explains), furthest(value, 1.0, explains));
    }
    Ok(Estimate { value, variance: variance(value) / (na * nb), interval, bias: None })
}

/// The furthest number from `inside` towards `end` that belongs to a set without gaps, by bisection.
fn furthest(mut inside: f64, end: f64, belongs: impl Fn(f64) -> bool) -> f64 {
    if belongs(end) {
        return end;
    }
    let mut outside = end;
    for _ in 0..60 {
        let middle = 0.5 * (inside + outside);
        *(if belongs(middle) { &mut inside } else { &mut outside }) = middle;
    }
    outside
}

/// `1 - 2f` of randomized response.
fn kept(table: &FlipTable) -> f64 {
    1.0 - 2.0 * (table.threshold(1) as f64 / 2f64.powi(64))
}

/// The angle between two rows in radians: from randomized-response bits directly, from values through the cosine.
pub fn angle(a: RowRef<'_>, b: RowRef<'_>) -> Result<Estimate, EstimateError> {
    a.release.certificate().same_projection(b.release.certificate())?;
    let (ma, mb) = (a.release.mechanism(), b.release.mechanism());
    match (ma.perturbation(), mb.perturbation()) {
        (Perturbation::Flips { table: ta, .. }, Perturbation::Flips { table: tb, .. })
            if ma.id() == MechanismId::DpSignrpRr
                && mb.id() == MechanismId::DpSignrpRr
                && ma.projection().kind() == ProjectionKind::Gaussian =>
        {
            if a.shares_noise(&b) {
                return Err(NotIdentifiable::SameBits.into());
            }
            let k = a.release.k() as f64;
            let agree = a.values().iter().zip(&b.values()).filter(|(x, y)| x == y).count() as f64 / k;
            // P~ = 1/2 + (P - 1/2)(1-2f)(1-2f'); theta = pi (1 - P).
            let keep = kept(ta) * kept(tb);
            let pi = std::f64::consts::PI;
            let angle = |agree: f64| (pi * (0.5 - (agree - 0.5) / keep)).clamp(0.0, pi);
            // Wilson's interval of the share, which has a width where all bits agree; no angle is outside [0, pi].
            let agree = agree.clamp(0.5 - 0.5 * keep, 0.5 + 0.5 * keep);
            let more = Z95 * Z95 / k;
            let centre = (agree + 0.5 * more) / (1.0 + more);
            let half = (more * (agree * (1.0 - agree) + 0.25 * more)).sqrt() / (1.0 + more);
            Ok(Estimate::between(angle(agree), (angle(centre + half), angle(centre - half))))
        }
        (Perturbation::Noise { .. }, Perturbation::Noise { .. }) => {
            let Estimate { value, interval: (from, to), .. } = cosine(a, b)?;
            Ok(Estimate::between(value.acos(), (to.acos(), from.acos())))
        }
        (
            Perturbation::Noise { .. }
            | Perturbation::NoisySign { .. }
            | Perturbation::Flips { .. }
            | Perturbation::Cap(_)
            | Perturbation::Symbols { .. }
            | Perturbation::Individual { .. },
            _,
        ) => Err(NotIdentifiable::Angle { mechanism: ma.id() }.into()),
    }
}
