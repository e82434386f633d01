//! How far one unit moves the projected integers. Checked arithmetic throughout: a promise rests on every number here.

use crate::error::{MechanismError, ParameterError};
use crate::mechanism::parameters::Setup;
use crate::projection::Projection;
use crate::vectors::Grid;

/// The error for a sensitivity beyond 64 bits.
pub(crate) fn too_large() -> ParameterError {
    MechanismError::BetaSteps.into()
}

/// Refuses a projection whose integers could overflow: `p*Q` times the largest weight must fit with head room.
pub(crate) fn check_overflow(projection: &Projection, grid: &Grid) -> Result<(), ParameterError> {
    if projection.bound(grid.largest()) >= 1 << 62 {
        return Err(MechanismError::Overflow { dim: projection.dim(), largest: grid.largest() }.into());
    }
    Ok(())
}

/// The public sketch clip in steps of the projected integers, which are not scaled by the repetitions.
pub(crate) fn sketch_clip(
    setup: &Setup<'_>,
    projection: &Projection,
    grid: &Grid,
) -> Result<Option<i64>, ParameterError> {
    let Some(clip) = setup.parameters.sketch_clip else { return Ok(None) };
    if projection.is_dense_matrix() {
        return Err(MechanismError::SketchClipMisplaced.into());
    }
    let steps = clip / grid.step();
    if !(clip > 0.0 && steps < 1e15) {
        return Err(MechanismError::SketchClip { sketch_clip: clip }.into());
    }
    Ok(Some((steps.round() as i64).max(1)))
}

/// Fraction bits of the integer weights, rounded away before noise so that the noise table stays small.
pub(crate) fn fraction_bits(projection: &Projection) -> u32 {
    use crate::projection::ProjectionKind::*;
    match projection.kind() {
        Gaussian => 16,
        Uniform => 7,
        Identity | VerySparse { .. } | Rademacher | Oporp { .. } | Bins | Components => 0,
    }
}
