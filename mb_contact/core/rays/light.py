# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How surfaces look under one far lamp, to the scene's cameras and in pictures of it; colours from 0 to 1."""

import math

from mb_contact.core.jit import kernel

AMBIENT, UPWARDS, BRIGHTEST = 0.42, 0.1, 0.98  #: light in the shade, what faces upwards has more, and of the lamp
LAMP = (0.34964, -0.54943, 0.75887)  #: direction to the lamp, a unit vector
GLOSS, NARROW = 0.16, 40.0  #: of the lamp's highlight: strength, exponent
HORIZON, ZENITH = (226.0 / 255.0, 233.0 / 255.0, 239.0 / 255.0), (142.0 / 255.0, 168.0 / 255.0, 196.0 / 255.0)
GROUND = (196.0 / 255.0, 199.0 / 255.0, 198.0 / 255.0)  #: of half-spaces


@kernel
def sky(d):
    """Colour where a ray of any length meets nothing: the horizon's, and upwards more and more the zenith's."""
    rise = max(0.0, d[2]) / math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    part = rise**0.8
    return (
        HORIZON[0] + part * (ZENITH[0] - HORIZON[0]),
        HORIZON[1] + part * (ZENITH[1] - HORIZON[1]),
        HORIZON[2] + part * (ZENITH[2] - HORIZON[2]),
    )


@kernel
def shaded(colour, n, d, reached, gloss):
    """Colour of a surface, world axes.

    Parameters
    ----------
    colour : (3,)
    n : (3,)
        Unit normal on the side that is seen.
    d : (3,)
        Of the ray that sees it, of any length.
    reached : float
        Part of the lamp that is seen from there, from 0 to 1.
    gloss : float
        Strength of the highlight.
    """
    lamp = reached * max(0.0, n[0] * LAMP[0] + n[1] * LAMP[1] + n[2] * LAMP[2])
    light = AMBIENT + UPWARDS * n[2] + (BRIGHTEST - AMBIENT) * lamp
    shine = 0.0
    if lamp > 0.0 and gloss > 0.0:
        far = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        x, y, z = LAMP[0] - d[0] / far, LAMP[1] - d[1] / far, LAMP[2] - d[2] / far
        along = n[0] * x + n[1] * y + n[2] * z
        if along > 0.0:
            shine = gloss * lamp * (along / math.sqrt(x * x + y * y + z * z)) ** NARROW
    return (
        min(1.0, max(0.0, colour[0] * light + shine)),
        min(1.0, max(0.0, colour[1] * light + shine)),
        min(1.0, max(0.0, colour[2] * light + shine)),
    )
