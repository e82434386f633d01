//! Output files that appear complete or not at all.
//!
//! On Linux the file has no name until it is complete (`O_TMPFILE`, then `linkat`), so `kill -9` leaves nothing behind.
//! Elsewhere, and where the file system cannot do that, it has a temporary name that is removed on drop. A name that
//! exists is never replaced: both ways of naming the file fail then.

use super::error::WriteError;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// A file that has no name yet.
pub(crate) struct Pending {
    file: File,
    temporary: Option<TempPath>,
    target: PathBuf,
}

impl Pending {
    pub(crate) fn create(target: &Path) -> Result<Self, WriteError> {
        if target.symlink_metadata().is_ok() {
            return Err(WriteError::Exists(target.to_owned()));
        }
        match unnamed(folder(target)) {
            Some(file) => Ok(Self { file, temporary: None, target: target.to_owned() }),
            None => Self::named(target).map_err(|e| WriteError::io(target, &e)),
        }
    }

    fn named(target: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // the umask still applies
        let (file, temporary) = builder.prefix(".scumble-").tempfile_in(folder(target))?.into_parts();
        Ok(Self { file, temporary: Some(temporary), target: target.to_owned() })
    }

    fn publish(self) -> io::Result<()> {
        match self.temporary {
            Some(temporary) => temporary.persist_noclobber(&self.target).map_err(|e| e.error),
            None => link(&self.file, &self.target),
        }
    }
}

/// A file without a name in this folder, if the system supports that.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    // Naming it later goes through /proc.
    if !Path::new("/proc/self/fd").is_dir() {
        return None;
    }
    let mode = Mode::from_raw_mode(0o666); // the umask still applies
    rustix::fs::open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode).ok().map(File::from)
}

#[cfg(target_os = "linux")]
fn link(file: &File, target: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD};
    use std::os::fd::AsRawFd;
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, name, CWD, target, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The folder that contains a file.
pub(crate) fn folder(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Names the files in this order, each safely on disk before the first gets its name; on a failure, none.
///
/// A crash between two names leaves the earlier ones: put sidecars first, and the data never stands alone.
pub(crate) fn publish(files: Vec<Pending>) -> Result<(), WriteError> {
    for pending in &files {
        pending.file.sync_all().map_err(|e| WriteError::io(&pending.target, &e))?;
    }
    let mut named: Vec<PathBuf> = Vec::new();
    for pending in files {
        let target = pending.target.clone();
        if let Err(e) = pending.publish() {
            for path in named {
                let _ = std::fs::remove_file(path); // the error to report is the first one
            }
            return Err(WriteError::io(&target, &e));
        }
        named.push(target);
    }
    // The files are complete and named; only a power cut could still undo the names.
    if let Some(folder) = named.first().map(|path| folder(path)) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

impl Read for Pending {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Pending {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Both ways of making a file: without a name where the system can, and with a temporary one.
    const WAYS: [fn(&Path) -> Pending; 2] =
        [|target| Pending::create(target).unwrap(), |target| Pending::named(target).unwrap()];

    #[test]
    fn a_file_appears_only_when_it_is_published() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        for create in WAYS {
            let mut pending = create(&target);
            pending.write_all(b"complete").unwrap();
            assert!(!target.exists());
            publish(vec![pending]).unwrap();
            assert_eq!(std::fs::read(&target).unwrap(), b"complete");
            assert_eq!(names(folder.path()), ["out"]);
            std::fs::remove_file(&target).unwrap();
        }
    }

    #[test]
    fn dropped_files_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        drop(WAYS.map(|create| create(&folder.path().join("out"))));
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn an_existing_file_is_never_replaced_and_earlier_names_are_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let (target, sidecar) = (folder.path().join("out"), folder.path().join("out.json"));
        for create in WAYS {
            let pending = create(&target);
            let beside = Pending::create(&sidecar).unwrap();
            std::fs::write(&target, b"mine").unwrap();
            assert_eq!(publish(vec![beside, pending]), Err(WriteError::Exists(target.clone())));
            assert!(matches!(Pending::create(&target), Err(WriteError::Exists(_))));
            assert_eq!(std::fs::read(&target).unwrap(), b"mine");
            assert_eq!(names(folder.path()), ["out"]);
            std::fs::remove_file(&target).unwrap();
        }
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Pending::create(&folder.path().join("no/out")), Err(WriteError::Io { .. })));
    }
}
