# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where the heights of a height field come from: .npy, .csv and .png files, and built-in terrains."""

import io

import numpy as np

from mb_contact.model.shapes.height_fields import MOST_POINTS

FORMATS = (".npy", ".csv", ".png")
WHITE = {"L": 255.0, "LA": 255.0, "I;16": 65535.0, "I": 65535.0}  #: of Pillow's modes of grey pictures
DEEP_TRANSPARENT = b"\x10\x04"  #: depth and colour type in a PNG's header whose 16 bits Pillow makes 8


def read_heights(path):
    """Heights (ny, nx) of a file; of a picture from 0 (black) to 1 (white), its last row first.

    Raises
    ------
    ValueError
        The file is none of the formats, or not what its name says; the message names the file.
    """
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise ValueError(f"'{path.name}': the format '{path.suffix}' is not read; formats: {', '.join(FORMATS)}")
    try:
        if kind == ".png":
            return _read_png(path.read_bytes())[::-1]
        if kind == ".npy":
            heights = np.load(path, allow_pickle=False)
        else:
            heights = np.loadtxt(path, delimiter=",", ndmin=2)
        return np.asarray(heights, dtype=np.float64)
    except OSError as error:
        raise ValueError(f"'{path.name}' cannot be read: {error.strerror or error}") from None
    except (ValueError, TypeError, EOFError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"'{path.name}' is no {kind} file of heights: {reason}") from None


def _read_png(content):
    """Grey values (rows, columns) from 0 to 1 of a PNG; its transparency is passed over."""
    from PIL import Image, UnidentifiedImageError  # only such a file needs it

    try:
        picture = Image.open(io.BytesIO(content), formats=("PNG",))
        if picture.mode not in WHITE or content[24:26] == DEEP_TRANSPARENT:
            raise ValueError("only grey pictures of 8 bits, or of 16 without transparency, are read; convert it")
        if picture.width * picture.height > MOST_POINTS:
            raise ValueError(f"{picture.width} x {picture.height} pixels are too many")
        return np.asarray(picture, dtype=np.float64).reshape(*picture.size[::-1], -1)[:, :, 0] / WHITE[picture.mode]
    except UnidentifiedImageError:
        raise ValueError("it does not begin as a PNG does") from None
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:  # what Pillow raises of broken pictures
        raise ValueError(f"it cannot be unpacked: {error}") from None


# --- built-in terrains ------------------------------------------------------------------------------


def terrain(heights, size):
    """Heights (ny, nx) of a built-in terrain [m].

    Parameters
    ----------
    heights : Heights
        With a generator: ``flat``; ``ramp``, rising along x from 0; ``rough``, every point at random up to the
        amplitude; ``waves``, sin times sin; ``hills``, smooth and random; ``steps``, level squares at random heights.
    size : (2,)
        [m]

    Raises
    ------
    ValueError
        The resolution makes too many points.
    """
    cells = [max(1, round(length / heights.resolution)) for length in size]
    if (cells[0] + 1) * (cells[1] + 1) > MOST_POINTS:
        message = f"a resolution of {heights.resolution:g} m makes {cells[0]} x {cells[1]} cells; take a coarser one"
        raise ValueError(message)
    x, y = np.meshgrid(*(np.linspace(0.0, length, n + 1) for length, n in zip(size, cells)))
    rng = np.random.default_rng(heights.seed)
    if heights.generator == "flat":
        return np.zeros_like(x)
    if heights.generator == "ramp":
        return heights.amplitude * x / size[0]
    if heights.generator == "rough":
        return heights.amplitude * rng.random(x.shape)
    u, v = x / heights.wavelength, y / heights.wavelength
    if heights.generator == "waves":
        return heights.amplitude * np.sin(2.0 * np.pi * u) * np.sin(2.0 * np.pi * v)
    values = rng.random((int(v.max()) + 2, int(u.max()) + 2))
    i, j = u.astype(int), v.astype(int)
    if heights.generator == "steps":
        return heights.amplitude * values[j, i]
    s, t = (f * f * (3.0 - 2.0 * f) for f in (u - i, v - j))
    low = (1.0 - s) * values[j, i] + s * values[j, i + 1]
    high = (1.0 - s) * values[j + 1, i] + s * values[j + 1, i + 1]
    return heights.amplitude * ((1.0 - t) * low + t * high)
