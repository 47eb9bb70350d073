"""HTML -> Markdown: what a person would read of a page."""

import codecs
import re

from workflows.contracts.messages import clean

_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.-]{1,40})", re.IGNORECASE)
_HEAD = 4_096


def markdown_of(html: str, url: str) -> str:
    """The page's text as Markdown, links made whole; scripts, styles, forms and navigation are left out."""
    from html_to_markdown import ConversionOptions, InlineDataMedia, convert

    options = ConversionOptions(base_url=url, inline_data_media=InlineDataMedia.ALT_TEXT_ONLY)
    return clean(convert(clean(html), options).content or "").strip()


def text_of_bytes(data: bytes, charset: str) -> str:
    """The characters of a page: as its server says, as the page itself says, else as UTF-8."""
    found = _META.search(data[:_HEAD])
    for name in (charset, found[1].decode("ascii") if found else "", "utf-8"):
        try:
            return data.decode(codecs.lookup(name).name, "replace") if name else data.decode("utf-8")
        except (LookupError, UnicodeDecodeError):
            continue
    return data.decode("utf-8", "replace")
