//! Linear support vector machine: what scikit-learn's `LinearSVC` fits by default, and the choice of its C.
//!
//! Minimises `|w|^2/2 + b^2/2 + C sum_i max(0, 1 - y_i (w.x_i + b))^2`, one class against the rest. Two solvers:
//! dual coordinate descent with shrinking (Hsieh et al., ICML 2008), fast when C is moderate, and for problems on which
//! it is slow a Newton method in the primal (Keerthi and DeCoste, JMLR 2005). The optimum is unique, so both agree.
//! Everything is deterministic: the order of visits comes from a fixed generator.

use rayon::prelude::*;
use scumble::error::LibraryError;
use scumble::parallel;
use scumble::recall::Features;
use scumble::recall::Fixed;
use scumble::training::{accuracy, classes_of, positives};

/// Why there is no model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SvmError {
    /// The labels.
    #[error(transparent)]
    Labels(#[from] LibraryError),
    /// A value of C that was asked for.
    #[error("C must be positive")]
    C,
    /// The values of C to choose from.
    #[error("values of C must be positive")]
    GridOfC,
    /// The folds of a cross-validation.
    #[error("cross-validation needs at least 2 folds, and at least as many rows as folds; got {folds} folds")]
    Folds {
        /// How many there would be.
        folds: usize,
    },
}

/// How to fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SvmOptions {
    /// Weight of the loss against the norm.
    pub c: f64,
    /// Stop when the projected gradient of the dual spans less than this.
    pub tolerance: f64,
    /// Passes of coordinate descent before the Newton method takes over.
    pub max_epochs: usize,
    /// False to stop after the passes, converged or not: enough to rank values of C.
    pub newton: bool,
}

impl Default for SvmOptions {
    fn default() -> Self {
        Self { c: 1.0, tolerance: 1e-4, max_epochs: 100, newton: true }
    }
}

/// A fitted model. With two classes it holds one hyperplane, otherwise one per class.
#[derive(Debug, Clone)]
pub struct LinearSvm {
    classes: Vec<u32>,
    planes: Vec<Plane>,
}

#[derive(Debug, Clone)]
struct Plane {
    w: Vec<f32>,
    b: f64,
}

impl Plane {
    fn score(&self, features: &Features, row: usize) -> f64 {
        f64::from(features.row(row).dot(&self.w)) + self.b
    }
}

impl LinearSvm {
    /// Fits rows with their class labels.
    pub fn fit(features: &Features, labels: &[u32], options: &SvmOptions) -> Result<Self, SvmError> {
        let classes = classes_of(features, labels)?;
        let rows: Vec<usize> = (0..features.len()).collect();
        let problem = Problem::new(features, &rows);
        let planes = positives(&classes)
            .par_iter()
            .map(|class| {
                let mut dual = vec![0.0; rows.len()];
                problem.solve(&signs(labels, &rows, *class), options, &mut dual)
            })
            .collect();
        Ok(Self { classes, planes })
    }

    /// The class of each row.
    pub fn predict(&self, features: &Features) -> Vec<u32> {
        let one = |row| {
            let mut best = Best::new(&self.classes);
            self.planes.iter().for_each(|plane| best.offer(plane.score(features, row)));
            best.class()
        };
        (0..features.len()).into_par_iter().map(one).collect()
    }

    /// The share of rows whose class is found.
    pub fn accuracy(&self, features: &Features, labels: &[u32]) -> f64 {
        accuracy(&self.predict(features), labels)
    }
}

/// What cross-validation found.
#[derive(Debug, Clone, PartialEq)]
pub struct ChoiceOfC {
    /// The least value within half a standard error of the best.
    pub c: f64,
    /// Every value tried with its accuracy over the folds.
    pub tried: Vec<(f64, f64)>,
}

/// Six values of C, a decade apart, around the one that suits rows of this length.
pub fn grid_of_c(features: &Features) -> Vec<f64> {
    let mean = (0..features.len()).map(|i| f64::from(features.row(i).squared_norm())).sum::<f64>()
        / features.len().max(1) as f64;
    let unit = 1.0 / mean.max(f64::MIN_POSITIVE);
    (-3..=2).map(|power| unit * 10f64.powi(power)).collect()
}

/// Chooses C by stratified k-fold cross-validation, walking the values upwards, each from the answer to the last.
pub fn choose_c(features: &Features, labels: &[u32], grid: &[f64], folds: usize) -> Result<ChoiceOfC, SvmError> {
    let classes = classes_of(features, labels)?;
    if grid.is_empty() || grid.iter().any(|c| !(*c > 0.0 && c.is_finite())) {
        return Err(SvmError::GridOfC);
    }
    if folds < 2 || features.len() < folds {
        return Err(SvmError::Folds { folds });
    }
    let mut grid = grid.to_vec();
    grid.sort_by(f64::total_cmp);
    let fold_of = stratified_folds(labels, &classes, folds);
    let positives = positives(&classes);
    // The ranking of the values settles long before the weights do.
    let options = |c| SvmOptions { c, tolerance: 0.1, max_epochs: 30, newton: false };

    struct Task<'a> {
        problem: &'a Problem<'a>,
        held: &'a [usize],
        y: Vec<f64>,
        dual: Vec<f64>,
    }
    let split: Vec<(Vec<usize>, Vec<usize>)> =
        (0..folds).map(|fold| (0..features.len()).partition(|i| fold_of[*i] == fold)).collect();
    let problems: Vec<Problem<'_>> = split.iter().map(|(_, kept)| Problem::new(features, kept)).collect();
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for ((held, kept), problem) in split.iter().zip(&problems) {
        tasks.extend(positives.iter().map(|class| {
            let y = signs(labels, kept, *class);
            Task { problem, held, y, dual: vec![0.0; kept.len()] }
        }));
    }
    let mut tried: Vec<(f64, f64)> = Vec::new();
    for c in grid {
        let scores: Vec<Vec<f64>> = tasks
            .par_iter_mut()
            .map(|task| {
                let plane = task.problem.solve(&task.y, &options(c), &mut task.dual);
                task.held.iter().map(|row| plane.score(features, *row)).collect()
            })
            .collect();
        let mut right = 0;
        for ((held, _), scores) in split.iter().zip(scores.chunks(positives.len())) {
            for (position, row) in held.iter().enumerate() {
                let mut best = Best::new(&classes);
                scores.iter().for_each(|class| best.offer(class[position]));
                right += usize::from(best.class() == labels[*row]);
            }
        }
        tried.push((c, right as f64 / labels.len() as f64));
        // Accuracy has one hump in C, and large values are the slow ones: two that fall below the best end the walk.
        let best = tried.iter().map(|(_, accuracy)| *accuracy).fold(0.0, f64::max);
        if tried.iter().rev().take_while(|(_, accuracy)| *accuracy < best).count() == 2 {
            break;
        }
    }
    let best = tried.iter().map(|(_, accuracy)| *accuracy).fold(0.0, f64::max);
    let half_error = 0.5 * (best * (1.0 - best) / labels.len() as f64).sqrt();
    let c = tried.iter().find(|(_, accuracy)| *accuracy >= best - half_error).map_or(1.0, |(c, _)| *c);
    Ok(ChoiceOfC { c, tried })
}

/// The test accuracy of a model with this C, or one that is chosen on the training rows.
pub fn train_and_test(train: (&Features, &[u32]), test: (&Features, &[u32]), c: Option<f64>) -> Result<f64, SvmError> {
    let c = match c {
        Some(c) if c > 0.0 && c.is_finite() => c,
        Some(_) => return Err(SvmError::C),
        None => choose_c(train.0, train.1, &grid_of_c(train.0), 5)?.c,
    };
    let options = SvmOptions { c, tolerance: 1e-3, ..SvmOptions::default() };
    Ok(LinearSvm::fit(train.0, train.1, &options)?.accuracy(test.0, test.1))
}

fn signs(labels: &[u32], rows: &[usize], positive: u32) -> Vec<f64> {
    rows.iter().map(|row| if labels[*row] == positive { 1.0 } else { -1.0 }).collect()
}

/// Fold of each row: every class is dealt out in turn, so that each fold has its share.
fn stratified_folds(labels: &[u32], classes: &[u32], folds: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    Fixed::new(0x5CB1_F01D).shuffle(&mut order);
    let mut dealt: Vec<usize> = (0..classes.len()).collect(); // each class starts at another fold
    let mut fold_of = vec![0; labels.len()];
    for row in order {
        let class = classes.partition_point(|c| *c < labels[row]);
        fold_of[row] = dealt[class] % folds;
        dealt[class] += 1;
    }
    fold_of
}

/// Keeps the class with the greatest score; the first of equals.
struct Best<'a> {
    classes: &'a [u32],
    seen: usize,
    at: usize,
    score: f64,
}

impl<'a> Best<'a> {
    fn new(classes: &'a [u32]) -> Self {
        Self { classes, seen: 0, at: 0, score: f64::NEG_INFINITY }
    }

    fn offer(&mut self, score: f64) {
        if self.classes.len() == 2 {
            self.at = usize::from(score > 0.0);
        } else if score > self.score {
            (self.at, self.score) = (self.seen, score);
        }
        self.seen += 1;
    }

    fn class(&self) -> u32 {
        self.classes[self.at]
    }
}

/// Training rows with what every class shares.
struct Problem<'a> {
    features: &'a Features,
    rows: &'a [usize],
    squared: Vec<f64>, // |x_i|^2 + 1: the bias is an attribute that is always 1
}

impl<'a> Problem<'a> {
    fn new(features: &'a Features, rows: &'a [usize]) -> Self {
        let squared = rows.iter().map(|i| f64::from(features.row(*i).squared_norm()) + 1.0).collect();
        Self { features, rows, squared }
    }

    /// Solves one class from the dual point given, which is left at the solution.
    fn solve(&self, y: &[f64], options: &SvmOptions, dual: &mut [f64]) -> Plane {
        let mut plane = self.plane_of(y, dual);
        if !self.coordinate_descent(y, options, dual, &mut plane) && options.newton {
            self.newton(y, options, &mut plane);
            // At the optimum alpha_i = 2 C max(0, 1 - y_i f_i): the next C can start from it.
            for (i, alpha) in dual.iter_mut().enumerate() {
                *alpha = 2.0 * options.c * (1.0 - y[i] * plane.score(self.features, self.rows[i])).max(0.0);
            }
        }
        plane
    }

    fn plane_of(&self, y: &[f64], dual: &[f64]) -> Plane {
        let mut plane = Plane { w: vec![0.0; self.features.dim()], b: 0.0 };
        for (i, alpha) in dual.iter().enumerate().filter(|(_, alpha)| **alpha != 0.0) {
            self.step(&mut plane, i, alpha * y[i]);
        }
        plane
    }

    #[inline]
    fn step(&self, plane: &mut Plane, i: usize, scale: f64) {
        self.features.row(self.rows[i]).add_to(&mut plane.w, scale as f32);
        plane.b += scale;
    }

    /// True when it converged.
    fn coordinate_descent(&self, y: &[f64], options: &SvmOptions, dual: &mut [f64], plane: &mut Plane) -> bool {
        let diagonal = 0.5 / options.c;
        let mut random = Fixed::new(0x5CB1_1234);
        let mut order: Vec<u32> = (0..self.rows.len() as u32).collect();
        let mut active = order.len();
        let mut shrink_above = f64::INFINITY;
        for _ in 0..options.max_epochs {
            if parallel::stopped() {
                return true;
            }
            let (mut greatest, mut least) = (f64::NEG_INFINITY, f64::INFINITY);
            random.shuffle(&mut order[..active]);
            let mut at = 0;
            while at < active {
                let i = order[at] as usize;
                let alpha = dual[i];
                let gradient = y[i] * plane.score(self.features, self.rows[i]) - 1.0 + alpha * diagonal;
                let projected = if alpha == 0.0 {
                    if gradient > shrink_above {
                        active -= 1;
                        order.swap(at, active);
                        continue;
                    }
                    gradient.min(0.0)
                } else {
                    gradient
                };
                greatest = greatest.max(projected);
                least = least.min(projected);
                if projected.abs() > 1e-12 {
                    dual[i] = (alpha - gradient / (self.squared[i] + diagonal)).max(0.0);
                    self.step(plane, i, (dual[i] - alpha) * y[i]);
                }
                at += 1;
            }
            if greatest - least <= options.tolerance {
                if active == order.len() {
                    return true;
                }
                // Converged on what was kept: look at everything once more.
                active = order.len();
                shrink_above = f64::INFINITY;
            } else {
                shrink_above = if greatest > 0.0 { greatest } else { f64::INFINITY };
            }
        }
        false
    }

    /// Newton steps on the primal, each solved by conjugate gradients, with a halving line search.
    fn newton(&self, y: &[f64], options: &SvmOptions, plane: &mut Plane) {
        let c = options.c;
        let dim = self.features.dim();
        let mut scores = self.scores(plane);
        let mut value = self.objective(y, c, plane, &scores);
        let mut start = None;
        for _ in 0..100 {
            // gradient = (w, b) + 2C sum_{i violated} (f_i - y_i) x_i
            let residual: Vec<f64> =
                scores.iter().zip(y).map(|(f, y)| if y * f < 1.0 { 2.0 * c * (f - y) } else { 0.0 }).collect();
            let mut gradient = self.transpose_times(&residual);
            gradient.iter_mut().zip(plane.w.iter().map(|w| f64::from(*w)).chain([plane.b])).for_each(|(g, w)| *g += w);
            let norm = norm(&gradient);
            let start = *start.get_or_insert(norm);
            // H d = -gradient, with H = I + 2C X_A' X_A
            let active: Vec<bool> = scores.iter().zip(y).map(|(f, y)| y * f < 1.0).collect();
            let goal = norm * (norm / start).sqrt().clamp(1e-3, 0.1);
            let mut direction = vec![0.0; dim + 1];
            let mut rest: Vec<f64> = gradient.iter().map(|g| -g).collect();
            let mut search = rest.clone();
            let mut squared = inner(&rest, &rest);
            for _ in 0..250 {
                if parallel::stopped() {
                    return;
                }
                let probe = Plane { w: search[..dim].iter().map(|s| *s as f32).collect(), b: search[dim] };
                let along: Vec<f64> = self
                    .scores(&probe)
                    .iter()
                    .zip(&active)
                    .map(|(f, active)| if *active { 2.0 * c * f } else { 0.0 })
                    .collect();
                let mut image = self.transpose_times(&along);
                image.iter_mut().zip(&search).for_each(|(h, s)| *h += s);
                let length = squared / inner(&search, &image);
                direction.iter_mut().zip(&search).for_each(|(d, s)| *d += length * s);
                rest.iter_mut().zip(&image).for_each(|(r, h)| *r -= length * h);
                let next = inner(&rest, &rest);
                if next.sqrt() <= goal {
                    break;
                }
                search.iter_mut().zip(&rest).for_each(|(s, r)| *s = r + next / squared * *s);
                squared = next;
            }
            let slope = inner(&gradient, &direction);
            let before = value;
            let mut length = 1.0;
            loop {
                let trial = Plane {
                    w: plane.w.iter().zip(&direction).map(|(w, d)| (f64::from(*w) + length * d) as f32).collect(),
                    b: plane.b + length * direction[dim],
                };
                let trial_scores = self.scores(&trial);
                let trial_value = self.objective(y, c, &trial, &trial_scores);
                if trial_value <= value + 1e-4 * length * slope {
                    (*plane, scores, value) = (trial, trial_scores, trial_value);
                    break;
                }
                length /= 2.0;
                if length < 1e-6 {
                    return; // no descent left at this precision
                }
            }
            if before - value <= 1e-3 * options.tolerance * value {
                return;
            }
        }
    }

    fn scores(&self, plane: &Plane) -> Vec<f64> {
        self.rows.iter().map(|row| plane.score(self.features, *row)).collect()
    }

    fn objective(&self, y: &[f64], c: f64, plane: &Plane, scores: &[f64]) -> f64 {
        let loss: f64 = scores.iter().zip(y).map(|(f, y)| (1.0 - y * f).max(0.0).powi(2)).sum();
        let squared: f64 = plane.w.iter().map(|w| f64::from(*w).powi(2)).sum();
        0.5 * (squared + plane.b * plane.b) + c * loss
    }

    /// `sum_i scale_i x_i`, the bias last. Rows with scale 0 cost nothing.
    fn transpose_times(&self, scale: &[f64]) -> Vec<f64> {
        let mut sum = Plane { w: vec![0.0; self.features.dim()], b: 0.0 };
        for (i, scale) in scale.iter().enumerate().filter(|(_, scale)| **scale != 0.0) {
            self.step(&mut sum, i, *scale);
        }
        sum.w.iter().map(|w| f64::from(*w)).chain([sum.b]).collect()
    }
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    inner(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Overlapping clouds around the corners of a simplex, dense and sparse.
    fn clouds(classes: u32, each: usize, dim: usize, start: u64) -> (Features, Features, Vec<u32>) {
        let mut random = Fixed::new(start);
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        let (mut offsets, mut index, mut value) = (vec![0], Vec::new(), Vec::new());
        for i in 0..classes as usize * each {
            let label = (i % classes as usize) as u32;
            for j in 0..dim {
                let x = (random.normal() + if j == label as usize { 2.0 } else { 0.0 }) as f32;
                values.push(x);
                index.push(j as u32);
                value.push(x);
            }
            offsets.push(index.len());
            labels.push(10 * label);
        }
        (Features::dense(values, dim), Features::sparse(offsets, index, value, dim), labels)
    }

    /// The gradient of the primal objective, which is zero at the optimum only.
    fn gradient(features: &Features, y: &[f64], c: f64, plane: &Plane) -> f64 {
        let rows: Vec<usize> = (0..features.len()).collect();
        let problem = Problem::new(features, &rows);
        let residual: Vec<f64> = problem
            .scores(plane)
            .iter()
            .zip(y)
            .map(|(f, y)| if y * f < 1.0 { 2.0 * c * (f - y) } else { 0.0 })
            .collect();
        let sum = problem.transpose_times(&residual);
        let rest: Vec<f64> =
            sum.iter().zip(plane.w.iter().map(|w| f64::from(*w)).chain([plane.b])).map(|(g, w)| g + w).collect();
        norm(&rest)
    }

    #[test]
    fn both_solvers_reach_the_optimum() {
        let (dense, sparse, labels) = clouds(2, 150, 8, 3);
        let rows: Vec<usize> = (0..dense.len()).collect();
        let y = signs(&labels, &rows, 10);
        for c in [0.01, 1.0, 30.0] {
            for (features, max_epochs) in [(&dense, 5000), (&dense, 0), (&sparse, 5000), (&sparse, 0)] {
                let options = SvmOptions { c, tolerance: 1e-5, max_epochs, newton: max_epochs == 0 };
                let problem = Problem::new(features, &rows);
                let plane = problem.solve(&y, &options, &mut vec![0.0; rows.len()]);
                let scale = gradient(features, &y, c, &Plane { w: vec![0.0; 8], b: 0.0 });
                let left = gradient(features, &y, c, &plane) / scale;
                assert!(left < 5e-3, "C={c} epochs={max_epochs}: {left}");
            }
        }
    }

    #[test]
    fn learns_several_classes_and_repeats_itself() {
        let (train, sparse, labels) = clouds(4, 200, 6, 5);
        let (test, _, truth) = clouds(4, 200, 6, 6);
        let model = LinearSvm::fit(&train, &labels, &SvmOptions::default()).unwrap();
        let found = model.accuracy(&test, &truth);
        assert!(found > 0.78, "{found}"); // the best possible is about 0.82
        let again = LinearSvm::fit(&train, &labels, &SvmOptions::default()).unwrap();
        assert_eq!(model.predict(&test), again.predict(&test));
        let other = LinearSvm::fit(&sparse, &labels, &SvmOptions::default()).unwrap();
        let agree = accuracy(&model.predict(&test), &other.predict(&test));
        assert!(agree > 0.99, "{agree}");
    }

    #[test]
    fn folds_hold_their_share_of_every_class() {
        let labels: Vec<u32> = (0..103).map(|i| if i % 10 == 0 { 7 } else { 1 }).collect();
        let fold_of = stratified_folds(&labels, &[1, 7], 5);
        for fold in 0..5 {
            let rare = (0..103).filter(|i| fold_of[*i] == fold && labels[*i] == 7).count();
            assert!((2..=3).contains(&rare), "fold {fold}: {rare}");
        }
    }

    #[test]
    fn the_choice_of_c_avoids_overfitting() {
        // Forty attributes of noise beside the signal: a large C fits the noise.
        let (train, _, labels) = clouds(2, 40, 60, 8);
        let choice = choose_c(&train, &labels, &[1e-3, 1e-2, 1e-1, 1.0, 10.0], 5).unwrap();
        assert!(choice.c < 1.0, "{choice:?}");
        assert!(choose_c(&train, &labels, &[], 5).is_err());
        let both = (&train, &labels[..]);
        let one = LinearSvm::fit(&train, &labels, &SvmOptions { tolerance: 1e-3, ..SvmOptions::default() }).unwrap();
        assert_eq!(train_and_test(both, both, Some(1.0)).unwrap(), one.accuracy(&train, &labels));
        assert!(
            train_and_test(both, both, None).unwrap() < one.accuracy(&train, &labels),
            "the noise is learnt by heart"
        );
        assert!(train_and_test(both, both, Some(0.0)).is_err());
        assert!(choose_c(&train, &labels[1..], &[1.0], 5).is_err());
        assert!(LinearSvm::fit(&train, &vec![3; train.len()], &SvmOptions::default()).is_err());
    }
}
