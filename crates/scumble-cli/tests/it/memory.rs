//! Releasing a file takes a bounded amount of memory, however large the file is.

use crate::support::*;
use crate::tables::write_large;
use parquet::basic::Compression;
use std::process::Stdio;
use std::time::Duration;

/// 400 MiB of input, more than the memory that is allowed. (The 4 GiB file of 1,000,000 rows takes the same memory and
/// more time than a test should; it is run by hand.)
const ROWS: usize = 100_000;
const DIM: usize = 1024;
const LIMIT_KIB: u64 = 300 << 10;

/// Runs a release and gives the most memory that it held, mapped pages included, in KiB.
fn peak(folder: &Folder, words: &str) -> u64 {
    let mut child = folder.command(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        if let Ok(text) = std::fs::read_to_string(&status) {
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let found = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            peak = peak.max(found.unwrap_or(0));
        }
        if let Some(done) = child.try_wait().unwrap() {
            assert!(done.success(), "{words}: {}", stderr(&child.wait_with_output().unwrap()));
            return peak;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn large_npy_files_take_little_memory() {
    let folder = Folder::new();
    let path = folder.file("x.npy", npy("<f4", &format!("({ROWS}, {DIM})"), b""));
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(128 + (ROWS * DIM * 4) as u64).unwrap(); // zeros that take no disk
    let words = "release x.npy --out o.npy --mechanism dp-oporp-staircase --epsilon 5 --range 0,1 -k 256";
    let peak = peak(&folder, &format!("{words} --encoding b4"));
    assert!(peak > 4096 && peak < LIMIT_KIB, "{peak} KiB");
}

#[test]
fn large_parquet_files_take_little_memory() {
    let folder = Folder::new();
    // Two row groups of 200 MiB: the reader must not hold one whole. No dictionary, so pages are as large as they look.
    write_large(&folder.path("x.parquet"), [ROWS, DIM, ROWS / 2], Compression::SNAPPY, |_, _| 0.25);
    let words = "release x.parquet --out o.parquet --mechanism dp-oporp-staircase --epsilon 5 --range 0,1 -k 256";
    let peak = peak(&folder, &format!("{words} --encoding b4"));
    assert!(peak > 4096 && peak < LIMIT_KIB, "{peak} KiB");
}
