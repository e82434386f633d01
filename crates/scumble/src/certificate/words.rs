//! The certificate for people: all of it, unit of privacy first, or what an operator wants to know about a new release.

use super::Certificate;
use crate::words::{Facts, fold, grouped, number};
use scumble_core::privacy::{Bound, Unit};

/// Where group privacy says nothing.
const UNBOUNDED: &str = "no bound can be stated";

impl Certificate {
    /// Who is protected from what, what is not, and what the data are. `heading` marks a line as a heading.
    pub fn in_words(&self, heading: impl Fn(&str) -> String) -> String {
        let headlines: String = self.claim().headlines().iter().map(|line| heading(line) + "\n").collect();
        let section = |title: &str, text: String| format!("{}\n{text}", heading(title));
        [
            headlines,
            section("Privacy", self.privacy().text()),
            section("Not protected", list(&self.not_protected)),
            section("Assumptions", list(&self.assumptions)),
            section("Data", self.data().text()),
        ]
        .concat()
    }

    /// What was released, in a few lines.
    pub fn in_short(&self) -> Facts {
        let (projection, encoding) = (&self.projection, &self.encoding);
        let mut facts = Facts::default();
        facts.add("rows", grouped(self.rows));
        let [unit, first, second] = self.claim().headlines();
        facts.add("claim", unit);
        facts.add("promise", &self.guarantee.statement).add("", first).add("", second);
        if let Some(person) = &self.person {
            facts.add("person", &person.statement);
        }
        facts.add("mechanism", format!("{}: {}", self.mechanism.id, self.mechanism.summary));
        let bytes = grouped(encoding.bytes_per_row as u64);
        let sizes = format!("k = {} of {} attributes", projection.k, projection.p);
        facts.add("sketch", format!("{sizes}, {}, {bytes} bytes per row", encoding.name));
        if let Some(checked) = self.guarantee.checked_epsilon {
            facts.add("checked", format!("the integers that ran have a loss of at most {}", number(checked)));
        }
        facts
    }

    fn privacy(&self) -> Facts {
        let claim = self.claim();
        let mut facts = Facts::default();
        for warning in &self.warnings {
            facts.add("warning", warning);
        }
        facts.add("unit", self.unit.sentence(self.beta));
        facts.add("promise", &self.guarantee.statement);
        if let Some(person) = &self.person {
            facts.add("person", &person.statement);
        }
        let Some(guarantee) = &claim.guarantee else {
            facts.add("loss", "none can be stated: this release is NOT differentially private");
            return facts;
        };
        let near = guarantee.group(1);
        facts.add("loss", near.loss_words());
        facts.add("neighbours", guessed(&near));
        match self.unit {
            Unit::Record => {}
            unit @ (Unit::Attribute | Unit::L1 | Unit::L2) => {
                facts.add("any value", claim.any_value.as_ref().map_or(UNBOUNDED.into(), guessed));
                facts.add("whole row", claim.whole_row.as_ref().map_or(UNBOUNDED.into(), guessed));
                let compare = format!("an epsilon for unit {unit} and one for unit record cannot be compared");
                facts.add("compare", compare);
            }
        }
        facts
    }

    fn data(&self) -> Facts {
        let (projection, encoding) = (&self.projection, &self.encoding);
        let mut facts = Facts::default();
        facts.add("rows", grouped(self.rows));
        facts.add("mechanism", format!("{}: {}", self.mechanism.id, self.mechanism.summary));
        facts.add("source", &self.mechanism.paper);
        facts.add("projection", format!("{}, {} attributes to {}", projection.kind, projection.p, projection.k));
        facts.add("seed", &projection.seed);
        facts.add("range", format!("[{}, {}]", self.range[0], self.range[1]));
        facts.add("encoding", format!("{}, {} bytes per row", encoding.name, encoding.bytes_per_row));
        facts.add("numerics", &self.numerics);
        facts.add("written by", format!("{} {}", self.software.name, self.software.version));
        facts.add("signature", self.signature.as_ref().map_or("none".into(), |s| format!("by {}", s.public_key)));
        facts
    }
}

/// How often an even guess between two rows this far apart can be right.
fn guessed(bound: &Bound) -> String {
    let (guess, loss) = (bound.guess_words(), bound.loss_words());
    format!("someone who finds the two equally likely is right {guess} ({loss})")
}

/// Sentences with a dash each, folded under each other.
fn list(sentences: &[String]) -> String {
    let lines = sentences.iter().flat_map(|sentence| {
        let folded = fold(sentence, 94).into_iter().enumerate();
        folded.map(|(at, line)| format!("{}{line}\n", if at == 0 { "  - " } else { "    " }))
    });
    lines.collect()
}
