# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Many small cases in one test: one each costs more than to look at them, in every process of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def of_each(cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Decorate a test of one case, or of its parts if that is a tuple: it runs over all and names those that fail."""
    all_cases = list(cases)

    def decorate(test):
        def of_all():
            failed = []
            for case in all_cases:
                try:
                    test(*(case if isinstance(case, tuple) else (case,)))
                except Exception as error:
                    failed.append(f"{case}: {type(error).__name__}: {error}")
            assert all_cases, "there is no case"
            assert not failed, "\n".join(failed)

        of_all.__name__, of_all.__doc__ = test.__name__, test.__doc__
        return of_all

    return decorate
