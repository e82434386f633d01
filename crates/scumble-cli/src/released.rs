//! Opening a release for use: its certificate must hold together and its data must be what the certificate says.

use crate::exit::Failure;
use scumble::certificate::Content;
use scumble::certificate::ContentHashes;
use scumble::files::{ReleasedFile, read_release};
use scumble::release::Release;
use std::path::Path;

/// Reads a release and refuses one that was altered.
pub fn open(path: &Path) -> Result<Release, Failure> {
    let file = read_release(path)?;
    let hashes = file.hashes.clone();
    let release = assemble(path, file)?;
    match altered(&release.certificate().content, &hashes) {
        None => Ok(release),
        Some(what) => Err(Failure::refused(format!(
            "{}: the {what} are not those that the certificate was made for; get the file again from its source",
            path.display()
        ))),
    }
}

fn assemble(path: &Path, file: ReleasedFile) -> Result<Release, Failure> {
    let ReleasedFile { certificate, bytes, ids, labels, .. } = file;
    let release = Release::from_parts(&certificate, bytes, ids, labels);
    release.map_err(|error| Failure::refused(format!("{}: {error}", path.display())))
}

/// The first column whose hash is not the stated one.
pub fn altered(stated: &Content, found: &ContentHashes) -> Option<&'static str> {
    if stated.sketch != found.sketch {
        Some("sketches")
    } else if stated.ids != found.ids {
        Some("ids")
    } else if stated.labels != found.labels {
        Some("labels")
    } else {
        None
    }
}
