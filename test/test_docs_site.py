# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The site of the documentation is built without a warning, runs its tutorials, and holds what it should."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from paths import ROOT


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(tmp_path / "trees"), str(ROOT / "docs"), str(site)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    pages = {page.relative_to(ROOT / "docs").with_suffix("") for page in (ROOT / "docs").rglob("*.md")}
    assert pages <= {page.relative_to(site).with_suffix("") for page in site.rglob("*.html")}
    for name in ("first_scene", "your_robot", "lockstep", "certificate", "worlds"):
        assert (site / "tutorials" / f"{name}.html").read_text(encoding="utf-8").count("cell_output") >= 2, name
    assert (site / "test_your_controller.html").read_text(encoding="utf-8").count("cell_output") >= 2
    text = (site / "reference" / "dynamics.html").read_text(encoding="utf-8")
    for name in ("forward_dynamics", "operational_compliance", "jacobian"):
        assert f'id="mb_contact.dynamics.{name}"' in text or f".{name}\"" in text
    links = re.findall(r'href="((?!http|#)[^"#]+\.html)', (site / "index.html").read_text(encoding="utf-8"))
    assert len(links) > 20 and all((site / link).exists() for link in links)
