"""scumble beside numpy, scipy, scikit-learn, faiss, usearch and OpenDP: same data, one run, results checked first.

A bar is a ratio of times measured one after the other, one thread each, in that thread's own time on a processor (the
clock's for whole commands and for two threads). Each round times the peer, then ours; the table has the median
ratio of all rounds and its spread. `python compare.py --binary PEERS --cli SCUMBLE [--quick] [--only WORD]`.
"""

import argparse, json, math, os, platform, resource, statistics, subprocess, sys, tempfile, time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # a peer's threads that spin after their work would take our cores

import numpy as np
import scipy.sparse as sp

import user_baseline as user

parser = argparse.ArgumentParser()
parser.add_argument("--binary", required=True)
parser.add_argument("--cli", required=True)
parser.add_argument("--quick", action="store_true", help="fewer rounds and no files of gigabytes")
parser.add_argument("--only", default="", help="only measurements whose name has this word")
parser.add_argument("--no-write", action="store_true", help="leave docs/performance.md alone")
parser.add_argument("--python", default="target/python/bin/python", help="an interpreter with pyspark and scumble, as ./test makes it")
parser.add_argument("--folder", help="where the data go (default: a temporary folder)")
options = parser.parse_args()

ROUNDS = 2 if options.quick else 5
folder = options.folder or tempfile.mkdtemp(prefix="scumble-bench-")
os.makedirs(folder, exist_ok=True)
at = lambda name: os.path.join(folder, name)
rng = np.random.default_rng(0)
bars, facts, limits, curves, commands_run = [], [], [], [], {}


def ours(task, threads=1, reps=3, **arguments):
    """Seconds of our runs."""
    command = [options.binary, task, f"threads={threads}", f"reps={reps}"]
    command += [f"{key}={value}" for key, value in arguments.items()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["seconds"]


def cli(*arguments):
    """Runs the command line."""
    subprocess.run([options.cli, *arguments], check=True, capture_output=True)


def timed(work, clock=time.process_time):
    """Seconds of one run: the process's own time, as with ours, since others may use the machine."""
    runs, start = 0, clock()
    while runs == 0 or clock() - start < 0.1:
        work()
        runs += 1
    return (clock() - start) / runs


def wanted(name):
    return options.only in name


def compare(name, bar, peer, task, work=1.0, unit="", peer_work=None, rounds=ROUNDS, **arguments):
    """One line of the table of bars: how many times faster we are, in `rounds` rounds. Tells our speed."""
    if not wanted(name):
        return None
    peer()
    ratios, theirs, mine = [], [], []
    for _ in range(rounds):
        theirs.append(timed(peer) / (peer_work or work))
        mine.append(statistics.median(ours(task, **arguments)) / work)
        ratios.append(theirs[-1] / mine[-1])
    record(name, bar, ratios, 1 / statistics.median(theirs), 1 / statistics.median(mine), unit)
    return 1 / statistics.median(mine)


def limit(name, why, speed, mine, unit):
    """What this machine can do at best, measured in this run by something that does less, and our share of it."""
    limits.append((name, why, f"{speed:,.3g} {unit}", f"{mine:,.3g} {unit}", mine / speed))
    print(f"{name}: {mine:.3g} of {speed:.3g} {unit}, {mine / speed:.2f} of the limit ({why})", flush=True)


def limit_of_parts(name, parts, mine):
    """The same for a whole command, in seconds of processor time: its parts, each alone. Others' work disturbs these little."""
    why = ", ".join(f"{what} {seconds:.2f} s" for what, seconds in parts.items())
    limits.append((name, why, f"{sum(parts.values()):.2f} s of processor time", f"{mine:.2f} s", sum(parts.values()) / mine))
    print(f"{name}: {mine:.2f} s of processor time, of which {sum(parts.values()):.2f} s are its parts alone ({why})", flush=True)


def least(*arguments, **more):
    """Seconds of a part alone: the fastest run, as a limit has to be."""
    return min(ours(*arguments, **more))


def record(name, bar, ratios, theirs, mine, unit):
    ratio = statistics.median(ratios)
    bars.append((name, bar, ratio, min(ratios), max(ratios), theirs, mine, unit))
    verdict = "ok" if ratio >= bar else "MISSED"
    print(f"{name}: {ratio:.3g} x [{min(ratios):.3g} .. {max(ratios):.3g}], bar {bar:g} x: {verdict}"
          f" (peer {theirs:.3g}, ours {mine:.3g} {unit})", flush=True)


def absolute(name, bar, values, unit):
    """A bar that is a speed of ours alone."""
    value = statistics.median(values)
    bars.append((name, bar, value, min(values), max(values), None, value, unit))
    print(f"{name}: {value:.3g} {unit} [{min(values):.3g} .. {max(values):.3g}], bar {bar:g}:"
          f" {'ok' if value >= bar else 'MISSED'}", flush=True)


def within(found, expected, draws, what):
    """A rate within 6 standard errors."""
    error = math.sqrt(max(expected * (1 - expected), 1 / draws) / draws)
    assert abs(found - expected) < 6 * error, f"{what}: {found}, not {expected}"


# ---------------------------------------------------------------- releases

def pixels(n, p=784):
    x = rng.integers(0, 256, (n, p), dtype=np.uint8)
    for i in range(0, n, 1000):
        part = x[i:i + 1000]
        part[rng.random(part.shape, dtype=np.float32) < 0.8] = 0  # as sparse as MNIST
    return x


def check_bits(x, file, matrix, k, epsilon, beta, centres=None):
    """Flip rates by level, against the exact projection, from which the public centres of bins are taken off."""
    w = np.fromfile(matrix, np.int32).reshape(x.shape[1], k)
    part = slice(0, 2000)
    exact = x[part].astype(np.int64) @ w - (0 if centres is None else np.fromfile(centres, np.int64))
    bits = np.unpackbits(np.fromfile(file, np.uint8).reshape(len(x), -1)[part], axis=1)[:, :k]
    level = np.where(exact > 0, -(-exact // beta), -exact // beta + 1)
    for l in range(1, int(level.max()) + 1):
        here = level == l
        if here.sum() > 1000:
            flipped = (bits[here] != (exact[here] > 0)).mean()
            within(flipped, math.exp(-(l - 1) * epsilon) / (1 + math.exp(epsilon)), here.sum(), f"flips at level {l}")


def check_noise(x, file, matrix, k, deviation, name):
    w = np.fromfile(matrix, np.int32).reshape(x.shape[1], k)
    part = slice(0, 2000)
    noise = np.fromfile(file, np.int16).reshape(len(x), k)[part] - x[part].astype(np.int64) @ w
    assert abs(noise.std() / deviation - 1) < 0.02, f"{name}: deviation {noise.std()}, not {deviation}"
    assert abs(noise.mean()) < 6 * deviation / math.sqrt(noise.size), f"{name}: mean {noise.mean()}"


def releases():
    n, p, k = 60_000, 784, 256
    x = pixels(n)
    np.save(at("x8.npy"), x)
    base = dict(data=at("x8.npy"), k=k, epsilon=1)
    laws = [
        ("dp-signoporp-ceil", "sign", 80, 20, {}),
        ("dp-oporp-staircase", "noise", 40, 10, dict(encoding="i16")),
        ("dp-oporp-laplace", "noise", 40, 10, dict(encoding="i16")),
        ("dp-oporp", "noise", 25, 6, dict(encoding="i16", delta=1e-6)),
    ]
    deviations = {"dp-oporp-staircase": 1.3850 * 255, "dp-oporp-laplace": math.sqrt(2) * 255, "dp-oporp": 4.2247 * 255}
    for mechanism, kind, naive_bar, tuned_bar, more in laws:
        name = f"{mechanism}, 60,000 x 784 u8 to 256"
        if not wanted(name):
            continue
        arguments = dict(base, mechanism=mechanism, **more)
        ours("release", reps=1, out=at("out"), matrix=at("w"), **arguments)
        if kind == "sign":
            check_bits(x, at("out"), at("w"), k, 1.0, 255)
            naive, tuned = user.dp_sign_oporp_smooth, user.dp_sign_oporp_smooth_tuned
        else:
            check_noise(x, at("out"), at("w"), k, deviations[mechanism], mechanism)
            naive, tuned = user.dp_oporp, user.dp_oporp_tuned
        speed = compare(f"{name} / naive numpy", naive_bar, lambda: naive(x, k), "release", n, "rows/s", **arguments)
        compare(f"{name} / tuned numpy", tuned_bar, lambda: tuned(x, k), "release", n, "rows/s", **arguments)
        if mechanism == "dp-oporp-laplace" and speed:
            sums = least("project", data=at("x8.npy"), k=k, kind="oporp") / n
            draws = least("sampler", law="laplace", samples=1 << 24) / (1 << 24) * k
            limit(name, "exact sums of the rows, and as many draws, alone", 1 / (sums + draws), speed, "rows/s")
    # From floats, as embeddings come; and the plain code, to see what blocks are worth.
    if wanted("floats"):
        np.save(at("x32.npy"), (x / np.float32(255)).astype(np.float32))
        floats = dict(data=at("x32.npy"), k=k, epsilon=1, lo=0, hi=1, beta=1)
        for mechanism in ("dp-signoporp-ceil", "dp-oporp-staircase"):
            speed = n / statistics.median(ours("release", mechanism=mechanism, **floats))
            facts.append((f"{mechanism} from f32, 784 to 256", f"{speed:,.0f} rows/s"))
        for mechanism in ("dp-signoporp-ceil", "dp-oporp-staircase"):
            speed = n / statistics.median(ours("release", reps=1, mechanism=mechanism, row_by_row=1, **base))
            facts.append((f"{mechanism} from u8, row by row (the plain code)", f"{speed:,.0f} rows/s"))


def symbols_beside_bits():
    """The release of one bit and of three symbols, relative to the sign mechanism."""
    if not wanted("symbols beside bits"):
        return
    n = 60_000
    base = dict(data=at("x8.npy"), k=256, epsilon=2)
    ratios = []
    for _ in range(ROUNDS):
        sign = statistics.median(ours("release", mechanism="dp-signoporp-rr-smooth", **base))
        for what, more in (("bit (ceil)", dict(mechanism="dp-signoporp-ceil")),
                           ("3 symbols", dict(mechanism="dp-oporp-lattice", symbols=3))):
            ratios.append((what, sign / statistics.median(ours("release", **dict(base, **more)))))
    for what in ("bit (ceil)", "3 symbols"):
        mine = [ratio for name, ratio in ratios if name == what]
        record(f"symbols beside bits: release of one {what} / sign mechanism", 0.7, mine, 1, statistics.median(mine), "")


def keyed_beside_fresh():
    """Noise by key and row against fresh noise, one thread."""
    n, k = 60_000, 256
    for what, p, more in (("784 u8", 784, dict(lo=0, hi=255, beta=255)), ("768 f32", 768, dict(lo=0, hi=1, beta=1))):
        name = f"keyed: dp-signoporp-ceil, {what} to 256 bits / fresh"
        if not wanted(name):
            continue
        x = pixels(n, p)
        np.save(at("keyed.npy"), x if p == 784 else (x / np.float32(255)).astype(np.float32))
        arguments = dict(data=at("keyed.npy"), mechanism="dp-signoporp-ceil", k=k, epsilon=1, **more)
        for out in ("out", "again"):
            ours("release", reps=1, least=0, out=at(out), matrix=at("w"), keyed=1, **arguments)
        if p == 784:
            check_bits(x, at("out"), at("w"), k, 1.0, 255)
        assert open(at("out"), "rb").read() == open(at("again"), "rb").read(), "a key gives the same bytes again"
        fresh, keyed = [], []
        for _ in range(ROUNDS):
            fresh.append(statistics.median(ours("release", **arguments)) / n)
            keyed.append(statistics.median(ours("release", keyed=1, **arguments)) / n)
        ratios = [a / b for a, b in zip(fresh, keyed)]
        record(name, 0.5, ratios, 1 / statistics.median(fresh), 1 / statistics.median(keyed), "rows/s")


def whole_records():
    """Rows per second and thread of the whole-record mechanisms."""
    n = 4000
    if not wanted("record"):
        return
    x = rng.standard_normal((n, 384), dtype=np.float32)
    np.save(at("embeddings.npy"), x / np.linalg.norm(x, axis=1, keepdims=True))
    for mechanism, k, bar in (("privcube", 64, 15_000), ("privcube", 128, 3_000), ("signcap", 128, 500_000)):
        arguments = dict(data=at("embeddings.npy"), mechanism=mechanism, k=k, epsilon=10, lo=-1, hi=1, beta=2)
        speeds = [n / t for t in ours("release", reps=ROUNDS, **arguments)]
        absolute(f"record: {mechanism}, 384 f32 to k = {k}", bar, speeds, "rows/s")
    words = rng.standard_normal((16_384, 384), dtype=np.float32)
    np.save(at("words.npy"), words / np.linalg.norm(words, axis=1, keepdims=True))
    cli("book", "--sample", at("words.npy"), "--out", at("words.book"))
    arguments = dict(data=at("embeddings.npy"), mechanism="privbook", book=at("words.book"), k=384, epsilon=10, lo=-1, hi=1, beta=2)
    speeds = [n / t for t in ours("release", reps=ROUNDS, **arguments)]
    absolute("record: privbook, 384 f32, 16,384 words", 2_000, speeds, "rows/s")


def bins_beside_oporp():
    """Public bins of very different sizes against the equal bins of OPORP, same rows."""
    n, k = 60_000, 256
    name = "bins: dp-signoporp-ceil, 784 u8 to 256 learned bins / OPORP"
    if not wanted(name):
        return
    x = pixels(n)
    np.save(at("bins.npy"), x)
    np.save(at("public.npy"), pixels(2000))
    cli("bins", "--sample", at("public.npy"), "-k", str(k), "--out", at("public.bins"))
    arguments = dict(data=at("bins.npy"), mechanism="dp-signoporp-ceil", k=k, epsilon=1)
    ours("release", reps=1, least=0, out=at("out"), matrix=at("w"), centres=at("centres"), bins=at("public.bins"), **arguments)
    check_bits(x, at("out"), at("w"), k, 1.0, 255, at("centres"))
    oporp, bins = [], []
    for _ in range(ROUNDS):
        oporp.append(statistics.median(ours("release", **arguments)) / n)
        bins.append(statistics.median(ours("release", bins=at("public.bins"), **arguments)) / n)
    record(name, 1.0, [a / b for a, b in zip(oporp, bins)], 1 / statistics.median(oporp), 1 / statistics.median(bins), "rows/s")


def decoding():
    """Taking noise off a release in memory, against reading that release from its file; two threads, by the clock."""
    n, p, k = (100_000 if options.quick else 1_000_000), 256, 256
    name = f"decoding {n:,} x 256 f32, two threads / reading the release"
    if not wanted(name):
        return
    directions = rng.standard_normal((8, p), dtype=np.float32) / 8
    file = np.lib.format.open_memmap(at("decoding.npy"), "w+", np.float32, (n, p))
    for i in range(0, n, 50_000):
        file[i:i + 50_000] = np.clip(rng.standard_normal((50_000, 8), dtype=np.float32) @ directions, -1, 1)
    exact = np.array(file[:2000])
    del file
    cli("release", at("decoding.npy"), "--mechanism", "dp-oporp-staircase", "--epsilon", "2", "--beta", "2", "--range=-1,1",
        "--seed", "11" * 32, "-k", str(k), "--out", at("decoding-out.npy"))
    os.remove(at("decoding.npy"))
    ours("decode", threads=2, reps=1, least=0, data=at("decoding-out.npy"), out=at("out"))
    released = np.load(at("decoding-out.npy"), mmap_mode="r")[:2000]
    decoded = np.fromfile(at("out"), np.float32, 2000 * k).reshape(2000, k)
    gram = exact @ exact.T  # of as many outputs as attributes: products are kept
    error = lambda rows: np.abs(rows @ rows.T - gram)[~np.eye(2000, dtype=bool)].mean()
    assert error(decoded) < error(released) / 2, "decoded rows are nearer to the exact ones"
    os.remove(at("out"))
    reading, taking = [], []
    for _ in range(3):
        reading.append(min(ours("read", threads=2, reps=2, data=at("decoding-out.npy"))))
        taking.append(min(ours("decode", threads=2, reps=2, data=at("decoding-out.npy"))))
    size = 4 * n * k / 1e9
    record(name, 0.5, [a / b for a, b in zip(reading, taking)], size / min(reading), size / min(taking), "GB/s")
    os.remove(at("decoding-out.npy"))


# ---------------------------------------------------------------- projections

def dense():
    n, p, k = 20_000, 784, 512
    if not wanted("dense"):
        return
    x8 = pixels(n)
    x16 = rng.integers(-2000, 2001, (n, p)).astype(np.int16)
    np.save(at("d8.npy"), x8)
    np.save(at("d16.npy"), x16)
    x = x8.astype(np.float32)
    w = rng.standard_normal((p, k), dtype=np.float32)
    for name, bar, data, exact, more in (
        ("dense rademacher, 784 u8 to 512", 4, "d8.npy", x8, dict(kind="rademacher")),
        ("dense rademacher, 784 i16 to 512", 2.5, "d16.npy", x16, dict(kind="rademacher", lo=-2000, hi=2000)),
        ("dense gaussian, 784 u8 to 512", 1, "d8.npy", x8, dict(kind="gaussian")),
        ("dense uniform, 784 u8 to 512", 1, "d8.npy", x8, dict(kind="uniform")),
        ("dense very sparse (s = 3), 784 u8 to 512", 1, "d8.npy", x8, {"kind": "very-sparse:3"}),
    ):
        arguments = dict(data=at(data), k=k, **more)
        ours("project", reps=1, out=at("out"), matrix=at("w"), **arguments)
        found = np.fromfile(at("out"), np.int64).reshape(n, k)[:500]
        matrix = np.fromfile(at("w"), np.int32).reshape(p, k).astype(np.int64)
        assert np.array_equal(found, exact[:500].astype(np.int64) @ matrix), name
        compare(f"{name} / numpy sgemm", bar, lambda: x @ w, "project", n, "rows/s", **arguments)
    from sklearn.random_projection import SparseRandomProjection
    sparse = SparseRandomProjection(k, density=1 / 3, dense_output=True, random_state=0).fit(x)
    compare("dense very sparse (s = 3) / scikit-learn SparseRandomProjection", 4, lambda: sparse.transform(x), "project",
            n, "rows/s", rounds=2, data=at("d8.npy"), k=k, kind="very-sparse:3")


def sparse():
    n, p, k, nnz = 10_000, 250_000, 1024, 600
    if not wanted("sparse 250,000"):
        return
    index = np.sort(np.floor(rng.random((n, nnz)) ** 3 * p).astype(np.int32), axis=1)  # a skewed vocabulary
    x = sp.csr_matrix((rng.random(n * nnz, dtype=np.float32), index.ravel(), np.arange(0, n * nnz + 1, nnz)), shape=(n, p))
    x.sum_duplicates()
    x.indptr.astype(np.uint64).tofile(at("offsets"))
    x.indices.astype(np.uint32).tofile(at("index"))
    x.data.tofile(at("values"))
    arguments = dict(offsets=at("offsets"), index=at("index"), values=at("values"), dim=p, k=k, lo=0, hi=1, beta=1,
                     epsilon=1, mechanism="dp-signoporp-ceil")
    ours("sparse", reps=1, out=at("out"), table=at("table"), **arguments)
    table = np.fromfile(at("table"), np.uint32)
    s = sp.csr_matrix((np.where(table & 1, 1, -1).astype(np.float64), (np.arange(p), table >> 1)), shape=(p, k))
    quantised = x.copy().astype(np.float64)
    quantised.data = np.floor(np.minimum(quantised.data, 1) * 256 + 0.5)  # as clipped as ours
    exact = (quantised[:1000] @ s).toarray().astype(np.int64)
    bits = np.unpackbits(np.fromfile(at("out"), np.uint8).reshape(n, -1)[:1000], axis=1)
    level = np.where(exact > 0, -(-exact // 256), -exact // 256 + 1)
    for l in (1, 2):
        here = level == l
        within((bits[here] != (exact[here] > 0)).mean(), math.exp(1 - l) / (1 + math.e), here.sum(), f"sparse, level {l}")
    s = s.astype(np.float32)
    name = f"sparse 250,000 dims ({x.nnz // n} non-zeros) to 1024 private bits"
    speed = compare(f"{name} / scipy (X @ S).toarray()", 8, lambda: (x @ s).toarray(), "sparse", n, "rows/s", **arguments)
    sums = least("limit", what="lookups", offsets=at("offsets"), index=at("index"), dim=p, k=k) / n
    coins = least("sampler", law="coin", samples=1 << 24) / (1 << 24) * k
    limit(name, "non-zeros added to sums by a table, and as many coins as bits, alone", 1 / (sums + coins), speed, "rows/s")


# ---------------------------------------------------------------- samplers

def samplers():
    if not wanted("sampler"):
        return
    import opendp.prelude as dp
    dp.enable_features("contrib", "honest-but-curious")
    n = 10_000
    zeros, domain = [0] * n, dp.vector_domain(dp.atom_domain(T="i64"), size=n)
    gaussian = dp.m.make_gaussian(domain, dp.l2_distance(T="i64"), scale=1077.0)
    laplace = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=255.0)
    response = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=n // 2), dp.discrete_distance(), f=0.5)
    bits = os.urandom(n // 8)
    count = 1 << 24
    for law, bar, peer in (
        ("coin", 3e9, lambda: response(bits)),
        ("staircase", 0.8e9, lambda: laplace(zeros)),
        ("laplace", 0.7e9, lambda: laplace(zeros)),
        ("gaussian", 0.4e9, lambda: gaussian(zeros)),
        ("symbols16", 1.5e9, lambda: laplace(zeros)),
        ("symbols3", 1.5e9, lambda: laplace(zeros)),
    ):
        speeds = [count / t for t in ours("sampler", law=law, samples=count, reps=ROUNDS + 2)]
        absolute(f"sampler {law}", bar, speeds, "samples/s")
        speed = compare(f"sampler {law} / OpenDP (same or nearest law)", 3000, peer, "sampler", count, "samples/s",
                        peer_work=n, law=law, samples=count, rounds=2)
        if law == "coin" and speed:
            drawn = (1 << 25) / least("limit", what="random", bytes=1 << 25)
            limit("sampler coin", "two random bytes per coin, drawn and not used", drawn / 2, speed, "samples/s")


# ---------------------------------------------------------------- search

def searches():
    import faiss
    faiss.omp_set_num_threads(1)
    if wanted("Hamming"):
        n, k = 1_000_000, 512
        rows = rng.integers(0, 256, (n, k // 8), dtype=np.uint8)
        queries = rng.integers(0, 256, (100, k // 8), dtype=np.uint8)
        np.save(at("bits.npy"), rows)
        index = faiss.IndexBinaryFlat(k)
        index.add(rows)
        for count, bar in ((100, 2.5), (1, 1.0)):
            asked = np.ascontiguousarray(queries[:count])
            np.save(at("asked.npy"), asked)
            arguments = dict(data=at("bits.npy"), queries=at("asked.npy"), k=k, top=50)
            ours("hamming", reps=1, out=at("out"), **arguments)
            found = np.fromfile(at("out")).reshape(count, 50, 2)
            distances, _ = index.search(asked, 50)
            assert np.array_equal(found[:, :, 1], np.sort(distances, axis=1)), "distances of the 50 nearest"
            recomputed = np.bitwise_count(rows[found[0, :, 0].astype(int)] ^ asked[0]).sum(axis=1)
            assert np.array_equal(recomputed, found[0, :, 1]), "rows and distances belong together"
            name = f"Hamming top 50, 1M x 512, {count} queries"
            speed = compare(f"{name} / faiss", bar, lambda: index.search(asked, 50), "hamming", count, "queries/s", **arguments)
            if count == 1 and speed:
                reading = least("limit", what="memory", data=at("bits.npy"), k=k)
                limit(name, "the table read once, no distances", 1 / reading, speed, "queries/s")
    if wanted("values"):
        n, k = 100_000, 256
        rows = rng.standard_normal((n, k), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        queries = rows[:100] + 0.1 * rng.standard_normal((100, k), dtype=np.float32)
        np.save(at("rows.npy"), rows)
        np.save(at("asked.npy"), queries)
        arguments = dict(data=at("rows.npy"), queries=at("asked.npy"), k=k, top=50)
        ours("values", reps=1, out=at("out"), **arguments)
        found = np.fromfile(at("out")).reshape(100, 50, 2)
        exact = np.sort(queries.astype(np.float64) @ rows.T.astype(np.float64), axis=1)[:, :-51:-1]
        assert np.allclose(found[:, :, 1], exact, atol=1e-5), "scores of the 50 best"

        def peer():
            scores = queries @ rows.T
            return np.argpartition(-scores, 50, axis=1)[:, :50]

        one = queries[:1]
        np.save(at("one.npy"), one)
        name = "values top 50, 100k x 256 f32, {}"
        speed = compare(name.format("1 query / numpy"), 1.0,
                        lambda: np.argpartition(-(one @ rows.T), 50, axis=1)[:, :50], "values", 1, "queries/s",
                        **dict(arguments, queries=at("one.npy")))
        if speed:
            reading = least("limit", what="memory", data=at("rows.npy"), k=32 * k)
            limit(name.format("1 query"), "the table read once, no products", 1 / reading, speed, "queries/s")
        speed = compare(name.format("100 queries / numpy"), 1.5, peer, "values", 100, "queries/s", **arguments)
        if speed:
            square = rng.standard_normal((2000, 2000), dtype=np.float32)
            products = min(timed(lambda: square @ square) for _ in range(5)) / 2000**3
            limit(name.format("100 queries"), "as many products by sgemm of 2000 x 2000, its best shape; no selection",
                  1 / (products * n * k), speed, "queries/s")
        index = faiss.IndexFlatIP(k)
        index.add(rows)
        compare("values top 50, 100k x 256 f32, 100 queries / faiss IndexFlatIP", 1.0, lambda: index.search(queries, 50),
                "values", 100, "queries/s", **arguments)


def large_search():
    """A file of ten million codes, read once for all queries, beside an index that holds them; two threads, by the clock."""
    name = "search of {} x 256 bits, 100 queries, file to hits, two threads"
    n, k = (1_000_000 if options.quick else 10_000_000), 256
    name = name.format("1M" if options.quick else "10M")
    if not wanted(name):
        return
    import faiss
    data, bits, asked, found = at("large8.npy"), at("large-bits.npy"), at("large-asked.npy"), at("large-found.npy")
    file = np.lib.format.open_memmap(data, "w+", np.uint8, (n, k))
    for i in range(0, n, 100_000):
        file[i:i + 100_000] = rng.integers(0, 256, (100_000, k), dtype=np.uint8)
    np.save(at("asked8.npy"), file[:100])
    del file
    environment = {key: value for key, value in os.environ.items() if key != "RAYON_NUM_THREADS"}
    release = ["--mechanism", "dp-signoporp-ceil", "--epsilon", "1", "--range", "0,255", "--seed", "11" * 32, "-k", str(k)]
    for source, out in ((data, bits), (at("asked8.npy"), asked)):
        subprocess.run([options.cli, "release", source, *release, "--out", out], check=True, capture_output=True)
    os.remove(data)
    rows, queries = np.load(bits), np.load(asked)
    index = faiss.IndexBinaryFlat(k)
    index.add(rows)
    command = [options.cli, "search", bits, "--queries", asked, "--top", "50", "--out", found]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    hits = np.load(found)
    distances = np.sort(np.bitwise_count(rows[hits] ^ queries[:, None]).sum(axis=2), axis=1)
    assert np.array_equal(distances, np.sort(index.search(queries, 50)[0], axis=1)), "distances of the 50 nearest"
    faiss.omp_set_num_threads(2)
    ratios, theirs, mine, memory, work = [], [], [], [], []
    for _ in range(max(3, ROUNDS - 4)):
        start = time.perf_counter()
        index.search(queries, 50)
        theirs.append(time.perf_counter() - start)
        os.remove(found)
        seconds, mib, busy = peak(command, env=environment)
        mine.append(seconds)
        memory.append(mib)
        work.append(busy)
        ratios.append(theirs[-1] / seconds)
    faiss.omp_set_num_threads(1)
    record(f"{name} / faiss IndexBinaryFlat in memory", 2.0, ratios, 100 / statistics.median(theirs),
           100 / statistics.median(mine), "queries/s")
    absolute(f"{name}: 300 MiB over peak memory", 1, [300 / m for m in memory], f"(peak {max(memory):.0f} MiB)")
    limit_of_parts(name, {
        "reading": min(peak(["cat", bits])[2] for _ in range(3)),
        "hash of the file": least("limit", what="sha256", data=bits, reps=2),
        "search of the table in memory": least("hamming", data=bits, queries=asked, k=k, top=50, reps=2),
    }, min(work))
    for path in (bits, asked, found):
        os.remove(path)


# ---------------------------------------------------------------- whole commands

def peak(command, **more):
    """Seconds by the clock, peak memory (MiB) and processor seconds of a command."""
    start, memory = time.perf_counter(), 0
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    while True:
        # The maximum that wait4 tells begins with our own size, from before exec.
        try:
            lines = [line for line in open(f"/proc/{child.pid}/status") if line.startswith("VmHWM")]
            memory = max([memory] + [int(line.split()[1]) for line in lines])
        except OSError:
            pass
        done, status, usage = os.wait4(child.pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.003)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert status == 0, command
    return time.perf_counter() - start, memory / 1024, usage.ru_utime + usage.ru_stime


def command_speed(name, command, out, environment, rounds, bytes_in, beside):
    """Runs a command after `beside` in each round: ratios by the clock, and what scale.md needs to know."""
    ratios, mine, theirs, memory, work = [], [], [], [], []
    for _ in range(rounds):
        theirs.append(beside())
        seconds, mib, busy = peak(command + ["--out", out], env=environment)
        mine.append(seconds)
        memory.append(mib)
        work.append(busy)
        ratios.append(theirs[-1] / seconds)
        written = os.path.getsize(out)
        for path in (out, out + ".certificate.json"):
            if os.path.exists(path):
                os.remove(path)
    commands_run[name] = dict(bytes_in=bytes_in, bytes_out=written, clock=statistics.median(mine),
                              processor=statistics.median(work), memory=max(memory))
    return ratios, theirs, mine, memory


def commands():
    if options.quick or not wanted("command"):
        return
    n, p = 1_000_000, 1024
    path = at("large.npy")
    file = np.lib.format.open_memmap(path, "w+", np.float32, (n, p))
    for i in range(0, n, 10_000):
        file[i:i + 10_000] = rng.random((10_000, p), dtype=np.float32)
    file.flush()
    del file
    environment = dict(os.environ)
    environment.pop("RAYON_NUM_THREADS")
    base = ["--epsilon", "1", "--beta", "1", "--range", "0,1", "--threads", "2", "--seed", "11" * 32, "-k", "256"]
    release = lambda path, mechanism: [options.cli, "release", path, "--mechanism", mechanism] + base
    size = os.path.getsize(path)
    for mechanism, ending in (("dp-signoporp-ceil", "npy"), ("dp-signoporp-ceil", "parquet"), ("dp-oporp-staircase", "npy")):
        name = f"command: {mechanism}, 4.1 GB .npy to .{ending}, two threads"
        ratios, theirs, mine, memory = command_speed(
            name, release(path, mechanism), at("large-out." + ending), environment, max(3, ROUNDS - 2), size,
            lambda: peak(["cat", path])[0])
        record(f"{name} / cat", 0.5, ratios, size / 1e9 / statistics.median(theirs), size / 1e9 / statistics.median(mine), "GB/s")
        absolute(f"{name}: 300 MiB over peak memory", 1, [300 / m for m in memory], f"(peak {max(memory):.0f} MiB)")
        if mechanism == "dp-oporp-staircase":
            limit_of_parts(name, parts_of_a_release(path, n, mechanism, 256 * 4, 1), commands_run[name]["processor"])
        elif ending == "parquet":  # with the number of each row; hashed as content, and once more as a file
            limit_of_parts(name, parts_of_a_release(path, n, mechanism, 256 // 8 + 8, 2), commands_run[name]["processor"])
    os.remove(path)


def parts_of_a_release(path, n, mechanism, row_bytes, hashes):
    """Processor seconds of what a release from a file to a file cannot do without: each alone, one thread."""
    part = 50_000
    np.save(at("part.npy"), np.load(path, mmap_mode="r")[:part])
    release = dict(mechanism=mechanism, k=256, epsilon=1, lo=0, hi=1, beta=1)
    drawing = least("release", data=at("part.npy"), **release) * n / part
    piece, pieces, writing = bytes(1 << 20), n * row_bytes >> 20, math.inf
    for _ in range(3):  # the first may have to make room
        with open(at("written"), "wb", buffering=0) as file:
            start = time.process_time()
            for _ in range(pieces):
                file.write(piece)
            writing = min(writing, time.process_time() - start)
    hashing = hashes * least("limit", what="sha256", data=at("written"), reps=2)
    for name in ("written", "part.npy"):
        os.remove(at(name))
    reading = min(peak(["cat", path])[2] for _ in range(3))
    times = {1: "hash of the output", 2: "two hashes of the output"}[hashes]
    return {"reading": reading, "release of rows in memory": drawing, times: hashing, "writing": writing}


def parquet_files():
    """Parquet as people have it, to bits: beside pyarrow reading the column and doing nothing with it."""
    if not wanted("command") and not wanted("Parquet"):
        return
    import pyarrow as pa, pyarrow.parquet as pq
    p, rows, block = 768, 80_000 if options.quick else 700_000, 20_000
    environment = dict(os.environ)
    environment.pop("RAYON_NUM_THREADS")
    base = ["--epsilon", "1", "--beta", "1", "--range", "0,1", "--threads", "2", "--seed", "11" * 32, "-k", "256"]
    release = lambda path: [options.cli, "release", path, "--id", "id", "--mechanism", "dp-signoporp-ceil"] + base
    key = at("sticky.key")
    if not os.path.exists(key):
        subprocess.run([options.cli, "keygen", "--sticky", "--out", key], check=True, capture_output=True)
    kinds = {"FixedSizeList<f32>[768]": pa.list_(pa.float32(), p), "List<f32>": pa.list_(pa.float32())}

    def write(path, kind, codec, values):
        """Values come block by block."""
        schema = pa.schema([("id", pa.int64()), ("vector", kinds[kind])])
        with pq.ParquetWriter(path, schema, compression=codec, use_dictionary=False) as writer:
            first = 0
            for rows in values:
                flat = pa.array(rows.reshape(-1))
                offsets = pa.array(np.arange(0, rows.size + 1, p, dtype=np.int32))
                fixed = kind.startswith("Fixed")
                lists = pa.FixedSizeListArray.from_arrays(flat, p) if fixed else pa.ListArray.from_arrays(offsets, flat)
                writer.write_table(pa.table([pa.array(np.arange(first, first + len(rows))), lists], schema=schema))
                first += len(rows)
        return os.path.getsize(path)

    def hashes(path):
        """What is released with noise from a key: the same from every file with the same rows."""
        out = at("checked.parquet")
        subprocess.run(release(path) + ["--sticky-key", key, "--out", out], check=True, capture_output=True)
        told = subprocess.run([options.cli, "inspect", out, "--json"], check=True, capture_output=True, text=True)
        os.remove(out)
        return json.loads(told.stdout)["content"]

    few = rng.random((3000, p), dtype=np.float32)
    with open(at("few.csv"), "w") as file:
        file.write("id," + ",".join(f"x{j}" for j in range(p)) + "\n")
        file.writelines(f"{i}," + ",".join(map(repr, map(float, row))) + "\n" for i, row in enumerate(few))
    expected = hashes(at("few.csv"))
    path, size = at("large.parquet"), 0
    for kind in kinds:
        for codec in ("none", "snappy"):
            write(path, kind, codec, [few])
            assert hashes(path) == expected, f"{kind}, {codec}: other rows than in the text file"
            size = write(path, kind, codec, (rng.random((block, p), dtype=np.float32) for _ in range(rows // block)))
            bytes_in = rows * p * 4
            reading = lambda: timed(lambda: [None for _ in pq.ParquetFile(path).iter_batches(8192, columns=["vector"])],
                                    time.perf_counter)
            name = f"command: dp-signoporp-ceil, {bytes_in / 2**30:.1f} GiB Parquet of {kind}, {codec}, two threads"
            ratios, theirs, mine, memory = command_speed(name, release(path), at("large-out.parquet"), environment,
                                                         2 if options.quick else 3, bytes_in, reading)
            record(f"{name} / pyarrow reading the column alone", 4.0, ratios, bytes_in / 1e9 / statistics.median(theirs),
                   bytes_in / 1e9 / statistics.median(mine), "GB/s")
            absolute(f"{name}: 300 MiB over peak memory", 1, [300 / m for m in memory], f"(peak {max(memory):.0f} MiB)")
            if codec == "none":
                work = commands_run[name]["processor"] / (bytes_in / 1e9)
                absolute(f"{name}: 1.2 s over processor seconds per GB", 1, [1.2 / work], f"({work:.2f} s per GB)")
    # Keyed noise, as Spark has it: a stream of its own for every row.
    size = write(path, "FixedSizeList<f32>[768]", "none", (rng.random((block, p), dtype=np.float32) for _ in range(5)))
    name = "command: the same with keyed noise, 100,000 rows"
    _, _, mine, _ = command_speed(name, release(path) + ["--sticky-key", key], at("keyed-out.parquet"), environment, 2, size,
                                  lambda: 1.0)
    facts.append((name, f"{size / 1e9 / statistics.median(mine):.3g} GB/s, {100_000 / statistics.median(mine):,.0f} rows/s"))
    os.remove(path)


def spark():
    """Processor time of Spark and of the command line on the same Parquet files: with fresh noise, and with noise by key, as
    Spark's is. What Spark takes for hardly any rows is a limit: scumble has no part in it."""
    name = "Spark: {}, {:,} x 384 f32 to 128, two threads: 1.4 times the processor time of the command line{} over Spark's"
    if options.quick or not wanted("Spark"):
        return
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python", "bench", "spark.py")
    lines = []
    for rows in (1_400_000, 5_600_000):  # 2 and 8 GiB: what Spark takes for itself weighs less in the second
        try:
            done = subprocess.run([options.python, script, str(rows)], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"Spark: not measured ({error}): needs Java, and pyspark and scumble in {options.python}", flush=True)
            return
        lines += done.stdout.splitlines()
    for line in lines:
        found = json.loads(line)
        ours, empty = found["spark_cpu_seconds"], found["spark_without_rows_cpu_seconds"]
        for theirs, how in ((found["cli_cpu_seconds"], ""), (found["cli_keyed_cpu_seconds"], " with noise by key")):
            absolute(name.format(found["mechanism"], found["rows"], how), 1, [1.4 * theirs / ours], f"({ours} s and {theirs} s)")
        parts = {"Spark with 64 rows": empty, "the command line with noise by key": found["cli_keyed_cpu_seconds"]}
        limit_of_parts(f"Spark: {found['mechanism']}, {found['rows']:,} rows", parts, ours)


def scale():
    """What a billion rows of 768 floats cost, from the commands that were run."""
    rows, width = 1e9, 768 * 4
    lines = ["| measured here, two threads | input | by the clock | processor | GB/s | processor s per GB | bytes out per byte in | peak |",
             "|---|---|---|---|---|---|---|---|"]
    for name, run in commands_run.items():
        gigabytes = run["bytes_in"] / 1e9
        lines.append(f"| {name.removeprefix('command: ')} | {gigabytes:.2f} GB | {run['clock']:.2f} s | {run['processor']:.2f} s "
                     f"| {gigabytes / run['clock']:.2f} | {run['processor'] / gigabytes:.3f} "
                     f"| {run['bytes_out'] / run['bytes_in']:.4f} | {run['memory']:.0f} MiB |")
    total = rows * width / 1e9
    minutes = lambda seconds: f"{seconds / 60:,.1f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"
    lines += ["", f"A billion rows are {total / 1000:.2f} TB. By these figures (arithmetic, not run):", "",
              "| | processor time | 2 cores | 16 cores | 64 cores in a cluster |", "|---|---|---|---|---|"]
    for name, run in commands_run.items():
        seconds = run["processor"] / (run["bytes_in"] / 1e9) * total
        lines.append(f"| {name.removeprefix('command: ')} | {minutes(seconds)} | "
                     + " | ".join(minutes(seconds / cores) for cores in (2, 16, 64)) + " |")
    lines += [f"| reading alone, at 1 GB/s (network disk) or 5 GB/s (local NVMe) | | {minutes(total)} or {minutes(total / 5)} | the same "
              f"| by its storage |"]
    return "\n".join(lines)


# ---------------------------------------------------------------- growth

def growth():
    if not wanted("growth"):
        return
    base = dict(mechanism="dp-signoporp-ceil", epsilon=1)

    def curve(title, points):
        curves.append((title, points))
        print(title, points, flush=True)

    def speed(n, threads=1, **arguments):
        return n / statistics.median(ours("release", threads=threads, **arguments))

    points = []
    for n in (10_000, 100_000) if options.quick else (10_000, 100_000, 1_000_000):
        np.save(at("g.npy"), np.resize(pixels(min(n, 20_000)), (n, 784)))
        points.append((f"n = {n:,}", [speed(n, t, data=at("g.npy"), k=256, **base) for t in (1, 2)]))
    curve("Rows (784 u8 to 256 bits), rows/s with 1 and 2 threads", points)
    points = []
    for p in (100, 1_000, 10_000, 100_000):
        n = max(200, min(20_000, 40_000_000 // p))
        np.save(at("g.npy"), rng.random((n, p), dtype=np.float32))
        more = dict(data=at("g.npy"), k=64, lo=0, hi=1, beta=1, **base)
        points.append((f"p = {p:,}", [speed(n, t, **more) * p for t in (1, 2)]))
    curve("Attributes, dense f32 to 64 bits, attributes/s with 1 and 2 threads", points)
    points = []
    for power in (14, 18, 20, 22, 24):
        n, nnz, p = 4000, 500, 1 << power
        index = np.sort(rng.integers(0, p // nnz, (n, nnz)) + np.arange(nnz) * (p // nnz), axis=1)
        (np.arange(n + 1, dtype=np.uint64) * nnz).tofile(at("offsets"))
        index.astype(np.uint32).tofile(at("index"))
        rng.random(n * nnz, dtype=np.float32).tofile(at("values"))
        more = dict(offsets=at("offsets"), index=at("index"), values=at("values"), dim=p, k=1024, lo=0, hi=1, beta=1)
        points.append((f"p = 2^{power}", [n / statistics.median(ours("sparse", threads=t, **more, **base)) for t in (1, 2)]))
    curve("Attributes, sparse (500 non-zeros) to 1024 bits, rows/s with 1 and 2 threads", points)
    points = []
    n = 20_000
    np.save(at("g.npy"), rng.random((n, 4096), dtype=np.float32))
    for k in (64, 256, 1024, 4096):
        more = dict(data=at("g.npy"), k=k, lo=0, hi=1, beta=1, **base)
        points.append((f"k = {k:,}", [speed(n, t, **more) for t in (1, 2)]))
    curve("Outputs (4096 f32 to k bits), rows/s with 1 and 2 threads", points)


# ---------------------------------------------------------------- report

def report():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    flags = next(line for line in open("/proc/cpuinfo") if line.startswith("flags")).split()
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
    widths = ", ".join(flag for flag in ("avx2", "vaes", "avx512f") if flag in flags)
    lines = [f"Commit {commit}, {cpu} ({os.cpu_count()} cores; {widths}), {platform.system()} {platform.release()}, "
             f"numpy {np.__version__}, {time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f} at the end.", ""]
    lines += ["| work | bar | ratio or speed | spread | peer | ours | |", "|---|---|---|---|---|---|---|"]
    for name, bar, value, low, high, theirs, mine, unit in bars:
        peer = "" if theirs is None else f"{theirs:,.3g} {unit}"
        verdict = "ok" if value >= bar else "**missed**"
        lines.append(f"| {name} | {bar:,.3g} | {value:,.3g} | {low:,.3g} .. {high:,.3g} | {peer} | {mine:,.3g} {unit} | {verdict} |")
    if facts:
        lines += ["", "| also | |", "|---|---|"] + [f"| {name} | {value} |" for name, value in facts]
    if limits:
        lines += ["", "What this machine can do at best, measured in the same run by parts that do less:", "",
                  "| work | what was measured alone | limit | ours | share |", "|---|---|---|---|---|"]
        lines += [f"| {name} | {why} | {best} | {mine} | {share:.2f} |" for name, why, best, mine, share in limits]
    for title, points in curves:
        lines += ["", title + ":", "", "| | 1 thread | 2 threads |", "|---|---|---|"]
        lines += [f"| {name} | {one:,.3g} | {two:,.3g} |" for name, (one, two) in points]
    return "\n".join(lines)


for part in (releases, symbols_beside_bits, keyed_beside_fresh, bins_beside_oporp, whole_records, decoding, dense, sparse,
             samplers, searches, large_search, growth, commands, parquet_files, spark):
    part()
text = report()
json.dump(dict(bars=bars, facts=facts, limits=limits, curves=curves, commands=commands_run), open("target/bench.json", "w"), indent=1)


def put(path, text):
    """Replaces what stands between the marks; the rest of the page is written by hand and stays."""
    start, end = "<!-- measured by ./bench -->", "<!-- end -->"
    head, found, rest = open(path).read().partition(start)
    _, closed, tail = rest.partition(end)
    assert found and closed, f"{path} has no place for the tables"
    open(path, "w").write(f"{head}{start}\n{text}\n{end}{tail}")
    print(f"wrote {path}")


if options.no_write or options.only:
    print(text)
    if commands_run:
        print(scale())
else:
    put("docs/performance.md", text)
    if commands_run:
        put("docs/scale.md", scale())
missed = [name for name, bar, value, *_ in bars if value < bar]
print(f"{len(bars) - len(missed)} of {len(bars)} bars met" + "".join(f"\n  missed: {name}" for name in missed))
