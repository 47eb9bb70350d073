"""What the provider did itself inside a reply, read for people: searches and what they found."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workflows.contracts.messages import Block, ServerBlock

MOST_SOURCES = 20


@dataclass(frozen=True)
class Search:
    """One search that the provider made."""

    query: str
    of: str
    """Id of the use."""
    sources: tuple[str, ...] = ()
    """Addresses of what was found."""
    error: str = ""
    """The provider's word for why nothing was; empty when it went well."""

    @property
    def told(self) -> str:
        """In one line."""
        if self.error:
            return f"searched the web for {self.query!r}: {self.error}"
        return f"searched the web for {self.query!r}: {len(self.sources)} found"


def searches(blocks: Sequence[Block]) -> Iterator[Search]:
    """The searches among the blocks of a reply, in order."""
    found = {block.answers: block.data for block in blocks if isinstance(block, ServerBlock) and block.answers}
    for block in blocks:
        if isinstance(block, ServerBlock) and block.asks:
            yield _search(block, found.get(block.asks))


def found_by(blocks: Sequence[Block]) -> Iterator[Search]:
    """The search whose result has just come, as the last of these blocks."""
    last = blocks[-1] if blocks else None
    if isinstance(last, ServerBlock) and last.answers:
        yield from (search for search in searches(blocks) if search.of == last.answers)


def _search(use: ServerBlock, result: Mapping[str, object] | None) -> Search:
    given = use.data.get("input")
    query = str(given.get("query") or "") if isinstance(given, dict) else ""
    if result is None:
        return Search(query, use.asks, error="no result is known")
    content = result.get("content")
    if isinstance(content, list):
        urls = [str(item.get("url")) for item in content if isinstance(item, dict) and item.get("url")]
        return Search(query, use.asks, tuple(urls[:MOST_SOURCES]))
    return Search(
        query, use.asks, error=str(content.get("error_code") or "failed") if isinstance(content, dict) else "failed"
    )
