"""`{api}` writes the entries of names into a page, and below them their example: `reference.py` says what they are."""

from __future__ import annotations

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from reference import entries, entry, same_methods
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Api(SphinxDirective):
    """The entries of some names, and their example."""

    required_arguments, final_argument_whitespace, has_content = 1, True, True
    option_spec = {"members": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # docstrings change without the page
        head, _, rest = self.arguments[0].partition(":")
        chosen = self.options["members"].split() if "members" in self.options else None
        lines: list[str] = []
        for full in entries(head.strip(), rest):
            lines += entry(full, chosen)
        if self.content:
            lines += ["```pycon", *self.content, "```", ""]
        here = nodes.Element()
        self.state.nested_parse(StringList(lines, self.env.docname), self.content_offset, here)
        for link in [*here.findall(pending_xref)]:
            if link["reftarget"] in ("bool", "float", "int"):  # Python's own, not the dtypes of these names
                link.replace_self(nodes.Text(link["reftarget"]))
        return here.children


class SameMethods(SphinxDirective):
    """The methods of a tensor that do what a function of the same name does, as links to these."""

    def run(self) -> list[nodes.Node]:
        links = [f"{{py:func}}`{name} <workbench.{name}>`" for name in same_methods()]
        here = nodes.Element()
        self.state.nested_parse(StringList([" · ".join(links)], self.env.docname), self.content_offset, here)
        return here.children


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("api", Api)
    app.add_directive("same-methods", SameMethods)
    return {"parallel_read_safe": True}
