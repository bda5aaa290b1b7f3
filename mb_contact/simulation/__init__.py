# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Simulated worlds: detect, assemble, solve, integrate."""

from mb_contact.lazy import lazy_names

_DEFINED = {
    "sensors.cameras": ("ImageReading", "ScanReading"),
    "initial": ("initial_penetrations",),
    "sensors.pads": ("TactileReading",),
    "results": ("Certificate", "Impact", "Step"),
    "sensors.sensors": ("EncoderReading", "ImuReading", "Sensors"),
    "simulator": ("Simulator",),
    "state": ("State",),
    "surfaces.mixed": ("MixedSimulator",),
    "surfaces.simulator": ("SurfaceSimulator",),
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _DEFINED)
