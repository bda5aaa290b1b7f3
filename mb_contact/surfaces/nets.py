# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Control nets from files: YAML or JSON for any spline, CSV for a Bezier patch."""

import csv
from pathlib import Path

import numpy as np
import yaml

from mb_contact.errors import InputError, SceneError
from mb_contact.model.resources import find_resource
from mb_contact.surfaces.shapes import bezier, nurbs
from mb_contact.surfaces.surface import Surface

KEYS = ("points", "weights", "knots_s", "knots_t")


def load_net(path: str | Path, name: str | None = None) -> Surface:
    """A surface from the control net in a file.

    YAML and JSON: ``points`` (n, m, 3), maybe ``weights`` (n, m), and ``knots_s``, ``knots_t`` of a NURBS surface;
    without knots a Bezier patch.  CSV: one control point a line, ``x, y, z`` or ``x, y, z, weight``, the points along t
    first, and an empty line after each row of the net.

    Parameters
    ----------
    path : str or Path
        Also as a ``package://`` address.
    name : str, optional
        Of the surface; the file's by default.

    Returns
    -------
    Surface
        Lengths as in the file [m].

    Raises
    ------
    SceneError
        No such file, not well formed, an unknown or missing key, or numbers that are no control net; names the file.

    Examples
    --------
    >>> mb.surfaces.load_net("package://mb_contact/config/nets/bezier_lower.csv")
    Surface('bezier_lower', 1 chart)
    """
    try:
        file = find_resource(path)
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SceneError(f"no control net: {error}") from None
    content = _csv(file, text) if file.suffix.lower() == ".csv" else _mapping(file, text)
    try:
        if "knots_s" in content:
            points, *knots = (content[key] for key in ("points", "knots_s", "knots_t"))
            return nurbs(points, knots[0], knots[1], content.get("weights"), name=name or Path(file).stem)
        return bezier(content["points"], content.get("weights"), name=name or Path(file).stem)
    except InputError as error:
        raise SceneError(f"{file}: {error}") from None


def _mapping(file, text):
    """Content of a YAML file; JSON is YAML."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise SceneError(f"{file}:{mark.line + 1 if mark else 1}: not well-formed: {error}") from None
    if not isinstance(content, dict):
        raise SceneError(f"{file}: must be a mapping with the keys {', '.join(KEYS)}")
    for key in content:
        if key not in KEYS:
            raise SceneError(f"{file}: unknown key '{key}'; allowed keys: {', '.join(KEYS)}")
    if "points" not in content:
        raise SceneError(f"{file}: the key 'points' is missing")
    if ("knots_s" in content) != ("knots_t" in content):
        raise SceneError(f"{file}: give both knots_s and knots_t, or neither")
    return content


def _csv(file, text):
    """Points and weights of a CSV file."""
    rows, width = [[]], None
    for number, fields in enumerate(csv.reader(text.splitlines()), 1):
        if not fields or not "".join(fields).strip():
            rows.append([])
            continue
        try:
            point = [float(field) for field in fields]
        except ValueError:
            raise SceneError(f"{file}:{number}: must be numbers, got '{','.join(fields)}'") from None
        width = width or len(point)
        if len(point) not in (3, 4) or len(point) != width:
            raise SceneError(f"{file}:{number}: must be x, y, z or x, y, z, weight, as in the other lines")
        rows[-1].append(point)
    rows = [row for row in rows if row]
    if not rows or len({len(row) for row in rows}) != 1:
        raise SceneError(f"{file}: every row of the net needs the same number of points, an empty line between rows")
    net = np.array(rows)
    return {"points": net[..., :3], **({"weights": net[..., 3]} if width == 4 else {})}
