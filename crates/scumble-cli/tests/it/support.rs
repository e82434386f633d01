//! Files to feed the binary, and the binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A seed for tests that need the same projection twice.
pub const SEED: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A folder that is removed at the end of the test.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Every name in the folder.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs the binary in the folder with words split at blanks.
    pub fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
        command.current_dir(self.0.path()).args(words.split_whitespace()).env_remove("NO_COLOR");
        command
    }

    /// Runs and expects exit status 0; gives standard output.
    pub fn ok(&self, words: &str) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs with --json and expects exit status 0.
    pub fn json(&self, words: &str) -> serde_json::Value {
        serde_json::from_str(&self.ok(&format!("{words} --json"))).unwrap()
    }

    /// Runs and expects this exit status and one line on standard error besides warnings and notes; gives that line.
    pub fn fails(&self, words: &str, exit: i32) -> String {
        let output = self.run(words);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(exit), "{words}: {said}");
        let lines: Vec<&str> =
            said.lines().filter(|line| !line.starts_with("warning: ") && !line.starts_with("note: ")).collect();
        assert_eq!(lines.len(), 1, "{words}: {said}");
        assert!(lines[0].starts_with("scumble: "), "{words}: {said}");
        lines[0].to_owned()
    }
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// An `.npy` file.
pub fn npy(descr: &str, shape: &str, body: &[u8]) -> Vec<u8> {
    npy_with_header(&format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"), body)
}

/// An `.npy` file with this header text.
pub fn npy_with_header(text: &str, body: &[u8]) -> Vec<u8> {
    let padded = format!("{text:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((padded.len() as u16).to_le_bytes());
    bytes.extend(padded.as_bytes());
    bytes.extend(body);
    bytes
}

pub fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Rows of `dim` values in [0, 1]: two kinds of rows, alike within a kind. The same on every call.
pub fn rows(count: usize, dim: usize) -> Vec<f32> {
    let mut state = 1u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    (0..count)
        .flat_map(|i| (0..dim).map(move |j| (i % 2 == j % 2, i)).collect::<Vec<_>>())
        .map(|(on, _)| if on { 0.5 + 0.5 * uniform() } else { 0.2 * uniform() })
        .collect()
}

/// Writes such rows as `name`.
pub fn npy_rows(folder: &Folder, name: &str, count: usize, dim: usize) -> Vec<f32> {
    let values = rows(count, dim);
    folder.file(name, npy("<f4", &format!("({count}, {dim})"), &f32_bytes(&values)));
    values
}

/// Inner product in double precision.
pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
}

/// Reads a release's sketches as values.
pub fn release(path: &Path) -> scumble::release::Release {
    let file = scumble::files::read_release(path).unwrap();
    scumble::release::Release::from_parts(&file.certificate, file.bytes, file.ids, file.labels).unwrap()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
