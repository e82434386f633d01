//! What a data owner may publish about a ledger.

use super::account::{Account, Entry};
use super::error::{StatementError, budget_words, short};
use crate::accounting::Budget;
use serde::{Deserialize, Serialize};

/// Name and version of the public statement.
pub const STATEMENT_SCHEMA: &str = "scumble-ledger/1";

/// What a data owner may publish about all releases: budgets, spending, and every release by its certificate's digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// [`STATEMENT_SCHEMA`].
    pub schema: String,
    /// One per data set.
    pub accounts: Vec<Account>,
}

impl Statement {
    /// Most entries and runs that a statement may list: adding them up takes time.
    const MOST: u64 = 10_000;

    /// Indented JSON with a final newline.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a statement has only JSON values") + "\n"
    }

    /// Reads a statement and adds everything up again.
    pub fn parse(text: &str) -> Result<Self, StatementError> {
        let statement: Self = serde_json::from_str(text).map_err(|error| StatementError::Text(error.to_string()))?;
        statement.check()?;
        Ok(statement)
    }

    /// Adds everything up again and compares.
    pub fn check(&self) -> Result<(), StatementError> {
        if self.schema != STATEMENT_SCHEMA {
            return Err(StatementError::Schema { known: STATEMENT_SCHEMA });
        }
        for account in &self.accounts {
            let Account { budget, neighbours, entries, .. } = account;
            let dataset = || account.dataset.clone();
            Budget::new(budget.epsilon, budget.delta)?;
            if neighbours.beta.is_some_and(|beta| beta.is_nan() || beta <= 0.0) {
                return Err(StatementError::Beta { dataset: dataset() });
            }
            if !entries.iter().all(Entry::is_sane) {
                return Err(StatementError::Entry { dataset: dataset() });
            }
            let runs = entries.iter().fold(entries.len() as u64, |sum, entry| sum.saturating_add(entry.times));
            if runs > Self::MOST {
                return Err(StatementError::Runs { dataset: dataset(), most: Self::MOST });
            }
            let mut again = account.clone();
            again.add_up();
            if again != *account {
                return Err(StatementError::Sums { dataset: dataset(), spent: again.spent, left: again.left });
            }
            if !budget.covers(&account.losses()) {
                return Err(StatementError::OverBudget { dataset: dataset() });
            }
        }
        Ok(())
    }

    /// For people: Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = String::from(
            "# Privacy budget statement\n\nWhat was released, and what all releases of a row cost together. A \
             `reserved` release is running or was cut off, and counts as spent.\n",
        );
        for account in &self.accounts {
            let Account { dataset, neighbours, budget, opened_at, spent, left, entries } = account;
            let rule = match budget.delta {
                0.0 => "sum of the losses",
                _ => "exact composition of the worst cases (KOV for pure losses, mu for Gaussian noise)",
            };
            text.push_str(&format!(
                "\n## {}\n\n| | |\n|---|---|\n| Unit of privacy | {} |\n| Budget | {} |\n| Spent | epsilon {} |\n\
                 | Left for one more pure release | epsilon {} |\n| Composition | {rule} |\n| Opened | {opened_at} |\n\n\
                 | release | date | mechanism | loss | times charged | rows | certificate |\n\
                 |---|---|---|---|---|---|---|\n",
                cell(dataset),
                neighbours.sentence(),
                budget_words(budget),
                short(*spent),
                short(*left),
            ));
            for entry in entries {
                let rows = entry.rows.map(|rows| rows.to_string()).unwrap_or_default();
                text.push_str(&format!(
                    "| {} {} | {} | {}{} | {} | {} | {rows} | {} |\n",
                    entry.id,
                    cell(&entry.state),
                    cell(&entry.reserved_at),
                    cell(&entry.mechanism),
                    if entry.sticky { ", sticky" } else { "" },
                    entry.loss.words(),
                    entry.times,
                    cell(entry.certificate.as_deref().unwrap_or("")),
                ));
            }
        }
        text
    }
}

/// A name must not break the table.
fn cell(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || "|<>`".contains(c) { ' ' } else { c }).collect()
}
