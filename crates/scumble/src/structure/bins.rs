//! Bins that add attributes which move together, from a public sample or from an earlier release of other rows.
//!
//! The main directions of the sample embed its attributes (of documents only their direction counts, not how often they
//! occur). The set is split at the median of its own main direction, again and again, into k bins of nearly equal size;
//! an attribute's sign is that of its correlation with its bin. Attributes that never occur are left to OPORP's seed.

use super::svd::{Directions, Sample, gram, symmetric_eigen};
use crate::error::{LibraryError, StructureError};
use crate::release::Release;
use scumble_core::mechanism::Perturbation;
use scumble_core::projection::{Bins, Origin, ProjectionKind, Seed};
use scumble_core::vectors::{Rows, Scalars, TableHash};

/// Values that describe the law of a bin in the sample; an odd number, so that the median is one of them.
const QUANTILES: usize = 15;

/// Main directions that embed attributes, where the caller does not say: of rows, and of documents.
const DIRECTIONS: usize = 20;
const DIRECTIONS_OF_DOCUMENTS: usize = 10;

/// How bins are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinsOptions {
    /// Bins.
    pub k: usize,
    /// Main directions that embed the attributes; 20 if not given, 10 for sparse rows.
    pub components: Option<usize>,
}

impl BinsOptions {
    /// k bins from as many directions as suit the rows.
    pub fn new(k: usize) -> Self {
        Self { k, components: None }
    }
}

/// Learns bins, and the law of each, from PUBLIC rows: none of them may be among the rows that will be released.
pub fn learn_bins(rows: Rows<'_>, options: BinsOptions) -> Result<Bins, LibraryError> {
    Coherence::learn(rows, options.components)?.bins(options.k)
}

/// Which attributes of PUBLIC rows move together: learned once, then cut into any number of bins.
pub struct Coherence<'a> {
    rows: Rows<'a>,
    seen: Vec<usize>,
    directions: Directions,
    origin: Origin,
}

impl<'a> Coherence<'a> {
    /// Embeds the attributes in the main directions of the rows. Sparse rows are taken for documents.
    pub fn learn(rows: Rows<'a>, components: Option<usize>) -> Result<Self, LibraryError> {
        if rows.len() < 2 {
            return Err(StructureError::BinsSample.into());
        }
        let (sample, directions) = match rows.is_sparse() {
            false => {
                let sample = Sample::new(rows, true)?;
                let directions = sample.directions(components.unwrap_or(DIRECTIONS).max(1));
                (sample, directions)
            }
            true => {
                let sample = Sample::of_documents(rows)?;
                let directions = sample.directions(components.unwrap_or(DIRECTIONS_OF_DOCUMENTS).max(1));
                (sample, directions.by_direction_alone())
            }
        };
        let origin = Origin::Sample { rows: rows.len() as u64, sha256: TableHash::of(rows).finish() };
        Ok(Self { rows, seen: sample.seen, directions, origin })
    }

    /// `k` bins, and the law of each.
    pub fn bins(&self, k: usize) -> Result<Bins, LibraryError> {
        let bins = partition(&self.seen, &self.directions, self.rows.dim(), k, self.origin)?;
        let laws = laws(self.rows, &bins);
        Ok(bins.with_laws(QUANTILES, laws)?)
    }
}

/// Learns bins from a release without a projection (`raw-...`) of OTHER rows than those that will be released. The release
/// is private already, so the bins are too; a person who is in both pays for both.
pub fn learn_bins_from_release(release: &Release, options: BinsOptions) -> Result<Bins, LibraryError> {
    let mechanism = release.mechanism();
    let (ProjectionKind::Identity, Perturbation::Noise { .. }) =
        (mechanism.projection().kind(), mechanism.perturbation())
    else {
        return Err(StructureError::BinsProjected.into());
    };
    if release.len() < 2 {
        return Err(StructureError::BinsRelease.into());
    }
    let values = release.all_values();
    let sample = Sample::new(Rows::dense(Scalars::F32(&values), release.k()), true)?;
    let mut directions = sample.directions(options.components.unwrap_or(DIRECTIONS).max(1));
    // The noise has the same energy in every direction; what is left of a direction is the rows'.
    let noise = release.len() as f64 * mechanism.noise_moments().map_or(0.0, |noise| noise.variance);
    let kept: Vec<f64> =
        directions.energies.iter().map(|e| (1.0 - noise / e.max(f64::MIN_POSITIVE)).max(0.0)).collect();
    for loadings in directions.loadings.chunks_exact_mut(directions.count) {
        loadings.iter_mut().zip(&kept).for_each(|(loading, kept)| *loading *= kept.sqrt());
    }
    let digest = unhex(&release.certificate().digest)?;
    partition(&sample.seen, &directions, release.k(), options.k, Origin::Release { sha256: digest })
}

fn unhex(text: &str) -> Result<[u8; 32], LibraryError> {
    Ok(Seed::from_hex(text)?.0)
}

/// Bins of the attributes that were seen.
fn partition(
    seen: &[usize],
    directions: &Directions,
    dim: usize,
    k: usize,
    origin: Origin,
) -> Result<Bins, LibraryError> {
    if k == 0 || k > seen.len() {
        return Err(StructureError::BinsAttributes { k, attributes: seen.len() }.into());
    }
    let mut order: Vec<u32> = (0..seen.len() as u32).collect();
    let mut places = vec![None; dim];
    let mut bin = 0;
    split(directions, &mut order, k, &mut |members| {
        for (&member, plus) in members.iter().zip(signs(directions, members)) {
            places[seen[member as usize]] = Some((bin, plus));
        }
        bin += 1;
    });
    Ok(Bins::new(&places, k, origin)?)
}

/// Splits the members into k parts of nearly equal size, each at the median of its own main direction.
fn split(directions: &Directions, members: &mut [u32], k: usize, take: &mut impl FnMut(&[u32])) {
    if k == 1 {
        return take(members);
    }
    let first = k / 2;
    // No part may get fewer members than bins.
    let cut = (members.len() * first + k / 2) / k;
    let cut = cut.clamp(first, members.len() - (k - first));
    let main = main_direction(directions, members, true);
    let along = |member: u32| -> f64 { row(directions, member).iter().zip(&main).map(|(a, b)| a * b).sum() };
    let mut keyed: Vec<(f64, u32)> = members.iter().map(|&member| (along(member), member)).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    members.iter_mut().zip(&keyed).for_each(|(member, (_, at))| *member = *at);
    let (low, high) = members.split_at_mut(cut);
    split(directions, low, first, take);
    split(directions, high, k - first, take);
}

fn row(directions: &Directions, member: u32) -> &[f64] {
    &directions.loadings[member as usize * directions.count..][..directions.count]
}

/// The direction in which the members' embeddings are spread most, around their mean or around zero.
fn main_direction(directions: &Directions, members: &[u32], centred: bool) -> Vec<f64> {
    let r = directions.count;
    let mut mean = vec![0.0; r];
    if centred {
        for &member in members {
            mean.iter_mut().zip(row(directions, member)).for_each(|(mean, a)| *mean += a / members.len() as f64);
        }
    }
    let mut spread = vec![0.0; r * r];
    for block in members.chunks(256) {
        let rows: Vec<f64> =
            block.iter().flat_map(|&member| row(directions, member).iter().zip(&mean).map(|(a, m)| a - m)).collect();
        spread.iter_mut().zip(gram(&rows, r)).for_each(|(spread, part)| *spread += part);
    }
    let (_, vectors) = symmetric_eigen(&spread, r);
    (0..r).map(|i| vectors[i * r]).collect()
}

/// The sign of each member's correlation with what the members have in common; most are plus.
fn signs(directions: &Directions, members: &[u32]) -> Vec<bool> {
    let main = main_direction(directions, members, false);
    let along: Vec<f64> =
        members.iter().map(|&member| row(directions, member).iter().zip(&main).map(|(a, b)| a * b).sum()).collect();
    let flip = along.iter().sum::<f64>() < 0.0;
    along.iter().map(|&a| a == 0.0 || (a > 0.0) != flip).collect()
}

/// The law of every bin's sum in the sample, as equally likely values.
fn laws(rows: Rows<'_>, bins: &Bins) -> Vec<f64> {
    let (n, k) = (rows.len(), bins.len());
    let mut sums = vec![0.0; n * k];
    for row in 0..n {
        rows.for_each_value(row, |attribute, value| {
            if let Some((bin, plus)) = bins.place(attribute) {
                sums[bin * n + row] += if plus { value } else { -value };
            }
        });
    }
    let quantile = |sorted: &[f64], at: usize| sorted[(2 * at + 1) * n / (2 * QUANTILES)];
    let law = |sums: &mut [f64]| -> Vec<f64> {
        sums.sort_by(f64::total_cmp);
        // Seven digits are more than a sample can tell, and keep the file small; -0 is written as 0.
        (0..QUANTILES).map(|at| f64::from(quantile(sums, at) as f32) + 0.0).collect()
    };
    sums.chunks_exact_mut(n).flat_map(law).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attributes in four groups that move together, two of them with a negative partner: the bins are the groups.
    #[test]
    fn groups_that_move_together_become_bins() {
        let (n, p) = (300, 24);
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let mut values = vec![0.0; n * p];
        for row in values.chunks_exact_mut(p) {
            let groups = [4.0 * draw(), 3.0 * draw(), 2.0 * draw(), 1.5 * draw()];
            for (j, value) in row.iter_mut().enumerate().take(20) {
                *value = groups[j % 4] + 0.05 * draw(); // the last four attributes never occur
            }
        }
        let rows = Rows::dense(Scalars::F64(&values), p);
        let bins = learn_bins(rows, BinsOptions::new(4)).unwrap();
        for j in 0..20 {
            assert_eq!(bins.place(j).unwrap(), bins.place(j % 4).unwrap(), "{j}");
        }
        assert!((20..24).all(|j| bins.place(j).is_none()));
        let (bin, _) = bins.place(0).unwrap();
        let law = bins.law(bin).unwrap();
        assert!(law.len() == QUANTILES && law[0] < -5.0 && law[14] > 5.0 && law[7].abs() < 1.5, "{law:?}");
        let hash = TableHash::of(rows).finish();
        assert_eq!(bins.origin(), Origin::Sample { rows: n as u64, sha256: hash });
        assert_eq!(Bins::parse(bins.to_text().as_bytes()).unwrap(), bins);
        assert!(
            learn_bins(rows, BinsOptions::new(21)).is_err()
                && learn_bins(rows.slice(0, 1), BinsOptions::new(2)).is_err()
        );
    }

    #[test]
    fn bins_are_of_nearly_equal_size_for_any_k() {
        let values: Vec<f64> = (0..50 * 37).map(|i| ((i * 7919) % 1009) as f64).collect();
        let rows = Rows::dense(Scalars::F64(&values), 37);
        for k in 1..=37 {
            let bins = learn_bins(rows, BinsOptions::new(k)).unwrap();
            let mut sizes = vec![0; k];
            (0..37).for_each(|j| sizes[bins.place(j).unwrap().0] += 1);
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(most - least <= 2, "{k}: {sizes:?}");
        }
    }
}
