"""Settings of Sphinx. `python docs/build.py` writes the generated pages and runs it."""

import functools
import posixpath
import re
from pathlib import Path

from furo.navigation import get_navigation_tree
from sphinx.search.en import SearchEnglish

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
pygments_style = "default"  # all of its colours have the contrast that WCAG 2.2 asks for
copybutton_exclude = ".linenos, .gp, .go"


def linkcode_resolve(domain, info):
    """The text of a module, from a page in api/; browsers that know text fragments go to the name."""
    if not info["module"]:
        return None
    return f"../source/{info['module']}.txt#:~:text={info['fullname'].rpartition('.')[2]}"


SearchEnglish.stem = functools.cache(SearchEnglish.stem)  # pages share their words

LINK = 'class="reference internal"'

TREES: dict[tuple[str, str], str] = {}
"""Side bars by folder and open branch: to make one for each of 250 pages is a third of the time of a build."""


def opened(env, page):
    """The page whose branch is open in the side bar: the page itself where it lists others, else its parent."""
    listing = (parent for parent, listed in env.toctree_includes.items() if page in listed)
    return page if env.toctree_includes.get(page) else next(listing, env.config.root_doc)


def side_bar(app, page, template, context, doctree):
    """Replace the theme's side bar, before and after the theme, by one that pages of a branch share."""
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = context.pop("side_bar", "")
    elif toctree := context.get("toctree"):
        folder, name = posixpath.split(page)
        key = folder, opened(app.env, page)
        if key not in TREES:
            tree = get_navigation_tree(toctree(collapse=True, titles_only=True, maxdepth=-1, includehidden=True))
            tree = re.sub(r'(toctree-l\d) current current-page"', r'\1"', tree).replace(' current-page"', '"')
            TREES[key] = tree.replace('class="current reference internal" href="#"', f'{LINK} href="{name}.html"')
        mark = rf'<li class="(toctree-l\d)(?: current( has-children))?"><a {LINK} href="{re.escape(name)}\.html"'
        current = r'<li class="\1 current\2 current-page"><a class="current reference internal" href="#"'
        context["side_bar"] = re.sub(mark, current, TREES[key], count=1)
        context["toctree"] = lambda **given: ""


FOR_ALL = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    "<pre>": '<pre tabindex="0">',
    '<th class="head"><p></p></th>': "<td></td>",
}
"""Accessibility fixes of the theme: names, levels, boxes that scroll by keys."""


def accessible(app, error):
    """Add it to all pages of the theme."""
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        if path.name not in html_extra_path:
            for theme, ours in FOR_ALL.items():
                page = page.replace(theme, ours)
            path.write_text(page, encoding="utf-8")


def setup(app):
    """The theme draws its side bar at 500."""
    app.connect("build-finished", accessible)
    for priority in (400, 600):
        app.connect("html-page-context", side_bar, priority=priority)
