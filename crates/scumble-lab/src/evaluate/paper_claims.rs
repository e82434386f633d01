//! What the paper says about its experiments, and what we say about ours, each decided by the measurements.

use super::charts::{epsilons, is_ours};
use super::claims::{Claim, better, differences, equal};
use super::outcome::{Average, Outcome, Outcomes};
use super::sweep;

/// The task on text.
pub(super) const SPAM: &str = "SpamAssassin";

pub(super) fn at(task: &'static str, k: usize, metric: &'static str) -> impl Fn(&Outcome) -> bool {
    move |o| o.task == task && (o.k == k || o.mechanism.starts_with("raw")) && o.metric == metric
}

pub(super) fn retrieval_claims(outcomes: &Outcomes, sizes: &[usize], epsilons: &[f64]) -> Vec<Claim> {
    let k = sizes.iter().copied().max().unwrap_or(256);
    let mut list = Vec::new();
    let mut order = |source: &str, task: &'static str, statement: &str, a: &str, b: &str, most: f64| {
        let mut found = differences(outcomes, at(task, k, "recall@50"), a, b);
        found.retain(|(epsilon, _)| *epsilon <= most);
        let (holds, evidence) = better(&found);
        list.push(Claim::new(source, &format!("{task}: {statement}"), holds, evidence));
    };
    let all = f64::INFINITY;
    for task in ["MNIST", "CIFAR"] {
        order("Section 5.1", task, "DP-RP-G-OPT outperforms DP-RP-G at all ε", "dp-rp-g-opt", "dp-rp-g", all);
        order("Section 5.1", task, "DP-RP-G-OPT-B improves on DP-RP-G-OPT", "dp-rp-g-opt-b", "dp-rp-g-opt", all);
        order("Section 5.1", task, "DP-OPORP beats noise on the raw data", "dp-oporp", "raw-g-opt", all);
    }
    let smooth = ["dp-signoporp-rr-smooth", "dp-signoporp-rr-smooth, t = 2", "dp-signoporp-rr-smooth, t = 4"];
    let plain = ["dp-signoporp-rr", "dp-signoporp-rr, t = 2", "dp-signoporp-rr, t = 4"];
    for (a, b) in smooth.iter().zip(plain) {
        let statement = format!("smooth flipping improves on randomized response ({})", t_of(a));
        order("Section 5.3", "MNIST", &statement, a, b, all);
    }
    for a in &smooth {
        let statement = format!("DP-SignOPORP ({}) beats DP-OPORP for ε up to 10", t_of(a));
        order("Section 5.3", "MNIST", &statement, a, "dp-oporp", 10.0);
    }
    for task in ["MNIST", "CIFAR"] {
        let found = differences(outcomes, at(task, k, "recall@50"), "dp-oporp", "dp-rp-g-opt-b");
        let (holds, evidence) = equal(&found, 0.02);
        let statement = format!("{task}: DP-OPORP and DP-RP-G-OPT-B almost overlap");
        list.push(Claim::new("Section 5.1", &statement, holds, evidence));
    }
    let (holds, evidence) = better(&differences(outcomes, at("CIFAR", k, "recall@50"), "dp-oporp", "dp-rp-g-opt-b"));
    list.push(Claim::new("Section 5.1", "CIFAR: DP-OPORP is slightly better than DP-RP-G-OPT-B", holds, evidence));

    let mut repeats = differences(outcomes, at("MNIST", k, "recall@50"), smooth[0], smooth[2]);
    repeats.retain(|(epsilon, _)| *epsilon <= 2.0 || *epsilon >= 15.0);
    let (low, high): (Vec<_>, Vec<_>) = repeats.iter().partition(|(epsilon, _)| *epsilon <= 2.0);
    let flipped: Vec<_> = high.into_iter().map(|(e, d)| (e, Average { mean: -d.mean, ..d })).collect();
    let holds = match (better(&low).0, better(&flipped).0) {
        (Some(a), Some(b)) => Some(a && b),
        (Some(false), _) | (_, Some(false)) => Some(false),
        _ => None,
    };
    let statement = "MNIST: a smaller t is better when ε is small and worse when it is large";
    list.push(Claim::new("Section 5.3", statement, holds, format!("t = 1 against t = 4: {}", better(&repeats).1)));

    let coins = differences(
        outcomes,
        at("MNIST", k, "recall@50"),
        "dp-signoporp-ceil",
        &format!("dp-signoporp-ceil{}", sweep::COIN_AT_ZERO),
    );
    let (better_without, evidence) = better(&coins);
    list.push(Claim::new(
        "Algorithm 8, line 7",
        "MNIST: a bin that is 0 must toss a fair coin",
        better_without.map(|better| !better),
        format!("zeros on the minus side are private too (exact check), and what the coin costs in recall: {evidence}"),
    ));

    // iDP: flat and high, which is what it costs to publish most signs as they are.
    let idp = |epsilon: f64| {
        outcomes.average(|o| at("MNIST", k, "recall@50")(o) && o.design == "idp-signrp-rr" && o.epsilon == epsilon)
    };
    let (first, last) = (epsilons[0], epsilons[epsilons.len() - 1]);
    if let (Some(low), Some(high)) = (idp(first), idp(last)) {
        let evidence = format!(
            "recall {:.3} at ε {first}, {:.3} at ε {last}. The price: the release is not differentially private, see the \
             counterexample below",
            low.mean, high.mean
        );
        let flat = low.mean > 0.8 * high.mean;
        list.push(Claim::new("Section 6.3", "MNIST: the curves of iDP-SignRP are almost flat", Some(flat), evidence));
    }
    let (holds, evidence) =
        better(&differences(outcomes, at("MNIST", k, "recall@50"), "idp-signrp-rr", "idp-signoporp-rr"));
    list.push(Claim::new("Section 6.2", "MNIST: iDP-SignOPORP is considerably worse than iDP-SignRP", holds, evidence));
    list.push(Claim::new(
        "Theorems 6.1, 6.2",
        "iDP-SignRP bounds the loss between a data set and its neighbours",
        Some(false),
        "p = 2, k = 1, W = (1, 1), β = 1: u = (1, 0.5) never gives −1, its neighbour (0, 0.5) does with probability \
         1/(1 + e^ε) at every ε: no ε bounds the ratio, because the perturbed set depends on the data",
    ));
    list.push(Claim::new(
        "Section 1.4",
        "Releasing every row makes the table private against a change of one record",
        Some(false),
        "the guarantee is for one attribute moving by at most β; a record that moves by ‖u − u′‖₁ costs that over β, times ε",
    ));
    list
}

fn t_of(design: &str) -> &str {
    design.split(", ").nth(1).unwrap_or("t = 1")
}

pub(super) fn text_claims(outcomes: &Outcomes, sizes: &[usize]) -> Vec<Claim> {
    let k = sizes.iter().copied().max().unwrap_or(1024);
    let accuracy = |a: &str, b: &str| differences(outcomes, at(SPAM, k, "accuracy"), a, b);
    let mut list = Vec::new();
    for (statement, a, b) in [
        ("smooth flipping improves on randomized response", "dp-signoporp-rr-smooth", "dp-signoporp-rr"),
        ("DP-SignOPORP beats DP-OPORP", "dp-signoporp-rr-smooth", "dp-oporp"),
    ] {
        let (holds, evidence) = better(&accuracy(a, b));
        list.push(Claim::new("Section 5.3", &format!("{SPAM}: {statement}"), holds, evidence));
    }
    let (holds, evidence) = equal(&accuracy("dp-oporp", "dp-rp-g-opt-b"), 0.02);
    let statement = format!("{SPAM}: DP-OPORP and DP-RP-G-OPT-B are about equal");
    list.push(Claim::new("Section 5.2", &statement, holds, evidence));
    let sign = |o: &Outcome| at(SPAM, k, "accuracy")(o) && o.design.starts_with("dp-signoporp-rr") && o.epsilon == 5.0;
    let reached = outcomes
        .distinct(|o| o.design.clone())
        .into_iter()
        .filter_map(|d| outcomes.average(|o| sign(o) && o.design == d).map(|e| e.mean));
    let reached = reached.fold(0.0, f64::max);
    list.push(Claim::new(
        "Section 5.3",
        "WEBSPAM: DP-SignOPORP reaches 95% at ε ≈ 5, k = 1024",
        None,
        format!("WEBSPAM cannot be had; on {SPAM} at k = {k} it reaches {:.1}%", 100.0 * reached),
    ));
    list
}

/// The best mean of the paper's DP mechanisms at one size and epsilon.
pub(super) fn papers_best(
    outcomes: &Outcomes,
    task: &'static str,
    k: usize,
    metric: &'static str,
    epsilon: f64,
) -> (String, f64) {
    let mut best = (String::new(), 0.0);
    let here = |o: &Outcome| at(task, k, metric)(o) && o.epsilon == epsilon;
    for design in outcomes.distinct(|o| o.design.clone()) {
        let theirs = |o: &Outcome| {
            here(o)
                && o.design == design
                && !is_ours(&o.mechanism)
                && !o.mechanism.starts_with("idp")
                && o.mechanism != "none"
        };
        if let Some(e) = outcomes.average(theirs).filter(|e| e.mean > best.1) {
            best = (design, e.mean);
        }
    }
    best
}

/// Ours and the paper's best at one epsilon.
struct Against {
    epsilon: f64,
    ours: Average,
    theirs: Average,
    name: String,
}

impl Against {
    /// Half the width of the interval of the difference.
    fn error_bar(&self) -> f64 {
        self.ours.half.hypot(self.theirs.half)
    }
}

/// Accuracy of one of our designs beside the paper's best, at every epsilon.
fn against_papers_best(outcomes: &Outcomes, design: &str) -> Vec<Against> {
    let one = |epsilon: f64| {
        let cell = |o: &Outcome, name: &str| at(SPAM, 1024, "accuracy")(o) && o.design == name && o.epsilon == epsilon;
        let (name, _) = papers_best(outcomes, SPAM, 1024, "accuracy", epsilon);
        let ours = outcomes.average(|o| cell(o, design))?;
        let theirs = outcomes.average(|o| cell(o, &name))?;
        Some(Against { epsilon, ours, theirs, name })
    };
    epsilons(outcomes).into_iter().filter_map(one).collect()
}

pub(super) fn our_claims(outcomes: &Outcomes) -> Vec<Claim> {
    let mut list = Vec::new();
    let mean = |design: &str, k: usize, epsilon: f64| {
        let cell = |o: &Outcome| at("MNIST", k, "recall@50")(o) && o.design == design && o.epsilon == epsilon;
        outcomes.average(cell).map(|e| e.mean)
    };
    let (name, theirs) = papers_best(outcomes, "MNIST", 256, "recall@50", 5.0);
    if let Some(ours) = mean("dp-oporp-staircase", 256, 5.0) {
        list.push(Claim::new(
            "ours",
            "MNIST, k = 256, ε = 5: staircase has at least 3 times the recall of the paper's best",
            Some(ours >= 3.0 * theirs),
            format!("{ours:.3} against {theirs:.3} ({name}): {:.1} times", ours / theirs),
        ));
    }
    for (task, epsilon) in [("MNIST", 1.0), ("CIFAR", 1.0)] {
        let mean = |design: &str| {
            let cell = |o: &Outcome| at(task, 64, "recall@50")(o) && o.design == design && o.epsilon == epsilon;
            outcomes.average(cell).map(|e| e.mean)
        };
        let both = mean("dp-oporp-staircase, blocks").zip(mean("dp-oporp-staircase"));
        let Some((blocks, plain)) = both else { continue };
        list.push(Claim::new(
            "ours",
            &format!("{task}, k = 64, ε = {epsilon}: blocks of pixels have at least 3 times the recall of OPORP"),
            Some(blocks >= 3.0 * plain),
            format!("{blocks:.3} against {plain:.3}, the same noise and the same guarantee"),
        ));
    }
    let (name, at_10) = papers_best(outcomes, "MNIST", 256, "recall@50", 10.0);
    if let Some(ours) = mean("dp-oporp-staircase", 256, 3.0) {
        list.push(Claim::new(
            "ours",
            "MNIST, k = 256: staircase at ε = 3 reaches what the paper's best reaches at ε = 10",
            Some(ours >= at_10),
            format!("{ours:.3} against {at_10:.3} ({name})"),
        ));
    }
    let sign = outcomes.distinct(|o| o.design.clone()).into_iter().filter(|d| d.starts_with("dp-signoporp-rr"));
    let sign = sign.filter_map(|d| mean(&d, 256, 5.0)).fold(0.0, f64::max);
    for (design, k, what, times) in [
        ("dp-signoporp-ceil", 256, "one bit per bin has", 2.0),
        ("dp-oporp-staircase, b4", 64, "16 levels on 64 bins have", 2.5),
    ] {
        let Some(ours) = mean(design, k, 5.0) else { continue };
        list.push(Claim::new(
            "ours",
            &format!("MNIST, 256 bits per row, ε = 5: {what} at least {times} times the recall of the paper's signs"),
            Some(ours >= times * sign),
            format!("{ours:.3} against {sign:.3}: {:.1} times", ours / sign),
        ));
    }
    for (design, what, epsilon, points) in [
        ("dp-oporp-staircase, clip 0.01", "clipped staircase", 5.0, 0.03),
        ("dp-signoporp-ceil", "one bit per bin", 3.0, 0.04),
    ] {
        let found = against_papers_best(outcomes, design);
        let Some(Against { ours, theirs, name, .. }) = found.iter().find(|a| a.epsilon == epsilon) else { continue };
        list.push(Claim::new(
            "ours",
            &format!(
                "SpamAssassin, k = 1024, ε = {epsilon}: {what} is at least {:.0} points above the paper's best",
                100.0 * points
            ),
            Some(ours.mean >= theirs.mean + points),
            format!("{:.3} against {:.3} ({name})", ours.mean, theirs.mean),
        ));
    }
    for (design, what) in [("dp-signoporp-ceil", "one bit per bin"), (sweep::AUTO, "what plan chooses")] {
        let found = against_papers_best(outcomes, design);
        let one = |a: &Against| {
            let Against { epsilon, ours, theirs, name } = a;
            format!("ε {epsilon}: {:.3} against {:.3} ± {:.3} ({name})", ours.mean, theirs.mean, a.error_bar())
        };
        list.push(Claim::new(
            "ours",
            &format!("SpamAssassin, k = 1024: {what} is at no ε below the paper's best by more than the error bar"),
            (!found.is_empty()).then(|| found.iter().all(|a| a.ours.mean >= a.theirs.mean - a.error_bar())),
            found.iter().map(one).collect::<Vec<_>>().join("; "),
        ));
    }
    list
}
