//! Refusals on privacy grounds: why no guarantee can be given, and what to ask for instead.

use scumble_core::mechanism::MechanismId;
use thiserror::Error;

/// What is asked for would not be private, or could not be shown to be.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum NotPrivate {
    #[error(
        "refused: {mechanism} is not differentially private and has no epsilon that a ledger could take. Instead: a \
         mechanism that is: dp-signoporp-ceil or dp-signrp-ceil"
    )]
    NoEpsilon { mechanism: MechanismId },
    #[error(
        "refused: {mechanism} is not differentially private: no campaign may use it. Instead: dp-signoporp-ceil, or \
         privcube for a whole record"
    )]
    Campaign { mechanism: MechanismId },
    #[error(
        "refused: the approximate promise of dp-signrp-rr rests on a projection that is used once and on a norm that every \
         row has: a device can keep neither. Instead: dp-signrp-ceil, or dp-signrp-rr without a delta"
    )]
    SignrpOnDevices,
    #[error(
        "refused: a person may be in both releases, and the bound holds for one report of each person. Instead: the \
         amplified epsilon of each release, added up"
    )]
    AmplifiedDifference,
    #[error(
        "refused: no amplification by shuffling: {why}. Instead: state the release's own guarantee, or release with \
         dp-oporp-zones, a clipped sketch or a record mechanism"
    )]
    NotAmplified { why: NotAmplified },
}

/// Why shuffling does not amplify a release's guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum NotAmplified {
    #[error("the release is not differentially private")]
    NoGuarantee,
    #[error("the bound needs a pure local guarantee, and this one has a delta")]
    Delta,
    #[error("its noise has no bound that holds for any two private values")]
    Unbounded,
    #[error(
        "the theorem needs a local guarantee for ANY two private values; {mechanism} promises {epsilon} where they differ \
         by at most beta, and for any two it is {local:.3} per coordinate"
    )]
    NeighboursOnly { mechanism: MechanismId, epsilon: f64, local: f64 },
}
