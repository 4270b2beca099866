"""Runs the cells of a notebook without Jupyter: their code, and the value of a last expression."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any


def run_cells(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of the code cells, as nbformat 4 stores them; the cells share their names."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        tree = ast.parse("".join(cell["source"]), f"cell {number}")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        found: list[dict[str, Any]] = []
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, f"cell {number}", "exec"), scope)
            value = None
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), scope)
        if printed.getvalue():
            found.append(
                {"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())}
            )
        if value is not None:
            data = {"text/plain": _lines(repr(value))}
            if hasattr(value, "_repr_html_"):
                data["text/html"] = _lines(value._repr_html_())
            found.append(
                {
                    "output_type": "execute_result",
                    "execution_count": number,
                    "metadata": {},
                    "data": data,
                }
            )
        outputs.append(found)
    return outputs


def read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text())
    return value


def write(path: Path, notebook: dict[str, Any], outputs: list[list[dict[str, Any]]]) -> None:
    """The notebook with these outputs."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, found) in enumerate(zip(cells, outputs, strict=True), 1):
        cell.update(outputs=found, execution_count=number)
    path.write_text(json.dumps(notebook, indent=1) + "\n")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
