# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The reference page of the node's options and the file of its parameters, made from their declarations.

``python -m mb_contact.ros.reference > docs/node_reference.md`` writes the page,
``python -m mb_contact.ros.reference --parameters > config/node.yaml`` the file.
"""

import json
import sys
import textwrap

from mb_contact.keys.declaration import Key
from mb_contact.keys.kinds import Record
from mb_contact.keys.page import page
from mb_contact.ros.launch_arguments import OTHERS
from mb_contact.ros.options import DESCRIPTIONS, NodeOptions, RunOptions

HEAD = """# Options of the node

All options, made from their declarations by `python -m mb_contact.ros.reference`. Units are SI. Those of a run are
flags of the command line. Parameters are set with `--ros-args -p name:=value` or in a file for `--params-file`:
[config/node.yaml](../config/node.yaml) has all with their defaults. Live ones can be changed while the node runs.
[How to launch it](ros_use.md).
"""
FILE = """# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0
#
# Every parameter of the node with its default, for mb-contact run SCENE --ros-args --params-file config/node.yaml
# (live): can be changed while the node runs, with ros2 param set.
# Written by python -m mb_contact.ros.reference --parameters

/**:
  ros__parameters:
"""

def text() -> str:
    """The reference page."""
    others = "\n".join(f"| {name} | {default} | {about} |" for name, (default, about) in OTHERS.items())
    launch = f"## Further arguments of launch files\n\n| argument | default | |\n|---|---|---|\n{others}\n"
    return page(HEAD, Record(Key(""), RunOptions).schema()) + launch


def parameter_file() -> str:
    """All parameters with their defaults, each below its description."""
    lines: list[str] = []
    for name, about in DESCRIPTIONS.items():
        words = f" (one of {', '.join(about.choices)})" if about.choices else ""
        lines += textwrap.wrap(
            f"{'(live) ' * about.live}{about.told}{words}", 119, initial_indent="    # ", subsequent_indent="    # "
        )
        lines.append(f"    {name}: {json.dumps(getattr(NodeOptions(), name))}")
    return FILE + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(parameter_file() if "--parameters" in sys.argv else text())
