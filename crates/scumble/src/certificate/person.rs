//! What a release promises a person with several rows, of which it took at most a given number.

use super::Certificate;
use crate::accounting::Loss;
use crate::error::LibraryError;
use scumble_core::mechanism::Mechanism;
use scumble_core::privacy::Bound;
use serde::{Deserialize, Serialize};

/// The promise for all rows of one person together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonStatement {
    /// The most rows of a person that were released.
    pub rows: usize,
    /// Upper bound on the loss of all of them together.
    pub epsilon: f64,
    /// Failure probability; 0 for a pure promise.
    pub delta: f64,
    /// The promise in plain words.
    pub statement: String,
}

impl PersonStatement {
    /// Composes the loss of `rows` rows by the best rule that holds; see `Loss::of_person`.
    pub fn new(mechanism: &Mechanism, rows: usize, delta: Option<f64>) -> Result<Self, LibraryError> {
        let (epsilon, delta) = Loss::of_person(mechanism, rows, delta)?;
        let guarantee = mechanism.promise().guarantee().expect("it has a loss");
        let but = match delta {
            0.0 => String::new(),
            delta => format!(", but for a failure probability of {delta:e}"),
        };
        let statement = format!(
            "At most {rows} rows of a person were released. For two tables that differ in the rows of ONE person only, row \
             by row as {} do, nothing that is released is more than e^{epsilon} times as likely from one as from the \
             other{but}. Someone who must choose between two equally likely tables is right {}.",
            guarantee.unit.sentence(guarantee.beta),
            Bound { moves: rows as u64, epsilon, delta }.guess_words()
        );
        Ok(Self { rows, epsilon, delta, statement })
    }

    /// The delta that gives this statement again.
    pub(super) fn asked_delta(&self) -> Option<f64> {
        (self.delta > 0.0).then_some(self.delta)
    }
}

impl Certificate {
    /// The same for a release that took at most `person.rows` rows of each person.
    pub fn for_persons(mut self, person: PersonStatement) -> Self {
        self.not_protected.push(format!(
            "how many rows were released, which depends on how many rows each person has, up to {} of each",
            person.rows
        ));
        self.person = Some(person);
        self.digest = self.compute_digest();
        self
    }
}
