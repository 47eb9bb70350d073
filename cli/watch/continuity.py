"""What came twice and what is missing, by the line numbers of each host's feed."""

from collections.abc import Mapping


class Continuity:
    """Remembers the newest line of each host's feed."""

    def __init__(self, from_seq: int | Mapping[str, int] = 0) -> None:
        self._from = from_seq
        self._last: dict[str, tuple[int, str]] = {}
        self._forgiven: set[str] = set()

    def missing(self, host: str, seq: int, at: str) -> int | None:
        """How many lines are missing before this one; None if it came before."""
        last, last_at = self._last.get(host, (self._first(host) - 1, ""))
        is_new_file = seq <= last and at > last_at
        if seq <= last and not is_new_file:
            return None
        self._last[host] = (seq, max(at, last_at))
        is_forgiven = host in self._forgiven
        self._forgiven.discard(host)
        return 0 if is_forgiven or is_new_file else seq - last - 1

    def forgive(self, host: str) -> None:
        """A damaged line was told, and its number with it: the next gap of this host is no news."""
        self._forgiven.add(host)

    def _first(self, host: str) -> int:
        return max(1, self._from if isinstance(self._from, int) else self._from.get(host, 0))
