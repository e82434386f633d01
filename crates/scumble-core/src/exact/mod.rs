//! Exact arithmetic below the privacy path: e^x, logarithms, the normal law, angles and compositions on big integers,
//! with proven bounds.
//!
//! Every function encloses its value between two integers and either rounds in a stated direction or widens the
//! precision until the answer is decided. Nothing here is private: the inputs are public parameters.

mod angle;
mod compose;
mod exp;
mod normal;

pub use angle::sign_change_upper;
pub use compose::{composed_delta_upper, mixed_delta_upper};
pub use exp::{Exp, WorstRatio, at_most_exp, exp_ceil, exp_floor, ln_upper};
pub use normal::{Normal, gaussian_delta_upper, normal_tail};

use num_rational::BigRational;

/// The exact value of a finite double.
///
/// # Panics
/// On NaN and infinities, which have none.
pub fn rational(x: f64) -> BigRational {
    BigRational::from_float(x).expect("a finite number")
}
