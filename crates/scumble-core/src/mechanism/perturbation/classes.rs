//! Which row of a symbol table a bin belongs to.

use crate::facts::Fact;

/// A public map from a bin's integer to a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Classes {
    /// The nearest of `per_beta` lattice points per β, ties TOWARD 0, numbered from `-last`; past `last`, its class.
    Lattice {
        /// `B`: grid steps of β.
        steps: u64,
        /// `r`.
        per_beta: u64,
        /// The last lattice point with a row of its own.
        last: u64,
    },
    /// The number of cuts that the bin reaches, `q >= cut`.
    Zones {
        /// Ascending, in grid steps.
        cuts: Vec<i64>,
    },
}

impl Classes {
    /// The class of `q`.
    #[inline]
    pub fn of(&self, q: i64) -> usize {
        match *self {
            Self::Lattice { steps, per_beta, last } => {
                // J = sign(q) ceil(|q| r/B - 1/2). Ties away from 0 would put -1/2 and r - 1/2 at r + 1 points apart.
                let size = q.unsigned_abs().min((last + 1) * steps);
                let point = ((2 * size * per_beta + steps - 1) / (2 * steps)).min(last) as i64;
                (last as i64 + if q < 0 { -point } else { point }) as usize
            }
            Self::Zones { ref cuts } => cuts.iter().map(|&cut| usize::from(q >= cut)).sum(),
        }
    }

    /// How many classes there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Lattice { last, .. } => 2 * *last as usize + 1,
            Self::Zones { cuts } => cuts.len() + 1,
        }
    }

    /// The integers for the certificate.
    pub fn facts(&self) -> Fact {
        Fact::Fields(match self {
            Self::Lattice { steps, per_beta, last } => vec![
                ("of", "nearest lattice point, ties toward 0".into()),
                ("beta_steps", (*steps).into()),
                ("points_per_beta", (*per_beta).into()),
                ("last_point", (*last).into()),
            ],
            Self::Zones { cuts } => {
                vec![("of", "number of cuts reached".into()), ("cut_steps", Fact::list(cuts.iter().copied()))]
            }
        })
    }

    /// The upper borders of all classes but the last, in grid steps. (Which side a border belongs to costs no utility.)
    pub fn borders(&self) -> Vec<f64> {
        match self {
            Self::Lattice { steps, per_beta, last } => {
                let last = *last as i64;
                (-last..last).map(|point| (point as f64 + 0.5) * *steps as f64 / *per_beta as f64).collect()
            }
            Self::Zones { cuts } => cuts.iter().map(|&cut| cut as f64 - 0.5).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn farthest(of: impl Fn(i64) -> i64, b: i64) -> i64 {
        (-60 * b..60 * b)
            .flat_map(|q| (q..=q + b).map(move |moved| (q, moved)))
            .map(|(q, m)| (of(m) - of(q)).abs())
            .max()
            .unwrap()
    }

    #[test]
    fn neighbours_lie_within_r_lattice_points() {
        for (steps, per_beta) in [(1, 1), (2, 1), (7, 1), (8, 2), (9, 2), (10, 4), (6, 8), (5, 3)] {
            for last in [0, 1, 5, 1000] {
                let classes = Classes::Lattice { steps, per_beta, last };
                assert!(farthest(|q| classes.of(q) as i64, steps as i64) <= per_beta as i64, "{classes:?}");
            }
        }
    }

    /// Planted fault: with ties away from 0 two neighbours are r + 1 lattice points apart.
    #[test]
    fn ties_away_from_zero_are_found() {
        let (b, r) = (8i64, 2i64);
        let away = |q: i64| q.signum() * ((2 * q.abs() * r + b) / (2 * b));
        assert_eq!(farthest(away, b), r + 1);
    }

    #[test]
    fn classes_are_those_of_the_formula() {
        let classes = Classes::Lattice { steps: 8, per_beta: 2, last: 3 };
        let points = [(0, 0), (2, 0), (3, 1), (6, 1), (7, 2), (10, 2), (11, 3), (100, 3), (i64::MAX, 3)];
        for (q, point) in points {
            assert_eq!(classes.of(q), 3 + point);
            assert_eq!(classes.of(-q), 3 - point);
        }
        let zones = Classes::Zones { cuts: vec![-4, 0, 1, 9] };
        assert_eq!([-5, -4, -1, 0, 1, 8, 9].map(|q| zones.of(q)), [0, 1, 1, 2, 3, 3, 4]);
    }

    #[test]
    fn borders_lie_between_the_classes() {
        for classes in [Classes::Lattice { steps: 9, per_beta: 2, last: 4 }, Classes::Zones { cuts: vec![-3, 0, 1] }] {
            for q in -40..40i64 {
                let below = classes.borders().iter().filter(|&&border| border < q as f64).count();
                assert_eq!(classes.of(q), below, "{classes:?} {q}");
            }
        }
    }
}
