//! One unit of privacy in terms of another, and what a record's epsilon is good for.

use scumble::privacy::Unit;

/// Why the losses of two units are not numbers of one kind.
pub fn not_comparable(unit: Unit) -> String {
    format!("an epsilon for unit {unit} and one for unit record cannot be compared")
}

/// What search and training can expect of a record's epsilon (measured in docs/record-privacy.md).
pub fn record_expectation(epsilon: f64) -> &'static str {
    match epsilon {
        e if e < 3.0 => "neither search nor training: below epsilon 3 a row tells next to nothing",
        e if e < 10.0 => {
            "training: a linear model over many rows works from epsilon 3 to 5. Not search: a single-digit epsilon \
             will not give it, with any mechanism"
        }
        e if e < 20.0 => "training works well; search finds a few neighbours in a hundred, and needs epsilon 20 to 30",
        _ => {
            "training and search with exact queries; but an odds factor of e^20 and more is no worst-case protection, \
             and must not be called one"
        }
    }
}
