//! What `./bench` runs beside the peers. `peers TASK key=value ..` prints one line of JSON: seconds of every repetition.
//!
//! `out=FILE` writes the result of one run, so that the caller can check it before it believes the times.

use rayon::ThreadPoolBuilder;
use scumble::columns::Column;
use scumble::decode::{Decoder, Method};
use scumble::files::{ReadOptions, open_release, read_all, read_partition, read_table, row_names, write_release};
use scumble::mechanism::{Classes, Mechanism, MechanismId, Parameters, Required};
use scumble::projection::{Projection, ProjectionKind, Seed, Sum};
use scumble::release::{Release, Releaser};
use scumble::search::{Metric, Queries, search};
use scumble::vectors::{Grid, Range, Rows, Scalars};
use scumble_core::exact::rational;
use scumble_core::noise::{
    BlockFlips, BlockSymbols, FlipTable, Laplace, Noise, NoiseKey, RoundedGaussian, SecretRng, Source, Staircase,
    SymbolTable, staircase_weights,
};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// The arguments, by name.
struct Arguments(HashMap<String, String>);

impl Arguments {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn path(&self, name: &str) -> &Path {
        Path::new(self.text(name).unwrap_or_else(|| panic!("{name}= is missing")))
    }

    fn number<T: std::str::FromStr>(&self, name: &str, otherwise: T) -> T {
        self.text(name).map_or(otherwise, |text| text.parse().ok().unwrap_or_else(|| panic!("{name}={text}")))
    }

    /// Runs the work `reps` times and prints how long each took: of the one thread's own time on a processor (others may
    /// use the machine), of the clock with two threads.
    fn time(&self, mut work: impl FnMut()) {
        work();
        let alone = self.number("threads", 1) == 1;
        let (clock, least) = (Instant::now(), self.number("least", 0.15));
        let now = || if alone { own_seconds() } else { clock.elapsed().as_secs_f64() };
        let seconds: Vec<f64> = (0..self.number("reps", 5))
            .map(|_| {
                // The thread's own time is only told from tick to tick: long runs make it exact.
                let (start, mut runs) = (now(), 0);
                while runs == 0 || now() - start < least {
                    work();
                    runs += 1;
                }
                (now() - start) / f64::from(runs)
            })
            .collect();
        println!("{}", serde_json::json!({ "seconds": seconds, "simd": scumble_core::simd::check().unwrap() }));
    }

    /// Writes a result for the caller to check.
    fn write(&self, bytes: &[u8]) {
        if let Some(out) = self.text("out") {
            std::fs::write(out, bytes).expect("the result can be written");
        }
    }

    fn mechanism(&self, dim: usize) -> Mechanism {
        let id: MechanismId = self.text("mechanism").expect("mechanism=").parse().expect("a mechanism");
        let range = Range::new(self.number("lo", 0.0), self.number("hi", 255.0)).unwrap();
        let (k, epsilon, beta) = (self.number("k", 256), self.number("epsilon", 1.0), self.number("beta", 255.0));
        let mut parameters =
            Parameters::new(Required { mechanism: id, dim, k, epsilon, beta, range, seed: Seed([1; 32]) });
        parameters.delta = self.text("delta").map(|delta| delta.parse().unwrap());
        parameters.symbols = self.text("symbols").map(|symbols| symbols.parse().unwrap());
        parameters.bins = self.text("bins").map(|file| read_partition(Path::new(file)).unwrap());
        parameters.book = self.text("book").map(|file| read_table(Path::new(file)).unwrap());
        Mechanism::new(parameters).unwrap()
    }
}

/// Seconds that this thread has been on a processor.
fn own_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    text.split(' ').next().and_then(|first| first.parse::<f64>().ok()).expect("nanoseconds") / 1e9
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let Some(task) = arguments.next() else { return }; // `cargo bench` without a task
    let pairs = arguments.filter_map(|pair| pair.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned())));
    let arguments = Arguments(pairs.collect());
    let pool = ThreadPoolBuilder::new().num_threads(arguments.number("threads", 1)).build().unwrap();
    pool.install(|| match task.as_str() {
        "release" => release(&arguments),
        "sparse" => sparse(&arguments),
        "project" => project(&arguments),
        "sampler" => sampler(&arguments),
        "hamming" => hamming(&arguments),
        "values" => values(&arguments),
        "read" => read(&arguments),
        "decode" => decode(&arguments),
        "limit" => limit(&arguments),
        _ => panic!("unknown task {task}"),
    });
}

/// Rows in memory to released bytes in memory. `row_by_row=1` takes the plain code, `keyed=1` noise by key and row number.
fn release(arguments: &Arguments) {
    let batch = read_all(arguments.path("data"), &ReadOptions::default()).unwrap();
    let rows = batch.rows();
    let encoding = arguments.text("encoding").map(|encoding| encoding.parse().unwrap());
    let mut releaser = Releaser::new(arguments.mechanism(rows.dim()), encoding).unwrap();
    if arguments.text("row_by_row").is_some() {
        releaser = releaser.row_by_row();
    }
    if arguments.text("keyed").is_some() {
        releaser = releaser.keyed(NoiseKey::from_bytes([7; 32]));
    }
    let (ids, mut bytes) = (Column::Int((0..rows.len() as i64).collect()), Vec::new());
    arguments.time(|| {
        releaser.release(rows, 0, row_names(Some(&ids), 0), &mut bytes).unwrap();
        black_box(&bytes);
    });
    arguments.write(&bytes);
    write_projection(arguments, releaser.mechanism().projection());
}

/// W, as 32-bit integers row by row, for the caller's own product, and what is taken off each output.
fn write_projection(arguments: &Arguments, projection: &Projection) {
    if let Some(out) = arguments.text("centres") {
        std::fs::write(out, projection.centres().iter().flat_map(|c| c.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    }
    let Some(out) = arguments.text("matrix") else { return };
    let mut row = vec![0; projection.k()];
    let mut bytes = Vec::new();
    for attribute in 0..projection.dim() {
        projection.weights(attribute, &mut row);
        bytes.extend(row.iter().flat_map(|w| w.to_le_bytes()));
    }
    std::fs::write(out, bytes).unwrap();
}

/// Sparse rows (raw little-endian files: offsets u64, index u32, values f32) to released bytes.
fn sparse(arguments: &Arguments) {
    let read = |name: &str| std::fs::read(arguments.path(name)).unwrap();
    let offsets: Vec<usize> = read("offsets").as_chunks().0.iter().map(|b| u64::from_le_bytes(*b) as usize).collect();
    let index: Vec<u32> = read("index").as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let values: Vec<f32> = read("values").as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    let dim = arguments.number("dim", 250_000);
    let rows = Rows::sparse(&offsets, &index, Scalars::F32(&values), dim);
    let releaser = Releaser::new(arguments.mechanism(dim), None).unwrap();
    releaser.mechanism().projection().prepare();
    let mut bytes = Vec::new();
    arguments.time(|| {
        releaser.release(rows, 0, |_| Vec::new(), &mut bytes).unwrap();
        black_box(&bytes);
    });
    arguments.write(&bytes);
    // Output << 1 | plus of every attribute: the whole matrix would be too large.
    if let Some(out) = arguments.text("table") {
        let projection = releaser.mechanism().projection();
        let mut row = vec![0; projection.k()];
        let entry = |attribute: usize| {
            projection.weights(attribute, &mut row);
            let at = row.iter().position(|w| *w != 0).unwrap();
            (2 * at as u32 + u32::from(row[at] > 0)).to_le_bytes()
        };
        std::fs::write(out, (0..dim).flat_map(entry).collect::<Vec<u8>>()).unwrap();
    }
}

/// Rows in memory to exact integers in memory.
fn project(arguments: &Arguments) {
    let batch = read_all(arguments.path("data"), &ReadOptions::default()).unwrap();
    let rows = batch.rows();
    let kind: ProjectionKind = arguments.text("kind").expect("kind=").parse().unwrap();
    let k = arguments.number("k", 512);
    let projection = Projection::new(kind, Seed([1; 32]), rows.dim(), k).unwrap();
    let range = Range::new(arguments.number("lo", 0.0), arguments.number("hi", 255.0)).unwrap();
    let grid = Grid::new(range, arguments.number("exponent", 0)).unwrap();
    if projection.bound(grid.largest()) <= i128::from(i32::MAX) {
        project_as::<i32>(arguments, &projection, &grid, rows);
    } else {
        project_as::<i64>(arguments, &projection, &grid, rows);
    }
    write_projection(arguments, &projection);
}

fn project_as<S: Sum + Default + Into<i64>>(
    arguments: &Arguments,
    projection: &Projection,
    grid: &Grid,
    rows: Rows<'_>,
) {
    let mut out = vec![S::default(); rows.len() * projection.k()];
    arguments.time(|| {
        projection.apply_rows(rows, grid, &mut out).unwrap();
        black_box(&mut out);
    });
    if arguments.text("out").is_some() {
        arguments.write(&out.iter().flat_map(|&x| x.into().to_le_bytes()).collect::<Vec<u8>>());
    }
}

/// Samples into a buffer that stays in the cache.
fn sampler(arguments: &Arguments) {
    const VALUES: usize = 8192;
    let mut rng = SecretRng::from_os().unwrap();
    let samples = arguments.number("samples", 1usize << 24);
    let epsilon = arguments.number("epsilon", 1.0);
    let one = rational(epsilon);
    let law = arguments.text("law").expect("law=");
    let noise: Option<Noise> = match law {
        "laplace" => Some(Laplace::new(255, &one).unwrap().into()),
        "staircase" => Some(Staircase::least_variance(255, &one).unwrap().into()),
        "gaussian" => Some(RoundedGaussian::new(&rational(1077.0 / epsilon), 128).unwrap().into()),
        _ => None,
    };
    // Values of a projection: bins of four bytes.
    let x: Vec<i16> = (0..VALUES).map(|i| (i * 7919 % 2041) as i16 - 1020).collect();
    if let Some(noise) = noise {
        let blocks = noise.blocks().unwrap();
        let (mut out, mut wide) = (vec![0i16; VALUES], Vec::new());
        arguments.time(|| {
            for _ in 0..samples / VALUES {
                blocks.fill(&mut out, &mut wide, &mut rng);
                black_box(&out);
            }
        });
        return;
    }
    if law == "coin" {
        let table = FlipTable::ceil_rule(&one).unwrap();
        let rule = |x: i64| match x {
            1.. => (true, x.unsigned_abs().div_ceil(255)),
            _ => (false, x.unsigned_abs() / 255 + 1),
        };
        let flips = BlockFlips::new(&table, 1020, rule).unwrap();
        let mut bits = vec![0; VALUES / 8];
        return arguments.time(|| {
            for _ in 0..samples / VALUES {
                flips.draw(&x, &mut bits, &mut rng);
                black_box(&bits);
            }
        });
    }
    let symbols: usize = law.strip_prefix("symbols").and_then(|n| n.parse().ok()).expect("a law");
    let classes = Classes::Lattice { steps: 255, per_beta: 2, last: 8 };
    let weights = staircase_weights(&one, (2, 1), 8, (symbols, 1));
    let table = SymbolTable::rounded(&weights, 2, &one).unwrap();
    let symbols = BlockSymbols::new(&table, 800, move |x| classes.of(x));
    let (x, mut out): (Vec<i16>, _) = (x.iter().map(|x| x / 2).collect(), vec![0; VALUES]);
    arguments.time(|| {
        for _ in 0..samples / VALUES {
            symbols.draw(&x, &mut out, &mut rng);
            black_box(&out);
        }
    });
}

/// What the machine does when nothing but one thing is asked of it: what a bar that is missed is held against.
fn limit(arguments: &Arguments) {
    match arguments.text("what").expect("what=") {
        // Random bytes, in pieces that stay in the cache.
        "random" => {
            let (mut rng, bytes) = (SecretRng::from_os().unwrap(), arguments.number("bytes", 1usize << 25));
            arguments.time(|| {
                for _ in 0..bytes / 4096 {
                    black_box(rng.words(1024));
                }
            });
        }
        // The hash of a file that is in memory.
        "sha256" => {
            let bytes = std::fs::read(arguments.path("data")).unwrap();
            arguments.time(|| {
                black_box(Sha256::digest(&bytes));
            });
        }
        // A table in memory, as a search has it, every cache line of it read once from end to end.
        "memory" => {
            let rows = as_release(arguments, "data", MechanismId::DpSignoporpCeil, "b1", 1);
            let (bytes, level) = (rows.bytes(), scumble_core::simd::level());
            arguments.time(|| {
                for (at, piece) in (0..).step_by(4096).zip(bytes.chunks(4096)) {
                    scumble_core::simd::ask(level, bytes.get(at + (16 << 10)..at + (20 << 10)).unwrap_or(&[]));
                    piece.iter().step_by(64).for_each(|byte| {
                        black_box(*byte);
                    });
                }
            });
        }
        // Non-zeros that are added to one of two sums of an output: no check, no rounding, no coin.
        "lookups" => {
            let read = |name: &str| std::fs::read(arguments.path(name)).unwrap();
            let offsets: Vec<_> =
                read("offsets").as_chunks().0.iter().map(|b| u64::from_le_bytes(*b) as usize).collect();
            let index: Vec<u32> = read("index").as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
            let values: Vec<i32> = index.iter().map(|i| (i % 257) as i32).collect();
            let (dim, k) = (arguments.number("dim", 250_000), arguments.number("k", 1024));
            let place = |i: usize| ((i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % (2 * k)) as u16;
            let table: Vec<u16> = (0..dim).map(place).collect();
            let mut sums = vec![0i32; 2 * k];
            arguments.time(|| {
                for row in offsets.windows(2) {
                    sums.fill(0);
                    for (&i, &value) in index[row[0]..row[1]].iter().zip(&values[row[0]..row[1]]) {
                        let sum = &mut sums[usize::from(table[i as usize])];
                        *sum = sum.wrapping_add(value);
                    }
                    black_box(&sums);
                }
            });
        }
        what => panic!("unknown limit {what}"),
    }
}

/// Bytes of an `.npy` file of bytes or floats as a release: searching does not care what noise is in it. It is written and
/// opened, so that it lies in memory as the releases of consumers do.
fn as_release(arguments: &Arguments, name: &str, id: MechanismId, encoding: &str, bits_a_value: usize) -> Release {
    let file = std::fs::read(arguments.path(name)).unwrap();
    let header = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    let k = arguments.number("k", 512);
    let mut parameters = Parameters::new(Required {
        mechanism: id,
        dim: k,
        k,
        epsilon: 1.0,
        beta: 1.0,
        range: Range::new(0.0, 1.0).unwrap(),
        seed: Seed([1; 32]),
    });
    parameters.delta = None;
    let releaser = Releaser::new(Mechanism::new(parameters).unwrap(), Some(encoding.parse().unwrap())).unwrap();
    assert_eq!((file.len() - header) % (k * bits_a_value / 8), 0, "whole rows");
    let release = Release::new(&releaser, file[header..].to_vec(), None, None);
    let place = arguments.path(name).with_extension(format!("{}.release.npy", std::process::id()));
    write_release(&place, &release).unwrap();
    let opened = open_release(&place).unwrap();
    std::fs::remove_file(place.with_extension("npy.certificate.json")).unwrap();
    std::fs::remove_file(place).unwrap();
    opened
}

fn hamming(arguments: &Arguments) {
    let release = |name| as_release(arguments, name, MechanismId::DpSignoporpCeil, "b1", 1);
    let (rows, queries) = (release("data"), release("queries"));
    find(arguments, &rows, &queries, Metric::Hamming);
}

fn values(arguments: &Arguments) {
    let release = |name| as_release(arguments, name, MechanismId::DpOporpStaircase, "f32", 32);
    let (rows, queries) = (release("data"), release("queries"));
    find(arguments, &rows, &queries, Metric::InnerProduct);
}

/// A release from its file into memory, with its certificate checked.
fn read(arguments: &Arguments) {
    arguments.time(|| {
        black_box(open_release(arguments.path("data")).unwrap());
    });
}

/// Fits a decoder on a release in memory and decodes all its rows.
fn decode(arguments: &Arguments) {
    let release = open_release(arguments.path("data")).unwrap();
    let mut decoded = None;
    arguments.time(|| {
        decoded = None; // one result at a time
        decoded = Some(Decoder::fit(&release, Method::Wiener).unwrap().decode(&release).unwrap());
    });
    if arguments.text("out").is_some() {
        let values = decoded.expect("timed at least once").values;
        arguments.write(&values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>());
    }
}

fn find(arguments: &Arguments, rows: &Release, queries: &Release, metric: Metric) {
    let top = arguments.number("top", 50);
    let mut hits = Vec::new();
    arguments.time(|| {
        hits = search(rows, Queries::Released(queries), top, Some(metric)).unwrap();
        black_box(&hits);
    });
    let lines = hits.iter().flatten().flat_map(|hit| [hit.row as f64, f64::from(hit.score)]);
    arguments.write(&lines.flat_map(f64::to_le_bytes).collect::<Vec<u8>>());
}
