# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Files of compiled kernels: which are found, which are ignored."""

from __future__ import annotations

import pickle
import types

import pytest

from mb_contact.compile import files

KEY = "0123456789abcdef/core.room.kernel-1-0123456789abcdef"


@pytest.fixture
def places(tmp_path, monkeypatch, caplog):
    """The packaged folder and the user's, both empty."""
    files._say_once.cache_clear()
    packaged, own = tmp_path / "package", tmp_path / "home"
    monkeypatch.setattr(files, "folders", lambda: [packaged, own])
    return packaged, own


def write(first=("code", 1), second=("types", 2)):
    files.write(KEY, pickle.dumps(first), pickle.dumps(second))


@pytest.mark.nojit
def test_what_is_written_is_read(places):
    write()
    assert files.read(KEY) == [("code", 1)]
    assert files.read(KEY, second=True) == [("code", 1), ("types", 2)]
    assert files.read(KEY + "0") is None
    assert files.find(KEY[:-4] + "*") and not files.find(KEY[:-4])


@pytest.mark.nojit
def test_what_may_be_asked_for_and_no_file_has_is_wanted(places):
    digest = KEY.partition("/")[0]
    files.write(KEY + files.WANTED, pickle.dumps("types"))
    assert files.wanted([digest]) == [KEY] and files.wanted(["another"]) == []
    places[1].rename(places[0])
    write()
    assert files.wanted([digest]) == []


@pytest.mark.nojit
def test_kernels_of_the_package_come_first_and_are_never_written(places):
    packaged, own = places
    write(first="of the package")
    own.rename(packaged)
    assert files.read(KEY) == ["of the package"]
    write(first="of the user")
    assert files.read(KEY) == ["of the package"]
    assert len(list(own.rglob("*.kernel"))) == len(list(packaged.rglob("*.kernel"))) == 1


@pytest.mark.nojit
def test_a_truncated_or_foreign_file_is_ignored_with_one_line(places, caplog):
    write()
    (path,) = places[1].rglob("*.kernel")
    whole = path.read_bytes()
    for strange in (bytes(range(256)), b"mbkern99" + whole[8:], whole[:16] + b"\xff" * 8 + whole[24:]):
        path.write_bytes(strange)
        assert files.read(KEY, second=True) is None, "bytes of another origin, or a length that cannot be"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert files.read(KEY, second=True) is None, f"{length} of {len(whole)} bytes"
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} is damaged or of another origin: it is compiled again"
    ]


@pytest.mark.nojit
def test_a_file_of_another_function_is_ignored(places, caplog):
    write()
    (path,) = places[1].rglob("*.kernel")
    path.rename(path.with_name("core.room.other-1-0123456789abcdef.kernel"))
    assert files.read(KEY.replace("kernel-1", "other-1")) is None
    assert len(caplog.records) == 1


@pytest.mark.nojit
def test_where_nothing_can_be_written_nothing_is_kept(places, caplog):
    places[1].write_text("a file where the folder should be")
    write()
    write()
    assert files.read(KEY) is None and not files.can_write()
    assert len(caplog.records) == 1 and caplog.records[0].getMessage().startswith("compiled kernels are not kept")


@pytest.mark.nojit
@pytest.mark.parametrize("library, version", [("llvmlite", "0.1.2"), ("numba", "0.1.2"), ("numpy", "9.8.7")])
def test_another_version_of_a_library_is_another_environment(monkeypatch, library, version):
    here = files.environment.__wrapped__(files.PORTABLE)
    monkeypatch.setattr(getattr(files, library), "__version__", version)
    there = files.environment.__wrapped__(files.PORTABLE)
    assert f"{library}-{version[:3]}" in there != here


@pytest.mark.nojit
def test_another_python_is_another_environment(monkeypatch):
    monkeypatch.setattr(files.sys, "implementation", types.SimpleNamespace(cache_tag="cpython-99"))
    assert files.environment.__wrapped__(files.PORTABLE).startswith("cpython-99")


@pytest.mark.nojit
def test_kernels_are_written_to_the_users_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("MB_CONTACT_CACHE_DIR", str(tmp_path))
    bases = [folder.parent for folder in files.folders.__wrapped__()]
    assert bases[0] == files.PACKAGED and bases[-1] == tmp_path


@pytest.mark.nojit
def test_it_says_why_kernels_of_the_package_are_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PACKAGED", tmp_path)
    files.folders.cache_clear()
    try:
        assert files.why_compile() == ""
        (tmp_path / "cpython-311_numba-0.1").mkdir()
        assert "compiled for cpython-311_numba-0.1, and this is " in files.why_compile()
        monkeypatch.setattr(files, "is_portable", lambda: False)
        assert "below x86-64-v3" in files.why_compile()
    finally:
        files.folders.cache_clear()


@pytest.mark.parametrize("machine", ["aarch64", "arm64", "riscv64"])
def test_every_cpu_of_arm64_runs_its_level_and_others_have_none(monkeypatch, machine):
    """LLVM knows the level's name, and the folder of its kernels is another one than that of x86-64."""
    monkeypatch.setattr(files.platform, "machine", lambda: machine)
    assert files.is_portable.__wrapped__() == (machine in files.ARM)
    level = files.LEVELS.get(machine, "generic")
    assert level != files.LEVELS["x86_64"] and f"_{level}_" in files.environment.__wrapped__(level)
