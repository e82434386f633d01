//! Do a ledger and the files agree? Entries name certificates; files carry them. Whether the data are those of the
//! certificate is not looked at here: `verify` does that.

use super::error::ReadError;
use super::released::read_certificate;
use crate::certificate::Certificate;
use crate::ledger::Account;
use serde::{Serialize, Serializer};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// What became of an entry's release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trace {
    /// It is charged, and the file is here.
    Found,
    /// It is charged, and the file is not among those given: it is elsewhere, or it was removed.
    Elsewhere,
    /// It is reserved: a run is going on, or has crashed. It counts as spent.
    Unfinished,
    /// It was given back, and no file is here: as it should be.
    GivenBack,
    /// It was given back, but the file is here: the ledger counts too little.
    Unpaid,
}

impl Trace {
    /// True where ledger and files contradict each other, or nobody knows.
    pub fn is_alarming(self) -> bool {
        matches!(self, Self::Unfinished | Self::Unpaid)
    }
}

/// One entry and the file that goes with it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reconciled {
    /// The data set.
    pub dataset: String,
    /// The entry's number.
    pub entry: i64,
    /// What became of it.
    pub trace: Trace,
    /// The file, if it is here.
    #[serde(serialize_with = "lossy")]
    pub file: Option<PathBuf>,
}

impl fmt::Display for Reconciled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{}  ", self.dataset, self.entry)?;
        match (self.trace, &self.file) {
            (Trace::Found, Some(file)) => write!(f, "charged: {}", file.display()),
            (Trace::Unpaid, Some(file)) => write!(f, "NOT CHARGED, it was given back: {}", file.display()),
            (Trace::Unfinished, _) => f.write_str("reserved: a run is going on, or has crashed; it counts as spent"),
            (Trace::GivenBack, _) => f.write_str("given back"),
            _ => f.write_str("charged; its file is not among those given"),
        }
    }
}

/// A name as text: JSON has no other bytes.
fn lossy<S: Serializer>(file: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    file.as_deref().map(Path::to_string_lossy).serialize(serializer)
}

/// Every entry of the accounts, and the releases that no entry names.
pub fn reconcile(accounts: &[Account], files: &[PathBuf]) -> Result<(Vec<Reconciled>, Vec<PathBuf>), ReadError> {
    let mut found: HashMap<String, Vec<PathBuf>> = HashMap::new();
    let mut strangers = Vec::new();
    for path in files {
        // The digest alone says which certificate it is: its public file need not be here.
        match Certificate::named(&read_certificate(path)?) {
            Ok(digest) => found.entry(digest).or_default().push(path.clone()),
            Err(_) => strangers.push(path.clone()),
        }
    }
    let mut entries = Vec::new();
    let mut named = HashSet::new();
    for account in accounts {
        for entry in &account.entries {
            // A sticky release that is made again has the same certificate: several entries may name one file.
            let digest = entry.certificate.as_deref();
            let files = digest.and_then(|digest| found.get(digest)).map(|files| &files[..]).unwrap_or_default();
            named.extend(digest);
            let trace = match (entry.state.as_str(), !files.is_empty()) {
                ("cancelled", false) => Trace::GivenBack,
                ("cancelled", true) => Trace::Unpaid,
                ("reserved", _) => Trace::Unfinished,
                (_, true) => Trace::Found,
                (_, false) => Trace::Elsewhere,
            };
            // Copies of one release, or files that carry its certificate.
            let files = files.iter().cloned().map(Some).chain(files.is_empty().then_some(None));
            let one = |file| Reconciled { dataset: account.dataset.clone(), entry: entry.id, trace, file };
            entries.extend(files.map(one));
        }
    }
    strangers
        .extend(found.into_iter().filter(|(digest, _)| !named.contains(digest.as_str())).flat_map(|(_, files)| files));
    strangers.sort();
    Ok((entries, strangers))
}
