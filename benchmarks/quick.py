# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the programs share: ``--quick``, their smallest case, which the test suite runs; what they cannot do without."""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDED = 77  #: exit code of a program that lacks something of the machine; the last line of stderr says what


def options_of(parser, argv=None, **quick):
    """Parsed options; ``--quick`` puts the values of ``quick`` in place of the defaults."""
    parser.add_argument("--quick", action="store_true", help="the smallest case, a few seconds")
    options = parser.parse_args(argv)
    if options.quick:
        parser.set_defaults(**quick)
        options = parser.parse_args(argv)
    return options


def need(*modules):
    """End the program if a module is not installed."""
    for name in modules:
        if find_spec(name) is None:
            lacks(f"the Python package {name} is not installed")


def lacks(what):
    """End the program: the machine lacks something."""
    print(what, file=sys.stderr)
    raise SystemExit(NEEDED)
