//! Statements of the paper and of ours, with verdicts computed from measurements.

use super::outcome::{Average, Outcome, Outcomes};
use super::report::{Cell, Table};
use serde::{Serialize, Serializer};

/// One statement with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Where it is said.
    pub source: String,
    /// What is said.
    pub statement: String,
    /// What the data say; `None` when they cannot tell.
    pub holds: Option<bool>,
    /// The numbers behind the verdict.
    pub evidence: String,
}

impl Claim {
    /// A statement with its verdict.
    pub fn new(source: &str, statement: &str, holds: Option<bool>, evidence: impl Into<String>) -> Self {
        Self { source: source.into(), statement: statement.into(), holds, evidence: evidence.into() }
    }

    /// The verdict in words.
    pub fn verdict(&self) -> &'static str {
        match self.holds {
            Some(true) => "confirmed",
            Some(false) => "refuted",
            None => "not testable here",
        }
    }
}

impl Serialize for Claim {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { source, statement, evidence, .. } = self;
        let said = [("source", source), ("statement", statement), ("evidence", evidence)];
        let said = said.map(|(name, text)| (name, text.as_str()));
        serializer.collect_map(said.into_iter().chain([("verdict", self.verdict())]))
    }
}

/// All claims as a table.
pub fn table(caption: &str, claims: &[Claim]) -> Table {
    let row = |claim: &Claim| {
        let verdict = claim.verdict().to_owned();
        let verdict = match claim.holds {
            Some(true) => Cell::Good(verdict),
            Some(false) => Cell::Bad(verdict),
            None => Cell::Open(verdict),
        };
        vec![claim.source.clone().into(), claim.statement.clone().into(), verdict, claim.evidence.clone().into()]
    };
    Table {
        caption: caption.into(),
        head: ["Where", "Claim", "Verdict", "Evidence"].map(String::from).to_vec(),
        rows: claims.iter().map(row).collect(),
    }
}

/// Differences smaller than this decide nothing, however sure they are.
const MARGIN: f64 = 0.005;

/// Differences `a - b` at each epsilon, repetition by repetition (both had the same projection seed).
pub(crate) fn differences(
    outcomes: &Outcomes,
    cell: impl Fn(&Outcome) -> bool,
    a: &str,
    b: &str,
) -> Vec<(f64, Average)> {
    let mut epsilons: Vec<f64> = outcomes.distinct(|o| o.epsilon);
    epsilons.retain(|e| e.is_finite());
    epsilons.sort_by(f64::total_cmp);
    let difference = |epsilon: f64| {
        let of = |name: &str| outcomes.values(|o| cell(o) && o.design == name && o.epsilon == epsilon);
        let pairs: Vec<f64> = of(a).iter().zip(of(b)).map(|(a, b)| a - b).collect();
        (!pairs.is_empty()).then(|| (epsilon, Average::of(&pairs)))
    };
    epsilons.into_iter().filter_map(difference).collect()
}

/// Verdict on "a is better than b", over the epsilons given.
pub(crate) fn better(differences: &[(f64, Average)]) -> (Option<bool>, String) {
    let sure = |d: &Average| d.mean.abs() > d.half && d.mean.abs() > MARGIN && d.n > 1;
    let wins = differences.iter().filter(|(_, d)| sure(d) && d.mean > 0.0).count();
    let losses = differences.iter().filter(|(_, d)| sure(d) && d.mean < 0.0).count();
    let holds = if losses > 0 { Some(false) } else { (wins > 0).then_some(true) };
    (holds, words(differences))
}

/// Verdict on "a and b are about equal".
pub(crate) fn equal(differences: &[(f64, Average)], within: f64) -> (Option<bool>, String) {
    let decided = differences.iter().any(|(_, d)| d.n > 1);
    (decided.then(|| differences.iter().all(|(_, d)| d.mean.abs() <= within + d.half)), words(differences))
}

fn words(differences: &[(f64, Average)]) -> String {
    let one = |(epsilon, d): &(f64, Average)| format!("ε {epsilon}: {:+.3} ± {:.3}", d.mean, d.half);
    let list: Vec<String> = differences.iter().map(one).collect();
    if list.is_empty() { "not measured".into() } else { format!("difference {}", list.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_need_a_sure_and_visible_difference() {
        let d = |mean: f64, half: f64| (1.0, Average { mean, half, n: 3 });
        assert_eq!(better(&[d(0.1, 0.02), d(0.001, 0.02)]).0, Some(true));
        assert_eq!(better(&[d(0.1, 0.02), d(-0.05, 0.02)]).0, Some(false));
        assert_eq!(better(&[d(0.1, 0.2), d(-0.004, 0.001)]).0, None);
        assert_eq!(better(&[(1.0, Average { mean: 0.5, half: 0.0, n: 1 })]).0, None);
        assert_eq!(equal(&[d(0.01, 0.005)], 0.02).0, Some(true));
        assert_eq!(equal(&[d(0.05, 0.005)], 0.02).0, Some(false));
        assert_eq!(better(&[]), (None, "not measured".into()));
    }
}
