//! Releases whose values are untouched, but which a reader would load as something else: none verifies, none opens.

use crate::support::*;
use std::path::Path;

const RELEASE: &str = "release x.csv --id id --label label --epsilon 3 --range 0,1 --sign k";

/// Eight rows with integer ids and labels, and a key.
fn table(folder: &Folder) {
    let rows: String = (0..8).map(|i| format!("{i},{},0.5,0.25,0.75,1\n", i % 3)).collect();
    folder.file("x.csv", format!("id,label,a,b,c,d\n{rows}"));
    folder.ok("keygen --out k");
}

fn refused(folder: &Folder, file: &str, what: &str) {
    let line = folder.fails(&format!("verify {file} --key k.pub"), 1);
    assert!(line.contains("verification failed at"), "{what}: {line}");
    assert_ne!(folder.run(&format!("compare {file} --rows 0,1")).status.code(), Some(0), "{what}");
}

/// Replaces text of an `.npy` header by text of the same meaning to its hash; the padding takes up the difference.
fn retype(path: &Path, from: &str, to: &str) {
    let mut bytes = std::fs::read(path).unwrap();
    let header = String::from_utf8(bytes[10..128].to_vec()).unwrap();
    assert!(header.contains(from), "{header}");
    let changed = header.replace(from, to);
    bytes[10..128].copy_from_slice(format!("{:<117}\n", changed.trim_end()).as_bytes());
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_retyped_npy_is_refused() {
    let folder = Folder::new();
    table(&folder);
    folder.ok(&format!("{RELEASE} --mechanism dp-oporp-staircase -k 4 --out f.npy"));
    folder.ok(&format!("{RELEASE} --mechanism dp-signoporp-ceil -k 4 --out u.npy"));
    for (release, file, from, to) in [
        ("f.npy", "f.npy.ids.npy", "<i8", "<f8"),
        ("f.npy", "f.npy.labels.npy", "<i8", "<f8"),
        (
            "f.npy",
            "f.npy",
            "'<f4', 'fortran_order': False, 'shape': (8, 4)",
            "'<i2', 'fortran_order': False, 'shape': (8, 8)",
        ),
        ("f.npy", "f.npy", "(8, 4)", "(4, 8)"),
        (
            "f.npy",
            "f.npy",
            "'<f4', 'fortran_order': False, 'shape': (8, 4)",
            "'|u1', 'fortran_order': False, 'shape': (8, 16)",
        ),
        ("u.npy", "u.npy", "|u1", "|i1"),
    ] {
        let path = folder.path(file);
        let before = std::fs::read(&path).unwrap();
        retype(&path, from, to);
        refused(&folder, release, to);
        std::fs::write(&path, before).unwrap();
        folder.ok(&format!("verify {release} --key k.pub"));
    }
    // A column that the certificate does not name, and one that it names and is gone.
    std::fs::copy(folder.path("f.npy.ids.npy"), folder.path("kept")).unwrap();
    std::fs::remove_file(folder.path("f.npy.ids.npy")).unwrap();
    refused(&folder, "f.npy", "ids taken away");
    std::fs::copy(folder.path("kept"), folder.path("f.npy.ids.npy")).unwrap();
    folder.ok(&format!("{RELEASE} --mechanism dp-oporp-staircase -k 4 --out g.npy").replace(" --label label", ""));
    std::fs::copy(folder.path("f.npy.labels.npy"), folder.path("g.npy.labels.npy")).unwrap();
    refused(&folder, "g.npy", "labels added");
}
