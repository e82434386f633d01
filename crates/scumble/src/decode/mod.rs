//! What the whole table tells about each row: noise removed from a release through what its rows have in common.
//!
//! Post-processing, fitted on the release itself. With `y = x + n`, mean `mu` and covariance `S` of the released rows and
//! noise of known variance `s2` in each coordinate: an eigenvalue `l` of S, in units of s2, holds signal if it is above
//! the edge `(1 + sqrt(k/n))^2` that noise alone reaches; the spiked model (Baik and Silverstein 2006) then says how much,
//! `c = (t + sqrt(t^2 - 4l))/2 - 1` with `t = l + 1 - k/n`. The decoded row is
//! `mu + sum over those of v c/(c+1) <v, y - mu>`, the linear estimate of least error.
//!
//! It needs many rows of one population, and can hurt: see [`Refused`]. Nothing decodes unless asked to.
//!
//! [`Method::Bounds`] needs no fit: it moves each value to the nearest that a row can have.

pub(crate) mod eigen;
mod file;
mod fit;
pub(crate) mod moments;
mod scale;

pub use file::{DecodeFileError, write};

use crate::error::{Fault, Kind, LibraryError, SearchError};
use crate::files::memory;
use crate::release::Release;
use crate::search::{self, Bounds, Hit, Metric, Queries, Reading, each_product};
use rayon::prelude::*;
use scale::Scales;
use scumble_core::parallel;
use scumble_core::simd::{self, Level};
use std::str::FromStr;

/// How rows are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Each value becomes the nearest that a row can have by the public range: what is beyond is noise. The nearest
    /// point of a box is nearer to every point inside, so no row moves away from the truth; means and inner products
    /// gain a bias.
    Bounds,
    /// The linear estimate of least error.
    Wiener,
    /// The same for rows of very different length: each is a common law times a scale of its own, learned from the table.
    Scale,
}

impl FromStr for Method {
    type Err = LibraryError;

    fn from_str(name: &str) -> Result<Self, LibraryError> {
        match name {
            "bounds" => Ok(Self::Bounds),
            "wiener" => Ok(Self::Wiener),
            "scale" => Ok(Self::Scale),
            _ => Err(SearchError::UnknownMethod.into()),
        }
    }
}

/// Why a release is not decoded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A different projection, or a search that is not possible.
    #[error(transparent)]
    Parameter(#[from] LibraryError),
    /// Decoding is known to hurt here, or its conditions do not hold.
    #[error("not decoded: {0}")]
    Refused(#[from] Refused),
}

impl Fault for DecodeError {
    fn kind(&self) -> Kind {
        match self {
            Self::Parameter(error) => error.kind(),
            Self::Refused(_) => Kind::NotIdentifiable,
        }
    }
}

/// A condition that does not hold.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Too few rows to know their covariance.
    #[error("{rows} rows are too few for {k} coordinates: it takes {} and more, and hurts with fewer", fit::ROWS_PER_COORDINATE * k)]
    FewRows {
        /// Number of rows.
        rows: usize,
        /// Number of coordinates.
        k: usize,
    },
    /// Nearly all that the table shows is noise.
    #[error("the signal is {:.1}% of the noise: below {:.0}% decoding loses more than it finds", 100.0 * share, 100.0 * fit::LEAST_SIGNAL)]
    Noise {
        /// Signal over noise.
        share: f64,
    },
    /// A direction of the table in which nothing varies: the noise of symbols, which is known by such directions, is none.
    #[error(
        "the table has a coordinate, or a sum of some, that is the same in every row: how much noise it has cannot be told"
    )]
    Still,
    /// Too many coordinates for their covariance.
    #[error("{k} coordinates are too many: at most {} are decoded", fit::MOST_COORDINATES)]
    Wide {
        /// Number of coordinates.
        k: usize,
    },
    /// The range in which the coordinates of a row lie is not known.
    #[error(
        "the rows of {0} have no public bounds coordinate by coordinate: only values of OPORP, bins and no projection do"
    )]
    Unbounded(String),
    /// The noise of a coordinate is not known.
    #[error("the noise of {0} is not known coordinate by coordinate")]
    Law(String),
}

/// A decoder of the rows of a release. Holds public numbers only.
#[derive(Debug, Clone)]
pub struct Decoder {
    k: usize,
    way: Way,
}

#[derive(Debug, Clone)]
enum Way {
    Bounds(Bounds),
    Fitted(Box<Fitted>),
}

/// What was fitted on a release.
#[derive(Debug, Clone)]
struct Fitted {
    k: usize,
    centre: Vec<f32>,
    /// Unit vectors that hold signal, strongest first, one after the other.
    basis: Vec<f32>,
    /// The same, coordinate by coordinate.
    across: Vec<f32>,
    /// Variance of the signal along each.
    signal: Vec<f64>,
    scales: Option<Scales>,
}

/// Decoded rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// Number of coordinates of a row.
    pub k: usize,
    /// Row by row.
    pub values: Vec<f32>,
}

impl Decoded {
    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.k..][..self.k]
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.k
    }

    /// True when there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Rows that one task decodes.
const TASK_ROWS: usize = 1 << 10;

/// Rows that are decoded together.
const TILE: usize = 8;

impl Decoder {
    /// How many directions of the table hold signal: all, unless that was fitted.
    pub fn rank(&self) -> usize {
        match &self.way {
            Way::Bounds(_) => self.k,
            Way::Fitted(fitted) => fitted.rank(),
        }
    }

    /// Decodes all rows of a release with the same projection: the one that was fitted, or queries of its population.
    pub fn decode(&self, release: &Release) -> Result<Decoded, DecodeError> {
        let mut values = memory::zeros(release.len() * self.k);
        parallel::run(|| self.decode_rows(release, 0, &mut values))?;
        Ok(Decoded { k: self.k, values })
    }

    /// Decodes as many rows from `first` on as `out` has room for.
    pub(crate) fn decode_rows(&self, release: &Release, first: usize, out: &mut [f32]) -> Result<(), DecodeError> {
        match &self.way {
            Way::Bounds(bounds) => {
                out.par_chunks_mut(self.k).enumerate().for_each(|(i, row)| {
                    release.encoder().decode(release.row(first + i), row);
                    bounds.apply(row);
                });
                Ok(())
            }
            Way::Fitted(fitted) => fitted.decode_rows(release, first, out),
        }
    }
}

impl Fitted {
    fn rank(&self) -> usize {
        self.signal.len()
    }

    fn decode_rows(&self, release: &Release, first: usize, out: &mut [f32]) -> Result<(), DecodeError> {
        let noise = fit::noise(release)?;
        let kept: Vec<f32> = self.signal.iter().map(|c| (c / (c + noise)) as f32).collect();
        let level = simd::level();
        out.par_chunks_mut(TASK_ROWS * self.k).enumerate().for_each_init(
            || vec![0.0; TILE * self.rank()],
            |along, (task, out)| {
                for (tile, out) in out.chunks_mut(TILE * self.k).enumerate() {
                    self.decode_tile(level, release, first + task * TASK_ROWS + tile * TILE, &kept, noise, along, out);
                }
            },
        );
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // what a tile is decoded with; the loop above is its only caller
    fn decode_tile(
        &self,
        level: Level,
        release: &Release,
        first: usize,
        kept: &[f32],
        noise: f64,
        along: &mut [f32],
        out: &mut [f32],
    ) {
        let (k, rank) = (self.k, self.rank());
        let rows = out.len() / k;
        for (r, row) in out.chunks_exact_mut(k).enumerate() {
            release.encoder().decode(release.row(first + r), row);
            row.iter_mut().zip(&self.centre).for_each(|(x, centre)| *x -= centre);
        }
        let along = &mut along[..rows * rank]; // the rows along the basis
        each_product(level, k, out, &self.basis, &mut |i, r, product| along[r * rank + i] = product);
        for along in along.chunks_exact_mut(rank) {
            match &self.scales {
                None => along.iter_mut().zip(kept).for_each(|(x, kept)| *x *= kept),
                Some(scales) => scales.shrink(&self.signal, noise, along),
            }
        }
        each_product(level, rank, along, &self.across, &mut |j, r, product| out[r * k + j] = product + self.centre[j]);
    }
}

/// Checks that such queries can be compared with decoded rows.
fn check(release: &Release, queries: Queries<'_>, top: usize, metric: Metric) -> Result<(), LibraryError> {
    simd::check()?;
    if metric == Metric::Hamming || top == 0 {
        return Err(SearchError::Decoded.into());
    }
    if let Queries::Released(other) = queries {
        release.certificate().same_projection(other.certificate())?;
    }
    Ok(())
}

/// The `top` best rows for every query among the decoded rows of a release; released queries are decoded alike.
///
/// Ranks by cosine, or by inner product if asked to.
pub fn search(
    release: &Release,
    queries: Queries<'_>,
    top: usize,
    metric: Option<Metric>,
    method: Method,
) -> Result<Vec<Vec<Hit>>, DecodeError> {
    let metric = metric.unwrap_or(Metric::Cosine);
    check(release, queries, top, metric)?;
    parallel::run(|| find(release, queries, top, metric, method))
}

fn find(
    release: &Release,
    queries: Queries<'_>,
    top: usize,
    metric: Metric,
    method: Method,
) -> Result<Vec<Vec<Hit>>, DecodeError> {
    let decoder = Decoder::fit(release, method)?;
    let rows = decoder.decode(release)?;
    // Bins of a public partition count by their size, on both sides.
    let reading = Reading::of_exact(release.mechanism());
    let read = |mut row: Vec<f32>| {
        reading.apply(&mut row);
        row
    };
    let asked = match queries {
        Queries::Released(other) => {
            decoder.decode(other)?.values.chunks_exact(rows.k).map(|row| read(row.to_vec())).collect()
        }
        Queries::Exact(_) => search::query_values(release.mechanism(), queries),
    };
    let decoded = |row: usize, out: &mut [f32]| {
        out.copy_from_slice(rows.row(row));
        reading.apply(out);
    };
    Ok(search::nearest(simd::level(), rows.len(), &decoded, &asked, top, metric))
}
