//! The kinds of projection and how they are written.

use crate::error::{ParameterError, ProjectionError};
use crate::exact;
use std::fmt;
use std::str::FromStr;

/// The law of a projection. Written `none`, `gaussian`, `uniform`, `very-sparse:S`, `rademacher`, `oporp`, `oporp:T`,
/// `bins` or `components`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum ProjectionKind {
    /// No projection: `k = p` and W is the identity.
    Identity,
    /// Standard normal entries, in fixed point with 16 fractional bits.
    Gaussian,
    /// `sqrt(3) unif[-1, 1]`: the odd integers -255..=255.
    Uniform,
    /// `sqrt(s)` times +1, 0, -1 with probabilities `1/2s, 1 - 1/s, 1/2s`.
    VerySparse {
        /// One entry in `s` is not zero on average; `s >= 1`.
        s: f64,
    },
    /// +1 and -1 with equal probability.
    Rademacher,
    /// One permutation and one random vector of signs: every attribute enters one bin of each repetition.
    Oporp {
        /// Number of independent repetitions, `t`, of `k/t` bins each.
        repeats: usize,
    },
    /// A public linear map from a file, after a public centre is subtracted: for whole-record mechanisms.
    Components,
    /// A public partition with public signs in place of OPORP's random ones; see [`Partition`](super::Partition).
    Bins,
}

impl ProjectionKind {
    /// `t`: repetitions of OPORP, 1 for every other kind.
    pub fn repeats(&self) -> usize {
        match self {
            Self::Oporp { repeats } => *repeats,
            _ => 1,
        }
    }
}

impl fmt::Display for ProjectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from(*self))
    }
}

impl FromStr for ProjectionKind {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        let kind = match (name, number) {
            ("none", None) => Some(Self::Identity),
            ("gaussian", None) => Some(Self::Gaussian),
            ("uniform", None) => Some(Self::Uniform),
            ("very-sparse", Some(s)) => exact::read(s).map(|s| Self::VerySparse { s }),
            ("rademacher", None) => Some(Self::Rademacher),
            ("oporp", None) => Some(Self::Oporp { repeats: 1 }),
            ("bins", None) => Some(Self::Bins),
            ("components", None) => Some(Self::Components),
            ("oporp", Some(t)) => t.parse().ok().map(|repeats| Self::Oporp { repeats }),
            _ => None,
        };
        kind.ok_or_else(|| ProjectionError::Unknown { text: text.into() }.into())
    }
}

impl From<ProjectionKind> for String {
    fn from(kind: ProjectionKind) -> Self {
        let name = match kind {
            ProjectionKind::Identity => "none",
            ProjectionKind::Gaussian => "gaussian",
            ProjectionKind::Uniform => "uniform",
            ProjectionKind::VerySparse { s } => return Self::from("very-sparse:") + &exact::shortest(s),
            ProjectionKind::Rademacher => "rademacher",
            ProjectionKind::Oporp { repeats: 1 } => "oporp",
            ProjectionKind::Oporp { repeats } => return Self::from("oporp:") + &repeats.to_string(),
            ProjectionKind::Bins => "bins",
            ProjectionKind::Components => "components",
        };
        name.into()
    }
}

impl TryFrom<String> for ProjectionKind {
    type Error = ParameterError;

    fn try_from(text: String) -> Result<Self, ParameterError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip_and_nonsense_is_refused() {
        for text in
            ["none", "gaussian", "uniform", "very-sparse:2.5", "rademacher", "oporp", "oporp:4", "bins", "components"]
        {
            let kind: ProjectionKind = text.parse().unwrap();
            assert_eq!(kind.to_string(), text);
            assert_eq!(serde_json::from_str::<ProjectionKind>(&serde_json::to_string(&kind).unwrap()).unwrap(), kind);
        }
        for text in ["", "Gaussian", "gaussian:1", "very-sparse", "very-sparse:x", "oporp:-1", "oporp:"] {
            assert!(text.parse::<ProjectionKind>().is_err(), "{text}");
        }
    }
}
