//! Every line of an algorithm's box is ticked, in the order of the paper, so that a reader lays page and file side by side.

use std::fs;
use std::path::Path;

/// Files of `mechanism/paper/`, and the lines that each ticks from top to bottom, box by box.
const TICKED: [(&str, &[&[u32]]); 8] = [
    ("dp_rp_g", &[&[1, 2, 3, 4]]),                                           // Algorithm 1
    ("dp_rp_l", &[&[1, 2, 3, 4]]),                                           // Algorithm 2
    ("dp_rp_g_opt_b", &[&[1, 2, 3]]),                                        // Algorithm 3
    ("dp_oporp", &[&[1], &[1, 2, 3, 4], &[2, 3, 4]]), // Algorithm 5, within its first line Algorithm 4
    ("dp_signrp_rr", &[&[1, 2, 3, 4]]),               // Algorithm 6
    ("dp_signrp_rr_smooth", &[&[1, 2, 3, 4]]),        // Algorithm 7
    ("dp_signoporp_rr", &[&[1, 2, 3, 4, 5, 6]]),      // Algorithm 8
    ("idp_signrp", &[&[1, 2], &[1, 2, 3, 4], &[3], &[4, 5, 6, 7], &[4, 5]]), // 9 and 11 to line 3 with 10 inside, 9, 11
];

/// The lines that comments tick: `line 3`, `lines 3 and 4`.
fn ticks(source: &str) -> Vec<u32> {
    let comments = source.lines().filter_map(|line| line.split_once("// ").map(|(_, comment)| comment));
    let marks = comments.flat_map(|comment| comment.split("line").skip(1));
    let numbers = |mark: &str| -> Vec<u32> {
        let many = mark.starts_with('s');
        let words =
            mark.trim_start_matches('s').split([' ', ':', ',']).filter(|word| !word.is_empty() && *word != "and");
        words.map_while(|word| word.parse().ok()).take(if many { 2 } else { 1 }).collect()
    };
    marks.flat_map(numbers).collect()
}

#[test]
fn every_line_of_every_algorithm_is_ticked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scumble-core/src/mechanism/paper");
    for (file, lines) in TICKED {
        let source = fs::read_to_string(folder.join(file).with_extension("rs")).unwrap();
        assert_eq!(ticks(&source), lines.concat(), "{file}");
    }
}

#[test]
fn ticks_are_read() {
    assert_eq!(
        ticks("//! line 9\nlet x = 1; // line 1: x\n// lines 3 and 4: y\n//   line 2: z, 7 of them"),
        [1, 3, 4, 2]
    );
    assert_eq!(ticks("// Algorithms 9 and 11, line 5: s~\n// a straight line of 2"), [5]);
}
