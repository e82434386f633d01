//! What people do with a release: plan, compare, search, the demo.

use crate::support::*;
use std::process::Command;

/// A release of two kinds of rows, and queries with the same seed.
fn releases(folder: &Folder, mechanism: &str) -> Vec<f32> {
    let values = npy_rows(folder, "x.npy", 200, 128);
    npy_rows(folder, "q.npy", 10, 128);
    let words = format!("--mechanism {mechanism} --epsilon 10 --range 0,1 -k 64 --seed {SEED}");
    folder.ok(&format!("release x.npy --out x.parquet {words}"));
    folder.ok(&format!("release q.npy --out q.parquet {words}"));
    values
}

#[test]
fn compare_tells_similarities_with_intervals() {
    let folder = Folder::new();
    let values = releases(&folder, "dp-oporp-staircase");
    let pairs = folder.json("compare x.parquet --rows 0..20 --with 1,2,3 --other q.parquet");
    let pairs = pairs.as_array().unwrap();
    assert_eq!(pairs.len(), 60);
    let (mut inside, mut all) = (0, 0);
    for pair in pairs {
        let row = |at: usize| pair["rows"][at].as_u64().unwrap() as usize * 128;
        let truth = dot(&values[row(0)..][..128], &values[row(1)..][..128]); // q.npy has the first rows of x.npy
        let interval = |end: usize| pair["inner_product"]["interval"][end].as_f64().unwrap();
        all += 1;
        inside += usize::from(interval(0) <= truth && truth <= interval(1));
        for quantity in ["squared_distance", "cosine", "angle"] {
            assert!(pair[quantity]["value"].is_f64() || pair[quantity]["undefined"].is_string(), "{pair}");
        }
    }
    // One projection is shared by all pairs, so coverage of this one draw may be off 95%; far off would be a fault.
    assert!(inside * 10 >= all * 7, "{inside} of {all}");
    let text = folder.ok("compare x.parquet --rows 0,2");
    assert!(text.contains("inner product") && text.contains("95% interval"), "{text}");
    assert!(folder.fails("compare x.parquet --rows 0,200", 2).contains("row 200 does not exist"));
    assert!(folder.fails("compare x.parquet --rows 0,1,2", 2).contains("--with"));
    let own = folder.run("compare x.parquet --rows 3,3");
    assert_eq!(own.status.code(), Some(1), "{}", stderr(&own));
}

#[test]
fn compare_with_vectors_of_your_own() {
    let folder = Folder::new();
    let values = releases(&folder, "dp-oporp-staircase");
    let pairs = folder.json("compare x.parquet --rows 0..20 --exact-queries q.npy --with 1,2,3");
    let inside = pairs.as_array().unwrap().iter().filter(|pair| {
        let row = |at: usize| pair["row_and_query"][at].as_u64().unwrap() as usize * 128;
        let truth = dot(&values[row(0)..][..128], &values[row(1)..][..128]);
        let interval = |end: usize| pair["inner_product"]["interval"][end].as_f64().unwrap();
        interval(0) <= truth && truth <= interval(1)
    });
    assert!(inside.count() >= 42, "of 60; one projection is shared by all");
    assert!(folder.fails("compare x.parquet --rows 0 --exact-queries q.npy --with 10", 2).contains("no query 10"));
    // A record at a large epsilon has an interval, at a small one a ranking only.
    for (epsilon, code) in [(30, 0), (5, 1)] {
        let words = format!("--mechanism privcube --unit record --epsilon {epsilon} --range 0,1 -k 64");
        folder.ok(&format!("release x.npy --out r{epsilon}.npy {words}"));
        let output = folder.run(&format!("compare r{epsilon}.npy --rows 0 --exact-queries q.npy --with 0"));
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    }
}

#[test]
fn a_plan_says_what_a_records_epsilon_is_good_for() {
    let folder = Folder::new();
    let plan = |epsilon: u32| folder.ok(&format!("plan --dim 384 --epsilon {epsilon} --range -1,1 --unit record"));
    assert!(plan(5).contains("unless privbook has a public book"), "{}", plan(5));
    assert!(plan(20).contains("odds factor of e^20"), "{}", plan(20));
    let attribute = folder.ok("plan --dim 384 --epsilon 5 --range -1,1");
    assert!(attribute.contains("NOT protected: a whole row"), "{attribute}");
}

#[test]
fn compare_says_what_bits_do_not_tell() {
    let folder = Folder::new();
    releases(&folder, "dp-signoporp-ceil");
    let output = folder.run("compare x.parquet --rows 0,1");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("not identifiable: "));
    assert!(stderr(&output).contains("scumble: x.parquet: not identifiable: "), "{}", stderr(&output));
}

#[test]
fn search_finds_rows_of_the_same_kind() {
    for mechanism in ["dp-oporp-staircase", "dp-signoporp-ceil", "dp-signoporp-rr"] {
        let folder = Folder::new();
        releases(&folder, mechanism);
        for words in ["--queries q.parquet", "--queries q.npy --exact-queries"] {
            let found = folder.json(&format!("search x.parquet {words} --top 20"));
            let same: usize = (found.as_array().unwrap().iter().enumerate())
                .map(|(query, hits)| {
                    let rows = hits.as_array().unwrap().iter().map(|hit| hit["row"].as_u64().unwrap() as usize);
                    rows.filter(|row| row % 2 == query % 2).count()
                })
                .sum();
            assert!(same >= 180, "{mechanism} {words}: {same} of 200");
        }
    }
}

#[test]
fn found_rows_are_written_in_every_kind() {
    let folder = Folder::new();
    releases(&folder, "dp-oporp-staircase");
    let search = "search x.parquet --queries q.npy --exact-queries --top 3 --out";
    for kind in ["csv", "json", "parquet", "npy"] {
        folder.ok(&format!("{search} found.{kind}"));
        assert!(folder.fails(&format!("{search} found.{kind}"), 2).contains("exists already"));
    }
    let csv = std::fs::read_to_string(folder.path("found.csv")).unwrap();
    assert!(csv.starts_with("query,rank,row,id,score\n0,1,"), "{csv}");
    assert_eq!(csv.lines().count(), 31);
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.path("found.json")).unwrap()).unwrap();
    let first = csv.lines().nth(1).unwrap().split(',').nth(2).unwrap();
    assert_eq!(json[0][0]["row"].to_string(), first);
    let npy = std::fs::read(folder.path("found.npy")).unwrap();
    assert_eq!(npy.len(), 128 + 30 * 8);
    assert_eq!(i64::from_le_bytes(npy[128..136].try_into().unwrap()).to_string(), first);
    assert!(folder.fails(&format!("{search} found.txt"), 2).contains(".csv, .json, .parquet or .npy"));
}

#[test]
fn mixed_projections_and_wrong_dimensions_are_refused() {
    let folder = Folder::new();
    releases(&folder, "dp-oporp-staircase");
    folder.ok("release q.npy --out other.parquet --mechanism dp-oporp-staircase --epsilon 10 --range 0,1 -k 64");
    let line = folder.fails("search x.parquet --queries other.parquet", 2);
    assert!(line.contains("another seed") && line.contains("--seed"), "{line}");
    let line = folder.fails("compare x.parquet --rows 0 --with 0 --other other.parquet", 2);
    assert!(line.contains("another seed"), "{line}");
    npy_rows(&folder, "narrow.npy", 4, 64);
    let line = folder.fails("search x.parquet --queries narrow.npy --exact-queries", 2);
    assert!(line.contains("narrow.npy: "), "{line}");
    let line = folder.fails("search x.parquet --queries q.npy --exact-queries --metric hamming", 2);
    assert!(line.contains("Hamming"), "{line}");
}

#[test]
fn plan_forecasts_every_unit_and_fits_the_bytes() {
    let folder = Folder::new();
    for (words, prefix) in [
        ("--dim 784 --norm 9 --density 0.2", "dp-oporp"),
        ("--dim 784 --bytes 32", ""),
        ("--dim 384 --mechanism dp-signoporp-ceil -k 128", "dp-signoporp-ceil"),
        ("--dim 384 --mechanism dp-rp-g-opt-b --delta 1e-6", "dp-rp-g-opt-b"),
        ("--dim 64 --unit l1 --beta 0.5", ""),
        ("--dim 64 --unit l2 --beta 0.5 --delta 1e-6", ""),
        ("--dim 384 --unit record", ""),
    ] {
        let plan = folder.json(&format!("plan --epsilon 5 --range 0,1 {words}"));
        let best = &plan["best"]["forecast"];
        assert!(best["mechanism"].as_str().unwrap().starts_with(prefix), "{words}: {best}");
        assert!(!words.contains("--bytes 32") || best["bytes_per_row"].as_u64().unwrap() <= 32, "{best}");
        assert!((0.0..=1.0).contains(&best["correlation"].as_f64().unwrap()) && best["recall"].is_null(), "{best}");
        assert_eq!(plan["internal"], false);
        assert!(plan["release"].as_str().unwrap().starts_with("scumble release IN --out OUT.parquet --mechanism "));
    }
    // More epsilon, more of the signal.
    let words = "plan --dim 784 --norm 9 --range 0,1 --mechanism dp-oporp-staircase -k 256";
    let kept = [1, 3, 10].map(|epsilon| {
        let plan = folder.json(&format!("{words} --epsilon {epsilon}"));
        plan["best"]["forecast"]["correlation"].as_f64().unwrap()
    });
    assert!(kept[0] < kept[1] && kept[1] < kept[2], "{kept:?}");
}

/// The command that a plan prints makes the mechanism of the plan, whatever was asked for.
#[cfg(unix)]
#[test]
fn the_printed_command_makes_what_was_planned() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 300, 64);
    npy_rows(&folder, "other rows.npy", 400, 64);
    let shell = |line: &str| {
        let binary = env!("CARGO_BIN_EXE_scumble");
        let line = format!("scumble() {{ '{binary}' \"$@\"; }}; {line}");
        let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    shell("scumble bins --sample 'other rows.npy' -k 16 --out 'some bins'");
    shell("scumble components --sample 'other rows.npy' -k 8 --out some.components");
    shell("scumble book --sample 'other rows.npy' --out some.book");
    for words in [
        "--epsilon 5 --mechanism dp-signrp-rr -k 8 --beta .1 --delta 1e-6 --norm-bound 2",
        "--epsilon 5 --mechanism dp-signrp-rr -k 8 --beta .1 --delta 1e-6 --norm-bound 2 --signrp-mode paper",
        "--epsilon 5 --mechanism dp-rp-g-opt --delta 1e-6 --projection uniform -k 16",
        "--epsilon 5 --mechanism dp-rp-g-opt --delta 1e-6 --unit record --clip-norm 3 -k 16",
        "--epsilon 5 --mechanism dp-oporp-staircase --repeats 2 -k 16 --sketch-clip 2 --grid-exponent -9",
        "--epsilon 2 --mechanism dp-oporp-zones --symbols 3 --thresholds -1,1 -k 16 --beta .5",
        "--epsilon 2 --mechanism dp-oporp-lattice --symbols 5 --lattice-steps 2 -k 16",
        "--epsilon 2 --mechanism dp-signoporp-ceil --bins 'some bins' -k 16",
        "--epsilon 2 --mechanism dp-oporp-staircase --bins grid:8x8 -k 16",
        "--epsilon 9 --mechanism privcube --components some.components --for search",
        "--epsilon 9 --mechanism privbook --book some.book",
        "--epsilon 5 --mechanism raw-laplace --beta .25",
        "--epsilon 5 --norm 4 --density .5 --bytes 16",
        "--epsilon 5 --unit l1 --beta .5",
        "--epsilon 5 --unit l2 --beta .5 --delta 1e-6",
        "--epsilon 9 --unit record",
        "--epsilon 5 --mechanism idp-signrp-rr --i-understand-this-is-not-dp -k 8",
    ] {
        let plan = shell(&format!("scumble plan --dim 64 --range 0,1 --seed {SEED} --json {words}"));
        let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
        let command = plan["release"].as_str().unwrap().replace(" IN ", " x.npy ").replace("OUT", "out");
        shell(&command);
        let made = scumble::files::open_release(&folder.path("out.parquet")).unwrap();
        let made = serde_json::to_value(made.mechanism().parameters()).unwrap();
        assert_eq!(made, plan["parameters"], "{command}");
        shell("rm out.parquet*");
    }
}

/// What is named instead of a mechanism that needs a delta does without one, for the unit that was asked for.
#[test]
fn what_is_named_instead_of_a_delta_needs_none() {
    let folder = Folder::new();
    for (unit, expected) in [("attribute", 2), ("l1", 1), ("l2", 0), ("record", 2)] {
        let words = format!("plan --dim 64 --epsilon 5 --range 0,1 --beta 1 --unit {unit} --mechanism");
        let said = folder.fails(&format!("{words} dp-oporp"), 2);
        let mut count = 0;
        for mechanism in ["dp-oporp-staircase", "dp-oporp-laplace", "privcube", "signcap"] {
            if said.contains(mechanism) {
                folder.ok(&format!("{words} {mechanism}"));
                count += 1;
            }
        }
        assert_eq!(count, expected, "{said}");
    }
}

#[test]
fn a_plan_on_a_sample_measures_and_says_that_it_is_internal() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 400, 128);
    let output = folder.run("plan --sample x.npy --epsilon 5 --range 0,1");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("INTERNAL"), "{}", stderr(&output));
    let plan = folder.json("plan --sample x.npy --epsilon 5 --range 0,1");
    assert_eq!(plan["internal"], true);
    assert!(plan["best"]["measured"]["recall"]["private"].as_f64().unwrap() > 0.0);
    assert!(folder.fails("plan --sample none.npy --epsilon 5 --range 0,1", 2).contains("none.npy: "));
}

/// With labels a plan is for training: the classes of the public rows are learned and found again.
#[test]
fn a_plan_on_labelled_public_rows_is_for_training() {
    let folder = Folder::new();
    let values = rows(1600, 32);
    let labels: Vec<u8> = values.chunks_exact(32).map(|row| u8::from(row[..8].iter().sum::<f32>() > 3.4)).collect();
    let fours: Vec<f32> = values.iter().flat_map(|&x| [x; 4]).collect();
    folder.file("public.npy", npy("<f4", "(1600, 128)", &f32_bytes(&fours)));
    let file = |name: &str, labels: &[u8]| {
        let bytes: Vec<u8> = labels.iter().flat_map(|&label| i64::from(label).to_le_bytes()).collect();
        folder.file(name, npy("<i8", &format!("({},)", labels.len()), &bytes));
    };
    file("labels.npy", &labels);
    file("few.npy", &labels[1..]);
    file("one.npy", &[7; 1600]);
    let words = "plan --public-sample public.npy --epsilon 3 --range 0,1 --public-labels";
    let plan = folder.json(&format!("{words} labels.npy"));
    assert_eq!((&plan["internal"], &plan["recall"]), (&false.into(), &serde_json::Value::Null));
    let accuracy = &plan["best"]["measured"]["accuracy"];
    let share = |name: &str| accuracy[name].as_f64().unwrap();
    assert!(share("without_privacy") > 0.9, "{accuracy}");
    assert!(share("private") > 0.6 && share("private") <= share("without_privacy"), "{accuracy}");
    assert!(plan["accuracy"].as_str().unwrap().contains("without privacy"), "{plan}");
    let page = folder.ok(&format!("{words} labels.npy"));
    let said = page.split_whitespace().collect::<Vec<_>>().join(" "); // wherever its lines break
    assert!(said.contains("expected for rows like the sample") && said.contains(" tested on released rows"), "{said}");
    // As many rows as the message asks for are enough; clearly fewer are not.
    for (rows, told) in [(1300, false), (1400, true)] {
        folder.file("fewer.npy", npy("<f4", &format!("({rows}, 128)"), &f32_bytes(&fours[..rows * 128])));
        file("fewer-labels.npy", &labels[..rows]);
        let words = "plan --public-sample fewer.npy --public-labels fewer-labels.npy --epsilon 3 --range 0,1 --json";
        let said = folder.ok(words);
        assert_eq!(said.contains("too small to tell what to expect; give 1,400 rows or more"), !told, "{rows} {said}");
    }
    for (labels, why) in [
        ("few.npy", "1599 labels for 1600 rows: each row needs one"),
        ("one.npy", "at least two classes"),
        ("", "public.npy"),
    ] {
        let said = folder.fails(&format!("{words} {labels}"), 2);
        assert!(said.contains(why), "{said}");
    }
    let alone = "plan --dim 128 --epsilon 3 --range 0,1 --public-labels labels.npy";
    assert!(folder.fails(alone, 2).contains("--public-sample"));
}

/// Attributes that move in fours: a plan that may look at public rows finds it out, says what to expect, and prints the
/// commands that do it; `release` does the same by itself.
#[test]
fn a_plan_on_public_rows_learns_structure_and_its_commands_do_it() {
    let folder = Folder::new();
    let fours = |name: &str, count: usize, from: usize| {
        let values: Vec<f32> =
            rows(from + count, 32).chunks_exact(32).skip(from).flatten().flat_map(|&x| [x; 4]).collect();
        folder.file(name, npy("<f4", &format!("({count}, 128)"), &f32_bytes(&values)));
    };
    fours("public.npy", 1400, 0);
    fours("private.npy", 50, 1400);
    let words = "--epsilon 1 --range 0,1";
    let output = folder.run(&format!("plan --public-sample public.npy {words}"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("PUBLIC") && !said.contains("INTERNAL"), "{said}");
    let plan = folder.json(&format!("plan --public-sample public.npy {words}"));
    assert_eq!(plan["internal"], false);
    assert!(plan["structure"].as_str().unwrap().contains("bins"), "{plan}");
    assert!(plan["recall"].as_str().unwrap().starts_with("expected"), "{plan}");
    let commands = plan["release"].as_str().unwrap().replace(" IN ", " private.npy ").replace("OUT", "out");
    for command in commands.split(" && ") {
        folder.ok(command.strip_prefix("scumble ").unwrap());
    }
    folder.ok(&format!("release private.npy --out auto.parquet --public-sample public.npy {words}"));
    for file in ["out.parquet", "auto.parquet"] {
        folder.ok(&format!("verify {file}"));
        assert!(release(&folder.path(file)).mechanism().parameters().bins.is_some(), "{file}");
    }
    // The rows that teach are not released.
    let refused = folder.fails(&format!("release public.npy --out x.parquet --public-sample public.npy {words}"), 1);
    assert!(refused.contains("learned"), "{refused}");
    // A few rows choose, but do not tell what to expect.
    fours("few.npy", 100, 0);
    let few = folder.json(&format!("plan --public-sample few.npy {words}"));
    assert!(few["recall"].as_str().unwrap().starts_with("not said"), "{few}");
    folder.fails("plan --public-sample public.npy --sample public.npy --epsilon 1 --range 0,1", 2);
}

/// `auto` beside OPORP in one page: what the plan chooses from public rows, which are not those that are evaluated.
#[test]
fn evaluate_shows_what_a_plan_on_public_rows_keeps() {
    let folder = Folder::new();
    let fours = |name: &str, count: usize, from: usize| {
        let values: Vec<f32> =
            rows(from + count, 16).chunks_exact(16).skip(from).flatten().flat_map(|&x| [x; 4]).collect();
        folder.file(name, npy("<f4", &format!("({count}, 64)"), &f32_bytes(&values)));
    };
    fours("public.npy", 300, 0);
    fours("own.npy", 300, 300);
    let words =
        "--range 0,1 --mechanisms auto,dp-oporp-staircase --epsilons 1,4 -k 16 --repetitions 1 --out report.html";
    let found = folder.json(&format!("evaluate own.npy --public-sample public.npy {words}"));
    let recall = |design: &str, epsilon: f64| {
        let wanted = |row: &&serde_json::Value| {
            row["design"] == design && row["epsilon"] == epsilon && row["metric"] == "recall@50"
        };
        found["results"].as_array().unwrap().iter().find(wanted).unwrap()["mean"].as_f64().unwrap()
    };
    for epsilon in [1.0, 4.0] {
        let (auto, plain) = (recall("auto, public sample", epsilon), recall("dp-oporp-staircase", epsilon));
        assert!(auto > plain, "epsilon {epsilon}: {auto} {plain}");
    }
    let page = std::fs::read_to_string(folder.path("report.html")).unwrap();
    assert!(page.contains("auto, public sample: ") && page.contains("dp-oporp-staircase: "), "curves in words");
    let again = words.replace("report.html", "again.html");
    let refused = folder.fails(&format!("evaluate own.npy --public-sample own.npy {again}"), 2);
    assert!(refused.contains("learned from these rows"), "{refused}");
}

/// Images without a sample: blocks of pixels, as many as suit epsilon and the bytes.
#[test]
fn images_are_planned_as_blocks() {
    let folder = Folder::new();
    let plan = folder.json("plan --like images:28x28 --epsilon 1 --range 0,255");
    assert_eq!(plan["parameters"]["dim"], 784);
    assert!(plan["structure"].as_str().unwrap().contains("blocks"), "{plan}");
    assert!(plan["release"].as_str().unwrap().contains("--bins grid:28x28"), "{plan}");
    let few = folder.json("plan --like images:32x32x3 --epsilon 1 --range 0,255 --bytes 16");
    assert!(few["best"]["forecast"]["bytes_per_row"].as_u64().unwrap() <= 16, "{few}");
    let wrong = folder.fails("plan --like sounds:3 --epsilon 1 --range 0,1", 2);
    assert!(wrong.contains("images:28x28"), "{wrong}");
    let other = folder.fails("plan --like images:28x28 --dim 100 --epsilon 1 --range 0,1", 2);
    assert!(other.contains("784"), "{other}");
}

#[test]
fn the_demo_tells_the_story_and_can_be_told_again() {
    let folder = Folder::new();
    for _ in 0..2 {
        let text = folder.ok("demo");
        for word in ["MNIST", "Plan", "Release", "Search", "Compare", "paper's DP-OPORP", "grid:28x28", "report.html"] {
            assert!(text.contains(word), "{text}");
        }
    }
    folder.ok("verify scumble-demo/private.parquet");
    folder.ok("verify scumble-demo/blocks.parquet");
    // A folder with somebody's own files of these names stays as it is.
    folder.file("vectors.npy", b"mine");
    assert!(folder.fails("demo --out .", 2).contains("no demo wrote this folder"));
    assert_eq!(std::fs::read(folder.path("vectors.npy")).unwrap(), b"mine");
    let page = std::fs::read_to_string(folder.path("scumble-demo/report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("ONE attribute") && !page.contains("http://www.w3.org/1999/xlink"));
    let results = folder.json("demo --out again");
    let lines = results.as_array().unwrap();
    assert_eq!(lines.len(), 3);
    for line in lines {
        let recall = |key: &str| line[key].as_f64().unwrap();
        assert!(recall("paper") < recall("ours") && recall("ours") < recall("without_privacy"), "{line}");
        assert!(recall("ours") < recall("blocks"), "{line}");
    }
}

#[test]
fn output_is_plain_where_it_is_no_terminal_and_completions_are_scripts() {
    let folder = Folder::new();
    releases(&folder, "dp-oporp-staircase");
    for words in ["inspect x.parquet", "verify x.parquet", "plan --dim 64 --epsilon 1 --range 0,1", "--help"] {
        let output = folder.run(words);
        let bytes = [output.stdout, output.stderr].concat();
        assert!(!bytes.contains(&0x1b), "{words}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(folder.ok(&format!("completions {shell}")).contains("scumble"), "{shell}");
    }
}

/// The rows that are measured, and the release that is read, are still there afterwards.
#[test]
fn a_report_never_replaces_a_file() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 60, 16);
    let lines: String = (0..60).map(|i| format!("{},0.5,0.25,{}\n", i % 2, i % 3)).collect();
    folder.file("own.csv", format!("a,b,c,d\n{lines}"));
    folder.ok("release x.npy --out r.npy --mechanism raw-rr --epsilon 1 --range 0,1");
    let before: Vec<_> = folder.names().iter().map(|name| std::fs::read(folder.path(name)).unwrap()).collect();
    let evaluate = "evaluate own.csv --range 0,3 --mechanisms raw-laplace --epsilons 1 --query-count 2";
    for (words, file, says) in [
        (format!("{evaluate} --out own.html"), "own.csv", "exists already"), // measurements would be own.csv
        (format!("{evaluate} --out own.csv"), "own.csv", "must end in .html"),
        (format!("{evaluate} --out r.npy"), "r.npy", "exists already"),
        (format!("{evaluate} --out new.parquet"), "new.parquet", "must end in .html"),
        ("statistics r.npy --out r.npy".into(), "r.npy", "exists already"),
        ("statistics r.npy --out own.csv".into(), "own.csv", "exists already"),
    ] {
        let line = folder.fails(&words, 2);
        assert!(line.contains(&format!("scumble: {file}: ")) && line.contains(says), "{words}: {line}");
        let after: Vec<_> = folder.names().iter().map(|name| std::fs::read(folder.path(name)).unwrap()).collect();
        assert!(after == before, "{words}");
    }
    folder.ok(&format!("{evaluate} --out report.html"));
    assert!(["report.csv", "report.html", "report.parquet"].iter().all(|name| folder.path(name).exists()));
}

/// Every verb that opens a release takes the public file that is not beside it, as its message says.
#[test]
fn a_public_file_may_be_elsewhere() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 300, 16);
    npy_rows(&folder, "public.npy", 100, 16);
    folder.ok("book --sample public.npy --out my.book");
    folder.ok(
        "release x.npy --out r.npy --mechanism privbook --book my.book --epsilon 4 --range 0,1 --ledger l.db --dataset d \
         --budget 9",
    );
    std::fs::remove_file(folder.path("r.npy.book")).unwrap();
    // What they tell of words is little; that they read them is the question.
    for (verb, exit) in [
        ("verify r.npy", 0),
        ("inspect r.npy", 0),
        ("search r.npy --queries x.npy --exact-queries --top 1", 0),
        ("compare r.npy --rows 0,1", 1),
        ("statistics r.npy", 1),
        ("decode r.npy --out d.npy", 1),
    ] {
        let missing = folder.run(verb);
        assert!(stderr(&missing).contains("the file of book is missing"), "{verb}: {}", stderr(&missing));
        let given = folder.run(&format!("{verb} --book my.book"));
        assert_eq!(given.status.code(), Some(exit), "{verb}: {}", stderr(&given));
        assert!(!stderr(&given).contains("missing"), "{verb}: {}", stderr(&given));
    }
    // The ledger knows a release by its certificate alone.
    assert!(folder.ok("ledger reconcile l.db r.npy").contains("charged: r.npy"));
}
