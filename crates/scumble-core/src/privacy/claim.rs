//! What a promise means for the pair that a reader has in mind, in numbers and in sentences.
//!
//! A guarantee speaks of neighbours. People think of a value replaced by any other, or of a whole row. Both are several
//! neighbours apart, and group privacy says what is left: `g` moves cost `g epsilon` and
//! `delta (e^{g epsilon} - 1)/(e^epsilon - 1)`. Every sentence here is computed from unit, beta, range, epsilon and delta
//! together, and numbers are rounded so that no adversary beats the sentence.

use super::{Guarantee, Individual, Unit};
use crate::vectors::Range;
use serde::{Deserialize, Serialize};

/// What holds between two rows that are `moves` neighbours apart. Rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// How many neighbours apart they are.
    pub moves: u64,
    /// Bound on the loss.
    pub epsilon: f64,
    /// Failure probability; 1 where nothing holds.
    pub delta: f64,
}

/// Beyond this epsilon the worst case is as good as certainty: e^10 turns an even guess into 99.995%.
const LARGEST_EPSILON: f64 = 10.0;
/// Beyond this delta one unit in a hundred may be exposed.
const LARGEST_DELTA: f64 = 0.01;

impl Guarantee {
    /// Group privacy: what holds for rows that are `moves` neighbours apart.
    pub fn group(&self, moves: u64) -> Bound {
        if moves <= 1 {
            return Bound { moves: 1, epsilon: self.epsilon, delta: self.delta };
        }
        let epsilon = (self.epsilon * moves as f64).next_up();
        let growth = libm::expm1(epsilon) / libm::expm1(self.epsilon);
        let delta = if self.delta == 0.0 { 0.0 } else { (self.delta * growth * (1.0 + 1e-14)).min(1.0) };
        Bound { moves, epsilon, delta: if delta.is_nan() { 1.0 } else { delta } }
    }
}

impl Bound {
    /// How often someone who holds the two rows equally likely can guess right, at most: `1 - (1-delta)/(1+e^epsilon)`.
    pub fn guessed(&self) -> f64 {
        1.0 - (1.0 - self.delta) / (1.0 + libm::exp(self.epsilon))
    }

    /// True where the worst case is not bounded in any useful way.
    pub(crate) fn protects_nobody(&self) -> bool {
        self.epsilon > LARGEST_EPSILON || self.delta > LARGEST_DELTA
    }

    /// What a belief of `prior` can become, at least and at most, and how often that may fail.
    ///
    /// Without a delta the odds change by at most e^epsilon, always. With one, `P[loss > epsilon + ln 2] <= 2 delta`,
    /// because the event S of such a loss has `P(S) <= e^epsilon P'(S) + delta <= P(S)/2 + delta`.
    pub fn belief(&self, prior: f64) -> (f64, f64) {
        let loss = if self.delta > 0.0 { self.epsilon + std::f64::consts::LN_2 } else { self.epsilon };
        let posterior = |loss: f64| prior / (prior + (1.0 - prior) * libm::exp(-loss));
        (posterior(-loss), posterior(loss))
    }

    /// How often [`belief`](Self::belief) may fail: `2 delta`, at most 1.
    pub fn failure(&self) -> f64 {
        (2.0 * self.delta).min(1.0)
    }

    /// `guesses right at most 73.2% of the time`, and what that is worth.
    pub fn guess_words(&self) -> String {
        let nobody = if self.protects_nobody() { ": no protection" } else { "" };
        format!("at most {} of the time{nobody}", at_most(self.guessed()))
    }

    /// The loss: `epsilon 3` or `epsilon 3, delta 1e-6`.
    pub fn loss_words(&self) -> String {
        match self.delta {
            0.0 => format!("epsilon {}", number(self.epsilon)),
            delta => format!("epsilon {}, delta {delta:.2e}", number(self.epsilon)),
        }
    }
}

/// A promise with everything that decides what it means.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The promise; `None` for what is not differentially private.
    pub guarantee: Option<Guarantee>,
    /// Values are clipped to this.
    pub range: Range,
    /// Attributes of a row.
    pub dim: usize,
    /// One value replaced by any other of the range; `None` where no bound holds.
    pub any_value: Option<Bound>,
    /// A whole row replaced by any other; `None` where no bound holds.
    pub whole_row: Option<Bound>,
}

impl Claim {
    /// The unit and beta first, then what is not protected, in two lines.
    pub fn headlines(&self) -> [String; 3] {
        let Some(guarantee) = &self.guarantee else {
            return [
                "NOT differentially private: no unit, no beta and no epsilon bound what this release reveals".into(),
                format!("NOT protected: anything. {}", capital(Individual::SENTENCE)),
                PUBLIC.into(),
            ];
        };
        let first = format!("{}, {}", self.unit_words(guarantee), guarantee.group(1).loss_words());
        let [value, row] = [self.value_words(guarantee), self.row_words()];
        match (value, row) {
            (Some(value), Some(row)) => [first, value, row],
            (Some(one), None) | (None, Some(one)) => [first, one, PUBLIC.into()],
            (None, None) => [
                first,
                "NOT protected: a person with several rows, who pays epsilon for each of them".into(),
                PUBLIC.into(),
            ],
        }
    }

    /// What an operator must know before a release and a reader after it. Part of the certificate.
    pub fn warnings(&self, asked_beta: f64) -> Vec<String> {
        let Some(guarantee) = &self.guarantee else {
            return vec![format!("NOT differentially private: {}", Individual::SENTENCE)];
        };
        let (mut warnings, width) = (Vec::new(), self.range.width());
        let (beta, near) = (guarantee.beta, guarantee.group(1));
        if near.protects_nobody() {
            warnings.push(format!(
                "{} protects nobody: whoever weighs two neighbours may be right {}",
                near.loss_words(),
                near.guess_words()
            ));
        }
        match (guarantee.unit, self.any_value) {
            (Unit::Record, _) | (_, Some(Bound { moves: 1, .. })) => {}
            (Unit::Attribute | Unit::L1 | Unit::L2, Some(far)) => warnings.push(format!(
                "beta = {beta} is less than the range's width {width}: replacing a value by an arbitrary one is {} moves \
                 of beta, {}, and whoever weighs two such values may be right {}",
                far.moves,
                far.loss_words(),
                far.guess_words()
            )),
            (Unit::Attribute | Unit::L1 | Unit::L2, None) => warnings.push(format!(
                "beta = {beta} is less than the range's width {width}: replacing a value by an arbitrary one is not \
                 covered, and no bound on it can be stated"
            )),
        }
        if guarantee.unit == Unit::Attribute && asked_beta > width {
            warnings.push(format!("beta = {asked_beta} is capped at the range's width {width}"));
        }
        warnings
    }

    /// `one attribute of one row, moving by at most beta = 1 (any value of the range [0, 1])`.
    fn unit_words(&self, guarantee: &Guarantee) -> String {
        let Range { lo, hi } = self.range;
        let any = match (guarantee.unit, self.any_value) {
            (Unit::Record, _) => String::new(),
            (Unit::Attribute | Unit::L1 | Unit::L2, Some(Bound { moves: 1, .. })) => {
                format!(" (any value of the range [{lo}, {hi}])")
            }
            (Unit::Attribute | Unit::L1 | Unit::L2, _) => format!(" (the range [{lo}, {hi}] is wider)"),
        };
        format!("Protects {}{any}", guarantee.unit.phrase(guarantee.beta))
    }

    /// What is not protected about one value; `None` where the promise is about one value.
    fn value_words(&self, guarantee: &Guarantee) -> Option<String> {
        let (Range { lo, hi }, near) = (self.range, guarantee.group(1));
        if near.protects_nobody() {
            return Some(format!(
                "NOT protected: anyone. With {} someone who weighs two neighbours may be right {}",
                near.loss_words(),
                near.guess_words()
            ));
        }
        match (guarantee.unit, self.any_value) {
            (Unit::Record, _) | (_, Some(Bound { moves: 1, .. })) => None,
            (Unit::Attribute | Unit::L1 | Unit::L2, Some(far)) => Some(format!(
                "NOT protected: a value replaced by one more than beta away. Someone who weighs two values of [{lo}, {hi}] \
                 may be right {}",
                far.guess_words()
            )),
            (Unit::Attribute | Unit::L1 | Unit::L2, None) => Some(
                "NOT protected: a value replaced by one more than beta away. No bound on what is revealed then can be stated"
                    .into(),
            ),
        }
    }

    /// What is not protected about a whole row; `None` where the promise is about that.
    fn row_words(&self) -> Option<String> {
        let unit = self.guarantee.as_ref()?.unit;
        match (unit, self.whole_row) {
            (Unit::Record, _) | (Unit::L1 | Unit::L2, Some(Bound { moves: 1, .. })) => None,
            (Unit::Attribute | Unit::L1 | Unit::L2, Some(row)) => Some(format!(
                "NOT protected: a whole row. Someone who weighs two rows that differ in all {} attributes may be right {}",
                self.dim,
                row.guess_words()
            )),
            (Unit::Attribute | Unit::L1 | Unit::L2, None) => {
                Some("NOT protected: a whole row. No bound on what is revealed of it can be stated".into())
            }
        }
    }
}

const PUBLIC: &str = "NOT protected: the number of rows, their order, and ids and labels where they are released";

fn capital(sentence: &str) -> String {
    sentence[..1].to_uppercase() + &sentence[1..]
}

/// A probability for people, rounded up.
pub fn at_most(share: f64) -> String {
    let places = places(share);
    let scale = 10f64.powi(places);
    // A billionth of a unit is the float's own error, not the share's.
    let rounded = (share * 100.0 * scale - 1e-9).ceil() / scale + 0.0; // no minus zero
    if share >= 1.0 || rounded >= 100.0 { "100%".into() } else { format!("{}%", trimmed(rounded, places)) }
}

/// A probability for people, rounded down.
pub fn at_least(share: f64) -> String {
    let places = places(share);
    let scale = 10f64.powi(places);
    let rounded = (share * 100.0 * scale + 1e-9).floor() / scale;
    if rounded <= 0.0 { "0%".into() } else { format!("{}%", trimmed(rounded, places)) }
}

/// Decimals of a percentage that keep its distance from 0 and from 100.
fn places(share: f64) -> i32 {
    let near = (100.0 * share.min(1.0 - share)).max(1e-12);
    (1 - near.log10().floor() as i32).clamp(1, 12)
}

fn trimmed(value: f64, places: i32) -> String {
    let text = format!("{value:.0$}", places as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A loss for people: whole numbers as they are, others with four digits.
fn number(value: f64) -> String {
    if !(1e-3..1e6).contains(&value) {
        return format!("{value:.1e}");
    }
    let nearest = value.round();
    // `next_up` of a whole number is that number to people.
    if (value - nearest).abs() < 1e-9 * value { nearest.to_string() } else { trimmed(value, 4) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Notion;

    fn guarantee(unit: Unit, beta: f64, epsilon: f64, delta: f64) -> Guarantee {
        let notion = if delta == 0.0 { Notion::Pure } else { Notion::Approximate };
        Guarantee { notion, epsilon, delta, checked_epsilon: epsilon, unit, beta }
    }

    #[test]
    fn group_privacy_is_that_of_the_oracle() {
        let text = include_str!("../../tests/oracle/group_privacy.json");
        let oracle: serde_json::Value = serde_json::from_str(text).unwrap();
        let of = |row: &serde_json::Value, name: &str| row[name].as_str().unwrap().parse::<f64>().unwrap();
        for row in oracle["rows"].as_array().unwrap() {
            let one = guarantee(Unit::Attribute, 1.0, of(row, "eps"), of(row, "delta"));
            let found = one.group(of(row, "g") as u64);
            let (epsilon, delta) = (of(row, "eps_group"), of(row, "delta_group").min(1.0));
            assert!(found.epsilon >= epsilon && found.epsilon <= epsilon * (1.0 + 1e-12), "{row}");
            assert!(
                found.delta >= delta * (1.0 - 1e-15) && found.delta <= delta * (1.0 + 1e-9),
                "{row} {}",
                found.delta
            );
        }
    }

    #[test]
    fn far_groups_have_no_bound_and_no_nan() {
        let far = guarantee(Unit::Attribute, 1.0, 5.0, 1e-6).group(u64::MAX);
        assert_eq!((far.delta, far.guessed()), (1.0, 1.0));
        let far = guarantee(Unit::Attribute, 1.0, 5.0, 0.0).group(u64::MAX);
        assert_eq!((far.delta, far.guessed()), (0.0, 1.0));
        assert!(far.protects_nobody());
    }

    /// Where beta covers the whole table, no sentence may say that a row is not protected.
    #[test]
    fn a_row_within_beta_is_protected() {
        for (moves, protected) in [(1, true), (2, false)] {
            let one = guarantee(Unit::L1, 100.0, 1.0, 0.0);
            let far = Some(one.group(moves));
            let range = Range { lo: 0.0, hi: 1.0 };
            let claim = Claim { guarantee: Some(one), range, dim: 8, any_value: far, whole_row: far };
            assert_eq!(claim.headlines().iter().any(|line| line.contains("a whole row")), !protected);
        }
    }

    #[test]
    fn beliefs_are_those_of_bayes() {
        let pure = guarantee(Unit::Record, 0.0, 3f64.ln(), 0.0).group(1);
        assert!((pure.guessed() - 0.75).abs() < 1e-15);
        assert!((pure.belief(0.5).1 - 0.75).abs() < 1e-15 && (pure.belief(0.5).0 - 0.25).abs() < 1e-15);
        assert!((pure.belief(0.01).1 - 0.03 / 1.02).abs() < 1e-15);
        let approximate = guarantee(Unit::Record, 0.0, 3f64.ln(), 0.1).group(1);
        assert!((approximate.guessed() - 0.775).abs() < 1e-15); // (3 + 0.1)/4
        assert!((approximate.belief(0.5).1 - 6.0 / 7.0).abs() < 1e-15);
        assert_eq!(approximate.failure(), 0.2);
    }

    #[test]
    fn percentages_are_rounded_toward_the_adversary() {
        for (share, most, least) in [
            (0.5, "50%", "50%"),
            (0.731_058_578, "73.2%", "73.1%"),
            (0.268_941_421, "26.9%", "26.8%"),
            (0.993_307_149, "99.34%", "99.33%"),
            (0.999_954_602, "99.9955%", "99.9954%"),
            (0.001, "0.1%", "0.1%"),
            (1.0, "100%", "100%"),
            (0.0, "0%", "0%"),
        ] {
            assert_eq!((at_most(share).as_str(), at_least(share).as_str()), (most, least), "{share}");
        }
        assert_eq!(at_most(1.0 - 1e-16), "100%");
    }
}
