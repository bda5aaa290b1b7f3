# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The reference page of the node's options and the file of its parameters, made from their declarations.

``python -m mb_contact.ros.reference > docs/node_reference.md`` writes the page,
``python -m mb_contact.ros.reference --parameters > config/node.yaml`` the file.
"""

import json
import sys
import textwrap
from dataclasses import fields
from typing import Any, get_args

from mb_contact.ros.launch_arguments import OTHERS
from mb_contact.ros.options import NodeOptions, RunOptions, described

HEAD = """# Options of the node

All options, made from their declarations by `python -m mb_contact.ros.reference`. Units are SI. Parameters are set with
`--ros-args -p name:=value` or in a file for `--params-file`; [config/node.yaml](../config/node.yaml) has all with their
defaults. **Live** ones can be changed while the node runs. [How to launch it](ros_use.md).
"""
TABLE = "| option | type | unit | range | default | | flag | launch argument | example |\n" + "|---" * 9 + "|"
FILE = """# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0
#
# Every parameter of the node with its default, for mb-contact run SCENE --ros-args --params-file config/node.yaml
# (live): can be changed while the node runs, with ros2 param set.
# Written by python -m mb_contact.ros.reference --parameters

/**:
  ros__parameters:
"""
TYPES = {bool: "`true`, `false`", int: "whole number", float: "number", list: "list of texts", str: "text"}


def page() -> str:
    """The reference page."""
    others = "\n".join(f"| {name} | {default} | {text} |" for name, (default, text) in OTHERS.items())
    launch = f"## Further arguments of launch files\n\n| argument | default | |\n|---|---|---|\n{others}\n"
    parameters = f"## Parameters\n\n{_table(NodeOptions)}\n"
    return "\n".join([HEAD, parameters, f"## Of a run\n\n{_table(RunOptions)}\n", launch])


def _table(options: type) -> str:
    rows = (_row(entry, getattr(options(), entry.name)) for entry in fields(options) if "about" in entry.metadata)
    return "\n".join([TABLE, *rows])


def _row(entry: Any, default: Any) -> str:
    about, (hint, *_) = entry.metadata["about"], get_args(entry.type) or (entry.type,)
    kind = ", ".join(f"`{word}`" for word in about.choices) or TYPES[hint]
    bounds = "" if about.low is None else f"{about.low:g} to {about.high:g}"
    shown = {"[null]": "", '[[""]]': "[]"}.get(json.dumps([default]), json.dumps(default))
    flag = f"`{about.flag[0]}`" if about.flag else ""
    name = f"**{entry.name}**" if about.live else entry.name
    cells = (name, kind, about.unit, bounds, shown, about.text, flag, about.launch, f"`{example_of(entry, default)}`")
    return f"| {' | '.join(cells)} |"


def example_of(entry: Any, default: Any) -> str:
    """How an option is set to another value than its default, as a parameter or, where it is none, by its flag."""
    about = entry.metadata["about"]
    others = [word for word in about.choices if word != default]
    example = about.example or (json.dumps(not default) if isinstance(default, bool) else others[0])
    if entry.name in described(NodeOptions):
        return f"{entry.name}:={example}"
    flag = about.flag[0]
    return str(flag) if isinstance(default, bool) else f"{flag} {example}"


def parameter_file() -> str:
    """All parameters with their defaults, each below its description."""
    lines: list[str] = []
    for name, about in described(NodeOptions).items():
        words = f" (one of {', '.join(about.choices)})" if about.choices else ""
        lines += textwrap.wrap(
            f"{'(live) ' * about.live}{about.sentence}{words}", 119, initial_indent="    # ", subsequent_indent="    # "
        )
        lines.append(f"    {name}: {json.dumps(getattr(NodeOptions(), name))}")
    return FILE + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(parameter_file() if "--parameters" in sys.argv else page())
