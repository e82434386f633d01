//! From estimates to families of figures: intervals, attributes, what the projection adds, what is refused.

use super::summary::{Number, Numbers, Summary, pairs};
use super::{Amplified, Attributes, Family, Figure, Options, Statistics, Told};
use crate::error::StatisticsError;
use crate::release::Release;
use scumble_core::mechanism::{Perturbation, Side, two_sided_quantile};
use scumble_core::projection::{Projection, ProjectionKind};

/// How often an interval may miss.
const MISS: f64 = 0.05;

/// All families of a summary.
pub(super) fn told(
    release: &Release,
    summary: &Summary,
    options: &Options<'_>,
    shuffled: Option<Amplified>,
    rows: Vec<u64>,
) -> Result<Statistics, StatisticsError> {
    let form =
        Form { release, summary, options, linked: shuffled.as_ref().is_some_and(|told| !told.rows_may_be_linked) };
    Ok(Statistics {
        rows,
        target: options.target,
        confidence: 1.0 - MISS,
        false_reports: options.false_reports,
        mean: form.mean(),
        attribute_mean: form.attribute_mean()?,
        sketch_squared_norm: form.sketch_squared_norm(),
        squared_norm: form.squared_norm(),
        covariance: form.covariance(),
        share: form.share(),
        nearest_centroid: form.nearest_centroid(),
        shuffled,
    })
}

struct Form<'a> {
    release: &'a Release,
    summary: &'a Summary,
    options: &'a Options<'a>,
    /// Figures that need whole rows would break the amplified epsilon.
    linked: bool,
}

const LINKED: &str =
    "it needs whole rows: the amplified epsilon holds only where the coordinates of a row are not linked";

impl Form<'_> {
    fn projection(&self) -> &Projection {
        self.release.mechanism().projection()
    }

    /// "of the sketch", or what was done to it before the noise.
    fn clipped(&self) -> Option<&'static str> {
        match self.release.mechanism().perturbation() {
            Perturbation::Noise { clip: Some(_), .. } => Some("the sketch was clipped before the noise"),
            Perturbation::Noise { radius: Some(_), .. } => Some("the rows were clipped to a radius before the noise"),
            Perturbation::Noise { clip: None, radius: None, .. }
            | Perturbation::NoisySign { .. }
            | Perturbation::Flips { .. }
            | Perturbation::Cap(_)
            | Perturbation::Symbols { .. }
            | Perturbation::Individual { .. } => None,
        }
    }

    fn mean(&self) -> Told {
        if self.summary.signs {
            return refused("the release holds bits: see the shares");
        }
        let of = match self.clipped() {
            Some(why) => format!("Mean of each coordinate of the sketch as it was before the noise ({why})"),
            None => "Mean of each coordinate of the sketch".into(),
        };
        self.numbers(of, &self.summary.mean, |j| vec![j])
    }

    fn sketch_squared_norm(&self) -> Told {
        if self.linked {
            return refused(LINKED);
        }
        self.numbers(
            "Mean squared length of the sketches, without the noise".into(),
            &self.summary.sketch_squared_norm,
            |_| Vec::new(),
        )
    }

    /// `|u|^2`: that of the sketch, and what the one public projection adds to all rows alike.
    fn squared_norm(&self) -> Told {
        if self.linked {
            return refused(LINKED);
        }
        if let Some(why) = self.clipped() {
            return refused(format!("{why}, so lengths are too short by an unknown amount"));
        }
        let number = match &self.summary.sketch_squared_norm {
            Ok(numbers) => numbers[0],
            Err(why) => return refused(why.clone()),
        };
        let more = match self.projection_variance() {
            Ok(more) => more,
            Err(why) => return refused(why),
        };
        let number = Number { variance: number.variance + more, ..number };
        self.numbers("Mean squared length of the rows".into(), &Ok(vec![number]), |_| Vec::new())
    }

    /// Over the draw of the projection, `2 c sum over i != j of S_ij^2` with S the second moments of the attributes. Off
    /// the diagonal of a repetition the sketch has `(1 - c) / t` of that sum on average.
    fn projection_variance(&self) -> Result<f64, String> {
        let (projection, k) = (self.projection(), self.release.k());
        let kind = projection.kind();
        let t = kind.repeats();
        if !matches!(kind, ProjectionKind::Identity | ProjectionKind::Oporp { .. }) && !projection.is_dense_matrix() {
            return Err("the projection does not keep lengths: see the squared length of the sketch".into());
        }
        let c = projection.variance_factor() * t as f64;
        if c == 0.0 {
            return Ok(0.0);
        }
        let bins = k / t;
        if bins == 1 {
            return Err("one coordinate does not tell how far the projection's lengths are off".into());
        }
        let second = self.summary.second.as_ref().map_err(Clone::clone)?;
        let within = pairs(k, self.summary.signs).zip(second).filter(|((a, b), _)| a != b && a / bins == b / bins);
        let squares: f64 = within.map(|(_, number)| 2.0 * (number.value * number.value - number.variance)).sum();
        let attributes = squares.max(0.0) * t as f64 / (1.0 - c).max(1.0 / k as f64);
        Ok(2.0 * c / t as f64 * attributes)
    }

    fn covariance(&self) -> Told {
        if self.linked {
            return refused(LINKED);
        }
        let (k, signs) = (self.release.k(), self.summary.signs);
        let of = if signs { "the signs of two coordinates" } else { "each pair of coordinates of the sketch" };
        let all: Vec<(usize, usize)> = match &self.summary.covariance {
            Ok(_) => pairs(k, signs).collect(),
            Err(why) => return refused(why.clone()),
        };
        self.numbers(format!("Covariance of {of}, without the noise"), &self.summary.covariance, |i| {
            vec![all[i].0, all[i].1]
        })
    }

    fn share(&self) -> Told {
        let classes = self.summary.classes;
        let mechanism = self.release.mechanism();
        let of = if classes > 1 {
            "Share of rows in each zone of each coordinate, without the randomisation".into()
        } else if let Perturbation::Flips { side: Side::Above(_), .. } = mechanism.perturbation() {
            let threshold = mechanism.parameters().thresholds.first().unwrap_or(&0.0);
            let step = mechanism.grid().step();
            format!(
                "Share of rows whose coordinate, rounded to a multiple of {step}, is above {threshold}, without the flips"
            )
        } else {
            "Share of rows whose coordinate is positive, without the flips (a zero counts half where a coin decides it)"
                .into()
        };
        self.numbers(of, &self.summary.share, |i| if classes == 1 { vec![i] } else { vec![i / classes, i % classes] })
    }

    fn nearest_centroid(&self) -> Option<Told> {
        let numbers = self.summary.centroid.clone()?;
        if self.linked {
            return Some(refused(LINKED));
        }
        let about = "Share of RELEASED rows, with their noise, by the nearest centroid; how many private rows are nearest \
                     is not identifiable, because how often noise moves a row to another centroid depends on the row";
        Some(self.numbers(about.into(), &Ok(numbers), |c| vec![c]))
    }

    /// Means of attributes: each coordinate is one (raw), or a sum of a few with public signs (OPORP).
    fn attribute_mean(&self) -> Result<Told, StatisticsError> {
        let projection = self.projection();
        if let Attributes::These(list) = &self.options.attributes
            && let Some(outside) = list.iter().find(|&&attribute| attribute >= projection.dim())
        {
            return Err(StatisticsError::NoSuchAttribute { attribute: *outside, dim: projection.dim() });
        }
        if self.summary.signs {
            return Ok(refused(match projection.kind() {
                ProjectionKind::Identity => "the release holds one bit per attribute: see the shares",
                _ => "the release holds bits of sums of attributes: their means are not identifiable",
            }));
        }
        if let Some(why) = self.clipped().filter(|_| projection.kind() != ProjectionKind::Identity) {
            return Ok(refused(format!("{why}, which does not keep the means of single attributes")));
        }
        let means = match &self.summary.mean {
            Ok(means) => means,
            Err(why) => return Ok(refused(why.clone())),
        };
        let known = matches!(projection.kind(), ProjectionKind::Identity | ProjectionKind::Oporp { .. });
        if !known {
            return Ok(refused(
                "each coordinate mixes attributes in a way that does not let them be told apart; raw mechanisms and OPORP \
                 with repetitions do",
            ));
        }
        Ok(self.attributes(means))
    }

    fn attributes(&self, means: &[Number]) -> Told {
        let projection = self.projection();
        let (dim, t) = (projection.dim(), projection.kind().repeats() as f64);
        let c = projection.variance_factor() * t; // the chance that two attributes share a bin of a repetition
        let squared: f64 = means.iter().map(|mean| mean.value * mean.value - mean.variance).sum();
        let number = |attribute: usize| {
            let entries = projection.entries(attribute).expect("OPORP or none");
            // A sketch of t repetitions is divided by sqrt(t); the mean of t estimates by t.
            let scale = 1.0 / t.sqrt();
            let value: f64 = entries.iter().map(|&(at, sign)| f64::from(sign) * means[at].value * scale).sum();
            let variance: f64 = entries.iter().map(|&(at, _)| means[at].variance / t).sum();
            // On average `value^2 = mean^2 + variance + c / t . (the squares of the others)`, and `squared` has them all.
            let others = c / t * ((squared - value * value + variance) / (1.0 - c / t)).max(0.0);
            let moved: f64 = entries.iter().map(|&(at, _)| means[at].moved * scale).sum();
            let rounding = entries.iter().map(|&(at, _)| means[at].rounding * scale).sum();
            Number { value, variance: variance + others, moved, rounding }
        };
        let (chosen, compared) = match &self.options.attributes {
            Attributes::These(list) => (list.clone(), list.len()),
            Attributes::Largest(_) if c == 0.0 => ((0..dim).collect(), dim),
            // Anyone who picks the largest of all has looked at all.
            Attributes::Largest(count) => {
                let mut sizes: Vec<(f64, usize)> = (0..dim).map(|i| (number(i).value.abs(), i)).collect();
                sizes.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                (sizes.iter().take(*count).map(|(_, i)| *i).collect(), dim)
            }
        };
        let picked = matches!(self.options.attributes, Attributes::Largest(_)) && c > 0.0;
        let about = match c > 0.0 {
            true => "Mean of attributes, by count sketch: the interval also covers what others add in the same bins",
            false => "Mean of each attribute",
        };
        let numbers: Vec<Number> = chosen.iter().map(|&attribute| number(attribute)).collect();
        self.family(about.into(), &numbers, compared, picked, |i| vec![chosen[i]])
    }

    fn numbers(&self, about: String, numbers: &Numbers, at: impl Fn(usize) -> Vec<usize>) -> Told {
        match numbers {
            Ok(numbers) => self.family(about, numbers, numbers.len(), false, at),
            Err(why) => refused(why.clone()),
        }
    }

    fn family(
        &self,
        about: String,
        numbers: &[Number],
        compared: usize,
        picked: bool,
        at: impl Fn(usize) -> Vec<usize>,
    ) -> Told {
        let together = (self.options.simultaneous || picked) && compared > 1;
        let z = two_sided_quantile(if together { MISS / compared as f64 } else { MISS });
        let correction = match (together, compared) {
            (_, 0 | 1) => "none needed: one interval".into(),
            (true, m) => {
                let why = if picked { ", because the largest were picked from them" } else { "" };
                format!("Bonferroni over {m} intervals{why}: all hold at once with 95%")
            }
            (false, m) => format!(
                "none: each interval holds with 95% by itself, and of {m} about {:.0} miss; ask for simultaneous intervals \
                 before picking some",
                (MISS * m as f64).ceil()
            ),
        };
        let figure = |(i, number): (usize, &Number)| {
            let error = number.variance.max(0.0).sqrt();
            let half = z * error + number.rounding;
            Figure {
                at: at(i),
                value: number.value,
                error,
                interval: (number.value - half, number.value + half),
                false_reports_move: self.options.false_reports.map(|_| number.moved),
            }
        };
        let figures = numbers.iter().enumerate().map(figure).collect();
        Told::Figures(Family { about, compared, correction, figures })
    }
}

fn refused(why: impl Into<String>) -> Told {
    Told::Refused { refused: why.into() }
}
