"""A line to a server that answers from a script: the far end of what `Sessions` asks."""

from collections.abc import Callable

from cli.line import Json, Late, LineError, Listed, NotThere, Start

Answer = Json | LineError


class ScriptedLine:
    """Gives the updates' answers one after the other, and keeps what it was asked."""

    def __init__(self, *updates: Answer, listed: tuple[Listed, ...] = ()) -> None:
        self._updates = list(updates)
        self._listed = listed
        self.asked: list[tuple[str, str, str]] = []
        """Workflow, update and request id of each try."""
        self.started: list[Start] = []
        self.on_start: Callable[[int], None] = lambda _tries: None

    async def start(self, start: Start) -> None:
        """Keep it; `on_start` may raise."""
        self.started.append(start)
        self.on_start(len(self.started))

    async def update(self, workflow: str, name: str, request: str, given: Json, seconds: float) -> Json:
        """The next answer."""
        self.asked.append((workflow, name, request))
        return _given(self._updates.pop(0))

    async def query(self, workflow: str, name: str, seconds: float) -> Json:
        """No worker answers."""
        raise Late("no worker")

    async def describe(self, workflow: str) -> Listed:
        """The session of exactly that id."""
        for one in self._listed:
            if f"session-{one.session}" == workflow:
                return one
        raise NotThere(workflow)

    async def sessions(self, query: str, most: int) -> list[Listed]:
        """Those whose id begins as the filter says."""
        begins = query.rpartition('STARTS_WITH "session-')[2].rstrip('"')
        return [one for one in self._listed if one.session.startswith(begins)][:most]

    async def result(self, workflow: str, seconds: float) -> Json:
        """It runs still."""
        raise Late("it runs")

    async def cancel(self, workflow: str, reason: str) -> None:
        """The next answer, which is none."""
        self.asked.append((workflow, "cancel", reason))
        _given(self._updates.pop(0))

    async def attributes(self) -> frozenset[str]:
        """None is known."""
        return frozenset()


def _given(answer: Answer) -> Json:
    if isinstance(answer, LineError):
        raise answer
    return answer
