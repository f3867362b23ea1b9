"""Settings of Sphinx. `python docs/build.py` writes the generated pages and runs it."""

import hpo_envs

project = "hpo_envs"
author = "The hpo_envs developers"
copyright = "the hpo_envs developers, MIT licence"
version = release = hpo_envs.__version__

extensions = ["myst_parser", "sphinx.ext.linkcode", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_site"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # pages that start below level 1
default_role = "literal"
nitpicky = False

html_theme = "furo"
html_title = "hpo_envs"
html_extra_path = ["leaderboard.html", "extra"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
templates_path = []
pygments_style = "tango"
copybutton_exclude = ".linenos, .gp, .go"


def linkcode_resolve(domain, info):
    """The text of a module, from a page in api/; browsers that know text fragments go to the name."""
    if not info["module"]:
        return None
    return f"../source/{info['module']}.txt#:~:text={info['fullname'].rpartition('.')[2]}"


def shallow(app, page, template, context, doctree):
    """The side bar opens where the reader is: all branches on each of 200 pages are most of the time of a build."""
    toctree = context.get("toctree")
    if toctree:
        context["toctree"] = lambda **given: toctree(**{**given, "collapse": True})


def setup(app):
    """Before the theme draws its side bar, at 500."""
    app.connect("html-page-context", shallow, priority=400)
