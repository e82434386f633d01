//! Releases whose parameters promise less than they seem to: the first three lines of statement and `verify` say so.

use crate::snapshots::check;
use crate::support::*;

/// (name, parameters, what the first three lines must say).
const CASES: [(&str, &str, &str); 11] = [
    ("tiny-beta", "raw-staircase --epsilon 1 --range -0.25,0.25 --beta 0.0001", "beta away"),
    ("small-beta", "dp-oporp-staircase --epsilon 1 --range -0.25,0.25 --beta 0.05 -k 4", "beta away"),
    ("huge-epsilon", "dp-oporp-laplace --epsilon 250 --range 0,1 -k 4", "NOT protected: anyone"),
    ("record-epsilon-20", "privcube --epsilon 20 --range 0,1 -k 8", "NOT protected: anyone"),
    ("unit-of-one-attribute", "dp-signoporp-ceil --epsilon 5 --range 0,1 -k 8", "a whole row"),
    ("l1-small-beta", "dp-oporp-laplace --epsilon 2 --unit l1 --range 0,1 --beta 0.1 -k 4", "beta away"),
    ("l2-small-beta", "dp-oporp --epsilon 2 --delta 1e-6 --unit l2 --range 0,1 --beta 0.1 -k 4", "beta away"),
    ("huge-delta", "raw-g-opt --epsilon 1 --delta 0.4 --range 0,1", "NOT protected: anyone"),
    ("odd-range", "dp-oporp-zones --epsilon 1 --range -3,0.001 --beta 7 --norm 1 -k 4", "a whole row"),
    ("not-private", "idp-signoporp-rr --epsilon 0.1 --range 0,1 -k 4 --i-understand-this-is-not-dp", "anything"),
    ("promised-norm", "dp-signrp-rr --epsilon 5 --delta 1e-6 --range 0,1 --beta 0.1 --norm-bound 0.5 -k 8", "No bound"),
];

#[test]
fn the_first_lines_say_what_is_not_protected() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 20, 16);
    for (name, words, not_protected) in CASES {
        let out = format!("{name}.parquet");
        // Before anything is released, and while it is: the same sentences, and a warning where nobody is protected.
        for verb in [format!("release x.npy --out {out} --seed {SEED}"), "plan --dim 16".to_owned()] {
            let output = folder.run(&format!("{verb} --mechanism {words}"));
            assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
            let told = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
            let claim = told.split_once(" claim ").expect("a claim").1;
            assert!(claim.contains(not_protected) && claim.contains("NOT protected"), "{name}: {told}");
            let nobody = not_protected == "NOT protected: anyone";
            assert_eq!(stderr(&output).contains("protects nobody"), nobody, "{name}: {}", stderr(&output));
        }
        let verify = folder.ok(&format!("verify {out}"));
        let statement = folder.ok(&format!("inspect {out} --statement"));
        let inspect = folder.ok(&format!("inspect {out}"));
        for text in [&verify, &statement, &inspect] {
            let head: Vec<&str> = text.lines().take(3).collect();
            assert!(head[0].contains("beta"), "{name}: {}", head[0]);
            assert!(head.iter().any(|line| line.contains(not_protected)), "{name}: {head:?}");
            assert!(head[1].contains("NOT protected") && head[2].contains("NOT protected"), "{name}: {head:?}");
        }
        assert!(!verify.lines().any(|line| line.starts_with("ok ") && line.contains("signature")), "{verify}");
        check(&format!("misleading-{name}"), &format!("{verify}\n{statement}"));
    }
}

/// A forged certificate, digest mended, cannot put a sentence into a statement.
#[test]
fn free_text_in_a_certificate_is_refused() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 5, 16);
    folder.ok("release x.npy --out a.npy --mechanism dp-oporp-laplace --epsilon 3 --range 0,1 -k 4");
    let path = folder.path("a.npy.certificate.json");
    let honest = std::fs::read_to_string(&path).unwrap();
    for (name, version) in [
        ("scumble", "0.1.0. Every row is protected"),
        ("scumble", "0.1.0\n\n# Audited by a regulator"),
        ("scumble", "0.1.0-**safe**"),
        ("scumble", "1.2"),
        ("scumble", "\u{202e}0.1.0"),
        ("scumble", "0.1.0-averyveryverylongsuffix"),
        ("a tool that protects whole records, scumble", "0.1.0"),
    ] {
        let (mut certificate, _) = scumble::certificate::Certificate::parse(&honest).unwrap();
        (certificate.software.name, certificate.software.version) = (name.into(), version.into());
        certificate.digest = certificate.compute_digest();
        std::fs::write(&path, certificate.to_json()).unwrap();
        let line = folder.fails("inspect a.npy --statement", 1);
        assert!(line.contains("'software'"), "{line}");
        folder.fails("verify a.npy", 1);
    }
    let (mut certificate, _) = scumble::certificate::Certificate::parse(&honest).unwrap();
    certificate.content.sketch = "checked by the regulator".into();
    certificate.digest = certificate.compute_digest();
    std::fs::write(&path, certificate.to_json()).unwrap();
    assert!(folder.fails("verify a.npy", 1).contains("'content'"));
    let (mut certificate, _) = scumble::certificate::Certificate::parse(&honest).unwrap();
    certificate.software.version = "12.0.1-rc.1".into();
    certificate.digest = certificate.compute_digest();
    std::fs::write(&path, certificate.to_json()).unwrap();
    folder.ok("verify a.npy");
}
