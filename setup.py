# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Build of the ament_python package; plain pip and colcon both come through here."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
NAME = "mb_contact"
SHARED_FOLDERS = ("config", "examples", "launch", "urdf")

# Where Cyclone DDS has wheels; elsewhere the embedded node speaks by Zenoh, which has wheels for every CPython.
WITH_CYCLONE = 'python_version < "3.14" and (platform_machine == "x86_64" or sys_platform == "darwin")'
WITHOUT_CYCLONE = 'python_version >= "3.14" or (platform_machine != "x86_64" and sys_platform != "darwin")'
ZENOH = "eclipse-zenoh>=1.5"

# Each lower bound has a reason in docs/design.md, "Dependencies and why".
REQUIRED = [
    "numpy>=1.26",
    "scipy>=1.11",
    "numba>=0.59,<0.69",
    "lxml>=4.9",
    "PyYAML>=6.0.1",
    "trimesh>=4.0",
    "pycollada>=0.7",  # trimesh reads Collada meshes with it
    "manifold3d>=3.0",  # unites parts of meshes that overlap
    "pillow>=10.0",
    "coal>=3.0.1",
    "python-fcl>=0.7.0.8",
    "rosbags>=0.11",
    f"cyclonedds>=11.0.1; {WITH_CYCLONE}",
    f"{ZENOH}; {WITHOUT_CYCLONE}",
]
PLOT = ["matplotlib>=3.8"]
VIEWER = ["viser>=1.1,<2"]
RERUN = ["rerun-sdk>=0.41"]  # files for its viewer
GYM = ["gymnasium>=1.1"]
MJCF = ["mujoco>=3.3"]
DISTRIBUTED = ["ray>=2.40"]
CONTROL = ["ruckig>=0.19"]  # motions of joints within limits of speed, acceleration and jerk
# ROS 2 Kilted's rclpy; wheels exist for x86-64 Linux only.  What has none is made by mb_contact.ros.message_packages.
ROS = [
    f'{name}; platform_machine == "x86_64" and sys_platform == "linux"'
    for name in ("ros-rclpy>=9.1", "ros-common-interfaces>=5.5", "ros-rmw-fastrtps-cpp>=9.3")
]
# There are no wheels for arm64 on Linux; cameras and lidars that see no mesh work without it.
CAMERAS = ['embreex>=4.4; platform_machine == "x86_64" or sys_platform == "darwin"']
# Eigen's headers, to build mb_contact/collision/coal_narrow.cpp where there is a C++ compiler.
COMPILER = ["cmeel-eigen>=3.4,<4"]
DOCS = ["sphinx>=7.2.5", "myst-nb>=1.1", "numpydoc>=1.6", "furo>=2024.1"]
TEST = PLOT + VIEWER + GYM + MJCF + CAMERAS + COMPILER + DOCS + DISTRIBUTED + CONTROL + ROS + [
    ZENOH,
    "mypy>=1.11",
    "pytest>=7.4",
    "pytest-xdist>=3.2",  # --dist worksteal
    "pytest-rerunfailures>=14",  # test/conftest.py: tests of processes over DDS run again once
    "hypothesis>=6.90",
    "mpmath>=1.3",  # references of 40 and 60 digits: test/oracles/extended_precision.py
    "pin>=3.0",
    "example-robot-data>=4.2",
    "jsonschema>=4.18",  # test/model/scene/test_schema.py checks the published schema with it
    "yourdfpy>=0.0.56",
    "xacro>=2.0",
    "cma>=4.0",  # examples/learn_to_reach.py learns with it
    "ruff>=0.6",
    "setuptools>=70.1",  # test/test_packaging.py builds a wheel; from this release on without the wheel package
]


#: MB_CONTACT_PRECOMPILE=1: the package carries the compiled kernels of every feature, and belongs to this platform
PRECOMPILE = os.environ.get("MB_CONTACT_PRECOMPILE", "0") not in ("", "0")


class BuildWithKernels(build_py):
    """Puts compiled kernels beside the modules; needs the libraries that the package needs at run time."""

    def run(self):
        super().run()
        if PRECOMPILE and not getattr(self, "editable_mode", False):  # which setuptools before 64 lacks
            folder = Path(self.build_lib).resolve() / NAME / "kernels"
            command = [sys.executable, "-m", NAME, "compile", "--all", "--into", str(folder)]
            if subprocess.run(command, cwd=HERE, env={**os.environ, "PYTHONPATH": str(HERE)}).returncode:
                raise SystemExit(
                    f"MB_CONTACT_PRECOMPILE: {NAME} cannot compile its kernels with {sys.executable}: install its "
                    "libraries there, and let pip build with --no-build-isolation"
                )


class PlatformDistribution(Distribution):
    """A wheel with compiled kernels is for one Python and one platform."""

    def has_ext_modules(self):
        return PRECOMPILE


def manifest():
    """Name, version and the other facts that package.xml already states."""
    root = ElementTree.parse(HERE / "package.xml").getroot()
    maintainer = root.find("maintainer")
    return {
        "version": root.findtext("version"),
        "description": root.findtext("description"),
        "license": root.findtext("license"),
        "maintainer": maintainer.text,
        "maintainer_email": maintainer.get("email"),
    }


def shared_files():
    """Every file of the shared folders, as (folder under the prefix, files) pairs."""
    pairs = [
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ]
    for top in SHARED_FOLDERS:
        folders = {}
        for file in sorted((HERE / top).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                path = file.relative_to(HERE)
                folders.setdefault(path.parent.as_posix(), []).append(path.as_posix())
        pairs += [(f"share/{NAME}/{folder}", files) for folder, files in folders.items()]
    return pairs


setup(
    name=NAME,
    **manifest(),
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={"": ["py.typed", "*.pyi", "*.js", "*.cpp"]},
    data_files=shared_files(),
    python_requires=">=3.10",
    install_requires=REQUIRED,
    extras_require={
        "plot": PLOT,
        "test": TEST,
        "viewer": VIEWER,
        "rerun": RERUN,
        "gym": GYM,
        "control": CONTROL,
        "mjcf": MJCF,  # import of MuJoCo's models
        "cameras": CAMERAS,  # and lidars: rays against meshes
        "compiler": COMPILER,  # coal's narrow phase within the compiled step
        "docs": DOCS,
        "ros": ROS,  # backend rclpy without a sourced ROS 2
        "distributed": DISTRIBUTED,
        "zenoh": [ZENOH],  # a second wire of the embedded backend, where Cyclone DDS is the first
        "pieces": ["vhacdx>=0.0.8"],  # collision_meshes: convex_pieces
    },
    zip_safe=False,
    cmdclass={"build_py": BuildWithKernels},
    distclass=PlatformDistribution,
    entry_points={
        "console_scripts": [
            "mb-contact = mb_contact.cli:main",
            "simulator_node = mb_contact.ros.main:main",
        ],
        # named as ``pytest -p`` names it, which may load it too
        "pytest11": ["mb_contact.testing.plugin = mb_contact.testing.plugin"],
    },
)
