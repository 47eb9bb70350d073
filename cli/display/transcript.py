"""Messages: Markdown blocks as rows of the terminal's width."""

import io
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from cli.display.cells import fit, one_line, safe, spread, wrap
from cli.display.theme import Theme

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.segment import Segment
    from rich.style import Style


def load() -> None:
    """Import what rendering needs, before the first text is there."""
    rendered("a\n\n```python\nb = 1\n```\n", 80, Theme())


def rendered(source: str, width: int, theme: Theme) -> list[str]:
    """Markdown as rows of at most `width` cells, without blank rows around it."""
    lines = _console(max(1, width)).render_lines(_markdown(safe(source)), pad=False)
    rows = [fit(spread(_row(line, colour=theme.colour)), width) for line in lines]
    while rows and not rows[-1].strip():
        rows.pop()
    first = next((place for place, row in enumerate(rows) if row.strip()), 0)
    return rows[first:]


def prompt_rows(text: str, width: int, theme: Theme) -> list[str]:
    """What the person asked, marked at the margin."""
    rows = wrap(safe(text).strip("\n"), width - 2)
    marks = ["> ", *["  "] * (len(rows) - 1)]
    return [theme.paint("prompt", mark + row) for mark, row in zip(marks, rows, strict=True)]


def thinking_row(text: str, width: int, theme: Theme) -> str:
    """A complete thought in one row; `perdure show` has the rest."""
    return theme.paint("thinking", fit(f"thought: {one_line(text[:2000])}", width))


def _markdown(source: str) -> "Markdown":
    from rich.markdown import Markdown

    markdown = _markdown_class()("", hyperlinks=False)
    markdown.parsed = _parser().parse(source)
    assert isinstance(markdown, Markdown)  # noqa: S101  tells the type checker what the cached class is
    return markdown


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    # HTML stays as it was written: Rich would leave it out.
    return MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


@cache
def _markdown_class() -> "type[Markdown]":
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import CodeBlock, Markdown
    from rich.syntax import Syntax

    class Code(CodeBlock):
        """Code without frame or background, so that it can be copied and continued."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            code = str(self.text).rstrip("\n")
            yield Syntax(
                code,
                self.lexer_name,
                theme="ansi_dark",
                word_wrap=True,
                padding=(0, 2),
                background_color="default",
            )

    class Plainer(Markdown):
        """Markdown with our code blocks."""

        elements = {**Markdown.elements, "fence": Code, "code_block": Code}

    return Plainer


@lru_cache(8)
def _console(width: int) -> "Console":
    from rich.console import Console

    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        highlight=False,
        emoji=False,
    )


def _row(line: "Iterable[Segment]", *, colour: bool) -> str:
    """One rendered line: styled pieces each with their reset, no blanks at its end."""
    pieces: list[tuple[str, str]] = []
    for segment in line:
        code = _code(segment.style) if colour and segment.style and not segment.control else ""
        # Blanks look the same in any colour: what is around them goes on.
        if pieces and (pieces[-1][0] == code or (segment.text.isspace() and "4" not in pieces[-1][0])):
            pieces[-1] = (pieces[-1][0], pieces[-1][1] + safe(segment.text))
        else:
            pieces.append((code, safe(segment.text)))
    while pieces and not pieces[-1][1].strip():
        pieces.pop()
    if pieces:
        pieces[-1] = (pieces[-1][0], pieces[-1][1].rstrip(" "))
    return "".join(f"\x1b[{code}m{text}\x1b[0m" if code else text for code, text in pieces)


@lru_cache(256)
def _code(style: "Style") -> str:
    """SGR parameters of a style, its background left to the terminal."""
    from rich.color import ColorSystem

    looks = (("1", style.bold), ("2", style.dim), ("3", style.italic), ("4", style.underline), ("9", style.strike))
    codes = [code for code, is_on in looks if is_on]
    if style.color and not style.color.is_default:
        codes += style.color.downgrade(ColorSystem.STANDARD).get_ansi_codes()
    return ";".join(codes)
