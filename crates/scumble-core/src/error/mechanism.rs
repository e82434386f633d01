//! What one mechanism needs, or does not take.

use thiserror::Error;

/// What one mechanism needs or does not take.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum MechanismError {
    #[error("unknown mechanism '{text}'; one of: {}", known.join(", "))]
    Unknown { text: String, known: &'static [&'static str] },
    #[error("a release is for search or for training")]
    Purpose,
    #[error("dim must be between 1 and 2^32, got {dim}")]
    Dim { dim: usize },
    #[error("k must be between 1 and 2^20, got {k}")]
    K { k: usize },
    #[error("‹norm› must be above 0 and not beyond what its square can hold, got {norm}")]
    Norm { norm: f64 },
    #[error("‹density› is a share of the attributes, from 1e-12 to 1, got {density}")]
    Density { density: f64 },
    #[error("‹{name}› must be positive and finite, got {value}")]
    NotPositive { name: &'static str, value: f64 },
    #[error("‹thresholds› must be finite, got {value}")]
    Threshold { value: f64 },
    #[error("repeats must divide k: {repeats} does not divide {k}")]
    Repeats { repeats: usize, k: usize },
    #[error("the sensitivity of a dense projection from {dim} to {k} takes too long to check; take an OPORP mechanism")]
    DenseTooLong { dim: usize, k: usize },
    #[error("the composition of {k} bits takes too long to check; take at most {most}, or leave ‹delta› out")]
    CompositionTooLong { k: usize, most: usize },
    #[error("beta is too many grid steps for exact noise: narrow the range or beta, or coarsen the grid")]
    BetaSteps,
    #[error("{dim} attributes of up to {largest} grid steps could overflow 63 bits: narrow ‹range› or enlarge ‹beta›")]
    Overflow { dim: usize, largest: i64 },

    #[error("{mechanism} does not take the projection '{projection}'; it takes {}", allowed.join(", "))]
    Projection { mechanism: &'static str, projection: String, allowed: &'static [&'static str] },
    #[error(
        "the projection '{projection}' has {found} repetitions, but ‹repeats› is {repeats}: leave ‹projection› out, or \
         name the same number in both (only OPORP repeats)"
    )]
    ProjectionRepeats { projection: String, found: usize, repeats: usize },
    #[error("{mechanism} does not take ‹{parameter}›")]
    Misplaced { mechanism: &'static str, parameter: &'static str },
    #[error(
        "‹bins› takes the place of OPORP's one permutation: {mechanism} with {repeats} repetitions of '{projection}' has \
         none"
    )]
    BinsMisplaced { mechanism: &'static str, repeats: usize, projection: String },
    #[error(
        "the law of a bin lies beyond what its attributes can add up to: the file of bins was learned in other units \
         than ‹range›"
    )]
    BinsUnits,
    #[error(
        "the centre of the components lies beyond what rows can reach: the file of components was learned in other units \
         than ‹range›"
    )]
    ComponentsUnits,
    #[error(
        "‹components› takes the place of the projection and has {k} outputs: set k = {k}, and leave ‹projection› and \
         ‹bins› out"
    )]
    Components { k: usize },

    #[error("unit record with Gaussian noise needs ‹clip_norm› C: every projected row is clipped to that radius")]
    NoClipNorm,
    #[error("‹clip_norm› {clip_norm} is outside what the grid can hold")]
    ClipNorm { clip_norm: f64 },
    #[error("‹sketch_clip› is for OPORP and raw data, where one attribute enters one bin")]
    SketchClipMisplaced,
    #[error("‹sketch_clip› must be positive and finite, got {sketch_clip}")]
    SketchClip { sketch_clip: f64 },
    #[error("dp-signrp-rr with ‹delta› needs ‹norm_bound› M: a promise that every row has at least that norm")]
    NoNormBound,

    #[error("{mechanism} takes one threshold, at least {least}")]
    OneThreshold { mechanism: &'static str, least: f64 },
    #[error("‹thresholds› takes up to {most} finite numbers")]
    Thresholds { most: usize },
    #[error("‹thresholds› must ascend, by at least one grid step each")]
    ThresholdOrder,
    #[error("{thresholds} thresholds make {zones} zones")]
    ZoneCount { thresholds: usize, zones: usize },
    #[error("{zones} zones need ‹thresholds›; without them there are 3 or 5")]
    Zones { zones: u8 },
    #[error("‹symbols› must be 2 to {most}, got {symbols}")]
    Symbols { symbols: usize, most: usize },
    #[error("lattice steps must be 1 to {most}, got {steps}")]
    LatticeSteps { steps: u64, most: u64 },

    #[error("epsilon must be above 0 and at most 500 for unit record")]
    RecordEpsilon,
    #[error("epsilon is too small: e^epsilon rounds to 1")]
    RecordEpsilonTooSmall,
    #[error("privcube needs k between 1 and 128, got {k}")]
    PrivcubeK { k: usize },
    #[error("signcap needs k between 1 and {most}, got {k}")]
    SigncapK { k: usize, most: usize },
    #[error("privbook needs ‹book›, a file of public words; ‹make_book()› makes one")]
    NoBook,
    #[error("a book has 2 to 2^24 words of at most 2^20 attributes, got {words} of {dim}")]
    BookSize { words: usize, dim: usize },
}
