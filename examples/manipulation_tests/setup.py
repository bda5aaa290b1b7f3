# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

from pathlib import Path

from setuptools import setup

NAME = "manipulation_tests"
HERE = Path(__file__).resolve().parent


def shared(folder):
    """Files of a folder, and where they are installed."""
    return f"share/{NAME}/{folder}", [str(file.relative_to(HERE)) for file in sorted((HERE / folder).iterdir())]


setup(
    name=NAME,
    version="0.1.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        shared("expectations"),
        shared("launch"),
    ],
    install_requires=["setuptools"],
    tests_require=["pytest"],
    entry_points={
        "console_scripts": [
            "squeeze = manipulation_tests.squeeze:main",
            "insert = manipulation_tests.insert:main",
        ]
    },
)
