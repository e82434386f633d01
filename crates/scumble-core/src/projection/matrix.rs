//! A projection: W as a function of (kind, seed, p, k), and what the guarantees need to know about it.

use super::dense::{Dense, WeightLaw};
use super::oporp::Oporp;
use super::{Bins, ProjectionKind, PublicTable, Seed};
use crate::error::{ParameterError, ProjectionError};
use crate::vectors::PrivateRow;
use std::fmt;
use std::sync::Arc;

/// Attributes are numbered in 32 bits.
const LARGEST_DIM: u64 = 1 << 32;
/// Keeps row sums of squared weights within 64 bits.
const LARGEST_K: usize = 1 << 24;

/// The most places of attributes that are counted one by one.
const MOST_COUNTED: usize = 1 << 20;

/// A public `p x k` matrix W of integers. Cheap to clone; nothing private ever enters it.
///
/// ```
/// use scumble_core::projection::{Projection, ProjectionKind, Seed};
/// use scumble_core::vectors::PrivateRow;
/// let oporp = Projection::new(ProjectionKind::Oporp { repeats: 1 }, Seed([1; 32]), 784, 256).unwrap();
/// let (row, mut x) = (vec![3; 784], vec![0; 256]);
/// oporp.apply(PrivateRow::Dense(&row), &mut x);
/// assert!(x.iter().all(|&x| i128::from(x.abs()) <= oporp.bound(3)));
/// ```
#[derive(Clone)]
pub struct Projection(Arc<Parts>);

struct Parts {
    kind: ProjectionKind,
    seed: Seed,
    dim: usize,
    k: usize,
    matrix: Matrix,
    centres: Vec<i64>, // subtracted from each output; empty: none
}

enum Matrix {
    Identity,
    Dense(Box<Dense>),
    Oporp(Oporp),
    Components(Arc<PublicTable>),
}

impl fmt::Debug for Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { kind, seed, dim, k, .. } = &*self.0;
        write!(f, "Projection({kind}, {dim} x {k}, {seed:?})")
    }
}

impl Projection {
    /// Version of `docs/projection-format.md` that fixes W. Another W for the same parameters is another version.
    pub const VERSION: u32 = 1;

    /// Fixes W. Costs little: W itself is computed when it is used.
    pub fn new(kind: ProjectionKind, seed: Seed, dim: usize, k: usize) -> Result<Self, ParameterError> {
        if dim == 0 || dim as u64 > LARGEST_DIM {
            return Err(ProjectionError::Dim { dim }.into());
        }
        if k == 0 || k > LARGEST_K {
            return Err(ProjectionError::K { k }.into());
        }
        let dense = |law| Matrix::Dense(Box::new(Dense::new(law, &seed, dim, k)));
        let matrix = match kind {
            ProjectionKind::Identity if k != dim => {
                return Err(ProjectionError::IdentityK { dim, k }.into());
            }
            ProjectionKind::Identity => Matrix::Identity,
            ProjectionKind::Gaussian => dense(WeightLaw::Gaussian),
            ProjectionKind::Uniform => dense(WeightLaw::Uniform),
            ProjectionKind::Rademacher => dense(WeightLaw::Rademacher),
            ProjectionKind::VerySparse { s } => dense(WeightLaw::VerySparse { threshold: sparse_threshold(s)? }),
            ProjectionKind::Oporp { repeats } => {
                if repeats == 0 || !k.is_multiple_of(repeats) {
                    return Err(ProjectionError::Repeats { k, repeats }.into());
                }
                if k / repeats > dim {
                    return Err(ProjectionError::TooManyBins { bins: k / repeats, dim }.into());
                }
                Matrix::Oporp(Oporp::new(&seed, dim, k, repeats))
            }
            ProjectionKind::Bins | ProjectionKind::Components => {
                return Err(ProjectionError::FromFile { kind: kind.into() }.into());
            }
        };
        Ok(Self(Arc::new(Parts { kind, seed, dim, k, matrix, centres: Vec::new() })))
    }

    /// The projection of a public partition; attributes that it leaves out go where OPORP's seed puts them.
    pub fn with_bins(bins: Arc<Bins>, seed: Seed) -> Self {
        let (kind, dim, k) = (ProjectionKind::Bins, bins.dim(), bins.len());
        let matrix = Matrix::Oporp(Oporp::with_bins(&seed, bins));
        Self(Arc::new(Parts { kind, seed, dim, k, matrix, centres: Vec::new() }))
    }

    /// The projection of public components, for values on a grid of this step.
    pub(crate) fn with_components(table: Arc<PublicTable>, seed: Seed, step: f64) -> Self {
        let (dim, k) = table.shape();
        // Sums in a fixed order: the same on every machine.
        let mut centres = vec![0.0; k];
        for (attribute, centre) in table.centre().iter().enumerate() {
            let steps = f64::from(*centre) / step;
            centres.iter_mut().zip(table.row(attribute)).for_each(|(sum, &w)| *sum += f64::from(w) * steps);
        }
        let centres = centres.into_iter().map(|sum| (sum + 0.5).floor().clamp(-1e18, 1e18) as i64).collect();
        let kind = ProjectionKind::Components;
        Self(Arc::new(Parts { kind, seed, dim, k, matrix: Matrix::Components(table), centres }))
    }

    /// The public components.
    fn components(&self) -> Option<&Arc<PublicTable>> {
        match &self.0.matrix {
            Matrix::Components(table) => Some(table),
            _ => None,
        }
    }

    /// The same with public integers subtracted from the outputs: `x_j - c_j`. A public shift moves two neighbours
    /// alike, so no sensitivity changes; it lets a bit be cut, and symbols be placed, around each bin's own median.
    pub(crate) fn centred(&self, centres: Vec<i64>) -> Self {
        let Some(bins) = self.bins().filter(|_| centres.iter().any(|c| *c != 0)) else { return self.clone() };
        let (kind, seed, dim, k) = (self.kind(), self.seed(), self.dim(), self.k());
        let matrix = Matrix::Oporp(Oporp::with_bins(&seed, bins.clone()));
        Self(Arc::new(Parts { kind, seed, dim, k, matrix, centres }))
    }

    /// What is subtracted from each output, in grid steps; empty if nothing is.
    pub fn centres(&self) -> &[i64] {
        &self.0.centres
    }

    /// True if both are the same matrix.
    pub fn equals(&self, other: &Self) -> bool {
        let parts = |p: &Self| (p.kind(), p.seed(), p.dim(), p.k());
        parts(self) == parts(other)
            && self.bins() == other.bins()
            && self.components() == other.components()
            && self.centres() == other.centres()
    }

    /// The public partition, for bins.
    pub fn bins(&self) -> Option<&Arc<Bins>> {
        self.oporp().and_then(Oporp::placed)
    }

    /// How many attributes enter each bin of a public partition with minus, and with plus; `None` for every other kind.
    pub fn bin_signs(&self) -> Option<&[[u64; 2]]> {
        self.oporp().and_then(Oporp::signs)
    }

    /// How many attributes enter each output with minus, and with plus; `None` for a dense matrix, and for more attributes
    /// than are worth counting.
    pub(crate) fn output_signs(&self) -> Option<Vec<[u64; 2]>> {
        match &self.0.matrix {
            Matrix::Identity => Some(vec![[0, 1]; self.k()]),
            Matrix::Oporp(oporp) => oporp.count_signs(MOST_COUNTED),
            Matrix::Dense(_) | Matrix::Components(_) => None,
        }
    }

    /// The weight of each bin of a public partition in comparing rows: `1/sqrt(n_b)`, so that the inner product is that
    /// of the rows with every attribute replaced by its bin's mean. `None` for every other kind.
    pub fn bin_weights(&self) -> Option<Vec<f32>> {
        let weight = |[minus, plus]: &[u64; 2]| 1.0 / ((minus + plus) as f32).sqrt();
        self.bin_signs().map(|signs| signs.iter().map(weight).collect())
    }

    /// The law of W.
    pub fn kind(&self) -> ProjectionKind {
        self.0.kind
    }

    /// The public seed.
    pub fn seed(&self) -> Seed {
        self.0.seed
    }

    /// `p`: attributes of an input row.
    pub fn dim(&self) -> usize {
        self.0.dim
    }

    /// `k`: values of an output row.
    pub fn k(&self) -> usize {
        self.0.k
    }

    /// True when an attribute enters every output, with independent weights.
    pub fn is_dense_matrix(&self) -> bool {
        matches!(self.0.matrix, Matrix::Dense(_))
    }

    /// Row `attribute` of W, computed alone.
    ///
    /// # Panics
    /// If `attribute >= dim` or `out` does not have length `k`.
    pub fn weights(&self, attribute: usize, out: &mut [i32]) {
        assert!(attribute < self.dim(), "attribute outside the dimension");
        assert_eq!(out.len(), self.k(), "one weight an output");
        match &self.0.matrix {
            Matrix::Identity => {
                out.fill(0);
                out[attribute] = 1;
            }
            Matrix::Dense(dense) => dense.weights(attribute, out),
            Matrix::Oporp(oporp) => oporp.weights(attribute, out),
            Matrix::Components(table) => {
                out.iter_mut().zip(table.row(attribute)).for_each(|(out, &w)| *out = w.into());
            }
        }
    }

    /// The outputs that an attribute enters, each with its weight +1 or -1; `None` for a dense matrix, where it enters all.
    pub fn entries(&self, attribute: usize) -> Option<Vec<(usize, i32)>> {
        assert!(attribute < self.dim(), "attribute outside the dimension");
        match &self.0.matrix {
            Matrix::Identity => Some(vec![(attribute, 1)]),
            Matrix::Oporp(oporp) => Some(oporp.entries(attribute)),
            Matrix::Dense(_) | Matrix::Components(_) => None,
        }
    }

    /// Computes the tables that speed up [`apply`](Self::apply), where they fit in memory.
    ///
    /// Not required (they are made once many attributes have been asked for), but before a parallel section it spares
    /// the workers a start without a table.
    pub fn prepare(&self) {
        match &self.0.matrix {
            Matrix::Identity | Matrix::Components(_) => {}
            Matrix::Dense(dense) => dense.prepare(),
            Matrix::Oporp(oporp) => oporp.prepare(),
        }
    }

    /// `x_j = sum_i W_ij q_i`, exactly, minus the public centre of output j where there is one.
    ///
    /// # Panics
    /// If the row or `out` has the wrong length, or a sum could leave 63 bits (see [`bound`](Self::bound)).
    pub fn apply(&self, row: PrivateRow<'_>, out: &mut [i64]) {
        assert_eq!(row.dim(), self.dim(), "row and projection differ in dimension");
        assert_eq!(out.len(), self.k(), "one value an output");
        out.fill(0);
        match &self.0.matrix {
            Matrix::Identity => row.entries().for_each(|(i, q)| out[i] = q),
            Matrix::Dense(dense) => {
                let largest = row.entries().map(|(_, q)| q.abs()).max().unwrap_or(0);
                assert!(self.bound(largest) <= i128::from(i64::MAX), "a projected value could leave 63 bits");
                dense.apply(row, out);
            }
            // 2^32 attributes of 31 bits stay within 63 bits.
            Matrix::Oporp(oporp) => oporp.apply(row, out),
            // Below 2^24 attributes of 31 bits times 15 bits: within 63 bits, except for sums that the bound refuses.
            Matrix::Components(table) => row.entries().for_each(|(i, q)| {
                out.iter_mut().zip(table.row(i)).for_each(|(x, &w)| *x += q * i64::from(w));
            }),
        }
        out.iter_mut().zip(self.centres()).for_each(|(x, c)| *x -= c);
    }

    /// The same in 32 bits, where the bound fits them; dense matrices have their own blocks.
    pub(super) fn apply_i32(&self, row: PrivateRow<'_>, out: &mut [i32]) {
        out.fill(0);
        match &self.0.matrix {
            Matrix::Identity => row.entries().for_each(|(i, q)| out[i] = q as i32),
            Matrix::Oporp(oporp) => oporp.apply(row, out),
            Matrix::Dense(_) | Matrix::Components(_) => unreachable!("rows of a dense matrix go one by one"),
        }
        out.iter_mut().zip(self.centres()).for_each(|(x, &c)| *x -= c as i32); // within the bound
    }

    /// The attributes of OPORP or of bins by bin, for blocks of rows.
    pub(super) fn by_bin(&self) -> Option<&super::oporp::ByBin> {
        self.oporp().map(Oporp::by_bin)
    }

    /// The OPORP that it is, or the bins.
    pub(super) fn oporp(&self) -> Option<&Oporp> {
        match &self.0.matrix {
            Matrix::Oporp(oporp) => Some(oporp),
            _ => None,
        }
    }

    /// The law of a dense matrix.
    pub(super) fn dense_law(&self) -> Option<WeightLaw> {
        match &self.0.matrix {
            Matrix::Dense(dense) => Some(dense.law()),
            _ => None,
        }
    }

    /// True if a dense matrix may be kept in memory.
    pub(super) fn is_kept(&self) -> bool {
        matches!(&self.0.matrix, Matrix::Dense(dense) if dense.is_kept())
    }

    /// W arranged for blocks of rows.
    pub(super) fn dense_plan(&self) -> Option<&super::dense_blocks::DensePlan> {
        match &self.0.matrix {
            Matrix::Dense(dense) => dense.plan(),
            _ => None,
        }
    }

    /// No `|x_j|` is larger when every `|q_i| <= largest`, whatever the seed.
    pub fn bound(&self, largest: i64) -> i128 {
        let weight = match &self.0.matrix {
            Matrix::Identity => 1,
            Matrix::Dense(dense) => self.dim() as i128 * i128::from(dense.law().largest()),
            Matrix::Oporp(oporp) => i128::from(oporp.largest_bin()),
            Matrix::Components(_) => i128::from(self.dim() as u64) << 15,
        };
        let centre = self.centres().iter().map(|c| i128::from(*c).abs()).max().unwrap_or(0);
        weight * i128::from(largest).abs() + centre
    }

    /// The real value of integer weight 1 when the law is normalised to `E[w^2] = 1`.
    pub fn weight_unit(&self) -> f64 {
        match &self.0.matrix {
            Matrix::Identity | Matrix::Oporp(_) => 1.0,
            Matrix::Components(table) => table.scale(),
            Matrix::Dense(dense) => match dense.law() {
                WeightLaw::Gaussian => 1.0 / 65536.0,
                WeightLaw::Uniform => 1.0 / f64::sqrt(21845.0), // (256^2 - 1) / 3
                WeightLaw::VerySparse { threshold } => effective_s(threshold).sqrt(),
                WeightLaw::Rademacher => 1.0,
            },
        }
    }

    /// The real value of one step of `x_j` (times the grid step): with it `x . y` estimates `u . v`.
    pub fn sketch_unit(&self) -> f64 {
        match &self.0.matrix {
            Matrix::Identity => 1.0,
            Matrix::Components(table) => table.scale(),
            Matrix::Dense(_) => self.weight_unit() / (self.k() as f64).sqrt(),
            Matrix::Oporp(oporp) => 1.0 / (oporp.repeats() as f64).sqrt(),
        }
    }

    /// `max_i |W_i|_1`, realised and exact.
    pub fn max_norm1(&self) -> u64 {
        match &self.0.matrix {
            Matrix::Identity => 1,
            Matrix::Dense(dense) if dense.law() == WeightLaw::Rademacher => self.k() as u64,
            Matrix::Dense(dense) => dense.extremes().norm1,
            Matrix::Oporp(oporp) => oporp.repeats() as u64,
            Matrix::Components(_) => (self.k() as u64) << 15,
        }
    }

    /// `max_i |W_i|_2^2`, realised and exact.
    pub fn max_squared_norm2(&self) -> u128 {
        match &self.0.matrix {
            Matrix::Dense(dense) if dense.law() != WeightLaw::Rademacher => dense.extremes().squared_norm2,
            Matrix::Components(_) => (self.k() as u128) << 30,
            _ => u128::from(self.max_norm1()), // weights of absolute value 1 and 0
        }
    }

    /// `max_i |W_ij|` for each output j, realised and exact.
    pub fn max_abs_per_output(&self) -> Vec<u32> {
        match &self.0.matrix {
            Matrix::Dense(dense) if dense.law() != WeightLaw::Rademacher => dense.extremes().per_output.clone(),
            Matrix::Components(_) => vec![1 << 15; self.k()],
            _ => vec![1; self.k()], // no bin is empty
        }
    }

    /// An upper bound on the spectral norm of W, proven up to its last rounding. Memory `8 min(k, 4096)^2` bytes.
    pub fn operator_norm_upper(&self) -> f64 {
        match &self.0.matrix {
            Matrix::Identity => 1.0,
            Matrix::Dense(dense) => dense.operator_norm_upper(),
            // Rows of a common bin are parallel unit vectors: the norm of a repetition is the root of its largest bin.
            Matrix::Oporp(oporp) => sqrt_upper(oporp.repeats() as u64 * oporp.largest_bin()),
            Matrix::Components(_) => sqrt_upper((self.dim() as u64 * self.k() as u64) << 30),
        }
    }

    /// `c` in the variance of the estimators: `1/k` (dense), the chance of a common bin over `t` (OPORP), 0 (none, bins).
    pub fn variance_factor(&self) -> f64 {
        match &self.0.matrix {
            Matrix::Identity => 0.0,
            Matrix::Dense(_) | Matrix::Components(_) => 1.0 / self.k() as f64,
            Matrix::Oporp(oporp) => oporp.collision_rate() / oporp.repeats() as f64,
        }
    }

    /// `E[w^4]` of the law normalised to `E[w^2] = 1`.
    ///
    /// The variance of an inner product holds `c (AB + g^2 + (E[w^4] - 3) sum u_i^2 v_i^2)`, -2 for signs.
    pub fn fourth_moment(&self) -> f64 {
        match &self.0.matrix {
            Matrix::Identity | Matrix::Oporp(_) | Matrix::Components(_) => 1.0,
            Matrix::Dense(dense) => match dense.law() {
                WeightLaw::Gaussian => 3.0,
                WeightLaw::Uniform => (3.0 * 65536.0 - 7.0) / (5.0 * 65535.0) * 3.0,
                WeightLaw::VerySparse { threshold } => effective_s(threshold),
                WeightLaw::Rademacher => 1.0,
            },
        }
    }
}

/// `floor(2^31 / s)`: of 2^32 words this many give +1, and as many give -1.
fn sparse_threshold(s: f64) -> Result<u32, ParameterError> {
    if !(1.0..=f64::from(1u32 << 31)).contains(&s) {
        return Err(ProjectionError::VerySparse { s }.into());
    }
    Ok((f64::from(1u32 << 31) / s) as u32)
}

fn effective_s(threshold: u32) -> f64 {
    f64::from(1u32 << 31) / f64::from(threshold)
}

/// The root of an integer, rounded up.
fn sqrt_upper(square: u64) -> f64 {
    let root = (square as f64).sqrt();
    if (root as u64).checked_mul(root as u64) == Some(square) { root } else { root.next_up() }
}
