# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled functions: what makes them of Python's, keeps them on disk and loads them; it knows nothing of contact.

    decorated.py    a function with its options: compiled by the means below, by Numba alone, or not at all
    private.py      the names of Numba and llvmlite that are not public and that these means need
    dispatcher.py   functions that are compiled once each, called and loaded as machine code
    compiler.py     Numba's compiler with less work for each function
    place.py        what stands in a caller for a function that is compiled when it is first called
    handles.py      one reference to all arrays that a kernel works on
    files.py        the files of compiled functions
    workers.py      processes that compile ahead of time
"""
