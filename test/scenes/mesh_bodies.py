# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Triangle meshes for tests, made by code: solids of revolution, tubes along paths, prisms, threads."""

import numpy as np


def write_stl(path, corners):
    """A binary STL file of triangles (t, 3, 3); coordinates are rounded to single precision."""
    records = np.zeros(len(corners), dtype=[("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])
    records["v"] = corners
    path.write_bytes(b"mb_contact test".ljust(80) + len(corners).to_bytes(4, "little") + records.tobytes())
    return path


def write_obj(path, corners):
    """An OBJ file of triangles (t, 3, 3), all digits kept."""
    points, index = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (index.reshape(-1, 3) + 1).tolist()]
    path.write_text("\n".join(lines) + "\n")
    return path


def sheet_of(grid):
    """Triangles (t, 3, 3) of a grid of points (m, n, 3); cells without an area are left out."""
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    corners = np.concatenate([np.stack(t, axis=2).reshape(-1, 3, 3) for t in ((a, b, c), (a, c, d))])
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return corners[np.linalg.norm(doubled, axis=1) > 1e-15]


def closed(grid, wrap=True):
    """The same grid with its first row behind its last, and first column behind its last where it wraps."""
    grid = np.concatenate([grid, grid[:1]], axis=0)
    return np.concatenate([grid, grid[:, :1]], axis=1) if wrap else grid


def circle(sides, turn=0.0):
    """Cosines and sines (sides, 2), exact at the axes."""
    angle = 2.0 * np.pi * (np.arange(sides) + turn) / sides
    return np.stack([np.cos(angle), np.sin(angle)], axis=1).round(15)


def revolved(profile, sides, turn=0.0):
    """A solid whose cross-section is a closed polygon of radii and heights (k, 2), turned about z."""
    profile, around = np.asarray(profile, dtype=float), circle(sides, turn)
    heights = np.broadcast_to(profile[:, None, 1:], (len(profile), sides, 1))
    return sheet_of(closed(np.concatenate([profile[:, None, :1] * around, heights], axis=2)))


def ring(inner, outer, height, sides, turn=0.0):
    """A ring with its middle at the origin."""
    h = 0.5 * height
    return revolved([(inner, -h), (outer, -h), (outer, h), (inner, h)], sides, turn)


def half_circle(radius, steps, start=-90.0, end=90.0):
    """Radii and heights of an arc about the origin [degrees from the horizontal]."""
    angle = np.deg2rad(np.linspace(start, end, steps))
    return np.stack([np.maximum(radius * np.cos(angle), 0.0), radius * np.sin(angle)], axis=1)


def hollow_sphere(inner, outer, steps, sides):
    """A ball with a concentric cavity."""
    cavity, outside = (sheet_of(closed_around(half_circle(r, steps), sides)) for r in (inner, outer))
    return np.concatenate([cavity[:, ::-1], outside])


def closed_around(profile, sides):
    """The grid of a profile turned about z, which begins and ends on the axis."""
    around = circle(sides)
    grid = np.stack([np.stack([r * around[:, 0], r * around[:, 1], np.full(sides, z)], axis=1) for r, z in profile])
    return np.concatenate([grid, grid[:, :1]], axis=1)


def bowl(inner, thickness, steps, sides):
    """The lower half of a hollow sphere, with a flat rim at height zero."""
    profile = np.concatenate([half_circle(inner, steps, -90.0, 0.0), half_circle(inner + thickness, steps, 0.0, -90.0)])
    return sheet_of(closed_around(profile, sides))


def tube(path, radius, sides, is_closed=False):
    """A bar of round (polygonal) cross-section along a path (k, 3) in the plane y = 0; its ends are flat."""
    path = np.asarray(path, dtype=float)
    ahead = np.roll(path, -1, axis=0) - path if is_closed else np.gradient(path, axis=0)
    if is_closed:
        ahead = ahead + path - np.roll(path, 1, axis=0)
    ahead /= np.linalg.norm(ahead, axis=1)[:, None]
    side = np.array([0.0, 1.0, 0.0])
    up = np.cross(ahead, side)
    around = radius * circle(sides)
    grid = path[:, None] + around[None, :, :1] * side + around[None, :, 1:] * up[:, None]
    if is_closed:
        return sheet_of(closed(grid))
    ends = [np.broadcast_to(path[k], grid[0].shape)[None] for k in (0, -1)]
    grid = np.concatenate([ends[0], grid, ends[1]])
    return sheet_of(np.concatenate([grid, grid[:, :1]], axis=1))


def wheel(outline, bore, width):
    """A prism along z of a star-shaped outline (k, 2) with a bore of as many sides."""
    outline = np.asarray(outline, dtype=float)
    inner = outline * (bore / np.linalg.norm(outline, axis=1))[:, None]
    h = 0.5 * width
    rows = [(inner, -h), (outline, -h), (outline, h), (inner, h)]
    return sheet_of(closed(np.stack([np.column_stack([xy, np.full(len(xy), z)]) for xy, z in rows])))


def involute_wheel(teeth, chords, module=0.002, play=40e-6):
    """Outline (k, 2) of a wheel of involute teeth, 20 degrees, each flank thinner by a quarter of the play."""
    pitch, base = 0.5 * module * teeth, 0.5 * module * teeth * np.cos(np.deg2rad(20.0))
    roll = np.linspace(0.0, np.sqrt(((pitch + 0.9 * module) / base) ** 2 - 1.0), chords + 1)
    radius, pressure = base * np.sqrt(1.0 + roll**2), np.deg2rad(20.0)
    half = 0.5 * np.pi / teeth - 0.25 * play / pitch + np.tan(pressure) - pressure - roll + np.arctan(roll)
    foot = min(pitch - 1.25 * module, 0.98 * base)
    half, radius = np.append(1.02 * half[0], half), np.append(foot, radius)
    angle = (2.0 * np.pi * np.arange(teeth) / teeth)[:, None] + np.append(-half, half[::-1])
    return (np.append(radius, radius[::-1]) * np.stack([np.cos(angle), np.sin(angle)])).reshape(2, -1).T


def gear(teeth):
    """The wheels of config/gears.yaml: module 5 mm, 0.4 mm of play, a bore of 12 mm, 12 mm wide."""
    return wheel(involute_wheel(teeth, 2, 0.005, 4e-4), 0.006, 0.012)


def threaded(inner, outer, turns, pitch, sides):
    """A body between two helical surfaces of constant cross-section (polygons of radius over part of a turn).

    Parameters
    ----------
    inner, outer : (k, 2)
        Radius at parts of a pitch; both at the same parts, from 0 to below 1.
    """
    parts = np.asarray(inner)[:, 0]
    heights = np.concatenate([parts + t for t in range(turns)] + [[turns + parts[0]]])
    around = np.concatenate([circle(sides), circle(sides)[:1]])
    rise = np.linspace(0.0, 1.0, sides + 1)

    def surface(profile):
        radius = np.append(np.tile(np.asarray(profile)[:, 1], turns), profile[0][1])
        z = pitch * (heights[:, None] + rise)
        return np.concatenate([radius[:, None, None] * around, z[..., None]], axis=2)

    a, b = surface(inner), surface(outer)
    ends = [np.stack([a[k], b[k]]) for k in (0, -1)]
    count = len(parts)
    steps = [np.stack([a[:count + 1, 0], b[:count + 1, 0]], 1), np.stack([a[-count - 1:, -1], b[-count - 1:, -1]], 1)]
    return np.concatenate([sheet_of(grid) for grid in (a, b, *ends, *steps)])


def mug(sides=40):
    """The mug of config/meshes/mug.obj: 80 mm wide and 90 mm high, its walls 4 mm thick, with a handle of 10 mm."""
    lip = [(0.038 + 0.002 * np.cos(a), 0.088 + 0.002 * np.sin(a)) for a in np.linspace(0.0, np.pi, 7)]
    foot = [(0.034 + 0.006 * np.sin(a), 0.006 - 0.006 * np.cos(a)) for a in np.linspace(0.0, 0.5 * np.pi, 5)]
    floor = [(0.030 + 0.006 * np.sin(a), 0.011 - 0.006 * np.cos(a)) for a in np.linspace(0.5 * np.pi, 0.0, 5)]
    cup = revolved([(0.0, 0.0), *foot, *lip, *floor, (0.0, 0.005)], sides)
    angle = np.linspace(-0.53 * np.pi, 0.53 * np.pi, 23)
    arc = np.stack([0.038 + 0.030 * np.cos(angle), np.zeros(23), 0.047 + 0.030 * np.sin(angle)], axis=1)
    return np.concatenate([cup, tube(arc, 0.005, 14)])[:, ::-1]
