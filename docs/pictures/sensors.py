# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""docs/pictures/sensors.png: what the sensors of config/watched_table.yaml tell after a second.

    python docs/pictures/sensors.py [--out FILE]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import mb_contact as mb

SCENE = "package://mb_contact/config/watched_table.yaml"


def draw(path, seconds=1.0):
    """Simulate so long and draw the samples of the sensors."""
    sim = mb.Simulator(SCENE)
    for _ in range(round(seconds / sim.time_step)):
        sim.step()
    image, scan, rings, pad = (sim.sensors.sample(name) for name in ("camera", "scanner", "rings", "table_top"))
    figure, ((colour, depth, cloud), (plane, touch, legend)) = plt.subplots(2, 3, figsize=(15.0, 8.2))
    colour.imshow(image.colour)
    colour.set_title("camera: colours")
    shown = depth.imshow(np.where(np.isfinite(image.depth), image.depth, np.nan), cmap="viridis")
    depth.set_title("camera: depth [m]")
    figure.colorbar(shown, ax=depth, shrink=0.7)
    R, p = (mb.model.Pose((1.6, 1.2, 1.4), rpy=(0.0, 0.45, 3.8))).rotation(), np.array((1.6, 1.2, 1.4))
    points = rings.points.reshape(-1, 3) @ R.T + p
    dots = cloud.scatter(points[:, 0], points[:, 1], c=points[:, 2], s=0.5, cmap="viridis")
    cloud.set_title("lidar with 32 rings, from above; height [m]")
    cloud.set_aspect("equal")
    figure.colorbar(dots, ax=cloud, shrink=0.7)
    plane.plot(scan.points[0, :, 0], scan.points[0, :, 1], "k.", markersize=3)
    plane.plot(0.0, 0.0, "r>", markersize=8)
    plane.set_title("planar lidar 25 mm above the table [m]")
    plane.set_aspect("equal")
    pressure = touch.imshow(pad.pressure.T, origin="lower", extent=(-0.45, 0.45, -0.3, 0.3), cmap="magma")
    touch.set_title("table top as a tactile pad [Pa]")
    figure.colorbar(pressure, ax=touch, shrink=0.7)
    book = sim.sensors.sample("book_on_table")
    legend.axis("off")
    lines = [f"on the table in all: {-pad.wrench[5]:.4f} N", f"weight of what stands on it: {9.81 * 1.08:.4f} N",
             f"on the book by the table: {book[5]:.4f} N", f"weight of book and pen: {9.81 * 0.52:.4f} N"]  # fmt: skip
    legend.text(0.0, 0.5, "\n\n".join(lines), fontsize=13, va="center")
    figure.tight_layout()
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "sensors.png")
    draw(parser.parse_args().out)
