# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where the heights of a height field come from: .npy, .csv and .png files, and built-in terrains."""

import struct
import zlib

import numpy as np

from mb_contact.model.shapes.height_fields import MOST_POINTS

FORMATS = (".npy", ".csv", ".png")
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_BYTES = 64_000_000  #: of the pixels of a picture


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
    """Grey values (rows, columns) from 0 to 1 of a PNG without interlacing, 8 or 16 bits deep (ISO/IEC 15948)."""
    if content[:8] != PNG_SIGNATURE:
        raise ValueError("it does not begin as a PNG does")
    at, packed, header = 8, [], None
    while at + 12 <= len(content):
        length, kind = struct.unpack(">I4s", content[at:at + 8])
        data = content[at + 8:at + 8 + length]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", data) if len(data) == 13 else None
        elif kind == b"IDAT":
            packed.append(data)
        at += 12 + length
    if header is None:
        raise ValueError("it has no header")
    columns, rows, depth, colour, _, _, interlaced = header
    if colour not in (0, 4) or depth not in (8, 16) or interlaced:
        raise ValueError("only grey pictures of 8 or 16 bits without interlacing are read; convert it")
    pixel = (2 if colour == 4 else 1) * depth // 8  # colour 4: grey with transparency, which is passed over
    width = columns * pixel
    if rows * (width + 1) > MOST_BYTES:
        raise ValueError(f"{columns} x {rows} pixels are too many")
    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(b"".join(packed), rows * (width + 1))
    except zlib.error as error:
        raise ValueError(f"its pixels cannot be unpacked: {error}") from None
    if len(raw) != rows * (width + 1):
        raise ValueError("it is cut short")
    lines = np.frombuffer(raw, dtype=np.uint8).reshape(rows, width + 1)
    pixels = np.zeros((rows, width), dtype=np.uint8)
    above = np.zeros(width, dtype=np.uint8)
    for row, line in enumerate(lines):
        above = pixels[row] = _unfilter(line[0], line[1:], above, pixel)
    if depth == 16:
        return pixels.view(">u2").reshape(rows, columns, -1)[:, :, 0] / 65535.0
    return pixels.reshape(rows, columns, -1)[:, :, 0] / 255.0


def _unfilter(kind, line, above, pixel):
    """Undo a line's filter: none, sub, up, average, Paeth."""
    if kind == 0:
        return line
    if kind == 2:
        return line + above
    if kind > 4:
        raise ValueError(f"a line has the unknown filter {kind}")
    out = [0] * (len(line) + pixel)  # with one pixel of zeros before
    before = [0] * pixel + above.tolist()
    for i, value in enumerate(line.tolist()):
        left, up, corner = out[i], before[i + pixel], before[i]
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) // 2
        else:
            guess = min((left, up, corner), key=lambda one, p=left + up - corner: abs(p - one))
        out[i + pixel] = (value + guess) & 255
    return np.array(out[pixel:], dtype=np.uint8)


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
