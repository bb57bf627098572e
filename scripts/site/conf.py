"""Settings of the site of the documents, which scripts/docs.sh builds with Sphinx."""

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

project = html_title = "ldp-pca"
html_theme = "furo"
html_show_copyright = False
html_show_sourcelink = False
extensions = ["myst_nb"]
# The notebook is shown as it is committed. A test runs it.
nb_execution_mode = "off"
myst_heading_anchors = 6

root_doc = "docs/README"
include_patterns = ["*.md", "docs/**", "examples/README.md", "pkg/README.md", "research/docs/**", "crates/cli/tests/**"]
exclude_patterns = ["target", "node_modules", ".*"]
# Examples leave out with "…" what does not matter.
suppress_warnings = ["misc.highlighting_failure", "toc.not_included"]

# What other programs write beside the documents.
BESIDE = """
**Reference of the code:** <a href="../rust/ldp_pca/index.html">Rust</a> ·
<a href="../typings/index.html">JavaScript and TypeScript</a>
"""


def side_bar(text: str) -> str:
    """Name in the side bar what docs/README.md links, under its headings, in its order."""
    lists = []
    for caption, links in re.findall(r"^\*\*(.+?):\*\*(.+?)(?=^\*\*|\Z)", text, re.MULTILINE | re.DOTALL):
        pages = re.findall(r"\[([^\]]+)\]\(([^)#]+)\.(?:md|ipynb)\)", links)
        entries = "\n".join(f"{title[0].upper()}{' '.join(title[1:].split())} <{page}>" for title, page in pages)
        lists.append(f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n")
    return text + "".join(lists)


def setup(app: Sphinx) -> None:
    """Add the side bar, and settle links that Sphinx does not know."""

    def read(app: Sphinx, name: str, source: list[str]) -> None:
        if name == root_doc:
            source[0] = f"# ldp-pca\n\n{side_bar(source[0])}\n{BESIDE}"

    def settle_links(app: Sphinx, page: nodes.document) -> None:
        anchors = re.findall(r'<a id="([^"]+)">', "".join(raw.astext() for raw in page.findall(nodes.raw)))
        for link in list(page.findall(addnodes.pending_xref)):
            target = link["reftarget"]
            if target in anchors:
                link.replace_self(nodes.reference("", "", *link.children, refuri=f"#{target}"))
            elif Path(app.srcdir, f"{link['refdoc']}.md").parent.joinpath(target).is_dir():
                # A folder has no page.
                link.replace_self(link.children)

    app.connect("source-read", read)
    app.connect("doctree-read", settle_links)
