//! The paper's figures that need no data: formulas from [`scumble_core::calibration`] and simulations of the projection laws.
//!
//! Each figure carries the paper's LaTeX label. What the paper draws is a solid or dashed curve; what we add is said in
//! the caption. Simulations use a fixed generator, so that a page can be made again.

use super::claims::Claim;
use super::plot::{Axis, Figure, Panel, Series, Stroke};
use rayon::prelude::*;
use scumble::error::ParameterError;
use scumble::recall::Fixed;
use scumble_core::calibration::{Ratio, gaussian, signs, staircase};

const DELTA: f64 = 1e-6;

/// How long the simulations may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A few seconds in all.
    Quick,
    /// About a minute.
    Full,
}

/// A figure with the numbers that its claims are judged by.
#[derive(Debug, Clone, Default)]
pub struct TheoryFigure {
    /// The chart.
    pub figure: Figure,
    /// Claims of the paper about it: words, verdict, evidence.
    pub claims: Vec<Claim>,
}

/// All figures, in the paper's order.
pub fn figures(effort: Effort) -> Result<Vec<TheoryFigure>, ParameterError> {
    Ok(vec![
        optimal_dp_rp()?,
        row_norm(effort),
        ratio(),
        p_plus(),
        n_plus()?,
        smooth_flip_prob(),
        prob_flip_theory(effort),
        prob_flip(effort),
        lj_proportion(effort),
    ])
}

/// `n` values from `a` to `b` in equal ratios.
fn spaced(a: f64, b: f64, n: usize) -> Vec<f64> {
    (0..n).map(|i| a * (b / a).powf(i as f64 / (n - 1) as f64)).collect()
}

fn figure(id: &str, title: &str, caption: &str, panels: Vec<Panel>, claims: Vec<Claim>) -> TheoryFigure {
    let figure = Figure { id: id.into(), title: title.into(), caption: caption.into(), panels };
    TheoryFigure { figure, claims }
}

fn panel(title: impl Into<String>, x: Axis, y: Axis, series: Vec<Series>) -> Panel {
    Panel { title: title.into(), x, y, series, references: Vec::new() }
}

/// Figure `optimal DP-RP`: sigma* against epsilon and against the sensitivity.
fn optimal_dp_rp() -> Result<TheoryFigure, ParameterError> {
    let sigma = |epsilon: f64, sensitivity: f64| gaussian::sigma_optimal(epsilon, DELTA, sensitivity);
    let mut left = Vec::new();
    for sensitivity in [0.5, 1.0, 2.0, 5.0] {
        let points: Result<Vec<_>, ParameterError> =
            spaced(0.1, 100.0, 31).into_iter().map(|e| Ok((e, sigma(e, sensitivity)?))).collect();
        left.push(Series::new(format!("Δ₂ = {sensitivity}"), points?).stroke(Stroke::Plain));
    }
    let ours = spaced(0.1, 20.0, 25).into_iter().map(|epsilon| {
        let b = Ratio::from_exponent(epsilon);
        (epsilon, staircase::continuous_variance(b, staircase::optimal_gamma(b), 1.0).sqrt())
    });
    left.push(Series::new("ours: staircase on OPORP, Δ = 1, pure ε", ours).stroke(Stroke::Theory).tone(4));
    let mut right = Vec::new();
    for (at, epsilon) in [0.1, 1.0, 5.0, 10.0, 20.0].into_iter().enumerate() {
        let points: Result<Vec<_>, ParameterError> =
            spaced(0.1, 10.0, 21).into_iter().map(|d| Ok((d, sigma(epsilon, d)?))).collect();
        right.push(Series::new(format!("ε = {epsilon}"), points?).stroke(Stroke::Plain).tone(at));
    }
    let (mut low, mut high) = (1.0, 1000.0f64); // where sigma* is 0.1
    while high - low > 1e-3 {
        let middle: f64 = 0.5 * (low + high);
        *(if sigma(middle, 1.0)? > 0.1 { &mut low } else { &mut high }) = middle;
    }
    let narrow = [(0.1, 1.0), (1.0, 1.0), (10.0, 1.0), (20.0, 1.0)]
        .map(|(e, d)| Ok::<_, ParameterError>(gaussian::sigma_kenthapadi(e, DELTA, d)? / sigma(e, d)?));
    let mut gains = Vec::new();
    for gain in narrow {
        gains.push(gain?);
    }
    let least = gains.iter().copied().fold(f64::INFINITY, f64::min);
    let most = gains.iter().copied().fold(0.0, f64::max);
    Ok(figure(
        "fig:optimal DP-RP",
        "Optimal Gaussian noise",
        "Left: σ* against ε for four sensitivities, δ = 10⁻⁶. Right: σ* against Δ₂. We add the standard deviation of \
         staircase noise for one touched bin: smaller at every ε here, with δ = 0.",
        vec![
            panel("σ* against ε", Axis::log("ε"), Axis::log("σ"), left),
            panel("σ* against Δ₂", Axis::log("Δ₂"), Axis::log("σ"), right),
        ],
        vec![
            Claim::new(
                "Theorem 3.5",
                "The optimal noise is below that of DP-RP-G",
                Some(least > 1.0),
                format!("DP-RP-G needs {least:.2} to {most:.2} times σ* at ε 0.1 to 20"),
            ),
            Claim::new(
                "Section 3.6",
                "σ < 0.1 at Δ₂ = 1 needs ε of about 100",
                Some((90.0..=110.0).contains(&high)),
                format!("σ* = 0.1 at ε = {high:.1}"),
            ),
        ],
    ))
}

/// A law of projection weights, normalised to E w² = 1.
#[derive(Debug, Clone, Copy, PartialEq)]
enum WeightLaw {
    Gaussian,
    Uniform,
    VerySparse(f64),
}

const LAWS: [(WeightLaw, &str); 5] = [
    (WeightLaw::VerySparse(1.0), "Rademacher (s = 1)"),
    (WeightLaw::Gaussian, "Gaussian"),
    (WeightLaw::Uniform, "uniform"),
    (WeightLaw::VerySparse(3.0), "very sparse, s = 3"),
    (WeightLaw::VerySparse(10.0), "very sparse, s = 10"),
];

impl WeightLaw {
    #[inline]
    fn draw(self, random: &mut Fixed) -> f64 {
        match self {
            Self::Gaussian => random.normal(),
            Self::Uniform => 3f64.sqrt() * (2.0 * random.uniform() - 1.0),
            Self::VerySparse(s) => {
                let draw = 2.0 * s * random.uniform();
                if draw < 1.0 {
                    s.sqrt()
                } else if draw < 2.0 {
                    -s.sqrt()
                } else {
                    0.0
                }
            }
        }
    }
}

/// Figure `row-norm`: the l2 sensitivity that each law has at dimension p.
fn row_norm(effort: Effort) -> TheoryFigure {
    let (repetitions, largest) = if effort == Effort::Quick { (4, 1_000) } else { (20, 10_000) };
    let marks: Vec<usize> =
        [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000].into_iter().filter(|p| *p <= largest).collect();
    let mut last = Vec::new();
    let panels = [256usize, 512]
        .map(|k| {
            let series = LAWS.map(|(law, name)| {
                let runs: Vec<Vec<f64>> = (0..repetitions)
                    .into_par_iter()
                    .map(|run| {
                        let mut random = Fixed::new(1000 * k as u64 + run);
                        let mut greatest = 0f64;
                        let mut found = Vec::new();
                        for i in 1..=largest {
                            let squared: f64 = (0..k).map(|_| law.draw(&mut random).powi(2)).sum();
                            greatest = greatest.max(squared);
                            if marks.contains(&i) {
                                found.push((greatest / k as f64).sqrt());
                            }
                        }
                        found
                    })
                    .collect();
                let points: Vec<_> = (0..marks.len())
                    .map(|at| {
                        let (mean, half) = mean_and_half(runs.iter().map(|run| run[at]));
                        (marks[at] as f64, mean, half)
                    })
                    .collect();
                last.push((k, name, points[points.len() - 1].1));
                Series::with_band(name, points)
            });
            panel(format!("k = {k}"), Axis::log("dimension p"), Axis::linear("Δ₂ / β"), series.into())
        })
        .to_vec();
    let evidence: Vec<String> = last.iter().map(|(k, name, value)| format!("{name} {value:.3} (k = {k})")).collect();
    let least = last.iter().all(|(_, name, value)| *name == LAWS[0].1 || *value > 1.0);
    figure(
        "fig:row-norm",
        "Sensitivity of the projection laws",
        "Largest row norm of W over √k, simulated; β = 1. Bands: two standard errors.",
        panels,
        vec![Claim::new(
            "Section 3.4",
            "The Rademacher projection has the smallest l2 sensitivity",
            Some(least),
            format!("at p = {largest}: {}", evidence.join(", ")),
        )],
    )
}

/// Mean and two standard errors.
pub(crate) fn mean_and_half(values: impl ExactSizeIterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, 2.0 * (variance / n).sqrt())
}

/// Figure `ratio`: variance on raw data over variance on projections.
fn ratio() -> TheoryFigure {
    let value = |sigma: f64, p: f64, k: f64| {
        (2.0 * sigma.powi(2) + p * sigma.powi(4)) / (2.0 * sigma.powi(2) + k * sigma.powi(4) + 1.0 / k)
    };
    let panels = [1_000.0, 10_000.0]
        .map(|p| {
            let series = [0.01, 0.05, 0.1, 0.5].map(|share| {
                let points = spaced(0.01, 10.0, 61).into_iter().map(|sigma| (sigma, value(sigma, p, share * p)));
                Series::new(format!("k/p = {share}"), points).stroke(Stroke::Plain)
            });
            let mut panel = panel(format!("p = {p}"), Axis::log("σ"), Axis::log("ratio R"), series.into());
            panel.references.push((1.0, "raw data as good".into()));
            panel
        })
        .to_vec();
    let limit = value(10.0, 10_000.0, 100.0);
    let small = [10.0, 50.0, 100.0, 500.0].map(|k| value(0.0999, 1_000.0, k));
    let evidence = format!("R at σ = 0.1, p = 1000: {}", small.map(|r| format!("{r:.2}")).join(", "));
    figure(
        "fig:ratio",
        "When projecting beats adding noise to the raw data",
        "R = (2σ² + pσ⁴)/(2σ² + kσ⁴ + 1/k) for unit vectors.",
        panels,
        vec![
            Claim::new(
                "Section 3.6",
                "For large σ the ratio of variances tends to p/k",
                Some((limit / 100.0 - 1.0).abs() < 0.05),
                format!("R = {limit:.1} at σ = 10, p/k = 100"),
            ),
            Claim::new(
                "Section 3.6",
                "At p = 1000 the ratio can be below 1 if σ < 0.1",
                Some(small.iter().any(|r| *r < 1.0)),
                evidence,
            ),
        ],
    )
}

/// Figure `P+`: the paper's bound on the chance that a sign can change.
fn p_plus() -> TheoryFigure {
    let steps: Vec<f64> = (1..=20).map(|i| f64::from(i) / 20.0).collect();
    let mut series: Vec<Series> = [1u64, 10, 100, 10_000, 1_000_000]
        .iter()
        .map(|p| {
            let points = steps.iter().map(|r| (*r, signs::p_plus(*r, *p)));
            Series::new(format!("P₊, p = {p}"), points).stroke(Stroke::Plain)
        })
        .collect();
    let fixed = steps.iter().map(|r| (*r, signs::sign_change_probability_gaussian(*r, 1.0)));
    series.push(Series::new("one fixed neighbour (exact)", fixed).stroke(Stroke::Theory).tone(7));
    let at = signs::p_plus(0.1, 1_000_000);
    // p = 2, u = (1,1)/√2, r = 1: max(|w₁|,|w₂|) ≥ |w₁+w₂|/√2 has probability 3/4.
    let claimed = signs::p_plus(1.0, 2);
    let mut random = Fixed::new(43);
    let n = 1_000_000;
    let seen = (0..n)
        .filter(|_| {
            let (a, b) = (random.normal(), random.normal());
            a.abs().max(b.abs()) >= (a + b).abs() / 2f64.sqrt()
        })
        .count() as f64
        / f64::from(n);
    figure(
        "fig:P+",
        "The chance that some neighbour changes a sign, as the paper bounds it",
        "P₊(r, p) of Lemma 4.3. It is not a bound (see the table of claims); the dotted curve is the exact chance for one \
         fixed neighbour, which is what the proof of privacy needs.",
        vec![panel("P₊(r, p)", Axis::linear("r = β / ‖u‖"), Axis::linear("probability"), series)],
        vec![
            Claim::new(
                "Figure P+",
                "At r = 0.1, P₊ is below 0.4 even for p = 10⁶",
                Some(at < 0.4),
                format!("P₊(0.1, 10⁶) = {at:.3}"),
            ),
            Claim::new(
                "Lemma 4.3",
                "Independence is the worst case, so P₊ bounds the probability",
                Some(seen <= claimed),
                format!("p = 2, u = (1,1)/√2, r = 1: simulated {seen:.3} (exact 3/4) against the bound {claimed:.3}"),
            ),
        ],
    )
}

/// Figure `N+`: the paper's bound on the number of changed signs.
fn n_plus() -> Result<TheoryFigure, ParameterError> {
    let (p, k) = (1024, 512);
    let mut series = Vec::new();
    for beta in [1.0, 0.5, 0.2, 0.1] {
        let mut points = Vec::new();
        for norm in spaced(1.0, 100.0, 41) {
            points.push((norm, signs::n_plus(beta / norm, p, k, DELTA)?));
        }
        series.push(Series::new(format!("N₊, β = {beta}"), points).stroke(Stroke::Plain));
    }
    let mut tight = Vec::new();
    for norm in spaced(1.0, 100.0, 21) {
        let q = signs::sign_change_probability_gaussian(1.0, norm);
        tight.push((norm, 5.0 / signs::tight_epsilon_prime(k, q, 5.0, DELTA)?));
    }
    series.push(Series::new("ours, β = 1, ε = 5: ε/ε′ that suffices", tight).stroke(Stroke::Theory).tone(7));
    let at = signs::n_plus(0.1, p, k, DELTA)?;
    Ok(figure(
        "fig:N+",
        "How many signs the budget must be split over",
        "p = 1024, k = 512, δ = 10⁻⁶. The dotted curve is what the exact accounting of a fixed pair needs.",
        vec![panel("N₊ against the norm", Axis::log("norm ‖u‖"), Axis::linear("signs"), series)],
        vec![Claim::new(
            "Section 4.1",
            "At norm 10 and β = 1, N₊ is about 200 of 512",
            Some((100.0..=300.0).contains(&at)),
            format!("N₊ = {at:.0}"),
        )],
    ))
}

/// Figure `smooth_flip_prob`: flip probability against |x|/β at ε = 1, k = 1.
fn smooth_flip_prob() -> TheoryFigure {
    let steps: Vec<f64> = (1..=100).map(|i| f64::from(i) / 20.0).collect();
    let curve = |name: &str, flip: &dyn Fn(f64) -> f64, stroke| {
        Series::new(name, steps.iter().map(|x| (*x, flip(*x)))).stroke(stroke)
    };
    let series = vec![
        curve("smooth (paper)", &|x| signs::flip_smooth(x, 1.0), Stroke::Plain),
        curve("local", &|x| if x <= 1.0 { signs::flip_rr(x, 1.0) } else { 0.0 }, Stroke::Theory),
        curve("global bound", &|_| signs::flip_rr(1.0, 1.0), Stroke::Theory),
        curve("ceil (ours)", &|x| signs::flip_ceil(x, 1.0), Stroke::Plain),
    ];
    let better = steps.iter().all(|x| signs::flip_ceil(*x, 1.0) <= signs::flip_smooth(*x, 1.0) + 1e-12);
    let (ours, theirs) = (signs::flip_ceil(2.5, 1.0), signs::flip_smooth(2.5, 1.0));
    figure(
        "fig:smooth_flip_prob",
        "Smooth flipping probability",
        "ε = 1, k = 1. Far from zero a sign needs fewer flips. Our ceil rule flips less than the paper's from L = 2 on, \
         for the same ε.",
        vec![panel("Flip probability", Axis::linear("|x| / β"), Axis::linear("probability"), series)],
        vec![Claim::new(
            "ours",
            "The ceil rule never flips more often than the smooth rule",
            Some(better),
            format!("at L = 3: {ours:.4} against {theirs:.4}"),
        )],
    )
}

/// For each dimension and law, the share of draws with `β max|w| >= |w.u|` at β = 1 and 0.1, with two standard errors.
fn flip_simulation(laws: &[WeightLaw], effort: Effort) -> Vec<Vec<[(f64, f64, f64); 2]>> {
    let budget = if effort == Effort::Quick { 4_000_000 } else { 100_000_000 };
    let dimensions = [10usize, 20, 50, 100, 200, 500, 1000];
    laws.iter()
        .map(|law| {
            let one = |p: &usize| {
                let draws = (budget / p).min(1_000_000);
                let mut random = Fixed::new(*p as u64);
                let mut hits = [0usize; 2];
                for _ in 0..draws {
                    let (mut sum, mut greatest) = (0.0, 0f64);
                    for _ in 0..*p {
                        let w = law.draw(&mut random);
                        sum += w * (2.0 * random.uniform() - 1.0);
                        greatest = greatest.max(w.abs());
                    }
                    for (hits, beta) in hits.iter_mut().zip([1.0, 0.1]) {
                        *hits += usize::from(beta * greatest >= sum.abs());
                    }
                }
                hits.map(|hits| {
                    let share = hits as f64 / draws as f64;
                    (*p as f64, share, 2.0 * (share * (1.0 - share) / draws as f64).sqrt())
                })
            };
            dimensions.par_iter().map(one).collect()
        })
        .collect()
}

/// Figure `prob_flip_theory`: simulation against the two approximations.
fn prob_flip_theory(effort: Effort) -> TheoryFigure {
    let found = flip_simulation(&[WeightLaw::VerySparse(1.0), WeightLaw::Gaussian], effort);
    let mut worst = [0f64; 2];
    let panels = [1.0, 0.1]
        .iter()
        .enumerate()
        .map(|(at, beta)| {
            let norm = |p: f64| (p / 3.0).sqrt(); // of a uniform vector on [-1, 1]^p
            let theory = [
                |beta: f64, norm: f64, _: f64| signs::sign_change_approximation_rademacher(beta, norm),
                |beta: f64, norm: f64, p: f64| signs::p_plus((beta / norm).min(1.0), p as u64),
            ];
            let mut series = Vec::new();
            for (law, name) in ["Rademacher", "Gaussian"].iter().enumerate() {
                let points: Vec<_> = found[law].iter().map(|pair| pair[at]).collect();
                for (p, share, half) in points.iter().filter(|(p, _, _)| *p >= 50.0) {
                    let gap = (theory[law](*beta, norm(*p), *p) - share).abs() - half; // beyond the simulation's error
                    worst[law] = worst[law].max(gap.max(0.0) / share);
                }
                series.push(Series::with_band(format!("{name}, simulated"), points).tone(law));
                let curve = spaced(10.0, 1000.0, 31).into_iter().map(|p| (p, theory[law](*beta, norm(p), p)));
                series.push(Series::new(format!("{name}, formula"), curve).stroke(Stroke::Theory).tone(7 - law));
            }
            panel(format!("β = {beta}"), Axis::log("dimension p"), Axis::linear("probability"), series)
        })
        .collect();
    figure(
        "fig:prob_flip_theory",
        "The chance of a sign change: simulation and formula",
        "u uniform on [−1, 1]ᵖ. Dotted: 2Φ(β/‖u‖) − 1 (Rademacher) and P₊ (Gaussian), at the root mean square norm.",
        panels,
        vec![Claim::new(
            "Section 4.3",
            "Both formulas are accurate on dense uniform data",
            Some(worst.iter().all(|w| *w < 0.1)),
            format!(
                "largest relative gap for p ≥ 50 beyond the simulation's error: {:.1}% (Rademacher), {:.1}% (Gaussian). On sparse data the first is up to \
                 100 times too small",
                100.0 * worst[0],
                100.0 * worst[1]
            ),
        )],
    )
}

/// Figure `prob_flip`: the same chance for five laws.
fn prob_flip(effort: Effort) -> TheoryFigure {
    let found = flip_simulation(&LAWS.map(|(law, _)| law), effort);
    let panels = [1.0, 0.1]
        .iter()
        .enumerate()
        .map(|(at, beta)| {
            let series = LAWS
                .iter()
                .zip(&found)
                .map(|((_, name), rows)| Series::with_band(*name, rows.iter().map(|pair| pair[at])));
            panel(format!("β = {beta}"), Axis::log("dimension p"), Axis::linear("probability"), series.collect())
        })
        .collect();
    let at_last = |law: usize, beta: usize| found[law][found[law].len() - 1][beta];
    let least = (1..LAWS.len()).all(|law| (0..2).all(|beta| at_last(law, beta).1 > at_last(0, beta).1));
    let evidence: Vec<String> =
        LAWS.iter().enumerate().map(|(law, (_, name))| format!("{name} {:.3}", at_last(law, 0).1)).collect();
    figure(
        "fig:prob_flip",
        "The chance of a sign change for five projection laws",
        "Share of simulated draws with β max|wᵢ| ≥ |w·u|, u uniform on [−1, 1]ᵖ. Bands: two standard errors.",
        panels,
        vec![Claim::new(
            "Section 4.3",
            "The Rademacher projection has the smallest chance of a sign change",
            Some(least),
            format!("at p = 1000, β = 1: {}", evidence.join(", ")),
        )],
    )
}

/// Figure `Lj_proportion`: how far from zero the projections lie, in units of what a neighbour can move.
fn lj_proportion(effort: Effort) -> TheoryFigure {
    let (k, runs) = (512, if effort == Effort::Quick { 8 } else { 40 });
    let mut means = Vec::new();
    let panels = [(100usize, 16usize), (1000, 40)]
        .map(|(p, most)| {
            let series = LAWS.map(|(law, name)| {
                let mut counts = vec![0u64; most + 1];
                let mut total = 0.0;
                let mut random = Fixed::new(p as u64);
                for _ in 0..runs {
                    let u: Vec<f64> = (0..p).map(|_| 2.0 * random.uniform() - 1.0).collect();
                    for _ in 0..k {
                        let (mut sum, mut greatest) = (0.0, 0f64);
                        for u in &u {
                            let w = law.draw(&mut random);
                            sum += w * u;
                            greatest = greatest.max(w.abs());
                        }
                        let l = if greatest > 0.0 { (sum.abs() / greatest).ceil() } else { 0.0 };
                        total += l;
                        counts[(l as usize).min(most)] += 1;
                    }
                }
                let n = (runs * k) as f64;
                means.push((p, name, total / n));
                let points = (1..most).map(|l| (l as f64, counts[l] as f64 / n));
                Series::new(name, points)
            });
            panel(format!("p = {p}"), Axis::linear("L"), Axis::linear("share of projections"), series.into())
        })
        .to_vec();
    let greatest = [100, 1000].iter().all(|p| {
        let of = |wanted: &str| means.iter().find(|(q, name, _)| q == p && *name == wanted).map_or(0.0, |m| m.2);
        LAWS[1..].iter().all(|(_, name)| of(name) < of(LAWS[0].1))
    });
    let evidence: Vec<String> =
        means.iter().filter(|m| m.0 == 1000).map(|(_, name, mean)| format!("{name} {mean:.1}")).collect();
    figure(
        "fig:Lj_proportion",
        "How far the projections lie from zero",
        "L = ⌈|w·u| / (β max|wᵢ|)⌉ over k = 512 projections, β = 1, u uniform on [−1, 1]ᵖ.",
        panels,
        vec![
            Claim::new(
                "Section 4.3",
                "The Rademacher projection has the largest L, hence the fewest flips",
                Some(greatest),
                format!("mean L at p = 1000: {}", evidence.join(", ")),
            ),
            Claim::new(
                "Section 4.3",
                "A smaller L leads to a smaller flipping probability",
                Some(false),
                "the reverse: 1/(1 + exp(Lε/k)) falls with L, as the next paragraph of the paper says",
            ),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_labels_in_order() {
        let all = figures(Effort::Quick).unwrap();
        let ids: Vec<&str> = all.iter().map(|f| f.figure.id.as_str()).collect();
        let labels = ["optimal DP-RP", "row-norm", "ratio", "P+", "N+"];
        let more = ["smooth_flip_prob", "prob_flip_theory", "prob_flip", "Lj_proportion"];
        assert_eq!(ids, labels.iter().chain(&more).map(|l| format!("fig:{l}")).collect::<Vec<_>>());
        for entry in &all {
            for panel in &entry.figure.panels {
                assert!(panel.series.iter().all(|s| s.points.len() > 4), "{}: {}", entry.figure.id, panel.title);
            }
        }
        let refuted: Vec<&str> =
            all.iter().flat_map(|f| &f.claims).filter(|c| c.holds == Some(false)).map(|c| c.source.as_str()).collect();
        assert!(refuted.contains(&"Lemma 4.3"), "{refuted:?}");
        assert!(all.iter().flat_map(|f| &f.claims).all(|c| c.holds.is_some() && !c.evidence.is_empty()));
    }

    #[test]
    fn laws_have_unit_variance() {
        for (law, name) in LAWS {
            let mut random = Fixed::new(9);
            let n = 400_000;
            let squared: f64 = (0..n).map(|_| law.draw(&mut random).powi(2)).sum::<f64>() / f64::from(n);
            assert!((squared - 1.0).abs() < 0.03, "{name}: {squared}"); // at least 6 standard errors (s = 10)
        }
    }
}
