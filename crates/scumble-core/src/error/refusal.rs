//! Refusals on privacy grounds: why no guarantee can be given, and what to ask for instead.

use num_bigint::BigUint;
use thiserror::Error;

/// What an individual promise is worth.
pub(crate) const INDIVIDUAL: &str = "bits whose sign no beta-neighbour can change are released exactly; the rest are \
                                     randomised; no (epsilon, delta) bound holds between neighbouring inputs";

/// Why a mechanism has no proof for a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum NoProof {
    #[error("it is defined for one attribute only")]
    OneAttribute,
    #[error("one attribute touches one bin; g touched bins cost g epsilon")]
    TouchedBins,
    #[error("staircase noise protects a single moved coordinate; several small moves can cost epsilon each")]
    SingleCoordinate,
    #[error("Laplace noise follows the sum of absolute differences")]
    AbsoluteDifferences,
    #[error("a larger move can change every sign")]
    EverySign,
    #[error("only its values are offered for that unit")]
    ValuesOnly,
    #[error("it protects the whole record, at a price that a smaller unit need not pay")]
    WholeRecord,
}

/// A combination that would not be private, or could not be shown to be.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum Refusal {
    #[error("refused: {mechanism} gives no guarantee for unit attribute: {why}. Instead: ask for ‹unit› record")]
    UnitAttribute { mechanism: &'static str, why: NoProof },
    #[error("refused: {mechanism} gives no guarantee for unit l1: {why}. Instead: dp-oporp-laplace or dp-oporp")]
    UnitL1 { mechanism: &'static str, why: NoProof },
    #[error(
        "refused: {mechanism} gives no guarantee for unit l2: {why}. Instead: dp-oporp, dp-rp-g-opt-b or raw-g-opt \
         (Gaussian noise)"
    )]
    UnitL2 { mechanism: &'static str, why: NoProof },
    #[error("refused: {mechanism} gives no guarantee for unit record: {why}. Instead: privcube or signcap")]
    UnitRecord { mechanism: &'static str, why: NoProof },
    #[error(
        "refused: {mechanism} is not differentially private: {INDIVIDUAL}. Instead: dp-signoporp-ceil; or pass \
         ‹i_understand_this_is_not_dp›"
    )]
    Individual { mechanism: &'static str },
    #[error(
        "refused: the integers that would run lose more than epsilon = {epsilon}. Instead: a larger epsilon, or a \
         coarser grid"
    )]
    EpsilonExceeded { epsilon: f64 },
    #[error("refused: delta <= {delta:e} cannot be shown for the integers that would run. Instead: a larger delta")]
    DeltaNotShown { delta: f64 },
    #[error("refused: Gaussian noise has no pure guarantee. Instead: Laplace or staircase noise")]
    GaussianIsNotPure,
    #[error(
        "refused: the noise is too narrow for a sensitivity of {sensitivity} grid steps at this epsilon. Instead: the \
         law that is built for these numbers"
    )]
    NoiseTooNarrow { sensitivity: u64 },
    #[error(
        "refused: a flip probability of the table breaks the bound e^epsilon between neighbours. Instead: a larger \
         epsilon, or the table that is built for this one"
    )]
    FlipTable,
    #[error(
        "refused: two neighbouring rows of the symbol table have entries {larger} and {smaller}, a ratio above \
         e^epsilon. Instead: a larger epsilon, or another number of symbols"
    )]
    SymbolTable { larger: BigUint, smaller: BigUint },
    #[error("refused: it rests on a projection that is used once. Instead: leave ‹delta› out")]
    ProjectionUsedOnce,
    #[error(
        "refused: with {projection} projections the number of changed signs has no proven bound. Instead: leave ‹delta› \
         out (N+ = k, pure), or use the Gaussian projection"
    )]
    ChangedSigns { projection: String },
    #[error("refused: the angle between l1 neighbours is not bounded here. Instead: leave ‹delta› out (N+ = k, pure)")]
    AngleOfL1,
    #[error(
        "refused: the norm bound {norm_bound} is below beta = {beta}: every sign may change. Instead: a larger \
         ‹norm_bound›, or leave ‹delta› out (N+ = k, pure)"
    )]
    NormBoundBelowBeta { norm_bound: f64, beta: f64 },
    #[error(
        "refused: the paper's N+ spends more than the exact law of changed signs allows here. Instead: the tight mode \
         (default)"
    )]
    PaperSpendsMore,
    #[error(
        "refused: dp-rp-g-analytic bounds the sensitivity of one attribute only. Instead: dp-rp-g-opt, whose \
         sensitivity is realised"
    )]
    AnalyticUnit,
    #[error("refused: privcube's integers are inconsistent. Instead: signcap")]
    Privcube,
    #[error("refused: privbook's integers are inconsistent. Instead: privcube")]
    Privbook,
}
