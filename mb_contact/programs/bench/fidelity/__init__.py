# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How exact the simulator is: cases with known answers, ``mb-contact bench fidelity``."""

from mb_contact.programs.bench.fidelity import assembly, bounce, friction, impact, passing, rotation

CASES = {case.name: case for family in (friction, passing, impact, bounce, rotation, assembly) for case in family.CASES}
