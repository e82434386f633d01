"""Releases load without conversion in numpy, pyarrow and faiss. Run by ./test after the binary is built."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import faiss
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SCUMBLE", str(ROOT / "target" / "release" / "scumble"))
SEED = "ab" * 32
DIM, K = 128, 64


def scumble(*words):
    done = subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Outputs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.dir = pathlib.Path(self.folder.name)
        random = np.random.default_rng(1)
        centres = random.random((20, DIM))
        self.x = np.clip(np.repeat(centres, 25, axis=0) + 0.05 * random.standard_normal((500, DIM)), 0, 1)
        self.x = self.x.astype(np.float32)
        np.save(self.dir / "x.npy", self.x)

    def release(self, out, mechanism, *more, source="x.npy"):
        path = self.dir / out
        words = ["release", self.dir / source, "--out", path, "--mechanism", mechanism]
        scumble(*words, "--epsilon", 10, "--range", "0,1", "-k", K, "--seed", SEED, *more)
        return path

    def test_values_in_numpy_pyarrow_and_faiss(self):
        array = np.load(self.release("v.npy", "dp-oporp-staircase"))
        self.assertEqual((array.dtype, array.shape), (np.dtype("<f4"), (500, K)))
        table = pq.read_table(self.release("v.parquet", "dp-oporp-staircase"))
        self.assertEqual(table.schema.field("sketch").type, pa.list_(pa.field("element", pa.float32(), False), K))
        self.assertEqual(table.column("id").to_pylist(), list(range(500)))
        values = table.column("sketch").combine_chunks().values.to_numpy().reshape(-1, K)
        # Same projection, other noise: at epsilon 10 a thirtieth of the values.
        self.assertFalse(np.array_equal(array, values))
        self.assertGreater(np.corrcoef(array.ravel(), values.ravel())[0, 1], 0.99)
        index = faiss.IndexFlatIP(K)
        index.add(np.ascontiguousarray(values))
        _, found = index.search(array, 10)
        self.assertGreater((found // 25 == np.arange(500)[:, None] // 25).mean(), 0.8)

    def test_bits_in_numpy_pyarrow_and_faiss(self):
        array = np.load(self.release("b.npy", "dp-signoporp-rr"))
        self.assertEqual((array.dtype, array.shape), (np.dtype("u1"), (500, K // 8)))
        table = pq.read_table(self.release("b.parquet", "dp-signoporp-rr"))
        self.assertEqual(table.schema.field("sketch").type, pa.binary(K // 8))
        packed = np.frombuffer(b"".join(table.column("sketch").to_pylist()), np.uint8).reshape(500, K // 8)
        # At epsilon 10 few bits are flipped: unpacked in numpy's order the two releases agree.
        agree = (np.unpackbits(array, axis=1) == np.unpackbits(packed, axis=1)).mean()
        self.assertGreater(agree, 0.9)
        index = faiss.IndexBinaryFlat(K)
        index.add(packed)
        distances, found = index.search(array, 10)
        self.assertEqual(distances.dtype, np.int32)
        self.assertGreater((found // 25 == np.arange(500)[:, None] // 25).mean(), 0.5)

    def test_other_encodings(self):
        for encoding, dtype, width in [("i16", "<i2", K), ("b8", "i1", K), ("b4", "u1", K // 2), ("b1", "u1", K // 8)]:
            path = self.release(f"{encoding}.npy", "dp-oporp-laplace", "--encoding", encoding)
            array = np.load(path)
            self.assertEqual((array.dtype, array.shape), (np.dtype(dtype), (500, width)), encoding)
            certificate = json.loads(pathlib.Path(f"{path}.certificate.json").read_text())
            self.assertEqual(certificate["encoding"]["name"], encoding)
            if encoding in ("i16", "b8"):
                step, offset = certificate["encoding"]["step"], certificate["encoding"]["offset"]
                values = (array.astype(np.float64) + offset) * step
                product = (values[0::25][:, None] * values[1::25][None]).sum(2)
                truth = self.x[0::25] @ self.x[1::25].T
                self.assertGreater(np.corrcoef(product.ravel(), truth.ravel())[0, 1], 0.5, encoding)

    def test_ids_labels_and_certificate(self):
        names = [f"row-{i}" for i in range(500)]
        lists = pa.FixedSizeListArray.from_arrays(pa.array(self.x.ravel()), DIM)
        table = pa.table({"id": names, "label": [i // 25 for i in range(500)], "vector": lists})
        pq.write_table(table, self.dir / "x.parquet")
        path = self.release("l.parquet", "dp-oporp-staircase", "--id", "id", "--label", "label", source="x.parquet")
        table = pq.read_table(path)
        self.assertEqual(table.column_names, ["id", "label", "sketch"])
        self.assertEqual(table.column("id").to_pylist(), names)
        self.assertEqual(table.column("label").to_pylist()[26], 1)
        certificate = json.loads(pq.read_metadata(path).metadata[b"scumble.certificate"])
        self.assertEqual(certificate, json.loads(scumble("inspect", path, "--json")))
        self.assertEqual((certificate["unit"], certificate["rows"]), ("attribute", 500))
        path = self.release("l.npy", "dp-oporp-staircase", "--id", "id", "--label", "label", source="x.parquet")
        self.assertEqual(np.load(f"{path}.ids.npy").tolist(), names)
        self.assertEqual(np.load(f"{path}.labels.npy").tolist()[26], 1)

    def test_found_rows(self):
        release = self.release("v.parquet", "dp-oporp-staircase")
        words = ["search", release, "--queries", self.dir / "x.npy", "--exact-queries", "--top", 7]
        for kind in ["npy", "parquet", "csv", "json"]:
            scumble(*words, "--out", self.dir / f"found.{kind}")
        found = np.load(self.dir / "found.npy")
        self.assertEqual((found.dtype, found.shape), (np.dtype("<i8"), (500, 7)))
        table = pq.read_table(self.dir / "found.parquet")
        self.assertEqual(table.column_names, ["query", "rank", "row", "id", "score"])
        np.testing.assert_array_equal(table.column("row").to_numpy().reshape(500, 7), found)
        rows = [[hit["row"] for hit in hits] for hits in json.loads((self.dir / "found.json").read_text())]
        np.testing.assert_array_equal(rows, found)


if __name__ == "__main__":
    unittest.main()
