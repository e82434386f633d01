//! The certificate of files that were released part by part.

use super::released::FilesHasher;
use super::{ReadError, RowsPerPerson};
use crate::certificate::{Certificate, PersonStatement, SigningKey};
use crate::error::LibraryError;
use scumble_core::mechanism::Mechanism;
use scumble_core::release::{Encoder, Encoding};
use std::path::Path;

/// Certifies released Parquet files in the order in which they are added.
#[derive(Debug)]
pub struct Certifier<'a> {
    mechanism: &'a Mechanism,
    encoder: Encoder,
    hasher: FilesHasher,
    /// Noise comes from a kept key.
    pub sticky: bool,
    /// The bound on a person's rows in them.
    pub person: Option<RowsPerPerson>,
}

impl<'a> Certifier<'a> {
    /// With no file yet.
    pub fn new(mechanism: &'a Mechanism, encoding: Option<Encoding>) -> Result<Self, LibraryError> {
        let (encoder, hasher) = (Encoder::new(mechanism, encoding)?, FilesHasher::new(mechanism));
        Ok(Self { mechanism, encoder, hasher, sticky: false, person: None })
    }

    /// Adds a file of this mechanism's rows.
    pub fn add(&mut self, path: &Path) -> Result<(), ReadError> {
        self.hasher.add(path)
    }

    /// The certificate, checked; `None` without rows.
    pub fn finish(self, sign: Option<&SigningKey>) -> Result<Option<Certificate>, LibraryError> {
        let Some(hashes) = self.hasher.finish() else { return Ok(None) };
        let mut certificate = Certificate::new(self.mechanism, &self.encoder, hashes.rows, hashes.into());
        if self.sticky {
            certificate = certificate.sticky();
        }
        if let Some(RowsPerPerson { rows, delta }) = self.person {
            certificate = certificate.for_persons(PersonStatement::new(self.mechanism, rows, delta)?);
        }
        if let Some(key) = sign {
            certificate = certificate.signed(key);
        }
        certificate.check()?; // also that the files have the encoding's columns
        Ok(Some(certificate))
    }
}
