"""Examples in docstrings and guides run; the notebook runs."""

from __future__ import annotations

import doctest
import importlib
import os
import re

import pytest

from conftest import ROOT

MODULES = ["", "._estimate", "._evaluate", "._mechanism", "._plan", "._release", "._search", ".arrow", ".sklearn", ".stores"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(f"scumble{name}")
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", ["python.md"])
def test_guides(page, tmp_path, monkeypatch):
    """The python blocks of a page run one after the other in one namespace."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert blocks
    namespace: dict = {}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)


def test_public_names_have_documentation():
    import scumble

    for name in scumble.__all__:
        thing = getattr(scumble, name)
        assert name == "__version__" or (thing.__doc__ and len(thing.__doc__) > 10), name


def test_notebook():
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(ROOT / "notebooks" / "tutorial.ipynb", as_version=4)
    nbformat.validate(notebook)
    os.environ["SCUMBLE_TUTORIAL_ROWS"] = "4000"
    nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": ROOT / "notebooks"}}).execute()
    assert any(cell.get("outputs") for cell in notebook.cells)
