//! What a sweep found: one row per measurement, summaries with confidence intervals, CSV and Parquet.

use scumble::columns::Column;
use scumble::files::write_table;
use scumble::release::Encoding;
use std::io::{self, Write};

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The data and the task, as the caller names them.
    pub task: String,
    /// The candidate's name.
    pub design: String,
    /// Id of the mechanism, or `none` for the sketch without privacy.
    pub mechanism: String,
    /// What makes the sketch: `oporp`, public `blocks` or `bins`, `none` for raw values.
    pub sketch: String,
    /// Size of the sketch.
    pub k: usize,
    /// Repetitions `t` of OPORP.
    pub repeats: usize,
    /// How a row is stored.
    pub encoding: Encoding,
    /// Bits that a stored row takes.
    pub bits_per_row: usize,
    /// Infinite without privacy.
    pub epsilon: f64,
    /// 0 for a pure guarantee.
    pub delta: f64,
    /// Which repetition: another projection and other noise.
    pub repetition: usize,
    /// `recall@10`, `accuracy`, the paper's `precision@10`; with ` exact query` where the query is not released.
    pub metric: String,
    /// The measurement.
    pub value: f64,
}

/// Mean of repetitions with the half-width of its 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Average {
    /// Mean.
    pub mean: f64,
    /// Half the width of the interval; 0 for a single repetition.
    pub half: f64,
    /// Repetitions.
    pub n: usize,
}

impl Average {
    /// By Student's law.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n.max(1) as f64;
        if n < 2 {
            return Self { mean, half: 0.0, n };
        }
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        Self { mean, half: student(n - 1) * (variance / n as f64).sqrt(), n }
    }
}

/// The 97.5% point of Student's law.
fn student(freedom: usize) -> f64 {
    const POINTS: [f64; 15] =
        [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131];
    // Beyond the table: Cornish and Fisher's expansion, good to three digits.
    POINTS
        .get(freedom - 1)
        .copied()
        .unwrap_or_else(|| 1.960 + 2.372 / freedom as f64 + 2.822 / (freedom as f64).powi(2))
}

/// Measurements with questions that tables, charts and verdicts ask.
#[derive(Debug, Clone, Default)]
pub struct Outcomes(pub Vec<Outcome>);

impl Outcomes {
    /// The values of one cell, by repetition.
    pub fn values(&self, wanted: impl Fn(&Outcome) -> bool) -> Vec<f64> {
        let mut found: Vec<(usize, f64)> =
            self.0.iter().filter(|o| wanted(o)).map(|o| (o.repetition, o.value)).collect();
        found.sort_by_key(|(repetition, _)| *repetition);
        found.into_iter().map(|(_, value)| value).collect()
    }

    /// The mean of one cell, if it was measured.
    pub fn average(&self, wanted: impl Fn(&Outcome) -> bool) -> Option<Average> {
        let values = self.values(wanted);
        (!values.is_empty()).then(|| Average::of(&values))
    }

    /// Every value of a field once, in the order of appearance.
    pub fn distinct<T: PartialEq>(&self, field: impl Fn(&Outcome) -> T) -> Vec<T> {
        let mut found = Vec::new();
        for value in self.0.iter().map(field) {
            if !found.contains(&value) {
                found.push(value);
            }
        }
        found
    }

    /// Writes comma-separated values with a header.
    pub fn write_csv(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(out, "{}", COLUMNS.join(","))?;
        for o in &self.0 {
            let text = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
            writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},true",
                text(&o.task),
                text(&o.design),
                o.mechanism,
                o.sketch,
                o.k,
                o.repeats,
                o.encoding,
                o.bits_per_row,
                o.epsilon,
                o.delta,
                o.repetition,
                text(&o.metric),
                o.value
            )?;
        }
        out.flush()
    }

    /// Writes a Parquet file.
    pub fn write_parquet(&self, out: impl Write) -> io::Result<()> {
        let text = |field: fn(&Outcome) -> String| Column::Text(self.0.iter().map(field).collect());
        let count = |field: fn(&Outcome) -> usize| Column::Int(self.0.iter().map(|o| field(o) as i64).collect());
        let real = |field: fn(&Outcome) -> f64| Column::Float(self.0.iter().map(field).collect());
        let columns = [
            text(|o| o.task.clone()),
            text(|o| o.design.clone()),
            text(|o| o.mechanism.clone()),
            text(|o| o.sketch.clone()),
            count(|o| o.k),
            count(|o| o.repeats),
            text(|o| o.encoding.to_string()),
            count(|o| o.bits_per_row),
            real(|o| o.epsilon),
            real(|o| o.delta),
            count(|o| o.repetition),
            text(|o| o.metric.clone()),
            real(|o| o.value),
            text(|_| "true".to_owned()),
        ];
        let columns: Vec<_> = COLUMNS.into_iter().zip(&columns).collect();
        write_table(out, &columns, &[])?.flush()
    }
}

/// The last column marks every row, and by its name every file: what was measured on private rows is as private as they
/// are.
const COLUMNS: [&str; 14] = [
    "task",
    "design",
    "mechanism",
    "sketch",
    "k",
    "repeats",
    "encoding",
    "bits_per_row",
    "epsilon",
    "delta",
    "repetition",
    "metric",
    "value",
    "not_private",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(design: &str, repetition: usize, value: f64) -> Outcome {
        Outcome {
            task: "toy, \"small\"".into(),
            design: design.into(),
            mechanism: "dp-oporp".into(),
            sketch: "oporp".into(),
            k: 4,
            repeats: 1,
            encoding: Encoding::F32,
            bits_per_row: 128,
            epsilon: 5.0,
            delta: 1e-6,
            repetition,
            metric: "recall@50".into(),
            value,
        }
    }

    #[test]
    fn intervals_by_students_law() {
        let e = Average::of(&[1.0, 2.0, 3.0]);
        assert_eq!((e.mean, e.n), (2.0, 3));
        assert!((e.half - 4.303 / 3f64.sqrt()).abs() < 1e-9);
        assert_eq!(Average::of(&[7.0]), Average { mean: 7.0, half: 0.0, n: 1 });
        assert!((student(30) - 2.042).abs() < 1e-3 && (student(15) - 2.131).abs() < 1e-3);
    }

    #[test]
    fn cells_come_in_the_order_of_repetitions_and_files_can_be_read() {
        let all = Outcomes(vec![outcome("b", 1, 0.2), outcome("a", 0, 0.5), outcome("b", 0, 0.1)]);
        assert_eq!(all.values(|o| o.design == "b"), [0.1, 0.2]);
        assert_eq!(all.distinct(|o| o.design.clone()), ["b", "a"]);
        assert!(all.average(|o| o.k == 5).is_none());
        let (mut csv, mut parquet) = (Vec::new(), Vec::new());
        all.write_csv(&mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert!(
            csv.lines()
                .nth(1)
                .unwrap()
                .starts_with("\"toy, \"\"small\"\"\",\"b\",dp-oporp,oporp,4,1,f32,128,5,0.000001,1")
        );
        all.write_parquet(&mut parquet).unwrap();
        assert_eq!(&parquet[..4], b"PAR1");
        // Every file says that it is not private, in each row and even without rows.
        assert!(
            csv.lines().next().unwrap().ends_with(",not_private") && csv.lines().skip(1).all(|l| l.ends_with(",true"))
        );
        let mut empty = [Vec::new(), Vec::new()];
        Outcomes::default().write_csv(&mut empty[0]).unwrap();
        Outcomes::default().write_parquet(&mut empty[1]).unwrap();
        for file in [&empty[0], &empty[1], &parquet] {
            assert!(file.windows(11).any(|window| window == b"not_private"));
        }
    }
}
