//! What the organiser of a campaign decides: words, periods, how often, how few, how long.

use crate::error::TermsError;
use crate::words::is_unseen;
use serde::{Deserialize, Serialize};
use std::net::Ipv6Addr;

const SECONDS_PER_DAY: u64 = 86_400;

/// The terms of a campaign. All public, none computed from private data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// A short name for people.
    pub name: String,
    /// What is collected and why, for the person whose device it is.
    pub statement: String,
    /// Where reports go: an address without query or fragment.
    pub collector: String,
    /// What the vector is.
    pub input: Input,
    /// When reports are taken.
    pub periods: Periods,
    /// What a slot may send over time.
    pub longitudinal: Longitudinal,
    /// A period with fewer reports is never exported.
    pub min_reports: u32,
    /// Days after its period, more than one period has, for which a collector may keep a report.
    pub retention_days: u32,
}

/// What the vector is, besides its dimension and range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// How a device hands it over.
    pub layout: Layout,
    /// Where it comes from, in words.
    pub description: String,
    /// SHA-256 of the model that makes it, 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Dense or sparse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Every attribute has a value.
    Dense,
    /// Attributes that are not named are zero.
    Sparse,
}

/// Campaign time: equal spans that follow one another. A report names its span, never a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Periods {
    /// When the first begins, in seconds since 1970 (UTC).
    pub first: u64,
    /// Seconds per period.
    pub seconds: u64,
    /// How many there are.
    pub count: u32,
}

impl Periods {
    /// The period of a moment; `None` before the first and after the last.
    pub fn at(&self, now: u64) -> Option<u32> {
        let period = now.checked_sub(self.first)?.checked_div(self.seconds)?;
        u32::try_from(period).ok().filter(|&period| period < self.count)
    }

    /// When a period begins; period `count` gives the end of the last.
    pub fn start(&self, period: u32) -> u64 {
        self.first.saturating_add(self.seconds.saturating_mul(period.into()))
    }

    /// True while a collector takes reports of this period: in it and, for late ones, in the next.
    pub fn is_open(&self, period: u32, now: u64) -> bool {
        let closes = self.start(period.saturating_add(2));
        period < self.count && (self.start(period)..closes).contains(&now)
    }

    /// Checks that periods exist and that no moment overflows.
    fn check(&self) -> Result<(), TermsError> {
        let end = self.seconds.checked_mul(u64::from(self.count) + 2).and_then(|all| all.checked_add(self.first));
        match end {
            // A year 285,616,000 does not fit a double that JavaScript keeps seconds in.
            Some(end) if self.seconds > 0 && self.count > 0 && end < 1 << 53 => Ok(()),
            _ => Err(TermsError::Periods),
        }
    }
}

/// What happens to a vector that has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It is never sent again.
    Once,
    /// It is sent in every period with the same noise: a pseudonym.
    Sticky,
}

/// What a slot may send over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Longitudinal {
    /// What happens to a vector that has not changed.
    pub mode: Mode,
    /// The most contents that a slot may ever report. Each costs the loss again.
    pub contents: u32,
}

impl Terms {
    pub(super) fn check(&self) -> Result<(), TermsError> {
        if self.name.trim().is_empty() || self.name.len() > 200 {
            return Err(TermsError::Name);
        }
        if self.statement.trim().is_empty() || self.statement.len() > 10_000 {
            return Err(TermsError::Statement);
        }
        if self.input.description.len() > 10_000 {
            return Err(TermsError::Description);
        }
        let words = [
            ("name", &self.name),
            ("statement", &self.statement),
            ("description of the input", &self.input.description),
            ("collector's address", &self.collector),
        ];
        if let Some((field, _)) = words.into_iter().find(|(_, text)| text.chars().any(changes_what_is_shown)) {
            return Err(TermsError::Unseen { field });
        }
        check_address(&self.collector)?;
        if self.input.model.as_deref().is_some_and(|model| !is_hash(model)) {
            return Err(TermsError::Model);
        }
        if self.longitudinal.contents == 0 {
            return Err(TermsError::Contents);
        }
        if self.min_reports == 0 {
            return Err(TermsError::MinReports);
        }
        self.periods.check()?;
        // Late reports are taken for one more period: only then may anything be exported.
        if u64::from(self.retention_days) * SECONDS_PER_DAY <= self.periods.seconds {
            return Err(TermsError::Retention);
        }
        Ok(())
    }
}

/// What would not be shown as it is signed: also the marks of direction, which an id may need and a sentence does not.
fn changes_what_is_shown(c: char) -> bool {
    is_unseen(c) || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
}

/// Reports hold nothing that others may not read, but who sends them is seen: no plain HTTP beyond this machine.
fn check_address(address: &str) -> Result<(), TermsError> {
    let local = address.strip_prefix("http://").and_then(host_of);
    let local = local.is_some_and(|host| ["127.0.0.1", "localhost", "[::1]"].contains(&host));
    let remote = address.strip_prefix("https://").and_then(host_of).is_some();
    let plain = address.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#\"\\@".contains(&byte));
    if (local || remote) && plain && address.len() <= 2000 {
        return Ok(());
    }
    Err(TermsError::Collector)
}

/// The host of what follows the scheme: a name or an address, then perhaps a port, then perhaps a path.
fn host_of(rest: &str) -> Option<&str> {
    let place = rest.split('/').next()?;
    let after = if place.starts_with('[') { place.find(']')? + 1 } else { place.find(':').unwrap_or(place.len()) };
    let (host, port) = place.split_at(after);
    let is_port =
        |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse().is_ok_and(|it: u16| it > 0);
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => host.len() <= 253 && host.split('.').all(is_label),
    };
    (is_host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))).then_some(host)
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
