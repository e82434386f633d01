//! An account and its entries, as the ledger reads them and a statement shows them.

use crate::accounting::{Budget, Gaussian, Loss, Neighbours};
use crate::error::ParameterError;
use rusqlite::Row;
use serde::{Deserialize, Serialize};

/// One release in an account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Number in the ledger.
    pub id: i64,
    /// `reserved` (spent: it runs, or has crashed), `recorded` or `cancelled` (not spent).
    pub state: String,
    /// UTC.
    pub reserved_at: String,
    /// Its id.
    pub mechanism: String,
    /// What one run costs in the account's unit.
    pub loss: Loss,
    /// Runs that were charged.
    pub times: u64,
    /// Noise keyed by the rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sticky: bool,
    /// Rows released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Digest of the certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
}

impl Entry {
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let gaussian = match (row.get("mu")?, row.get("distance")?) {
            (Some(mu), Some(distance)) => Some(Gaussian { mu, distance }),
            _ => None,
        };
        Ok(Self {
            id: row.get("id")?,
            state: row.get("state")?,
            reserved_at: row.get("reserved_at")?,
            mechanism: row.get("mechanism")?,
            loss: Loss { epsilon: row.get("epsilon")?, delta: row.get("delta")?, gaussian },
            times: row.get::<_, u32>("times")?.into(),
            sticky: row.get::<_, Option<Vec<u8>>>("stream")?.is_some(),
            rows: row.get::<_, Option<i64>>("rows")?.map(|rows| rows as u64),
            certificate: row.get("certificate")?,
        })
    }

    /// True for what a release could have written.
    pub(super) fn is_sane(&self) -> bool {
        let states = ["reserved", "recorded", "cancelled"];
        states.contains(&self.state.as_str()) && self.loss.is_sane()
    }

    pub(super) fn losses(&self) -> impl Iterator<Item = Loss> {
        let times = if self.state == "cancelled" { 0 } else { self.times };
        std::iter::repeat_n(self.loss, times as usize)
    }
}

/// One data set: what may be spent, what is, and by which releases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The data set.
    pub dataset: String,
    /// Who is protected.
    pub neighbours: Neighbours,
    /// The most that all releases of a row may cost together.
    pub budget: Budget,
    /// UTC.
    pub opened_at: String,
    /// The least epsilon that holds for all releases together, at the budget's delta.
    pub spent: f64,
    /// The largest epsilon that one more pure release may have.
    pub left: f64,
    /// All entries, oldest first.
    pub entries: Vec<Entry>,
}

impl Account {
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let unit: String = row.get("unit")?;
        let unit = unit.parse().map_err(|error: ParameterError| {
            rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
        })?;
        Ok(Self {
            dataset: row.get("dataset")?,
            neighbours: Neighbours { unit, beta: row.get("beta")? },
            budget: Budget { epsilon: row.get("budget_epsilon")?, delta: row.get("budget_delta")? },
            opened_at: row.get("opened_at")?,
            spent: 0.0,
            left: 0.0,
            entries: Vec::new(),
        })
    }

    /// What every release so far costs, run by run.
    pub(super) fn losses(&self) -> Vec<Loss> {
        self.entries.iter().flat_map(Entry::losses).collect()
    }

    pub(super) fn add_up(&mut self) {
        let losses = self.losses();
        (self.spent, self.left) = (self.budget.spent(&losses), self.budget.left(&losses));
    }

    /// Releases that were not cancelled.
    pub fn releases(&self) -> usize {
        self.entries.iter().filter(|entry| entry.state != "cancelled").count()
    }
}
