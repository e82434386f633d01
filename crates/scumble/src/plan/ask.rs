//! What a user asks for, and the defaults for everything else. The one place where defaults are decided.

use super::{PlanError, Public, Request, plan_with_public};
use crate::certificate::hex;
use crate::error::{Fault, Kind, ParameterError};
use scumble_core::entropy::NoEntropy;
use scumble_core::error::MechanismError;
use scumble_core::mechanism::{
    Mechanism, MechanismId, NotionKind, OutputKind, Parameters, Purpose, Required, SignrpMode,
};
use scumble_core::noise::NoiseKey;
use scumble_core::privacy::Unit;
use scumble_core::projection::{Partition, ProjectionKind, Seed, TableFile};
use scumble_core::release::{Encoding, Releaser};
use scumble_core::vectors::Range;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Why a request has no mechanism.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// Nothing can be built with these numbers.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No fresh seed was available.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
    /// A unit that adds up the moves of all attributes has no default.
    #[error("unit {unit} needs beta, the most that a row may move in that distance")]
    NoBeta {
        /// The unit.
        unit: Unit,
    },
    /// A row takes at least a byte.
    #[error("bytes must be at least 1")]
    NoBytes,
    /// A pure mechanism was given a delta.
    #[error(
        "{mechanism} takes no delta: its guarantee is pure, which is stronger than any delta; leave delta = {delta} out"
    )]
    PureWithDelta {
        /// The mechanism.
        mechanism: MechanismId,
        /// The delta.
        delta: f64,
    },
    /// A raw mechanism was given another size than the dimension.
    #[error("raw mechanisms have no projection: leave k out (it is {dim}, not {k})")]
    RawWithK {
        /// Attributes.
        dim: usize,
        /// The size that was asked for.
        k: usize,
    },
    /// No plan is made here that could choose a mechanism.
    #[error("a mechanism is needed here")]
    NoMechanism,
    /// No plan is made here that could choose a size.
    #[error("{mechanism} needs k, the size of the sketch")]
    NoK {
        /// The mechanism.
        mechanism: MechanismId,
    },
}

impl Fault for AskError {
    fn kind(&self) -> Kind {
        match self {
            Self::Plan(error) => error.kind(),
            Self::NoEntropy(error) => error.kind(),
            Self::NoBeta { .. }
            | Self::NoBytes
            | Self::PureWithDelta { .. }
            | Self::RawWithK { .. }
            | Self::NoMechanism
            | Self::NoK { .. } => Kind::Parameter,
        }
    }
}

impl From<ParameterError> for AskError {
    fn from(error: ParameterError) -> Self {
        Self::Plan(error.into())
    }
}

/// What a user asks for. `None` leaves a number open; [`request`](Self::request) closes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // each field is that of `Parameters` or `Request`
pub struct Ask {
    pub epsilon: f64,
    pub range: Range,
    #[serde(default)]
    pub mechanism: Option<MechanismId>,
    #[serde(default)]
    pub k: Option<usize>,
    #[serde(default)]
    pub encoding: Option<Encoding>,
    #[serde(default)]
    pub bytes: Option<usize>,
    #[serde(default)]
    pub delta: Option<f64>,
    #[serde(default)]
    pub beta: Option<f64>,
    #[serde(default)]
    pub unit: Option<Unit>,
    #[serde(default)]
    pub seed: Option<Seed>,
    #[serde(default)]
    pub repeats: Option<usize>,
    #[serde(default)]
    pub projection: Option<ProjectionKind>,
    #[serde(default)]
    pub bins: Option<Partition>,
    #[serde(default)]
    pub components: Option<TableFile>,
    #[serde(default)]
    pub book: Option<TableFile>,
    #[serde(default)]
    pub purpose: Option<Purpose>,
    #[serde(default)]
    pub sketch_clip: Option<f64>,
    #[serde(default)]
    pub norm_bound: Option<f64>,
    #[serde(default)]
    pub clip_norm: Option<f64>,
    #[serde(default)]
    pub signrp_mode: SignrpMode,
    #[serde(default)]
    pub symbols: Option<u8>,
    #[serde(default)]
    pub lattice_steps: Option<u32>,
    #[serde(default)]
    pub thresholds: Vec<f64>,
    #[serde(default)]
    pub norm: Option<f64>,
    #[serde(default)]
    pub density: Option<f64>,
    #[serde(default)]
    pub grid_exponent: Option<i32>,
    #[serde(default)]
    pub i_understand_this_is_not_dp: bool,
}

/// The dimension and what is asked for, from the JSON of both.
pub fn parse_ask(text: &str) -> serde_json::Result<(usize, Ask)> {
    let mut fields: Map<String, Value> = serde_json::from_str(text)?;
    let dim = serde_json::from_value(fields.remove("dim").unwrap_or_default())?;
    Ok((dim, serde_json::from_value(fields.into())?))
}

/// What is on the menu.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)] // each field is that of `MechanismId`
pub struct Described {
    pub id: &'static str,
    pub notion: String,
    pub output: &'static str,
    pub paper: &'static str,
    pub summary: &'static str,
}

/// Every mechanism, in the order of the list of ids.
pub fn described() -> Vec<Described> {
    let describe = |id: &MechanismId| Described {
        id: id.as_str(),
        notion: format!("{:?}", id.notion()).to_lowercase(),
        output: id.output().as_str(),
        paper: id.paper(),
        summary: id.summary(),
    };
    MechanismId::ALL.iter().map(describe).collect()
}

/// Parameters as JSON, with the content of the public files that they name.
pub fn with_content(parameters: &Parameters) -> Value {
    let mut json = serde_json::to_value(parameters).expect("parameters have only JSON values");
    for (name, content) in parameters.beside() {
        let (field, text) = match String::from_utf8(content) {
            Ok(text) if name == "bins" => ("text", text),
            Ok(text) => ("content", hex(text.as_bytes())),
            Err(error) => ("content", hex(error.as_bytes())),
        };
        json[name][field] = text.into();
    }
    json
}

impl Ask {
    /// Asks for a loss of at most `epsilon` on attributes in `range`; everything else is left open.
    pub fn new(epsilon: f64, range: Range) -> Self {
        Self {
            epsilon,
            range,
            mechanism: None,
            k: None,
            encoding: None,
            bytes: None,
            delta: None,
            beta: None,
            unit: None,
            seed: None,
            repeats: None,
            projection: None,
            bins: None,
            components: None,
            book: None,
            purpose: None,
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

    /// Everything but mechanism and size fixed, for rows of `dim` attributes.
    ///
    /// The unit is one attribute, or the record where the mechanism knows no other. Beta is the width of the range, so
    /// that a value may be replaced by any other; units that add up moves of all attributes have no such default. The
    /// seed is that of `key`, so that all releases with one key can be compared, or else a fresh one. Bins fix a mechanism
    /// and a size that suit them where those are open.
    pub fn request(&self, dim: usize, key: Option<&NoiseKey>) -> Result<Request, AskError> {
        // Public structure without a mechanism: the mechanism that it is for.
        let implied = match (&self.bins, &self.components, &self.book) {
            (_, _, Some(_)) => Some(MechanismId::Privbook),
            (_, Some(_), _) => Some(MechanismId::Privcube),
            (Some(_), ..) => Some(MechanismId::DpOporpStaircase),
            _ => None,
        };
        let mechanism = self.mechanism.or(implied);
        let record = mechanism.is_some_and(MechanismId::is_record);
        let unit = self.unit.unwrap_or(if record { Unit::Record } else { Unit::Attribute });
        let beta = match (self.beta, unit) {
            (Some(beta), _) => beta,
            (None, Unit::Attribute | Unit::Record) => self.range.width(),
            (None, Unit::L1 | Unit::L2) => return Err(AskError::NoBeta { unit }),
        };
        if self.bytes == Some(0) {
            return Err(AskError::NoBytes);
        }
        if let (Some(delta), Some(mechanism)) = (self.delta, mechanism)
            && mechanism.notion() == NotionKind::Pure
        {
            return Err(AskError::PureWithDelta { mechanism, delta });
        }
        if let Some(mechanism) = mechanism
            && let Some((parameter, ..)) =
                self.settings(mechanism, unit).into_iter().find(|(_, given, taken)| *given && !taken)
        {
            let mechanism = mechanism.as_str();
            return Err(ParameterError::from(MechanismError::Misplaced { mechanism, parameter }).into());
        }
        let seed = match (self.seed, key) {
            (Some(seed), _) => seed,
            (None, Some(key)) => Seed(key.public_seed()),
            (None, None) => Seed::generate()?,
        };
        let outputs = self.components.as_ref().and_then(|file| file.content()).map(|table| table.shape().1);
        let suggested = self.bins.as_ref().and_then(|bins| bins.suggested_k(self.epsilon)).or(outputs);
        let k = match (mechanism, self.k.or(suggested)) {
            (Some(id), Some(k)) if id.is_raw() && k != dim => return Err(AskError::RawWithK { dim, k }),
            (Some(id), _) if id.is_raw() => Some(dim),
            (_, k) => k,
        };
        // Mechanism and size give way to the plan's where they are open.
        let id = mechanism.unwrap_or(MechanismId::DpOporpStaircase);
        let parameters = Parameters {
            repeats: self.repeats.unwrap_or(1),
            delta: self.delta,
            unit,
            projection: self.projection,
            bins: self.bins.clone(),
            components: self.components.clone(),
            book: self.book.clone(),
            purpose: self.purpose,
            sketch_clip: self.sketch_clip,
            norm_bound: self.norm_bound,
            clip_norm: self.clip_norm,
            signrp_mode: self.signrp_mode,
            symbols: self.symbols,
            lattice_steps: self.lattice_steps,
            thresholds: self.thresholds.clone(),
            norm: self.norm,
            density: self.density,
            grid_exponent: self.grid_exponent,
            i_understand_this_is_not_dp: self.i_understand_this_is_not_dp,
            ..Parameters::new(Required {
                mechanism: id,
                dim,
                k: k.unwrap_or(1),
                epsilon: self.epsilon,
                beta,
                range: self.range,
                seed,
            })
        };
        Ok(Request { parameters, mechanism, k, encoding: self.encoding, bytes: self.bytes })
    }

    /// What only some mechanisms take: its name, whether it is given, and whether this one takes it. What does nothing must
    /// not stand in a certificate, where a reader takes it for a promise.
    fn settings(&self, id: MechanismId, unit: Unit) -> [(&'static str, bool, bool); 8] {
        use MechanismId::{DpOporpLattice, DpOporpZones, DpSignoporpCeil, DpSignrpRr, Privcube, RawRr};
        let (values, symbols) = (id.output() == OutputKind::Values, id.output() == OutputKind::Symbols);
        let radius = id.notion() == NotionKind::Approximate && unit == Unit::Record;
        let norm = id == DpSignrpRr && self.delta.is_some();
        [
            ("sketch_clip", self.sketch_clip.is_some(), values && id.notion() == NotionKind::Pure),
            ("clip_norm", self.clip_norm.is_some(), radius),
            ("norm_bound", self.norm_bound.is_some(), norm),
            ("signrp_mode", self.signrp_mode != SignrpMode::default(), norm),
            ("symbols", self.symbols.is_some(), symbols),
            ("lattice_steps", self.lattice_steps.is_some(), id == DpOporpLattice),
            ("thresholds", !self.thresholds.is_empty(), matches!(id, DpOporpZones | DpSignoporpCeil | RawRr)),
            ("purpose", self.purpose.is_some(), id == Privcube),
        ]
    }

    /// The same request for one mechanism of several, without what it does not take.
    pub fn for_one(&self, id: MechanismId) -> Self {
        let unit = self.unit.unwrap_or(if id.is_record() { Unit::Record } else { Unit::Attribute });
        let [sketch_clip, clip_norm, norm_bound, signrp_mode, symbols, lattice_steps, thresholds, purpose] =
            self.settings(id, unit).map(|(_, _, taken)| taken);
        Self {
            sketch_clip: self.sketch_clip.filter(|_| sketch_clip),
            clip_norm: self.clip_norm.filter(|_| clip_norm),
            norm_bound: self.norm_bound.filter(|_| norm_bound),
            signrp_mode: if signrp_mode { self.signrp_mode } else { SignrpMode::default() },
            symbols: self.symbols.filter(|_| symbols),
            lattice_steps: self.lattice_steps.filter(|_| lattice_steps),
            thresholds: if thresholds { self.thresholds.clone() } else { Vec::new() },
            purpose: self.purpose.filter(|_| purpose),
            ..self.clone()
        }
    }

    /// The mechanism, where it and its size are fixed.
    pub fn mechanism(&self, dim: usize) -> Result<Mechanism, AskError> {
        let request = self.request(dim, None)?;
        let mechanism = request.mechanism.ok_or(AskError::NoMechanism)?;
        let k = request.k.ok_or(AskError::NoK { mechanism })?;
        Ok(Mechanism::new(Parameters { mechanism, k, ..request.parameters })?)
    }

    /// The releaser: as asked for, or the plan's choice by public knowledge alone. With a key, the noise comes from it.
    pub fn releaser(&self, dim: usize, key: Option<NoiseKey>, public: Public<'_>) -> Result<Releaser, AskError> {
        let request = self.request(dim, key.as_ref())?;
        let releaser = match (request.mechanism, request.k) {
            (Some(mechanism), Some(k)) if public.is_nothing() => {
                let parameters = Parameters { mechanism, k, ..request.parameters };
                Releaser::new(Mechanism::new(parameters)?, request.encoding)?
            }
            _ => {
                let best = plan_with_public(&request, public)?.best;
                Releaser::new(best.mechanism, Some(best.encoding))?
            }
        };
        Ok(match key {
            Some(key) => releaser.keyed(key),
            None => releaser,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask() -> Ask {
        Ask::new(2.0, Range { lo: -1.0, hi: 1.0 })
    }

    #[test]
    fn defaults_are_those_that_are_stated() {
        let request = ask().request(10, None).unwrap();
        assert_eq!((request.parameters.unit, request.parameters.beta), (Unit::Attribute, 2.0));
        let record = Ask { mechanism: Some(MechanismId::Privcube), ..ask() };
        assert_eq!(record.request(10, None).unwrap().parameters.unit, Unit::Record);
        let raw = Ask { mechanism: Some(MechanismId::RawLaplace), ..ask() };
        assert_eq!(raw.request(10, None).unwrap().k, Some(10));
        let key = NoiseKey::from_bytes([3; 32]);
        assert_eq!(ask().request(10, Some(&key)).unwrap().parameters.seed, Seed(key.public_seed()));
    }

    #[test]
    fn what_has_no_default_is_refused() {
        for wrong in [
            Ask { unit: Some(Unit::L1), ..ask() },
            Ask { unit: Some(Unit::L2), ..ask() },
            Ask { bytes: Some(0), ..ask() },
            Ask { mechanism: Some(MechanismId::DpOporpStaircase), delta: Some(1e-6), ..ask() },
            Ask { mechanism: Some(MechanismId::RawStaircase), k: Some(9), ..ask() },
        ] {
            assert!(wrong.request(10, None).is_err(), "{wrong:?}");
        }
    }

    /// A clip or a bound that does nothing would be read as a promise.
    #[test]
    fn what_a_mechanism_does_not_take_is_refused() {
        let staircase = Ask { mechanism: Some(MechanismId::DpOporpStaircase), k: Some(4), ..ask() };
        for (wrong, name) in [
            (Ask { clip_norm: Some(0.1), ..staircase.clone() }, "clip_norm"),
            (Ask { norm_bound: Some(3.0), ..staircase.clone() }, "norm_bound"),
            (Ask { symbols: Some(3), ..staircase.clone() }, "symbols"),
            (Ask { lattice_steps: Some(2), ..staircase.clone() }, "lattice_steps"),
            (Ask { thresholds: vec![0.5], ..staircase.clone() }, "thresholds"),
            (Ask { purpose: Some(Purpose::Search), ..staircase.clone() }, "purpose"),
            (
                Ask { sketch_clip: Some(1.0), mechanism: Some(MechanismId::RawRr), k: None, ..staircase.clone() },
                "sketch_clip",
            ),
        ] {
            let error = wrong.request(10, None).unwrap_err().to_string();
            assert!(error.contains(&format!("does not take ‹{name}›")), "{error}");
            let id = wrong.mechanism.unwrap();
            assert!(wrong.for_one(id).request(10, None).is_ok(), "{name}");
        }
        assert!(Ask { sketch_clip: Some(1.0), ..staircase }.mechanism(10).is_ok());
    }
}
