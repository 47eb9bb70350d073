"""WebSearch: search the web; the provider does it itself, inside its reply."""

from typing import ClassVar

from pydantic import Field, JsonValue

from activities.tool import Call, Tool, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.tools import Repeat, ToolOutcome, ToolSpec

DECLARED: dict[str, JsonValue] = {"type": "web_search_20250305", "name": "web_search"}
"""The plain search: the provider's newer ones run its code execution as well, which is another tool."""


class Input(ToolInput):
    query: str = Field(description="What to search for.")


class WebSearch(Tool[Input]):
    """Search the web. The provider searches itself while it replies; what it found comes with the reply."""

    name = "WebSearch"
    input = Input
    is_read_only = True
    repeat = Repeat.SAFE
    by_default = False
    server: ClassVar[dict[str, JsonValue]] = DECLARED

    def summary(self, given: Input) -> str:
        return given.query[:200]

    def spec(self) -> ToolSpec:
        return super().spec().model_copy(update={"server": self.server})

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        raise ToolError(
            "Searches are made by the provider inside its reply (web_search), never as a call of this tool."
        )
