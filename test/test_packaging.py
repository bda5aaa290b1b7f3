# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is built: the wheel's files, its metadata, and the facts that stand in more than one file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.parser import Parser
from xml.etree import ElementTree

import pytest
import yaml

import mb_contact
from mb_contact.collision import coal_library
from mb_contact.model.resources import find_resource
from paths import ROOT

pytestmark = pytest.mark.quick

SHARED = ("config", "examples", "launch", "urdf")
WORD = r"[-a-zA-Z0-9_%+]+"
EMAIL = rf"{WORD}(\.{WORD})*@{WORD}(\.{WORD})*\.[a-zA-Z]{{2,}}"
NOT_SOURCE = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "out", "install", "log", "*.egg-info", "node_modules", "__pycache__"
)


@pytest.fixture(scope="module")
def manifest():
    return ElementTree.parse(ROOT / "package.xml").getroot()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the source tree, outside the checkout."""
    return shutil.copytree(ROOT, tmp_path_factory.mktemp("tree") / "source", ignore=NOT_SOURCE)


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    """Its wheel, opened; built without network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    command += ["--wheel-dir", str(folder), str(source)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


def read_one(wheel, ending):
    (name,) = (name for name in wheel.namelist() if name.endswith(ending))
    return wheel.read(name).decode()


def test_the_wheel_shares_what_ros_and_the_scenes_need(wheel, manifest):
    prefix = f"mb_contact-{manifest.findtext('version')}.data/data/share/"
    shared = {name.removeprefix(prefix) for name in wheel.namelist() if name.startswith(prefix)}
    wanted = {"mb_contact/package.xml", "ament_index/resource_index/packages/mb_contact"}
    for folder in SHARED:
        files = [p for p in (ROOT / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
        assert files, f"{folder}/ is empty"
        wanted |= {f"mb_contact/{path.relative_to(ROOT).as_posix()}" for path in files}
    assert shared == wanted


def test_the_wheel_has_every_module_and_nothing_else(wheel):
    packed = {name for name in wheel.namelist() if name.endswith(".py") and ".data/" not in name}
    assert packed == {p.relative_to(ROOT).as_posix() for p in (ROOT / "mb_contact").rglob("*.py")}


def test_the_wheel_tells_type_checkers_that_it_is_annotated(wheel):
    stubs = {p.relative_to(ROOT).as_posix() for p in (ROOT / "mb_contact").rglob("*.pyi")}
    assert stubs | {"mb_contact/py.typed"} <= set(wheel.namelist())


def test_the_wheel_has_what_its_library_is_built_from(wheel):
    assert "mb_contact/collision/coal_narrow.cpp" in wheel.namelist()


def test_the_wheel_has_both_executables(wheel):
    entry_points = read_one(wheel, ".dist-info/entry_points.txt")
    assert "mb-contact = mb_contact.cli:main" in entry_points
    assert "simulator_node = mb_contact.ros.main:main" in entry_points


def test_the_sources_build_the_wheel_and_have_no_half_of_a_test_suite(source, wheel, tmp_path):
    script = f"from setuptools import build_meta; build_meta.build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", script], cwd=source, check=True, capture_output=True, timeout=300)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as opened:
        packed = {name.split("/", 1)[-1] for name in opened.getnames()}
    modules = {name for name in wheel.namelist() if name.startswith("mb_contact/")}
    assert modules | {"setup.py", "pyproject.toml", "package.xml", "CHANGELOG.md", "LICENSE"} <= packed
    assert not [name for name in packed if name.startswith("test/")]


def test_metadata_comes_from_package_xml(wheel, manifest):
    metadata = Parser().parsestr(read_one(wheel, ".dist-info/METADATA"))
    assert metadata["Version"] == manifest.findtext("version")
    assert metadata["Summary"] == manifest.findtext("description")
    assert metadata["Maintainer-email"].endswith(manifest.find("maintainer").get("email"))
    assert metadata["Requires-Python"] == ">=3.10"


def test_one_version_everywhere(manifest):
    version = manifest.findtext("version")
    assert mb_contact.__version__ == version
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == version
    released = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert released[0] == version


def test_a_checkout_uses_its_own_files(monkeypatch):
    """No installed copy hides a file that is edited in the checkout."""
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    for folder in SHARED:
        assert find_resource(f"package://mb_contact/{folder}") == ROOT / folder


def test_colcon_takes_it_for_a_ros_package(manifest):
    assert manifest.get("format") == "3"
    assert manifest.findtext("export/build_type") == "ament_python"
    assert (ROOT / "resource" / "mb_contact").is_file()
    # A malformed address makes colcon fall back to plain Python without a word.
    assert re.fullmatch(EMAIL, manifest.find("maintainer").get("email"))
    scripts = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    assert scripts.count("$base/lib/mb_contact") == 2


def test_ci_calls_exactly_make_lint_and_make_test():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "make" in line] == ["make lint", "exec make test"]


def test_the_five_papers_are_cited():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["license"] == "Apache-2.0"
    assert len(citation["references"]) == 5
    assert all(entry["title"] and entry["authors"] and entry["year"] for entry in citation["references"])


COUNT = """
import json
from mb_contact.errors import MbContactError
from mb_contact.simulation.kernels.kernel_jobs import KINDS
from mb_contact.simulation.kernels.warm_up import all_jobs
from mb_contact.compile.dispatcher import COMPILED
from numba.core import event
import mb_contact
counted, ran, refused = event.RecordingListener(), 0, 0
with event.install_listener("numba:compile", counted):
    for job in (job for jobs in all_jobs() for job in jobs):
        try:
            KINDS[job.kind](job.argument)
            ran += 1
        except MbContactError:
            refused += 1
    for room in ("dynamics", "model", "simulation", "solvers", "studies", "surfaces"):
        KINDS["examples"](room)
modules = [record.data["dispatcher"].py_func.__module__ for _, record in counted.buffer]
ours = [name for name in modules if name.partition(".")[0] == "mb_contact"]  # examples compile the laws that are theirs
print(json.dumps([mb_contact.__file__, ran, refused, COMPILED, len(ours)]))
"""


@pytest.mark.slow
def test_an_installed_wheel_compiles_nothing(tmp_path):
    """Every friction model, integrator, scheme and scene of the library, and what public docstrings show."""
    source = shutil.copytree(ROOT, tmp_path / "source", ignore=NOT_SOURCE)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    command += ["--wheel-dir", str(tmp_path), str(source)]
    answer = subprocess.run(command, env={**os.environ, "MB_CONTACT_PRECOMPILE": "1"}, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert "linux" in wheel.name and wheel.stat().st_size < 60e6
    if coal_library.library() is not None:
        with zipfile.ZipFile(wheel) as opened:
            assert any(name.startswith("mb_contact/kernels/coal/") for name in opened.namelist())
    environment, home = tmp_path / "environment", tmp_path / "home"
    home.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (site,) = environment.glob("lib/*/site-packages")
    libraries = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})"  # and what their .pth files add
    (site / "libraries.pth").write_text(libraries, encoding="utf-8")
    python = str(environment / "bin" / "python")
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--quiet", str(wheel)]
    subprocess.run([*command, "--ignore-installed"], check=True)  # it sees the package of these very libraries
    answer = subprocess.run(
        [python, "-c", COUNT], cwd=tmp_path, env={"HOME": str(home), "PATH": ""}, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    place, ran, refused, compiled, counted = json.loads(answer.stdout.splitlines()[-1])
    assert place.startswith(str(environment)) and compiled == [] and counted == 0
    assert ran >= 60 and refused < 20
    assert not list(home.rglob("*.kernel"))
