//! `scumble campaign`: from a key to a campaign that devices take.

use crate::support::{Folder, SEED};

fn new(more: &str) -> String {
    format!(
        "campaign new --out c.json --name topics --statement Topics. --collector https://reports.example.org --dim 64 \
         --range -1,1 --epsilon 2 --mechanism dp-signoporp-ceil -k 64 --seed {SEED} --first 1800000000 {more}"
    )
}

#[test]
fn a_campaign_is_written_signed_shown_and_checked() {
    let folder = Folder::new();
    folder.ok("keygen --out k");
    let written = folder.json(&new("--input BERT-Scores"));
    folder.ok("campaign sign c.json --sign k --out s.json");
    let shown = folder.ok("campaign show s.json");
    assert!(shown.contains("dense: BERT-Scores"), "the organiser's words as they are: {shown}");
    assert!(shown.contains("ONE of 64 attributes") && shown.contains(written["digest"].as_str().unwrap()), "{shown}");
    let checked = folder.json("campaign check s.json --key k.pub");
    assert_eq!(checked["digest"], written["digest"]);
    folder.ok(&format!("campaign check c.json --digest {}", written["digest"].as_str().unwrap()));
    // Never replaced.
    folder.fails("campaign sign c.json --sign k --out s.json", 2);
}

#[test]
fn what_does_not_hold_is_refused() {
    let folder = Folder::new();
    folder.ok("keygen --out k");
    folder.ok("keygen --out other");
    folder.ok(&new("--longitudinal sticky --contents 3 --period 7d"));
    folder.ok("campaign sign c.json --sign k --out s.json");
    folder.fails("campaign check s.json --key other.pub", 1);
    folder.fails("campaign check c.json --key k.pub", 1);
    folder.fails(&format!("campaign check c.json --digest {}", "0".repeat(64)), 1);
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    folder.file("altered.json", text.replace("\"contents\": 3", "\"contents\": 4"));
    folder.fails("campaign check altered.json", 1);
    folder.fails(
        &new("--i-understand-this-is-not-dp")
            .replace("dp-signoporp-ceil", "idp-signoporp-rr")
            .replace("c.json", "d.json"),
        1,
    );
    folder.fails(&new("").replace("https://", "http://").replace("c.json", "d.json"), 2);
    for wrong in ["--retention 0", "--retention 7 --period 7d"] {
        let error = folder.fails(&new(wrong).replace("c.json", "d.json"), 2);
        assert!(error.contains("longer than a period"), "{error}");
    }
    folder.fails("campaign show missing.json", 2);
}

/// A file that the text names stays beside it from verb to verb, and is missed where it is not.
#[test]
fn a_public_file_goes_with_its_campaign() {
    let folder = Folder::new();
    folder.ok("keygen --out k");
    let rows: String = (0..40)
        .map(|row| (0..8).map(|j| format!("{}", (row * 7 + j * 3) % 11)).collect::<Vec<_>>().join(",") + "\n")
        .collect();
    folder.file("public.csv", rows);
    folder.ok("book --sample public.csv --header no --out words.book");
    folder.ok(
        "campaign new --out c.json --name words --statement Words. --collector https://reports.example.org --dim 8 --range \
         0,11 --epsilon 3 --mechanism privbook --book words.book --first 1800000000",
    );
    let file = std::fs::read(folder.path("words.book")).unwrap();
    assert_eq!(std::fs::read(folder.path("c.json.book")).unwrap(), file);
    folder.ok("campaign sign c.json --sign k --out s.json");
    assert_eq!(std::fs::read(folder.path("s.json.book")).unwrap(), file);
    folder.ok("campaign check s.json --key k.pub");
    let shown = folder.ok("campaign show s.json");
    assert!(shown.contains("one of 40 public example vectors") && shown.contains("public file"), "{shown}");
    std::fs::remove_file(folder.path("s.json.book")).unwrap();
    let missing = folder.fails("campaign check s.json", 2); // nothing is refused: it cannot be read
    assert!(missing.contains("its public file is missing") && missing.contains("s.json.book"), "{missing}");
}
