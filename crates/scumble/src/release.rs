//! A finished release: certificate, ids, labels and encoded rows. What consumers hold, and the only thing that
//! `estimate`, `search` and `statistics` accept. Also what makes one: the core's releaser and encoder.

use crate::certificate::{Certificate, ColumnLayout, ContentHasher, PersonStatement, SigningKey};
use crate::columns::Column;
use crate::error::{LibraryError, PartsError};
use scumble_core::mechanism::{Beside, Mechanism};
pub use scumble_core::release::*;
use scumble_core::vectors::Rows;
use std::collections::HashMap;

/// A table of released rows. Everything in it may be shown to anyone.
#[derive(Debug, Clone)]
pub struct Release {
    certificate: Certificate,
    mechanism: Mechanism,
    encoder: Encoder,
    bytes: Vec<u8>,
    ids: Option<Column>,
    labels: Option<Column>,
}

impl Release {
    /// Releases all rows in memory.
    pub fn from_rows(releaser: &Releaser, rows: Rows<'_>) -> Result<Self, ReleaseError> {
        let mut bytes = Vec::new();
        releaser.release(rows, 0, |i| (i as u64).to_le_bytes().to_vec(), &mut bytes)?;
        Ok(Self::new(releaser, bytes, None, None))
    }

    /// Certifies what a releaser gave.
    ///
    /// # Panics
    /// If the bytes are not whole rows, or the ids or labels are not one per row.
    pub fn new(releaser: &Releaser, bytes: Vec<u8>, ids: Option<Column>, labels: Option<Column>) -> Self {
        let (mechanism, encoder) = (releaser.mechanism().clone(), releaser.encoder().clone());
        let rows = bytes.len() / encoder.bytes_per_row();
        assert_eq!(bytes.len(), rows * encoder.bytes_per_row(), "whole rows");
        assert!([&ids, &labels].into_iter().flatten().all(|column| column.len() == rows), "one per row");
        let mut hasher = ContentHasher::new(ColumnLayout::encoded(encoder.encoding(), encoder.k()));
        hasher.update(rows, &bytes, ids.as_ref(), labels.as_ref());
        let certificate = Certificate::of(releaser, rows as u64, hasher.finish().into());
        Self { certificate, mechanism, encoder, bytes, ids, labels }
    }

    /// The same with what holds for a person of whom at most a given number of rows was taken.
    pub fn for_persons(mut self, person: PersonStatement) -> Self {
        self.certificate = self.certificate.for_persons(person);
        self
    }

    /// The same with a signed certificate.
    pub fn signed(mut self, key: &SigningKey) -> Self {
        self.certificate = self.certificate.signed(key);
        self
    }

    /// Several releases as one table, in this order: what several collectors of one campaign have exported. They must be
    /// of one mechanism and encoding, and for the same campaign and persons. Ids and labels stay behind: ids number the
    /// rows of each. A row that two of them have counts twice; a release that is there twice is refused.
    pub fn together(parts: Vec<Self>) -> Result<Self, LibraryError> {
        let mut sketches = HashMap::new();
        for (again, part) in parts.iter().enumerate() {
            if let Some(first) = sketches.insert(part.certificate.content.sketch.clone(), again) {
                return Err(PartsError::Twice { first, again }.into());
            }
        }
        let mut parts = parts.into_iter();
        let Some(Self { certificate: first, mechanism, encoder, mut bytes, .. }) = parts.next() else {
            return Err(PartsError::Nothing.into());
        };
        let marks =
            |certificate: &Certificate| (certificate.sticky, certificate.person.clone(), certificate.campaign.clone());
        for part in parts {
            first.same_projection(&part.certificate)?;
            if part.mechanism.digest() != mechanism.digest() || part.encoder.encoding() != encoder.encoding() {
                return Err(PartsError::OtherLaw.into());
            }
            if marks(&first) != marks(&part.certificate) {
                return Err(PartsError::OtherCampaign.into());
            }
            bytes.extend(part.bytes);
        }
        let rows = bytes.len() / encoder.bytes_per_row();
        let mut hasher = ContentHasher::new(ColumnLayout::encoded(encoder.encoding(), encoder.k()));
        hasher.update(rows, &bytes, None, None);
        let certificate = Certificate::new(&mechanism, &encoder, rows as u64, hasher.finish().into()).like(&first);
        Ok(Self { certificate, mechanism, encoder, bytes, ids: None, labels: None })
    }

    /// Puts together what a file held, after checking the certificate's text and that the parts fit it.
    pub fn from_parts(
        certificate: &str,
        bytes: Vec<u8>,
        ids: Option<Column>,
        labels: Option<Column>,
    ) -> Result<Self, LibraryError> {
        Self::from_parts_with(certificate, &Beside::default(), bytes, ids, labels)
    }

    /// The same with public files that were stored beside it.
    pub(crate) fn from_parts_with(
        certificate: &str,
        beside: &Beside,
        bytes: Vec<u8>,
        ids: Option<Column>,
        labels: Option<Column>,
    ) -> Result<Self, LibraryError> {
        let (certificate, mechanism) = Certificate::parse_with(certificate, beside)?;
        // The certificate's own statement, as its check has shown.
        let encoder = Encoder::new(&mechanism, Some(certificate.encoding.name.parse()?))?;
        if bytes.len() as u64 != certificate.rows * encoder.bytes_per_row() as u64 {
            return Err(PartsError::Rows.into());
        }
        Ok(Self { certificate, mechanism, encoder, bytes, ids, labels })
    }

    /// The same for parts that were kept together, such as a pickle's: their hashes must be those of the certificate.
    /// `beside` has the public files that the certificate names.
    pub fn restored(
        certificate: &str,
        beside: &Beside,
        bytes: Vec<u8>,
        ids: Option<Column>,
        labels: Option<Column>,
    ) -> Result<Self, LibraryError> {
        let release = Self::from_parts_with(certificate, beside, bytes, ids, labels)?;
        let fits = |column: &Option<Column>| column.as_ref().is_none_or(|column| column.len() == release.len());
        let layout = ColumnLayout::encoded(release.encoder.encoding(), release.k());
        let mut hasher = ContentHasher::new(layout);
        if fits(&release.ids) && fits(&release.labels) {
            hasher.update(release.len(), &release.bytes, release.ids.as_ref(), release.labels.as_ref());
        }
        let (found, stated) = (hasher.finish(), &release.certificate.content);
        match (&found.sketch, &found.ids, &found.labels) == (&stated.sketch, &stated.ids, &stated.labels) {
            true => Ok(release),
            false => Err(PartsError::Content.into()),
        }
    }

    /// The certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The mechanism that the certificate describes (public numbers only).
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// The encoder of its rows.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.certificate.rows as usize
    }

    /// True when there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size of the sketch.
    pub fn k(&self) -> usize {
        self.encoder.k()
    }

    /// All encoded rows.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Encoded row `i`.
    pub fn row(&self, i: usize) -> &[u8] {
        let width = self.encoder.bytes_per_row();
        &self.bytes[i * width..(i + 1) * width]
    }

    /// Ids, if the input had them.
    pub fn ids(&self) -> Option<&Column> {
        self.ids.as_ref()
    }

    /// Labels, if they were asked for.
    pub fn labels(&self) -> Option<&Column> {
        self.labels.as_ref()
    }

    /// Row `i` as values: bits as -1 and 1, symbols by their table.
    pub fn values(&self, i: usize) -> Vec<f32> {
        let mut out = vec![0.0; self.k()];
        self.encoder.decode(self.row(i), &mut out);
        out
    }

    /// All rows as values, row by row.
    pub fn all_values(&self) -> Vec<f32> {
        (0..self.len()).flat_map(|i| self.values(i)).collect()
    }
}
