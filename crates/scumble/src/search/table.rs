//! Released files of any size and number, searched as one table: each is read once for all queries, in bounded memory.

use super::{Best, Hit, Metric, Queries, Searcher, default_metric_of, hits};
use crate::certificate::{Certificate, ColumnLayout, ContentHasher};
use crate::columns::{Column, ElementType};
use crate::error::{LibraryError, SearchError};
use crate::files::{
    OpenError, ReadError, ReleaseFault, ReleasedPiece, altered, beside_release, read_certificate, read_pieces,
    released_files,
};
use crate::release::{Encoder, Release};
use scumble_core::mechanism::{Beside, Mechanism};
use scumble_core::parallel;
use std::fmt;
use std::path::{Path, PathBuf};

/// Releases that share a projection and an encoding, as one table: rows are numbered from file to file.
#[derive(Debug)]
pub struct Table {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    path: PathBuf,
    first: usize, // its first row in the table
    certificate: Certificate,
    mechanism: Mechanism,
    encoder: Encoder,
}

/// A certificate with what it describes.
fn parse(text: &str, beside: &Beside) -> Result<(Certificate, Mechanism, Encoder), LibraryError> {
    let (certificate, mechanism) = Certificate::parse_with(text, beside)?;
    let encoder = Encoder::new(&mechanism, Some(certificate.encoding.name.parse()?))?;
    Ok((certificate, mechanism, encoder))
}

impl Part {
    fn open(path: PathBuf, first: usize, given: &Beside) -> Result<Self, OpenError> {
        let fault = |error| OpenError::Release { path: path.clone(), fault: ReleaseFault::Certificate(error) };
        let beside = beside_release(&path, given)?;
        let parsed = parse(&read_certificate(&path)?, &beside);
        let (certificate, mechanism, encoder) = parsed.map_err(fault)?;
        Ok(Self { path, first, certificate, mechanism, encoder })
    }

    fn fault(&self, fault: ReleaseFault) -> OpenError {
        OpenError::Release { path: self.path.clone(), fault }
    }

    fn rows(&self) -> usize {
        self.certificate.rows as usize
    }

    /// Refuses to share a table with a release that cannot be compared with it.
    fn check(&self, other: &Self) -> Result<(), OpenError> {
        let encodings = [self, other].map(|part| part.encoder.encoding());
        let same = match encodings[0] == encodings[1] {
            true => other.certificate.same_projection(&self.certificate).map_err(LibraryError::from),
            false => Err(SearchError::OtherEncoding {
                encoding: encodings[0],
                other: other.path.clone(),
                of_other: encodings[1],
            }
            .into()),
        };
        same.map_err(|error| self.fault(ReleaseFault::Certificate(error)))
    }
}

/// What a search of a table has found.
#[derive(Debug)]
pub struct Found {
    /// The best rows of every query, best first; rows are numbered from file to file.
    pub hits: Vec<Vec<Hit>>,
    /// Ids of all rows, if the files have any; the row number in its file stands for one that is missing.
    pub ids: Option<Column>,
    parts: Vec<(PathBuf, usize)>,
}

impl Found {
    /// What a search of one release in memory has found.
    pub fn in_release(path: &Path, release: &Release, hits: Vec<Vec<Hit>>) -> Self {
        Self { hits, ids: release.ids().cloned(), parts: vec![(path.to_owned(), 0)] }
    }

    /// The file of a row, and its number there.
    ///
    /// # Panics
    /// If the table has no such row.
    pub fn place(&self, row: usize) -> (&Path, usize) {
        let (path, first) = &self.parts[self.parts.partition_point(|(_, first)| *first <= row) - 1];
        (path, row - first)
    }
}

/// A search that is ready to run over a table.
pub struct TableSearch<'a> {
    table: &'a Table,
    searchers: Vec<Searcher>, // one per part: units differ from release to release
}

impl fmt::Debug for TableSearch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableSearch({} files)", self.searchers.len())
    }
}

impl Table {
    /// Reads the certificates of releases: files, or folders of them (a folder that has a certificate is one release).
    pub fn open(paths: &[PathBuf]) -> Result<Self, OpenError> {
        Self::open_with(paths, &Beside::default())
    }

    /// The same with public files that certificates name by their hash and that are not stored beside the releases.
    pub fn open_with(paths: &[PathBuf], given: &Beside) -> Result<Self, OpenError> {
        let mut parts: Vec<Part> = Vec::new();
        for path in paths {
            for path in released_files(path)? {
                let first = parts.last().map_or(0, |part| part.first + part.rows());
                let part = Part::open(path, first, given)?;
                if let Some(other) = parts.first() {
                    part.check(other)?;
                }
                parts.push(part);
            }
        }
        assert!(!parts.is_empty(), "a table has a file");
        Ok(Self { parts })
    }

    /// Number of rows, as the certificates state it.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Part::rows).sum()
    }

    /// True when there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of releases in it.
    pub fn files(&self) -> usize {
        self.parts.len()
    }

    /// The mechanism of the first release: the projection is that of all.
    pub fn mechanism(&self) -> &Mechanism {
        &self.parts[0].mechanism
    }

    /// The `top` best rows for every query; nothing is read yet.
    pub fn search(
        &self,
        queries: Queries<'_>,
        top: usize,
        metric: Option<Metric>,
    ) -> Result<TableSearch<'_>, LibraryError> {
        let metric = metric.unwrap_or_else(|| default_metric_of(self.mechanism(), queries));
        let searcher =
            |part: &Part| Searcher::new(&part.certificate, &part.mechanism, &part.encoder, queries, top, metric);
        Ok(TableSearch { table: self, searchers: self.parts.iter().map(searcher).collect::<Result<_, _>>()? })
    }
}

impl TableSearch<'_> {
    /// Reads every file once, on all cores. Hits are given out only if all data are what their certificates were made for.
    pub fn run(&self) -> Result<Found, OpenError> {
        let parts = &self.table.parts;
        let scanned = parallel::run(|| {
            let (mut best, mut ids) = (self.searchers[0].fresh(), Vec::new());
            for (part, searcher) in parts.iter().zip(&self.searchers) {
                ids.push(scan(part, searcher, &mut best)?);
            }
            Ok::<_, OpenError>((best, ids))
        });
        let (best, ids) = scanned?;
        let places = parts.iter().map(|part| (part.path.clone(), part.first)).collect();
        Ok(Found { hits: hits(best), ids: joined(ids, parts), parts: places })
    }
}

/// Meets all rows of a file while they are hashed; gives their ids.
fn scan(part: &Part, searcher: &Searcher, best: &mut [Best]) -> Result<Option<Column>, OpenError> {
    let (mut hasher, mut row, mut all_ids) = (None::<ContentHasher>, 0, None::<Column>);
    let each = |element: ElementType, pieces: Vec<ReleasedPiece>| {
        let wrong = pieces.iter().any(|piece| piece.bytes.len() != piece.rows * searcher.width);
        if wrong || pieces.iter().map(|piece| piece.rows).sum::<usize>() > part.rows() - row {
            return Err(None);
        }
        let layout = || ColumnLayout::sketch(element, searcher.width / element.size());
        let hasher = hasher.get_or_insert_with(|| ContentHasher::new(layout()));
        let hash = || {
            for ReleasedPiece { rows, bytes, ids, labels } in &pieces {
                hasher.update(*rows, bytes, ids.as_ref(), labels.as_ref());
            }
        };
        let look = || {
            for piece in &pieces {
                searcher.scan(part.first + row, &piece.bytes, best);
                row += piece.rows;
            }
        };
        rayon::join(hash, look);
        for more in pieces.into_iter().filter_map(|piece| piece.ids) {
            match &mut all_ids {
                Some(all) => assert!(all.append(more), "one kind a file"),
                None => all_ids = Some(more),
            }
        }
        Ok(())
    };
    let files = read_pieces(&part.path, each).map_err(|error: Option<ReadError>| match error {
        Some(error) => error.into(),
        None => part.fault(ReleaseFault::Altered("sketches")),
    })?;
    let Some(hasher) = hasher else { return Err(part.fault(ReleaseFault::Altered("sketches"))) };
    let mut hashes = hasher.finish();
    hashes.layout.files = files;
    match altered(&part.certificate.content, &hashes) {
        None => Ok(all_ids),
        Some(what) => Err(part.fault(ReleaseFault::Altered(what))),
    }
}

/// The ids of all files; texts where they differ in kind.
fn joined(ids: Vec<Option<Column>>, parts: &[Part]) -> Option<Column> {
    let kind = ids
        .iter()
        .flatten()
        .map(Column::kind)
        .reduce(|a, b| if a == b { a } else { crate::columns::ColumnKind::Text })?;
    let whole = ids.iter().all(|ids| ids.as_ref().is_some_and(|ids| ids.kind() == kind));
    let mut all = Column::new(if whole { kind } else { crate::columns::ColumnKind::Text });
    for (ids, part) in ids.into_iter().zip(parts) {
        let texts = |ids: &Option<Column>| {
            let text = |row: usize| ids.as_ref().map_or_else(|| row.to_string(), |ids| ids.text(row));
            Column::Text((0..part.rows()).map(text).collect())
        };
        let more = if whole { ids.expect("all have ids") } else { texts(&ids) };
        assert!(all.append(more), "of one kind");
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{Encoding, Releaser};
    use crate::search::{ExactQueries, search};
    use scumble_core::mechanism::{MechanismId, Parameters, Required};
    use scumble_core::projection::Seed;
    use scumble_core::vectors::{Range, Rows, Scalars};

    fn release(id: MechanismId, encoding: Encoding, rows: usize, seed: u8) -> Release {
        let parameters = Parameters::new(Required {
            mechanism: id,
            dim: 40,
            k: 24,
            epsilon: 4.0,
            beta: 1.0,
            range: Range::new(0.0, 1.0).unwrap(),
            seed: Seed([seed; 32]),
        });
        let releaser = Releaser::new(Mechanism::new(parameters).unwrap(), Some(encoding)).unwrap();
        let data: Vec<f32> = (0..40 * rows).map(|i| (i * 7919 % 101) as f32 / 100.0).collect();
        Release::from_rows(&releaser, Rows::dense(Scalars::F32(&data), 40)).unwrap()
    }

    fn write(folder: &Path, name: &str, release: &Release) -> PathBuf {
        let path = folder.join(name);
        let width = release.encoder().bytes_per_row() as u64;
        let (descr, columns) = match release.encoder().encoding() {
            Encoding::F32 => ("<f4", width / 4),
            Encoding::I16
            | Encoding::B8
            | Encoding::B4
            | Encoding::B1
            | Encoding::Symbols { .. }
            | Encoding::Word { .. } => ("|u1", width),
        };
        let mut file = crate::files::npy::header(descr, &[release.len() as u64, columns]).to_vec();
        file.extend(release.bytes());
        std::fs::write(&path, file).unwrap();
        std::fs::write(folder.join(format!("{name}.certificate.json")), release.certificate().to_json()).unwrap();
        path
    }

    /// Several files, or their folder, find what one release of all their rows would.
    #[test]
    fn files_are_one_table() {
        for (id, encoding) in
            [(MechanismId::DpSignoporpCeil, Encoding::B1), (MechanismId::DpOporpStaircase, Encoding::F32)]
        {
            let folder = tempfile::tempdir().unwrap();
            let parts = [release(id, encoding, 300, 1), release(id, encoding, 20_000, 1), release(id, encoding, 1, 1)];
            let paths: Vec<PathBuf> = parts
                .iter()
                .zip(["a.npy", "b.npy", "c.npy"])
                .map(|(part, name)| write(folder.path(), name, part))
                .collect();
            let queries = release(id, encoding, 5, 1);
            let mut all: Vec<Vec<(f32, usize)>> = vec![Vec::new(); 5];
            let mut first = 0;
            for part in &parts {
                for (all, hits) in all.iter_mut().zip(search(part, Queries::Released(&queries), 9, None).unwrap()) {
                    all.extend(hits.iter().map(|hit| (hit.score, first + hit.row)));
                }
                first += part.len();
            }
            for paths in [paths, vec![folder.path().to_owned()]] {
                let table = Table::open(&paths).unwrap();
                assert_eq!((table.len(), table.files()), (20_301, 3));
                let found = table.search(Queries::Released(&queries), 9, None).unwrap().run().unwrap();
                assert_eq!(found.place(20_300).1, 0);
                assert_eq!(found.place(300), (folder.path().join("b.npy").as_path(), 0));
                for (hits, all) in found.hits.iter().zip(&mut all) {
                    match id {
                        MechanismId::DpSignoporpCeil => all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))),
                        _ => all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))),
                    }
                    assert!(hits.iter().map(|hit| (hit.score, hit.row)).eq(all[..9].iter().copied()), "{id}");
                }
            }
        }
    }

    /// A changed byte anywhere, another seed, another encoding: no hit is given out.
    #[test]
    fn nothing_leaves_an_altered_table() {
        let folder = tempfile::tempdir().unwrap();
        let id = MechanismId::DpSignoporpCeil;
        let good = release(id, Encoding::B1, 3000, 1);
        let path = write(folder.path(), "a.npy", &good);
        let exact = ExactQueries::project(good.mechanism(), Rows::dense(Scalars::F32(&[0.5; 40]), 40)).unwrap();
        let found = |paths: &[PathBuf]| {
            let table = Table::open(paths)?;
            table.search(Queries::Exact(&exact), 3, None).unwrap().run()
        };
        assert!(found(std::slice::from_ref(&path)).is_ok());
        let other = write(folder.path(), "b.npy", &release(id, Encoding::B1, 30, 2));
        assert!(found(&[path.clone(), other]).unwrap_err().to_string().contains("seed"));
        let other = write(folder.path(), "c.npy", &release(MechanismId::DpOporpStaircase, Encoding::F32, 30, 1));
        assert!(found(&[path.clone(), other]).unwrap_err().to_string().contains("encoding"));
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert!(found(&[path]).unwrap_err().to_string().contains("sketches"));
    }
}
