"""Sphinx settings of the static site that `make docs` builds."""

project = "dbre.semisync"
copyright = "dbre.semisync contributors"
title = html_title = html_short_title = "dbre.semisync"
extensions = ["myst_parser", "sphinx.ext.intersphinx", "sphinx_antsibull_ext"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
html_theme = "sphinx_ansible_theme"
html_theme_options = {
    "collapse_navigation": False,
    "documentation_home_url": "",
    "topbar_links": {},
}
html_show_sphinx = False
pygments_style = "ansible"
highlight_language = "YAML+Jinja"
myst_heading_anchors = 4
nitpicky = False
# Offline: links to other projects' pages are not resolved.
intersphinx_mapping = {}
# A page outside the site, such as a source file, is linked on the repository instead; see
# tests/tools/docs.py. What Ansible's own pages define cannot be looked up offline; antsibull-docs
# checked the references within the collection.
suppress_warnings = ["misc.highlighting_failure", "ref.ref"]
