//! Figures about a whole release: means, shares, covariances, drift, each with a 95% interval, or a refusal with the reason.
//!
//! Takes release types only, so everything here is post-processing and costs no privacy. The known part of the noise is
//! subtracted; what is left of it, and the sampling of rows, is in the interval. [`Target`] says what an interval is
//! for: the population that the rows are an independent sample of, or these very rows. `docs/statistics.md` has the
//! formulas.

mod families;
mod reading;
mod shuffle;
mod summary;

pub use shuffle::{Amplified, amplified_epsilon, amplify};

use crate::error::{LibraryError, NotPrivate};
use crate::release::Release;
use crate::search::ExactQueries;
use scumble_core::parallel;
use serde::{Serialize, Serializer};
use summary::Summary;

/// What an interval is meant to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The figure of the population that the rows were drawn from, independently: noise and sampling.
    #[default]
    Population,
    /// The figure of the private rows themselves: noise alone.
    Rows,
}

/// Which attributes are told, where a release allows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attributes {
    /// All, where each has a coordinate of its own; else this many of the largest.
    Largest(usize),
    /// These.
    These(Vec<usize>),
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// What the intervals are for.
    pub target: Target,
    /// Widens the intervals of a family so that all of them hold at once with 95%.
    pub simultaneous: bool,
    /// This many of the rows may be false (sent by someone who wants to move the figures). One by default where devices
    /// sent them.
    pub false_reports: Option<u64>,
    /// Which attributes.
    pub attributes: Attributes,
    /// Public points, projected as the release was: rows are counted by the nearest.
    pub centroids: Option<&'a ExactQueries>,
    /// Only statistics leave a trusted collector, and each person has one row: states the amplified epsilon at this
    /// delta, and leaves out the figures that would break it.
    pub shuffled: Option<f64>,
}

/// The largest attributes that are told, unless another number is asked for.
pub const LARGEST: usize = 10;

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            target: Target::default(),
            simultaneous: false,
            false_reports: None,
            attributes: Attributes::Largest(LARGEST),
            centroids: None,
            shuffled: None,
        }
    }
}

impl Options<'_> {
    /// Reports of devices can be false: unless more are feared, say what one of them can do.
    fn for_collected(mut self, release: &Release) -> Self {
        if release.certificate().campaign.is_some() {
            self.false_reports = self.false_reports.or(Some(1));
        }
        self
    }
}

/// One number with its interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Which one: a coordinate, a pair of them, an attribute, a coordinate and its zone, a centroid. Counted from 0.
    pub at: Vec<usize>,
    /// The estimate. A share may leave [0, 1], a variance may be negative: noise was subtracted.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// Its interval.
    pub interval: (f64, f64),
    /// The most that the stated number of false reports can have moved it, either way.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "unless_infinite")]
    pub false_reports_move: Option<f64>,
}

/// JSON has no infinity.
fn unless_infinite<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) if value.is_infinite() => serializer.serialize_str("without bound"),
        value => value.serialize(serializer),
    }
}

/// Figures of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Family {
    /// What they are, in plain words.
    pub about: String,
    /// How many intervals of the family were, or could have been, looked at.
    pub compared: usize,
    /// What is done about that, in plain words.
    pub correction: String,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// A family, or why the release does not tell it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Told {
    /// It does.
    Figures(Family),
    /// It does not.
    Refused {
        /// Why.
        refused: String,
    },
}

impl Told {
    /// The family, if it is told.
    pub fn family(&self) -> Option<&Family> {
        match self {
            Self::Figures(family) => Some(family),
            Self::Refused { .. } => None,
        }
    }
}

/// All that a release tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statistics {
    /// Rows; for a difference, those of both releases.
    pub rows: Vec<u64>,
    /// What the intervals are for.
    pub target: Target,
    /// Of each interval, or of all of a family together.
    pub confidence: f64,
    /// How many rows were taken to be false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub false_reports: Option<u64>,
    /// What the world may be told about privacy, if only these figures leave the collector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shuffled: Option<Amplified>,
    /// Mean of each coordinate of the sketch.
    pub mean: Told,
    /// Mean of attributes.
    pub attribute_mean: Told,
    /// Mean squared length of the sketch.
    pub sketch_squared_norm: Told,
    /// Mean squared length of the rows.
    pub squared_norm: Told,
    /// Covariance of each pair of coordinates of the sketch, the noise's part subtracted.
    pub covariance: Told,
    /// Share of rows with a positive coordinate (bits), or in each zone (symbols), the flips' part subtracted.
    pub share: Told,
    /// Share of rows by the nearest centroid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest_centroid: Option<Told>,
}

impl Statistics {
    /// The families by name, in the order in which they are shown.
    pub fn families(&self) -> impl Iterator<Item = (&'static str, &Told)> {
        [
            ("mean", Some(&self.mean)),
            ("attribute_mean", Some(&self.attribute_mean)),
            ("sketch_squared_norm", Some(&self.sketch_squared_norm)),
            ("squared_norm", Some(&self.squared_norm)),
            ("covariance", Some(&self.covariance)),
            ("share", Some(&self.share)),
            ("nearest_centroid", self.nearest_centroid.as_ref()),
        ]
        .into_iter()
        .filter_map(|(name, told)| Some((name, told?)))
    }
}

/// The figures of a release.
///
/// ```
/// use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
/// use scumble::projection::Seed;
/// use scumble::release::{Release, Releaser};
/// use scumble::statistics::{self, Options};
/// use scumble::vectors::{Range, Rows, Scalars};
///
/// // 5,000 private rows of 4 attributes: attribute j is 1 in a share of .2 (j + 1) of the rows.
/// let values: Vec<f32> = (0..5000 * 4).map(|i| f32::from(u8::from(i / 4 % 5 <= i % 4))).collect();
/// let range = Range::new(0.0, 1.0)?;
/// let parameters = Parameters::new(Required { mechanism: MechanismId::RawStaircase, dim: 4, k: 4, epsilon: 2.0, beta: 1.0, range, seed: Seed([7; 32]) });
/// let releaser = Releaser::new(Mechanism::new(parameters)?, None)?;
/// let release = Release::from_rows(&releaser, Rows::dense(Scalars::F32(&values), 4))?;
/// let told = statistics::of(&release, &Options::default())?;
/// for (j, mean) in told.attribute_mean.family().expect("raw rows tell them").figures.iter().enumerate() {
///     assert!((mean.value - 0.2 * (j + 1) as f64).abs() < 5.0 * mean.error);
/// }
/// assert!(told.share.family().is_none()); // values have no bits, and the reason is stated
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn of(release: &Release, options: &Options<'_>) -> Result<Statistics, LibraryError> {
    let options = &options.clone().for_collected(release);
    let summary = parallel::run(|| Summary::of(release, options))?;
    let shuffled = options.shuffled.map(|delta| amplify(release, delta)).transpose()?;
    Ok(families::told(release, &summary, options, shuffled, vec![release.len() as u64])?)
}

/// How the figures of `after` differ from those of `before`: positive means more in `after`.
///
/// The two are taken as independent: intervals are too wide, never too narrow, where people are in both with similar
/// values.
pub fn difference(before: &Release, after: &Release, options: &Options<'_>) -> Result<Statistics, LibraryError> {
    after.certificate().same_projection(before.certificate())?;
    if options.shuffled.is_some() {
        return Err(NotPrivate::AmplifiedDifference.into());
    }
    let options = &options.clone().for_collected(after);
    let summary =
        parallel::run(|| Ok::<_, LibraryError>(Summary::of(after, options)?.minus(Summary::of(before, options)?)))?;
    let rows = vec![before.len() as u64, after.len() as u64];
    Ok(families::told(after, &summary, options, None, rows)?)
}
