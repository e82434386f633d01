//! Memory does not grow with the file: a process of its own reads 200 MB and states its peak.

#![cfg(target_os = "linux")]

use super::support::*;
use super::tables::write_large;
use parquet::basic::Compression;
use scumble::columns::Column;
use scumble::files::{self, ReadOptions, ReleaseWriter, ReleasedBlock};
use scumble::release::Encoding;
use std::io::{BufWriter, Write};
use std::path::Path;

const ROWS: usize = 100_000;
const DIM: usize = 512;
const LIMIT_KIB: u64 = 100 << 10;

/// Peak resident memory of a child that reads `path`, and writes a release to `out` if that is given.
fn peak_kib(path: &Path, out: Option<&Path>) -> u64 {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "file::memory::child_reads", "--nocapture"]).env("SCUMBLE_TEST_INPUT", path);
    if let Some(out) = out {
        command.env("SCUMBLE_TEST_OUTPUT", out);
    }
    let printed = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let peak = printed.lines().find_map(|line| line.split_once("peak ")?.1.trim().parse().ok());
    peak.unwrap_or_else(|| panic!("the child said: {printed}"))
}

/// Runs in a process of its own; on its own it does nothing.
#[test]
fn child_reads() {
    let Some(path) = std::env::var_os("SCUMBLE_TEST_INPUT") else { return };
    let mut source = files::open(Path::new(&path), &ReadOptions::default()).unwrap();
    let mut writer = std::env::var_os("SCUMBLE_TEST_OUTPUT")
        .map(|out| ReleaseWriter::create(Path::new(&out), source.dim(), Encoding::F32).unwrap());
    let (mut rows, mut row) = (0, vec![0.0; source.dim()]);
    while let Some(batch) = source.next_batch(4096).unwrap() {
        let view = batch.rows();
        let mut bytes = Vec::new();
        for i in 0..view.len() {
            view.row_f64(i, &mut row);
            assert_eq!(row[1], (rows + i) as f64 % 1000.0);
            if writer.is_some() {
                bytes.extend(row.iter().flat_map(|x| (*x as f32).to_le_bytes()));
            }
        }
        if let Some(writer) = &mut writer {
            let ids = Column::Text((rows..rows + view.len()).map(|row| format!("row {row}")).collect());
            writer.write(ReleasedBlock { rows: view.len(), bytes: &bytes, ids: Some(&ids), labels: None }).unwrap();
        }
        rows += view.len();
    }
    assert_eq!(rows, ROWS);
    if let Some(writer) = writer {
        writer.finish(|_| "{}".to_owned()).unwrap();
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("peak {}", peak.trim().trim_end_matches(" kB"));
}

fn value(i: usize, j: usize) -> f32 {
    if j == 1 { (i % 1000) as f32 } else { (i * 31 + j * 17) as f32 % 97.0 }
}

#[test]
fn two_hundred_megabytes_in_less_than_one_hundred() {
    let folder = Folder::new();
    let shape = format!("({ROWS}, {DIM})");
    for fortran in [false, true] {
        let path = folder.write(&format!("{fortran}.npy"), npy("<f4", fortran, &shape, &[]));
        let mut file = BufWriter::new(std::fs::OpenOptions::new().append(true).open(&path).unwrap());
        for at in 0..ROWS * DIM {
            let (i, j) = if fortran { (at % ROWS, at / ROWS) } else { (at / DIM, at % DIM) };
            file.write_all(&value(i, j).to_le_bytes()).unwrap();
        }
        drop(file);
    }
    // One row group, so that nothing but the reader's own batches bounds the memory.
    let path = folder.path("x.parquet");
    write_large(&path, [ROWS, DIM, ROWS], Compression::UNCOMPRESSED, value);

    for name in ["false.npy", "true.npy", "x.parquet"] {
        let peak = peak_kib(&folder.path(name), None);
        assert!(peak < LIMIT_KIB, "{name}: {peak} KiB");
    }
    for out in ["out.parquet", "out.npy"] {
        let peak = peak_kib(&folder.path("false.npy"), Some(&folder.path(out)));
        assert!(peak < 2 * LIMIT_KIB, "{out}: {peak} KiB");
        assert_eq!(files::read_release(&folder.path(out)).unwrap().rows, ROWS as u64);
    }
}
