"""What shows itself in notebooks: the templates of the report draw it, and are read when it is shown."""

from __future__ import annotations

from importlib import import_module


class Shown:
    """A value that a notebook shows as a small part of the report's page.

    The report stands above all other rooms, so it is asked for by name, and only when something is to be shown.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return import_module("goldless.report.notebook").html_of(self)
