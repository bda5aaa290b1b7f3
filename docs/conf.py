# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The site of these pages and of the docstrings: ``make docs``."""

import mb_contact

project = "mb_contact"
author = "The mb_contact authors"
copyright = "2026, The mb_contact authors"  # noqa: A001 (Sphinx calls it so)
release = mb_contact.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc"]
myst_heading_anchors = 4
nb_execution_mode = "force"  # the tutorials run whenever the site is made, and a cell that fails fails the site
nb_execution_raise_on_error = True
nb_execution_timeout = 300
html_theme = "furo"
html_title = f"mb_contact {release}"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what arguments are
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

#: links of the pages to files above their folder, and the pages here that hold those
ABOVE = {
    "../CONTRIBUTING.md": "contributing.md", "../benchmarks/README.md": "benchmarks.md",
    "CONTRIBUTING.md": "contributing.md", "../docs/": "", "docs/": "",
}  # fmt: skip


def setup(app):
    """Let links that lead above this folder stay within the site."""

    def within(*found):
        source = found[-1]
        for above, here in ABOVE.items():
            source[0] = source[0].replace(f"]({above}", f"]({here}")

    app.connect("source-read", within)
    app.connect("include-read", within)
