//! Public files that parameters name by hash and that travel beside a certificate or a campaign.

use super::Parameters;
use crate::error::ParameterError;
use crate::projection::{Origin, Partition, TableFile};

/// The files that are available: bins, components, books, in any order.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    bins: Vec<Partition>,
    tables: Vec<TableFile>,
}

impl Beside {
    /// Adds a file; its first line says what it is.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), ParameterError> {
        if bytes.starts_with(b"scumble-bins") {
            self.bins.push(Partition::from_file(bytes)?);
        } else {
            self.tables.push(TableFile::from_file(bytes)?);
        }
        Ok(())
    }
}

impl Parameters {
    /// Takes the content of the files that these parameters name. Files that they do not name are left alone.
    pub fn attach(&mut self, beside: &Beside) {
        if let Some(partition) = &mut self.bins {
            beside.bins.iter().any(|given| partition.attach(given));
        }
        for file in [&mut self.components, &mut self.book].into_iter().flatten() {
            beside.tables.iter().any(|given| file.attach(given));
        }
    }

    /// The public samples that its files were learned from: what was learned, rows and hash.
    pub fn samples(&self) -> Vec<(&'static str, u64, [u8; 32])> {
        let bins = match &self.bins {
            Some(Partition::File(file)) => file.content().map(|bins| bins.origin()),
            _ => None,
        };
        let table = |file: &Option<TableFile>| file.as_ref()?.content().map(|table| table.origin());
        let origins = [("bins", bins), ("components", table(&self.components)), ("book", table(&self.book))];
        let sample = |(what, origin): (&'static str, Option<Origin>)| match origin? {
            Origin::Sample { rows, sha256 } => Some((what, rows, sha256)),
            _ => None,
        };
        origins.into_iter().filter_map(sample).collect()
    }

    /// The files that must accompany a certificate of these parameters: what each is, and its content.
    pub fn beside(&self) -> Vec<(&'static str, Vec<u8>)> {
        let bins = match &self.bins {
            Some(Partition::File(file)) if !file.is_inline() => file.content().map(|bins| bins.to_text().into_bytes()),
            _ => None,
        };
        let table = |file: &Option<TableFile>| file.as_ref()?.content().map(|table| table.to_bytes());
        let files = [("bins", bins), ("components", table(&self.components)), ("book", table(&self.book))];
        files.into_iter().filter_map(|(name, content)| Some((name, content?))).collect()
    }
}
