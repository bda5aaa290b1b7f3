# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where the names are, for type checkers and editors."""

from mb_contact.simulation.initial import initial_penetrations
from mb_contact.simulation.results import Certificate, Impact, Step
from mb_contact.simulation.sensors.cameras import ImageReading, ScanReading
from mb_contact.simulation.sensors.pads import TactileReading
from mb_contact.simulation.sensors.sensors import EncoderReading, ImuReading, Sensors
from mb_contact.simulation.simulator import Simulator
from mb_contact.simulation.state import State
from mb_contact.simulation.surfaces.mixed import MixedSimulator
from mb_contact.simulation.surfaces.simulator import SurfaceSimulator

__all__ = [
    "Certificate",
    "EncoderReading",
    "ImageReading",
    "Impact",
    "ImuReading",
    "MixedSimulator",
    "ScanReading",
    "Sensors",
    "Simulator",
    "State",
    "Step",
    "SurfaceSimulator",
    "TactileReading",
    "initial_penetrations",
]
