//! Exact arithmetic below the privacy path: e^x, logarithms, the normal law, angles and compositions on big integers,
//! with proven bounds.
//!
//! Every function encloses its value between two integers and either rounds in a stated direction or widens the
//! precision until the answer is decided. Nothing here is private: the inputs are public parameters.

mod angle;
mod compose;
mod decimal;
mod exp;
mod normal;

pub(crate) use angle::sign_change_upper;
pub(crate) use compose::{composed_delta_upper, mixed_delta_upper};
pub(crate) use decimal::shortest;
pub use decimal::{digits, nearest, read};
pub(crate) use exp::exp_ceil;
pub use exp::{Exp, WorstRatio, at_most_exp, exp_floor, ln_upper};
#[cfg(test)]
pub(crate) use normal::normal_tail;
pub use normal::{Normal, gaussian_delta_upper};

use num_rational::BigRational;
use num_traits::{Signed, Zero};

/// The exact value of a finite double.
///
/// # Panics
/// On NaN and infinities, which have none.
pub fn rational(x: f64) -> BigRational {
    BigRational::from_float(x).expect("a finite number")
}

/// The double nearest to a ratio; 0 below every double.
///
/// # Panics
/// When it is beyond all doubles.
pub fn to_f64(ratio: &BigRational) -> f64 {
    let (top, bottom) = (ratio.numer(), ratio.denom());
    if top.is_zero() || top.bits() + 1075 < bottom.bits() {
        return 0.0;
    }
    let size = nearest(top.magnitude().clone(), bottom.magnitude().clone()).expect("within the range of doubles");
    if top.is_negative() { -size } else { size }
}
