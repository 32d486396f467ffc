"""Write the tables of docs/report-schema.md from the classes of the summary: python docs/schema_page.py."""

from pathlib import Path

from goldless.report.schema import schema_page

PAGE = Path(__file__).parent / "report-schema.md"


def main() -> None:
    """Put the tables between their marks."""
    before, mark, rest = PAGE.read_text(encoding="utf-8").partition("<!-- schema -->\n")
    _, end, after = rest.partition("<!-- end -->")
    PAGE.write_text(before + mark + schema_page() + end + after, encoding="utf-8")


if __name__ == "__main__":
    main()
