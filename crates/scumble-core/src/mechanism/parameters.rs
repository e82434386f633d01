//! Everything public that determines a mechanism. A certificate holds all of it, so anyone can rebuild the mechanism.

use super::MechanismId;
use super::recipe::sensitivity::too_large;
use crate::error::{GridError, GuaranteeError, MechanismError, NoProof, ParameterError, Refusal};
use crate::exact::WorstRatio;
use crate::facts::Fact;
use crate::privacy::{Epsilon, Guarantee, Unit, check_delta};
use crate::projection::{Partition, Projection, ProjectionKind, Seed, TableFile};
use crate::vectors::{Grid, Range};
use num_bigint::BigInt;
use num_rational::BigRational;
use serde::{Deserialize, Serialize};

/// How `dp-signrp-rr` finds the privacy loss of one bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum SignrpMode {
    /// The exact law of the number of changed signs for a fixed pair (needs the norm bound).
    #[default]
    Tight,
    /// The paper's N+, for comparison.
    Paper,
}

impl SignrpMode {
    /// Its name in digests.
    fn name(self) -> &'static str {
        match self {
            Self::Tight => "Tight",
            Self::Paper => "Paper",
        }
    }
}

/// What a release is for, where a public number can be chosen to suit it (`privcube`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The nearest rows of a query: a small cap.
    Search,
    /// Models and means: the cap of the largest correlation.
    Training,
}

impl std::fmt::Display for Purpose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Search => "search",
            Self::Training => "training",
        })
    }
}

impl Purpose {
    /// Its name in digests.
    fn name(self) -> &'static str {
        match self {
            Self::Search => "Search",
            Self::Training => "Training",
        }
    }
}

impl std::str::FromStr for Purpose {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        match text {
            "search" => Ok(Self::Search),
            "training" => Ok(Self::Training),
            _ => Err(MechanismError::Purpose.into()),
        }
    }
}

/// The public inputs of a mechanism. No field may be computed from the private data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Which mechanism.
    pub mechanism: MechanismId,
    /// Attributes, `p`.
    pub dim: usize,
    /// Size of the sketch (equal to `dim` without a projection).
    pub k: usize,
    /// Repetitions `t` of OPORP.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub repeats: usize,
    /// Upper bound on the loss.
    pub epsilon: f64,
    /// For an approximate guarantee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// The most that the unit may move.
    pub beta: f64,
    /// Values are clipped to this.
    pub range: Range,
    /// Who is a neighbour of whom.
    pub unit: Unit,
    /// A projection other than the one that the id implies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection: Option<ProjectionKind>,
    /// A public partition of the attributes in place of OPORP's random one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<Partition>,
    /// Public components that map a record to k integers (whole-record mechanisms).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<TableFile>,
    /// The public book (`privbook`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub book: Option<TableFile>,
    /// What the release is for (`privcube`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
    /// The public seed of the projection.
    pub seed: Seed,
    /// Clip the projected values to `[-c, c]` before the noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sketch_clip: Option<f64>,
    /// Promised lower bound `m` on every row's Euclidean norm (`dp-signrp-rr`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norm_bound: Option<f64>,
    /// Clip the projected row to this Euclidean radius (Gaussian noise, unit `record`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip_norm: Option<f64>,
    /// How `dp-signrp-rr` is calibrated.
    #[serde(default, skip_serializing_if = "is_default")]
    pub signrp_mode: SignrpMode,
    /// Symbols per coordinate (few-symbol mechanisms).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbols: Option<u8>,
    /// Lattice points per beta (`dp-oporp-lattice`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lattice_steps: Option<u32>,
    /// Public thresholds in data units (`dp-oporp-zones`: ascending cuts; `dp-signoporp-ceil`, `raw-rr`: one).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<f64>,
    /// Public guess of a row's Euclidean norm (utility only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norm: Option<f64>,
    /// Public guess of the share of attributes that are not zero (utility only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// log2 of the grid step, if not chosen automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid_exponent: Option<i32>,
    /// Explicit consent to a release that is not differentially private.
    #[serde(default, skip_serializing_if = "is_default")]
    pub i_understand_this_is_not_dp: bool,
}

/// The parameters that have no default. All are named, so that epsilon and beta cannot be swapped.
#[derive(Debug, Clone, Copy)]
pub struct Required {
    /// Which mechanism.
    pub mechanism: MechanismId,
    /// Attributes, `p`.
    pub dim: usize,
    /// Size of the sketch; without a projection it is `dim`, whatever is given here.
    pub k: usize,
    /// Upper bound on the loss.
    pub epsilon: f64,
    /// The most that the unit may move.
    pub beta: f64,
    /// Values are clipped to this.
    pub range: Range,
    /// The public seed of the projection.
    pub seed: Seed,
}

fn one() -> usize {
    1
}

fn is_one(value: &usize) -> bool {
    *value == 1
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A fact as a caller would write it.
fn said(fact: &Fact) -> String {
    match fact {
        Fact::None => String::new(),
        Fact::Integer(number) => number.to_string(),
        Fact::Number(number) => number.to_string(),
        Fact::Text(text) => text.clone(),
        Fact::List(facts) => facts.iter().map(said).collect::<Vec<_>>().join(","),
        Fact::Fields(_) => unreachable!("no parameter has fields"),
    }
}

/// How a parameter is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// As a number or a word.
    Value(String),
    /// As a public file.
    File,
    /// By its name alone.
    Consent,
}

impl Parameters {
    /// What every mechanism needs; the rest at its defaults, unit `attribute` (or `record` if the mechanism knows no
    /// other).
    pub fn new(required: Required) -> Self {
        let Required { mechanism, dim, k, epsilon, beta, range, seed } = required;
        Self {
            mechanism,
            dim,
            k: if mechanism.is_raw() { dim } else { k },
            repeats: 1,
            epsilon,
            delta: None,
            beta,
            range,
            unit: if mechanism.is_record() { Unit::Record } else { Unit::Attribute },
            projection: None,
            bins: None,
            components: None,
            book: None,
            purpose: None,
            seed,
            sketch_clip: None,
            norm_bound: None,
            clip_norm: None,
            signrp_mode: SignrpMode::Tight,
            symbols: None,
            lattice_steps: None,
            thresholds: Vec::new(),
            norm: None,
            density: None,
            grid_exponent: None,
            i_understand_this_is_not_dp: false,
        }
    }

    /// Every field, for digests. A field that is added must be added here: the pattern names all of them.
    pub fn facts(&self) -> Fact {
        let Self {
            mechanism,
            dim,
            k,
            repeats,
            epsilon,
            delta,
            beta,
            range,
            unit,
            projection,
            bins,
            components,
            book,
            purpose,
            seed,
            sketch_clip,
            norm_bound,
            clip_norm,
            signrp_mode,
            symbols,
            lattice_steps,
            thresholds,
            norm,
            density,
            grid_exponent,
            i_understand_this_is_not_dp,
        } = self;
        let mut fields = vec![
            ("mechanism", mechanism.as_str().into()),
            ("dim", (*dim).into()),
            ("k", (*k).into()),
            ("repeats", (*repeats).into()),
            ("epsilon", (*epsilon).into()),
            ("delta", (*delta).into()),
            ("beta", (*beta).into()),
            ("range", Fact::list([range.lo, range.hi])),
            ("unit", unit.as_str().into()),
            ("projection", projection.map(String::from).into()),
            ("seed", seed.to_hex().into()),
            ("sketch_clip", (*sketch_clip).into()),
            ("norm_bound", (*norm_bound).into()),
            ("clip_norm", (*clip_norm).into()),
            ("signrp_mode", signrp_mode.name().into()),
            ("symbols", (*symbols).into()),
            ("lattice_steps", (*lattice_steps).into()),
            ("thresholds", Fact::list(thresholds.iter().copied())),
            ("norm", (*norm).into()),
            ("density", (*density).into()),
            ("grid_exponent", (*grid_exponent).into()),
            ("i_understand_this_is_not_dp", (*i_understand_this_is_not_dp).into()),
        ];
        // Absent fields are not named, so that a mechanism without them keeps its digest.
        fields.extend(bins.as_ref().map(|bins| ("bins", bins.name().into())));
        fields.extend(components.as_ref().map(|file| ("components", file.name().into())));
        fields.extend(book.as_ref().map(|file| ("book", file.name().into())));
        fields.extend(purpose.map(|purpose| ("purpose", purpose.name().into())));
        Fact::Fields(fields)
    }

    /// What a caller passes to get these parameters, by name, without defaults: every field but `dim`, which comes from
    /// the rows.
    pub fn given(&self) -> Vec<(&'static str, Given)> {
        let Fact::Fields(fields) = self.facts() else { unreachable!("parameters are fields") };
        let is_default = |name: &str| match name {
            "dim" => true,
            "repeats" => self.repeats == 1,
            "beta" => self.unit == Unit::Record,
            "unit" => self.unit == Unit::Attribute,
            "k" => self.mechanism.is_raw(),
            "signrp_mode" => self.signrp_mode == SignrpMode::default(),
            "thresholds" => self.thresholds.is_empty(),
            "i_understand_this_is_not_dp" => !self.i_understand_this_is_not_dp,
            _ => false,
        };
        let given = |name: &str, fact: Fact| match name {
            "bins" if matches!(self.bins, Some(Partition::File(_))) => Given::File,
            "components" | "book" => Given::File,
            "i_understand_this_is_not_dp" => Given::Consent,
            "delta" => Given::Value(self.delta.map(|delta| format!("{delta:e}")).unwrap_or_default()),
            "signrp_mode" | "purpose" => Given::Value(said(&fact).to_lowercase()),
            _ => Given::Value(said(&fact)),
        };
        let told = fields.into_iter().filter(|(name, fact)| *fact != Fact::None && !is_default(name));
        told.map(|(name, fact)| (name, given(name, fact))).collect()
    }

    /// The same with a delta.
    pub fn with_delta(mut self, delta: f64) -> Self {
        self.delta = Some(delta);
        self
    }

    /// A public guess of a row's Euclidean norm: the one given, or that of values with a third of the power of an even
    /// spread over the range (images and embeddings come close; a factor of 2 costs little).
    pub fn norm_guess(&self) -> f64 {
        let Range { lo, hi } = self.range;
        self.norm.unwrap_or_else(|| {
            let density = self.density.unwrap_or(1.0);
            (density * self.dim as f64 * (lo * lo + lo * hi + hi * hi) / 9.0).sqrt()
        })
    }
}

impl Parameters {
    /// The delta of a mechanism that needs one.
    pub(crate) fn needed_delta(&self) -> Result<f64, ParameterError> {
        let others = match self.unit {
            Unit::Attribute => "dp-oporp-staircase and dp-oporp-laplace do not",
            Unit::L1 => "dp-oporp-laplace does not",
            Unit::L2 => "so does every other for unit l2",
            Unit::Record => "privcube and signcap do not",
        };
        check_delta(self.delta.ok_or(GuaranteeError::NoDelta { others })?)
    }

    /// A public guess of how much more energy a bin has than one of random signs: attributes that share a bin of a public
    /// partition add up, by half as much as if they were all equal.
    pub(crate) fn coherence(&self) -> f64 {
        match self.bins {
            Some(_) => (self.dim as f64 / self.k as f64 / 2.0).max(1.0),
            None => 1.0,
        }
    }
}

/// Released values are 32-bit floats, and consumers take their squares. Integers of 64 bits are within.
const LARGEST_VALUE: f64 = 1e19;

/// How much may be computed to make a mechanism.
struct Effort {
    /// Weights of a dense projection that are examined one by one for its realised sensitivity.
    weights: u128,
    /// Products for the operator norm of a dense projection.
    products: u128,
    /// Bits whose exact composition is computed in big integers.
    composed: usize,
}

impl Effort {
    const HOST: Self = Self { weights: 1 << 32, products: 1 << 40, composed: 1 << 13 };
    /// Some seconds of a browser: a device makes the mechanism of a campaign each time that it opens it.
    const DEVICE: Self = Self { weights: 1 << 23, products: 1 << 31, composed: 1 << 11 };
    const HERE: Self = if cfg!(feature = "host") { Self::HOST } else { Self::DEVICE };
}

impl Parameters {
    /// Guesses decide utility alone, but laws are cut by them and certificates hold them: they must be numbers.
    fn check_guesses(&self) -> Result<(), ParameterError> {
        if let Some(norm) = self.norm.filter(|norm| !(*norm > 0.0 && (norm * norm).is_normal())) {
            return Err(MechanismError::Norm { norm }.into());
        }
        if let Some(density) = self.density.filter(|density| !(1e-12..=1.0).contains(density)) {
            return Err(MechanismError::Density { density }.into());
        }
        Ok(())
    }

    /// Also what this mechanism does not use stands in its certificate, which has no other numbers. (A campaign cannot
    /// state them, and a device has no room.)
    fn check_numbers(&self) -> Result<(), ParameterError> {
        let positive =
            [("sketch_clip", self.sketch_clip), ("norm_bound", self.norm_bound), ("clip_norm", self.clip_norm)];
        for (name, value) in positive {
            if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
                return Err(MechanismError::NotPositive { name, value }.into());
            }
        }
        if let Some(&value) = self.thresholds.iter().find(|value| !value.is_finite()) {
            return Err(MechanismError::Threshold { value }.into());
        }
        let Range { lo, hi } = self.range;
        if self.range.largest() > LARGEST_VALUE || self.range.width() < 1.0 / LARGEST_VALUE {
            return Err(GridError::Units { lo, hi }.into());
        }
        Ok(())
    }

    /// Anyone who reads a certificate rebuilds its mechanism: a forger must not keep them busy for hours.
    fn check_effort(&self, most: Effort) -> Result<(), ParameterError> {
        use MechanismId::{DpSignrpCeil, DpSignrpRr};
        let Self { mechanism, dim, k, repeats, unit, delta, .. } = *self;
        let kind = self.projection.unwrap_or_else(|| mechanism.default_projection(repeats));
        let dense = !matches!(kind, ProjectionKind::Identity | ProjectionKind::Oporp { .. });
        let weights = dim as u128 * k as u128;
        let products = match unit {
            Unit::Attribute | Unit::L1 => 0,
            Unit::L2 | Unit::Record => weights * dim.min(k) as u128,
        };
        if dense && !mechanism.is_record() && (weights > most.weights || products > most.products) {
            return Err(MechanismError::DenseTooLong { dim, k }.into());
        }
        if matches!(mechanism, DpSignrpCeil | DpSignrpRr) && delta.is_some() && k > most.composed {
            return Err(MechanismError::CompositionTooLong { k, most: most.composed }.into());
        }
        Ok(())
    }

    /// Refuses what a device would compute for too long.
    pub fn check_for_devices(&self) -> Result<(), ParameterError> {
        self.check_effort(Effort::DEVICE)
    }
}

/// The checked parameters, with what every algorithm derives from them.
pub(crate) struct Setup<'a> {
    pub parameters: &'a Parameters,
    pub epsilon: Epsilon,
    /// beta, capped at the range's width.
    pub beta: f64,
}

/// Steps of beta on the automatic grid: rounding beta up to whole steps then costs at most 1 part in 255, and 8-bit
/// integers with beta = 255 need no rounding at all.
pub(crate) const STEPS: u64 = 255;

impl<'a> Setup<'a> {
    pub fn new(parameters: &'a Parameters) -> Result<Self, ParameterError> {
        let Parameters { dim, k, repeats, beta, range, .. } = *parameters;
        Range::new(range.lo, range.hi)?;
        if dim == 0 || dim as u64 > 1 << 32 {
            return Err(MechanismError::Dim { dim }.into());
        }
        if k == 0 || k > 1 << 20 {
            return Err(MechanismError::K { k }.into());
        }
        if repeats == 0 || k % repeats != 0 {
            return Err(MechanismError::Repeats { repeats, k }.into());
        }
        if !(beta > 0.0 && beta.is_finite()) {
            return Err(GridError::Beta { beta }.into());
        }
        parameters.check_guesses()?;
        if cfg!(feature = "host") {
            parameters.check_numbers()?;
        }
        parameters.check_effort(Effort::HERE)?;
        // In one attribute no two values are further apart than the range; in l1 and l2 all attributes may move.
        let beta = if parameters.unit == Unit::Attribute { beta.min(range.width()) } else { beta };
        Ok(Self { parameters, epsilon: Epsilon::new(parameters.epsilon)?, beta })
    }

    /// The grid on which beta spans `steps` steps. Never coarser than 1 (integer data keep their values); coarser than
    /// asked for only where the range would not fit 31 bits.
    pub fn grid(&self, steps: u64) -> Result<Grid, ParameterError> {
        let range = self.parameters.range;
        if let Some(exponent) = self.parameters.grid_exponent {
            return Grid::new(range, exponent);
        }
        // Rounding moves every attribute by up to one step, so units that let all attributes move need a finer grid.
        let p = self.parameters.dim as u64;
        let steps = match self.parameters.unit {
            Unit::Attribute | Unit::Record => steps,
            Unit::L1 => steps.max(64 * p),
            Unit::L2 => steps.max(64 * p.isqrt()),
        };
        let length = if self.parameters.unit == Unit::Record { range.width() } else { self.beta };
        let mut wanted = steps;
        loop {
            match Grid::with_steps(range, length, wanted) {
                Ok(grid) if grid.exponent() > 0 => return Grid::new(range, 0).or(Ok(grid)),
                Ok(grid) => return Ok(grid),
                Err(error) if wanted <= 16 => return Err(error),
                Err(_) => wanted /= 2,
            }
        }
    }

    /// The most that the quantised row may move in l1, in grid steps.
    ///
    /// attribute: `B = ceil(beta/g)`; a beta of the range's width or more is any value, and `hi - lo` is counted in
    /// integers, because as a float it may be rounded down. l1: each of p attributes may in addition cross one rounding
    /// threshold.
    pub fn steps_l1(&self, grid: &Grid) -> Result<u64, ParameterError> {
        let (lo, hi) = grid.bounds();
        let whole = u64::from(hi.abs_diff(lo)).max(1);
        match self.parameters.unit {
            Unit::Attribute if self.parameters.beta >= self.parameters.range.width() => Ok(whole),
            Unit::Attribute => Ok(grid.steps(self.beta)?.clamp(1, whole)),
            Unit::L1 => grid.steps(self.beta)?.checked_add(self.parameters.dim as u64).ok_or_else(too_large),
            Unit::L2 | Unit::Record => grid.steps(self.beta),
        }
    }

    /// What each repetition may spend: ε/t.
    pub fn each(&self) -> BigRational {
        self.epsilon.exact() / BigInt::from(self.parameters.repeats)
    }

    /// The worst ratio of one touched coordinate in each of t repetitions, composed exactly.
    pub fn in_every_repetition(&self, worst: WorstRatio) -> Result<WorstRatio, ParameterError> {
        worst.repeated(self.parameters.repeats as u64)
    }

    /// A pure guarantee, from the worst ratio of the integers that run; refused if that is above e^ε.
    pub fn pure(&self, worst: &WorstRatio) -> Result<Guarantee, ParameterError> {
        Guarantee::pure(&self.epsilon, worst, self.parameters.unit, self.beta)
    }

    /// An approximate guarantee, from an upper bound that was shown for its delta; refused if that is above `delta`.
    pub fn approximate(&self, delta: f64, shown: &BigRational) -> Result<Guarantee, ParameterError> {
        Guarantee::approximate(&self.epsilon, delta, shown, self.parameters.unit, self.beta)
    }

    /// The projection, as asked for or as the id implies.
    pub fn projection(&self, allowed: &'static [&'static str]) -> Result<Projection, ParameterError> {
        let Parameters { mechanism, dim, k, repeats, seed, .. } = *self.parameters;
        let kind = self.parameters.projection.unwrap_or_else(|| mechanism.default_projection(repeats));
        if let Some(asked) = self.parameters.projection {
            let projection = asked.to_string();
            let family = projection.split(':').next().unwrap_or_default();
            if !allowed.contains(&family) {
                let mechanism = mechanism.as_str();
                return Err(MechanismError::Projection { mechanism, projection, allowed }.into());
            }
        }
        let misplaced =
            [("components", self.parameters.components.is_some()), ("book", self.parameters.book.is_some())];
        let is_at_home = |name: &str| name == "book" && mechanism == MechanismId::Privbook;
        if let Some((name, _)) = misplaced.into_iter().find(|(name, given)| *given && !is_at_home(name)) {
            return Err(MechanismError::Misplaced { mechanism: mechanism.as_str(), parameter: name }.into());
        }
        if let Some(partition) = &self.parameters.bins {
            if !allowed.contains(&"oporp") || !matches!(kind, ProjectionKind::Oporp { repeats: 1 }) || repeats != 1 {
                let (mechanism, projection) = (mechanism.as_str(), kind.into());
                return Err(MechanismError::BinsMisplaced { mechanism, repeats, projection }.into());
            }
            return Ok(Projection::with_bins(partition.bins(dim, k)?, seed));
        }
        // One bin of each repetition is touched: counting fewer repetitions than there are would understate the loss.
        if kind.repeats() != repeats {
            let (projection, found) = (kind.into(), kind.repeats());
            return Err(MechanismError::ProjectionRepeats { projection, found, repeats }.into());
        }
        Projection::new(kind, seed, dim, k)
    }

    /// Refuses units for which the mechanism has no proof.
    pub fn allow_units(&self, allowed: &[Unit], why: NoProof) -> Result<(), ParameterError> {
        let Parameters { unit, mechanism, .. } = *self.parameters;
        if allowed.contains(&unit) {
            return Ok(());
        }
        let mechanism = mechanism.as_str();
        Err(match unit {
            Unit::Attribute => Refusal::UnitAttribute { mechanism, why },
            Unit::L1 => Refusal::UnitL1 { mechanism, why },
            Unit::L2 => Refusal::UnitL2 { mechanism, why },
            Unit::Record => Refusal::UnitRecord { mechanism, why },
        }
        .into())
    }
}
