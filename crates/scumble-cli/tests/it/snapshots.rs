//! Help and key messages, word for word. `INSTA_UPDATE=always cargo test` writes them anew.

use crate::support::*;

pub fn check(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r"[0-9a-f]{64}", "[64 hex digits]");
    settings.add_filter(r"scumble \d+\.\d+\.\d+", "scumble [version]");
    settings.add_filter(r" \(not in this build\)", ""); // built without the feature `collector`
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn help_of_every_verb() {
    let folder = Folder::new();
    check("help", &folder.ok("--help"));
    for verb in [
        "demo",
        "plan",
        "release",
        "inspect",
        "verify",
        "compare",
        "search",
        "statistics",
        "decode",
        "evaluate",
        "audit",
        "campaign",
        "keygen",
        "completions",
    ] {
        let text = folder.ok(&format!("{verb} --help"));
        assert!(text.contains("Example"), "{verb} has no example");
        check(&format!("help-{verb}"), &text);
    }
}

#[test]
fn messages() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 20, 16);
    let release = format!("release x.npy --epsilon 2 --range 0,1 -k 4 --seed {SEED}");
    check("release", &folder.ok(&format!("{release} --out v.parquet --mechanism dp-oporp-staircase")));
    check("inspect", &folder.ok("inspect v.parquet"));
    check("verify", &folder.ok("verify v.parquet"));
    folder.ok(&format!("{release} --out i.parquet --mechanism idp-signoporp-rr --i-understand-this-is-not-dp"));
    check("inspect-individual", &folder.ok("inspect i.parquet"));
    check(
        "plan",
        &folder
            .ok(&format!("plan --dim 784 --epsilon 5 --range 0,1 --norm 9 --density 0.2 --mechanism dp-oporp-staircase -k 256 --seed {SEED}")),
    );
    let refusals = [
        format!("{release} --out o.npy --mechanism dp-oporp-staircase --unit l1 --beta 1"),
        format!("{release} --out o.npy --mechanism idp-signrp-rr"),
        format!("{release} --out o.npy --mechanism dp-oporp-staircase --unit record"),
    ];
    check("refusals", &refusals.map(|words| folder.fails(&words, 1)).join("\n"));
}
