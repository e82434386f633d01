//! Keys, and signatures that a single changed byte breaks.

use crate::support::*;
use std::os::unix::fs::PermissionsExt;

const RELEASE: &str = "release x.csv --id id --label label --mechanism dp-oporp-staircase --epsilon 3 --range 0,1 -k 4";

/// A table with ids and labels.
fn table(folder: &Folder) {
    let rows: String = (0..12).map(|i| format!("row-{i},{},0.5,0.25,0.75,1\n", i % 3)).collect();
    folder.file("x.csv", format!("id,label,a,b,c,d\n{rows}"));
}

#[test]
fn a_signed_release_verifies_with_its_own_key_only() {
    let folder = Folder::new();
    table(&folder);
    folder.ok("keygen --out mine.key");
    folder.ok("keygen --out other.key");
    let mode = |name| std::fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("mine.key"), 0o600);
    for kind in ["npy", "parquet"] {
        folder.ok(&format!("{RELEASE} --out signed.{kind} --sign mine.key"));
        folder.ok(&format!("{RELEASE} --out bare.{kind}"));
        folder.ok(&format!("verify signed.{kind} --key mine.key.pub"));
        folder.ok(&format!("verify signed.{kind}"));
        folder.ok(&format!("verify bare.{kind}"));
        for words in
            [format!("verify signed.{kind} --key other.key.pub"), format!("verify bare.{kind} --key mine.key.pub")]
        {
            let line = folder.fails(&words, 1);
            assert!(line.contains("verification failed at 'signature'"), "{line}");
        }
    }
    let text = folder.ok("inspect signed.npy");
    let public = std::fs::read_to_string(folder.path("mine.key.pub")).unwrap();
    assert!(text.contains(public.trim_end().rsplit(' ').next().unwrap()), "{text}");
    // A signature moved from another release does not hold.
    let (one, two) = (folder.path("signed.npy.certificate.json"), folder.path("bare.npy.certificate.json"));
    let signature = |path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.find(",\n  \"signature\"").map(|at| text[at..].to_owned()).unwrap()
    };
    let moved = std::fs::read_to_string(&two).unwrap();
    std::fs::write(&two, moved.trim_end().strip_suffix("\n}").unwrap().to_owned() + &signature(&one)).unwrap();
    let line = folder.fails("verify bare.npy --key mine.key.pub", 1);
    assert!(line.contains("signature does not hold"), "{line}");
}

#[test]
fn keys_are_not_replaced_and_not_confused() {
    let folder = Folder::new();
    table(&folder);
    let said = folder.json("keygen --out a.key");
    let secret = std::fs::read_to_string(folder.path("a.key")).unwrap();
    assert!(!said.to_string().contains(secret.trim_end().rsplit(' ').next().unwrap()));
    assert!(folder.fails("keygen --out a.key", 2).contains("exists already"));
    assert_eq!(std::fs::read_to_string(folder.path("a.key")).unwrap(), secret);
    folder.ok("keygen --out b.key");
    folder.ok(&format!("{RELEASE} --out y.npy --sign a.key"));
    assert!(folder.fails("verify y.npy --key a.key", 2).contains("not a public key"));
    assert!(folder.fails(&format!("{RELEASE} --out z.npy --sign a.key.pub"), 2).contains("not a signing key"));
    assert!(folder.fails(&format!("{RELEASE} --out z.npy --sign none.key"), 2).contains("none.key"));
    std::fs::set_permissions(folder.path("a.key"), PermissionsExt::from_mode(0o644)).unwrap();
    let output = folder.run(&format!("{RELEASE} --out z.npy --sign a.key"));
    assert!(stderr(&output).contains("others may read this secret key"), "{}", stderr(&output));
}

/// 1,000 random single-byte changes to each kind of release: 1,000 rejected.
#[test]
fn every_one_of_a_thousand_changed_bytes_is_rejected() {
    let threads = ["npy", "parquet"].map(|kind| std::thread::spawn(move || change_bytes(kind, 1000)));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn change_bytes(kind: &str, changes: usize) {
    let folder = Folder::new();
    table(&folder);
    folder.ok("keygen --out k");
    folder.ok(&format!("{RELEASE} --out y.{kind} --sign k"));
    let names: Vec<String> = folder.names().into_iter().filter(|name| name.starts_with("y.")).collect();
    assert_eq!(names.len(), if kind == "npy" { 4 } else { 1 }, "{names:?}");
    let files: Vec<_> = names.iter().map(|name| (name, std::fs::read(folder.path(name)).unwrap())).collect();
    let mut state = 1u64;
    let mut draw = move |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let verify = format!("verify y.{kind} --key k.pub");
    for _ in 0..changes {
        let (name, bytes) = &files[draw(files.len())];
        let mut changed = bytes.clone();
        let at = draw(bytes.len());
        changed[at] ^= 1 + draw(255) as u8;
        std::fs::write(folder.path(name), &changed).unwrap();
        let output = folder.run(&verify);
        assert_eq!(output.status.code(), Some(1), "{name}, byte {at}: {}", stderr(&output));
        std::fs::write(folder.path(name), bytes).unwrap();
    }
    folder.ok(&verify);
}
