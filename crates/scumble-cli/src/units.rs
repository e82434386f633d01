//! One unit of privacy in terms of another, and what a record's epsilon is good for.

use crate::print::{grouped, number};
use scumble::privacy::Unit;

/// What a promise for `unit` means when the whole row of `p` attributes changes.
pub fn whole_record(unit: Unit, epsilon: f64, beta: f64, width: f64, p: usize) -> String {
    let dim = p as f64;
    let total = |factor: f64| match factor * epsilon {
        loss if loss <= 30.0 => format!("a loss of {} (odds factor {})", number(loss), number(loss.exp())),
        loss => format!("a loss of {}, which protects nobody", number(loss)),
    };
    let bound = match unit {
        Unit::Attribute => format!(
            "Ten attributes that move by beta each: {}. All {} attributes across the whole range: {}",
            total(10f64.min(dim)),
            grouped(p as u64),
            total(dim * (width / beta).max(1.0).ceil())
        ),
        Unit::L1 => format!(
            "A row that moves by ten times beta: {}. Across the whole range: {}",
            total(10.0),
            total((dim * width / beta).ceil())
        ),
        Unit::L2 => format!(
            "A row that moves by ten times beta: {}. Across the whole range: {}",
            total(10.0),
            total((dim.sqrt() * width / beta).ceil())
        ),
        Unit::Record => return "IS the unit: any row for any other".into(),
    };
    format!("NOT the unit. {bound}. An epsilon for unit {unit} and one for unit record cannot be compared")
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
