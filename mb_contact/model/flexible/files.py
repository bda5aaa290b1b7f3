# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Files of modal data: points of a body with their masses, and what each mode does to them (docs/flexible.md)."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mb_contact.checks import Floats
from mb_contact.errors import ModelError
from mb_contact.model.flexible.modal import ModalBody, modal_mass

#: Arrays of a file and their shapes: m points, r modes.
ARRAYS: dict[str, tuple[str | int, ...]] = {
    "position": ("m", 3), "mass": ("m",), "inertia": ("m", 3, 3), "displacement": ("m", 3, "r"),
    "rotation": ("m", 3, "r"), "stiffness": ("r", "r"), "frequency": ("r",),
}  # fmt: skip
NEEDED = ("position", "mass", "displacement")


def read_modal_body(path: Path) -> tuple[ModalBody, bool]:
    """A body in modes from a YAML or npz file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    body : ModalBody
    turns : bool
        Whether the file knows the rotations of its points; without them nothing but points can be attached.

    Raises
    ------
    ModelError
        The file is missing or no modal data; the message names the file and the array.
    """
    arrays = _arrays(path)
    m, r = len(arrays["position"]), arrays["displacement"].shape[-1]
    for name, value in arrays.items():
        wanted = tuple(size if isinstance(size, int) else {"m": m, "r": r}[size] for size in ARRAYS[name])
        if value.shape != wanted:
            raise ModelError(f"{path}: '{name}' must have the shape {wanted}, got {value.shape}")
        if not np.isfinite(value).all():
            raise ModelError(f"{path}: '{name}' holds numbers that are not finite")
    if ("stiffness" in arrays) == ("frequency" in arrays):
        raise ModelError(f"{path}: give either 'stiffness' [N/m] or 'frequency' [Hz] of the modes")
    if not (arrays["mass"] >= 0.0).all() or not arrays["mass"].sum() > 0.0:
        raise ModelError(f"{path}: 'mass' must not be negative, nor zero at every point")
    body = ModalBody(
        point=arrays["position"], shape=arrays["displacement"], slope=arrays.get("rotation", np.zeros((m, 3, r))),
        short=np.zeros((m, r, r)), axis=np.array([1.0, 0.0, 0.0]), mass=arrays["mass"],
        inertia=arrays.get("inertia", np.zeros((m, 3, 3))), stiffness=np.zeros((r, r)),
    )  # fmt: skip
    M = modal_mass(body).modal
    if not np.linalg.eigvalsh(M)[0] > 1e-12 * np.trace(M):
        raise ModelError(f"{path}: the modes move no mass, or depend on each other; leave out the superfluous ones")
    stiffness = arrays.get("stiffness")
    if stiffness is None:
        stiffness = np.diag((2.0 * np.pi * arrays["frequency"]) ** 2 * np.diag(M))
    size = np.abs(stiffness).max()
    if np.abs(stiffness - stiffness.T).max() > 1e-9 * size or np.linalg.eigvalsh(stiffness)[0] < -1e-9 * size:
        raise ModelError(f"{path}: 'stiffness' must be symmetric and positive semidefinite")
    return body._replace(stiffness=0.5 * (stiffness + stiffness.T)), "rotation" in arrays


def write_modal_body(path: Path, body: ModalBody) -> None:
    """Write a body in modes as an npz file that :func:`read_modal_body` reads; shortening is left out.

    Parameters
    ----------
    path : Path
    body : ModalBody
    """
    np.savez(
        path, position=body.point, mass=body.mass, inertia=body.inertia, displacement=body.shape, rotation=body.slope,
        stiffness=body.stiffness,
    )  # fmt: skip


def _arrays(path: Path) -> dict[str, Floats]:
    """Arrays of the file by name, each of numbers."""
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as file:
                content: Any = {name: file[name] for name in file.files}
        else:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ModelError(f"{path}: cannot be read as modal data: {error}") from None
    if not isinstance(content, dict):
        raise ModelError(f"{path}: modal data is a mapping of {', '.join(ARRAYS)}")
    for name in NEEDED:
        if name not in content:
            raise ModelError(f"{path}: the array '{name}' is missing; modal data has {', '.join(ARRAYS)}")
    arrays = {}
    for name, value in content.items():
        if name not in ARRAYS:
            raise ModelError(f"{path}: '{name}' is not known; modal data has {', '.join(ARRAYS)}")
        try:
            arrays[name] = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelError(f"{path}: '{name}' must be an array of numbers") from None
        if arrays[name].ndim != len(ARRAYS[name]):
            raise ModelError(f"{path}: '{name}' must have {len(ARRAYS[name])} axes, got {arrays[name].ndim}")
    return arrays
