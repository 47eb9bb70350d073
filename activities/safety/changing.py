"""ChangesFile: what the tools that change one file do alike; each only plans its change."""

import asyncio
from abc import abstractmethod
from pathlib import Path

from activities.safety.changes import Change, carry_out, found_done, whole_diff
from activities.safety.paths import located, named, own_findings
from activities.stores.regular_files import shown
from activities.tool import Call, I, Tool
from workflows.contracts.errors import ToolError
from workflows.contracts.permissions import Finding
from workflows.contracts.tools import Repeat, ToolOutcome


class ChangesFile(Tool[I]):
    """A tool that changes one file: once, and only as it was read."""

    edits_files = True
    repeat = Repeat.CHECKED
    timeout = 120

    @abstractmethod
    def file(self, given: I) -> str:
        """The file, as the model named it."""

    @abstractmethod
    def plan(self, call: Call, path: Path, given: I) -> Change | ToolOutcome:
        """The change to make, or what is told where there is none. Raises ToolError; nothing is changed then."""

    def paths(self, call: Call, given: I) -> tuple[Path, ...]:
        """The one file."""
        return (named(call, self.file(given)),)

    def findings(self, call: Call, given: I) -> tuple[Finding, ...]:
        """Denies what is perdure's own."""
        return own_findings(call, self.paths(call, given))

    async def content(self, call: Call, given: I) -> str:
        """The change as a diff, secrets masked; nothing where it cannot be made, which is told when it is tried."""
        try:
            path = await asyncio.to_thread(located, call, self.file(given))
            planned = await asyncio.to_thread(self.plan, call, path, given)
        except ToolError:
            return ""
        if not isinstance(planned, Change):
            return ""
        diff = await asyncio.to_thread(whole_diff, planned)
        return await asyncio.to_thread(call.world.masker(call.session).text, f"{shown(path)}\n{diff}")

    async def run(self, call: Call, given: I) -> ToolOutcome:
        """Find it done, or plan it and carry it out."""
        if (earlier := await found_done(call)) is not None:
            return earlier
        path = await asyncio.to_thread(located, call, self.file(given))
        planned = await asyncio.to_thread(self.plan, call, path, given)
        return await carry_out(call, planned) if isinstance(planned, Change) else planned
