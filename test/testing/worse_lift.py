# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The lift's controller, worse on purpose: ``python worse_lift.py``, ``half`` of the grip or a hand 2 cm ``off``."""

from __future__ import annotations

import sys

from mb_contact.model.resources import find_resource

sys.path.insert(0, str(find_resource("package://mb_contact/examples")))

from controller_node import main  # noqa: E402
from dual_arm_lift import LiftNode  # noqa: E402
from lift_controller import LiftController, LiftTask, Reference  # noqa: E402

FAULT = sys.argv.pop(1)


class Worse(LiftNode):
    def begin(self, model, names, position, seen):
        task = LiftTask(lost=1.0, grip=12.5 if FAULT == "half" else LiftTask.grip)
        law = LiftController(model, names, position, seen[0], task)
        if FAULT == "off":
            start = law.hand_poses(position)[0]
            law.reference = Reference(task, start, law._box)
            law.reference._targets[1:-1, 3:6] += [0.0, -0.02, 0.0]  # the right hand stays 2 cm outside
            law.reference._changes = law.reference._targets[1:] - law.reference._targets[:-1]
        return law


if __name__ == "__main__":
    sys.exit(main(None, "worse_lift", "Two arms lift a box, badly.", Worse))
