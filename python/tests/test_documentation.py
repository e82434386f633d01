"""Examples in docstrings and guides run; the notebook runs."""

from __future__ import annotations

import doctest
import importlib
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import ROOT, mechanism

MODULES = ["", "._account", "._digits", "._estimate", "._evaluate", "._keys", "._mechanism", "._plan", "._release", "._search", "._statistics", ".arrow", ".sklearn", ".stores"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(f"scumble{name}")
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def run_guide(page: str, namespace: dict, start: int = 0) -> dict:
    """Runs the python blocks of a page one after the other in one namespace."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.S)
    assert len(blocks) > start
    for block in blocks[start:]:
        exec(compile(block, page, "exec"), namespace)
    return namespace


def test_python_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_guide("python.md", {})


SHORT = """../README README owner consumer reviewer statistics decoding input guarantees few-symbols plan public-structure
record-privacy longitudinal"""


@pytest.mark.parametrize("page", [f"{name}.md" for name in SHORT.split()])
def test_short_guides(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_guide(page, {})


def test_vector_store_guide(tmp_path, monkeypatch, postgres):
    """A setup, and then every store by itself: names are used again."""
    monkeypatch.chdir(tmp_path)
    with postgres("guide") as connection:
        run_guide("vector-stores.md", {"postgres": connection})


def test_other_engines(rng, tmp_path):
    """The function that the Spark guide gives for Dask, Daft and Ray, on processes of Dask."""
    files = [str(tmp_path / f"{part}.parquet") for part in range(3)]
    x = rng.random((30, 64))
    for part, file in enumerate(files):
        rows = slice(10 * part, 10 * part + 10)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(x[rows].ravel()), 64)
        pq.write_table(pa.table({"id": range(30)[rows], "embedding": vectors}), file)
    m = mechanism(epsilon=100.0)
    done = run_guide("spark.md", {"m": m, "files": files, "out": str(tmp_path / "out")}, start=1)
    assert done["r"].ids.tolist() == list(range(30))
    assert abs(done["r"].values - m.project(x)).mean() < 0.2
    again = done["release"](pq.read_table(files[0]))  # by hand, with the same key: the same bytes
    assert again["sketch"].to_pylist() == done["r"].values[:10].tolist()


def test_public_names_have_documentation():
    import scumble

    for name in scumble.__all__:
        thing = getattr(scumble, name)
        assert name == "__version__" or (thing.__doc__ and len(thing.__doc__) > 10), name


def test_notebook():
    import nbclient
    import nbformat

    notebook = nbformat.read(ROOT / "notebooks" / "tutorial.ipynb", as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    stored = [len(cell.outputs) for cell in code]
    assert all(stored), "every cell has its stored output"
    limits = {"timeout": 1200, "startup_timeout": 1200}  # against a hang
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": ROOT / "notebooks"}}, **limits).execute()
    assert [len(cell.outputs) for cell in code] == stored
