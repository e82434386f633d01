//! Help and key messages, word for word. `INSTA_UPDATE=always cargo test` writes them anew.

use crate::support::*;

fn check(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r"[0-9a-f]{64}", "[64 hex digits]");
    settings.add_filter(r"scumble \d+\.\d+\.\d+", "scumble [version]");
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
        "audit",
        "campaign",
