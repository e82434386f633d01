//! Names of the mechanisms, and what each publishes.

use super::parameters::Setup;
use super::recipe::Recipe;
use crate::error::{MechanismError, ParameterError};
use crate::projection::ProjectionKind;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What kind of output a mechanism has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// Real values (integers times a public unit).
    Values,
    /// One bit per coordinate.
    Bits,
    /// One of a few symbols per coordinate.
    Symbols,
    /// One word of a public book for the whole row.
    Words,
}

impl OutputKind {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Bits => "bits",
            Self::Symbols => "symbols",
            Self::Words => "words",
        }
    }
}

/// Which guarantee a mechanism can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotionKind {
    /// Pure epsilon; no delta is taken.
    Pure,
    /// Needs a delta.
    Approximate,
    /// Pure without a delta, approximate with one.
    Either,
    /// Individual DP: not differentially private.
    Individual,
}

macro_rules! mechanisms {
    ($($variant:ident $text:literal $folder:ident::$file:ident $projection:ident $output:ident $notion:ident
        $paper:literal $summary:literal;)*) => {
        /// Every mechanism, by the ids of the command line and the certificate.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum MechanismId {
            $(#[doc = $summary] #[serde(rename = $text)] $variant,)*
        }

        impl MechanismId {
            /// All of them, in the order of the paper, ours next to theirs.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Their ids, in the same order.
            const NAMES: &'static [&'static str] = &[$($text,)*];

            /// The id.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Where it comes from.
            pub fn paper(self) -> &'static str {
                match self { $(Self::$variant => $paper,)* }
            }

            /// What it does, in one line.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)* }
            }

            /// Values, bits, symbols or words.
            pub fn output(self) -> OutputKind {
                match self { $(Self::$variant => OutputKind::$output,)* }
            }

            /// Which guarantee it can give.
            pub fn notion(self) -> NotionKind {
                match self { $(Self::$variant => NotionKind::$notion,)* }
            }

            /// What its file decides for these numbers.
            pub(super) fn recipe(self, setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
                match self { $(Self::$variant => super::$folder::$file::new(setup),)* }
            }

            fn family(self) -> Family {
                match self { $(Self::$variant => Family::$projection,)* }
            }
        }
    };
}

mechanisms! {
    RawGOpt "raw-g-opt" paper::raw_g_opt Raw Values Approximate "[LL23] section 3.6, Raw-data-G-OPT"
        "Every attribute plus optimal Gaussian noise";
    RawLaplace "raw-laplace" ours::raw_laplace Raw Values Pure "ours, beside Raw-data-G-OPT"
        "Every attribute plus discrete Laplace noise";
    RawStaircase "raw-staircase" ours::raw_staircase Raw Values Pure "ours, with the noise of [GV15]"
        "Every attribute plus discrete staircase noise";
    RawRr "raw-rr" ours::raw_rr Raw Bits Pure "ours, Warner's randomized response beside Raw-data-G-OPT"
        "One bit per attribute, randomized response: for shares of yes and no";
    DpRpG "dp-rp-g" paper::dp_rp_g Gaussian Values Approximate "[LL23] Algorithm 1, Theorem 3.1"
        "Gaussian projection, Gaussian noise by Kenthapadi's formula";
    DpRpGAnalytic "dp-rp-g-analytic" paper::dp_rp_g Gaussian Values Approximate "[LL23] Theorem 3.4"
        "Gaussian projection, Gaussian noise by the analytic bound on the sensitivity";
    DpRpGOpt "dp-rp-g-opt" paper::dp_rp_g Gaussian Values Approximate "[LL23] Algorithm 1, Theorem 3.5"
        "Gaussian (or uniform, very sparse) projection, optimal Gaussian noise";
    DpRpL "dp-rp-l" paper::dp_rp_l Gaussian Values Pure "[LL23] Algorithm 2"
        "Gaussian (or other) projection, Laplace noise at the realised sensitivity";
    DpRpGOptB "dp-rp-g-opt-b" paper::dp_rp_g_opt_b Rademacher Values Approximate "[LL23] Algorithm 3"
        "Rademacher projection, optimal Gaussian noise";
    DpOporp "dp-oporp" paper::dp_oporp Oporp Values Approximate "[LL23] Algorithms 4 and 5"
        "OPORP, optimal Gaussian noise";
    DpOporpLaplace "dp-oporp-laplace" ours::dp_oporp_laplace Oporp Values Pure "ours, on [LL23] Algorithm 4"
        "OPORP, discrete Laplace noise";
    DpOporpStaircase "dp-oporp-staircase" ours::dp_oporp_staircase Oporp Values Pure "ours, on [LL23] Algorithm 4 with the noise of [GV15]"
        "OPORP, discrete staircase noise: the best values for one attribute";
    DpOporpLattice "dp-oporp-lattice" ours::dp_oporp_lattice Oporp Symbols Pure "ours, on [LL23] Algorithm 4"
        "OPORP, nearest lattice point with staircase noise, a few symbols a bin";
    DpOporpZones "dp-oporp-zones" ours::dp_oporp_zones Oporp Symbols Pure "ours, on [LL23] Algorithm 4"
        "OPORP, randomized response over public zones: also for beta as large as the range";
    DpSignrpRr "dp-signrp-rr" paper::dp_signrp_rr Gaussian Bits Either "[LL23] Algorithm 6"
        "Signs of a Gaussian projection, randomized response";
    DpSignrpRrSmooth "dp-signrp-rr-smooth" paper::dp_signrp_rr_smooth Gaussian Bits Pure "[LL23] Algorithm 7"
        "Signs of a dense projection, flips that fade with the distance from zero";
    DpSignrpCeil "dp-signrp-ceil" ours::dp_signrp_ceil Gaussian Bits Either "ours, on [LL23] Algorithm 7"
        "Signs of a dense projection, the best epsilon-DP flips";
    SignDpRpGOptB "sign-dp-rp-g-opt-b" paper::dp_rp_g_opt_b Rademacher Bits Approximate "[LL23] section 4, first paragraph"
        "Signs of dp-rp-g-opt-b";
    DpSignoporpRr "dp-signoporp-rr" paper::dp_signoporp_rr Oporp Bits Pure "[LL23] Algorithm 8"
        "Signs of OPORP, randomized response";
    DpSignoporpRrSmooth "dp-signoporp-rr-smooth" paper::dp_signoporp_rr Oporp Bits Pure "[LL23] Algorithm 8"
        "Signs of OPORP, flips that fade with the distance from zero";
    DpSignoporpCeil "dp-signoporp-ceil" ours::dp_signoporp_ceil Oporp Bits Pure "ours, on [LL23] Algorithm 8"
        "One bit a bin of OPORP, the best epsilon-DP rule, zero on the minus side";
    Privcube "privcube" record::privcube Record Bits Pure "ours, unit record"
        "A weighted vertex of the cube: any record for any other";
    Signcap "signcap" record::signcap Record Bits Pure "ours, unit record"
        "Signs with a weighted number of agreements: any record for any other, fast";
    Privbook "privbook" record::privbook Book Words Pure "ours, unit record"
        "A word of a public book, likelier if it is near: any record for any other";
    IdpSignrpG "idp-signrp-g" paper::idp_signrp Rademacher Bits Individual "[LL23] Algorithms 9 and 10"
        "NOT DP: Gaussian noise on the signs near zero only";
    IdpSignrpRr "idp-signrp-rr" paper::idp_signrp Rademacher Bits Individual "[LL23] Algorithms 10 and 11"
        "NOT DP: randomized response on the signs near zero only";
    IdpSignoporpG "idp-signoporp-g" paper::idp_signrp Oporp Bits Individual "[LL23] section 6.2"
        "NOT DP: idp-signrp-g on OPORP";
    IdpSignoporpRr "idp-signoporp-rr" paper::idp_signrp Oporp Bits Individual "[LL23] section 6.2"
        "NOT DP: idp-signrp-rr on OPORP";
}

/// The projection that an id implies, and with it its unit.
#[derive(Clone, Copy, PartialEq)]
enum Family {
    /// None: every attribute by itself.
    Raw,
    /// Dense, Gaussian.
    Gaussian,
    /// Dense, +-1.
    Rademacher,
    /// One permutation and one sign per attribute.
    Oporp,
    /// OPORP as a rotation; the unit is the whole record.
    Record,
    /// None: the record ranks public words; the unit is the whole record.
    Book,
}

impl MechanismId {
    /// The projection that the id implies when none is asked for.
    pub fn default_projection(self, repeats: usize) -> ProjectionKind {
        match self.family() {
            Family::Raw | Family::Book => ProjectionKind::Identity,
            Family::Gaussian => ProjectionKind::Gaussian,
            Family::Rademacher => ProjectionKind::Rademacher,
            Family::Oporp | Family::Record => ProjectionKind::Oporp { repeats },
        }
    }

    /// Those that numbers alone determine: all but `privbook`, which needs a public file.
    pub fn without_files() -> impl Iterator<Item = Self> + Clone {
        Self::ALL.iter().copied().filter(|id| *id != Self::Privbook)
    }

    /// True when the projection is the identity.
    pub fn is_raw(self) -> bool {
        matches!(self.family(), Family::Raw | Family::Book)
    }

    /// True for the mechanisms whose unit is the whole record and nothing else.
    pub fn is_record(self) -> bool {
        matches!(self.family(), Family::Record | Family::Book)
    }
}

impl fmt::Display for MechanismId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for MechanismId {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|id| id.as_str() == text)
            .ok_or_else(|| MechanismError::Unknown { text: text.into(), known: Self::NAMES }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip() {
        for id in MechanismId::ALL {
            assert_eq!(id.as_str().parse::<MechanismId>().unwrap(), *id);
            assert_eq!(serde_json::to_string(id).unwrap(), format!("\"{id}\""));
        }
        assert!("dp-oporp-gauss".parse::<MechanismId>().is_err());
    }
}
