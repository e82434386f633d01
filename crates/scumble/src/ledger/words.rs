//! An account for people.

use super::{Account, Entry};
use crate::words::{Facts, number};

impl Account {
    /// Who is protected, what is spent and what is left, then every entry.
    pub fn facts(&self) -> Facts {
        let Self { neighbours, budget, spent, left, .. } = self;
        let mut facts = Facts::default();
        facts.add("unit", format!("{}: {}", neighbours.unit, neighbours.sentence()));
        facts.add("budget", loss(budget.epsilon, budget.delta));
        facts.add("spent", format!("epsilon {} in {} releases", number(*spent), self.releases()));
        facts.add("left", format!("epsilon {} for one more pure release", number(*left)));
        for entry in &self.entries {
            facts.add(format!("#{}", entry.id), entry.words());
        }
        facts
    }
}

impl Entry {
    fn words(&self) -> String {
        let Self { reserved_at, mechanism, state, .. } = self;
        let sticky = if self.sticky { ", sticky" } else { "" };
        let times = match self.times {
            1 => String::new(),
            0 => ", nothing new: not charged".into(),
            times => format!(", charged {times} times"),
        };
        format!("{reserved_at} {mechanism}{sticky} {state}: {}{times}", loss(self.loss.epsilon, self.loss.delta))
    }
}

fn loss(epsilon: f64, delta: f64) -> String {
    let delta = if delta > 0.0 { format!(", delta {delta:e}") } else { String::new() };
    format!("epsilon {}{delta}", number(epsilon))
}
