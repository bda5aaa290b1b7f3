# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How a page looks: sky, ground and panel in light and in dark, the camera, what scripts of the page need."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mb_contact.core.rays.light import GROUND, HORIZON, LAMP, ZENITH

PANEL = 330  #: width of the panel [pixels]
SUN, SKY, FLOOR = 2.9, 1.5, 0.9  #: light of the lamp, from above and from below, that makes colours those of pictures
MARKS = frozenset("&<>\"|*_`[]\\~#")  #: characters that mean something in markdown or HTML
CAMERA = '<img hidden src="data:," onerror="{script}">'  #: runs a script: the page has no other way for one


class Look(NamedTuple):
    """Colours of a page, red, green and blue from 0 to 255."""

    zenith: tuple[int, int, int]
    horizon: tuple[int, int, int]
    ground: tuple[int, int, int]
    cell: tuple[int, int, int]  #: lines of the ground
    section: tuple[int, int, int]  #: and of ten cells


def rgb(colour: tuple[float, ...]) -> tuple[int, int, int]:
    """Red, green and blue from 0 to 255, of a colour from 0 to 1."""
    red, green, blue = (round(255.0 * part) for part in colour)
    return red, green, blue


def linear(colour: Any) -> tuple[int, int, int]:
    """The same as amounts of light, which a browser takes the colours of arrows and of meshes in one node for."""
    return rgb(tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour))


LIGHT = Look(rgb(ZENITH), rgb(HORIZON), rgb(GROUND), (182, 185, 184), (158, 162, 162))
DARK = Look((20, 24, 32), (58, 66, 78), (62, 66, 71), (74, 79, 84), (98, 104, 110))


def cell_size(size: float) -> float:
    """Distance of the lines on the ground [m]: 0.1 m for a scene of some 0.3 to 3 m, a power of ten for others."""
    return float(10.0 ** (np.round(np.log10(size)) - 1.0))


def sky(look: Look, rows: int = 256) -> NDArray[np.uint8]:
    """A picture (rows, 8, 3) from the zenith's colour to the horizon's."""
    part = np.linspace(0.0, 1.0, rows)[:, None] ** 0.8
    colours = (1.0 - part) * look.zenith + part * look.horizon
    return np.repeat(np.round(colours).astype(np.uint8)[:, None], 8, axis=1)


def dress(server: Any, grounds: Any, dark: bool, shadows: bool = True) -> None:
    """Give page, sky and grounds (grids of the scene) their colours, and the scene the lamp of pictures.

    Without viser's picture of surroundings as light, which takes a browser without a graphics card most of a frame.
    """
    scene, below = server.scene, round(255.0 * FLOOR / SKY)
    scene.configure_environment_map(None)
    scene.configure_default_lights(enabled=False)
    scene.add_light_hemisphere("/sky", ground_color=(below,) * 3, intensity=SKY)
    scene.add_light_directional("/lamp", intensity=SUN, cast_shadow=shadows, position=tuple(100.0 * np.array(LAMP)))
    look = DARK if dark else LIGHT
    server.gui.configure_theme(show_logo=False, show_share_button=False, dark_mode=dark)
    server.scene.set_background_image(sky(look), format="png")
    for grid in grounds:
        grid.plane_color, grid.cell_color, grid.section_color = look.ground, look.cell, look.section


def camera_script(floor: float | None, below: bool, near: float = 0.01) -> str:
    """The script that keeps the camera above the floor [m], and but for ``below`` above what it looks at.

    It may come as ``near`` to that [m].  Browsers without a graphics card draw what there is many of as one mesh.
    """
    camera, merged = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("camera.js", "merged.js"))
    return (camera + merged).replace("OPTIONS)", json.dumps({"floor": floor, "below": below, "near": near}) + ")")


def plain(text: str) -> str:
    """Text as it is, for markdown: names and messages come from files and topics, and the page runs any HTML there."""
    return "".join(f"&#{ord(c)};" if c in MARKS else c for c in str(text))


def camera_html(floor: float | None, below: bool, near: float = 0.01) -> str:
    """HTML that runs :func:`camera_script`."""
    return CAMERA.format(script=escape(camera_script(floor, below, near), quote=True))
