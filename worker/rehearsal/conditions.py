"""When a reply is the one to give: conditions on the request, all of which must hold."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from worker.rehearsal.asked import Asked, Json, text_of


class Part(BaseModel):
    """A piece of a scenario file: a key it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]


class Span(Part):
    """A number with bounds; in a file a bare number means exactly that one."""

    at_least: int = 0
    at_most: int | None = None

    @model_validator(mode="before")
    @classmethod
    def _exactly(cls, value: object) -> object:
        return {"at_least": value, "at_most": value} if isinstance(value, int) else value

    def holds(self, number: int) -> bool:
        """Whether the number lies inside, bounds included."""
        return self.at_least <= number and (self.at_most is None or number <= self.at_most)


class ResultIs(Part):
    """The last message has a tool result like this; every field given must hold for the same result."""

    tool: str | None = None
    """Name of the tool that was called."""

    is_error: bool | None = None
    contains: str | None = None
    matches: Pattern | None = None

    def holds(self, tool: str, result: Json) -> bool:
        """Whether one result of one tool is such a result."""
        text = text_of(result)
        return (
            self.tool in {None, tool}
            and self.is_error in {None, result.get("is_error") is True}
            and (self.contains is None or self.contains in text)
            and (self.matches is None or re.search(self.matches, text) is not None)
        )


class When(Part):
    """Conditions on a request; those that are given must all hold."""

    last_contains: str | None = None
    """Text in the last message, tool results included."""

    last_matches: Pattern | None = None
    tool_result: ResultIs | bool | None = None
    """A tool result in the last message; true: any, false: none."""

    system_contains: str | None = None
    any_contains: str | None = None
    """Text in any message."""

    model: Pattern | None = None
    """The whole name of the model, as a regular expression."""

    offers: str | None = None
    """Name of a tool that the request offers."""

    exchange: Span | None = None
    """How many assistant messages the request holds."""

    messages: Span | None = None
    max_tokens: Span | None = None
    unless: "When | None" = Field(default=None)
    """The same conditions; if they all hold, this one does not."""

    def holds(self, asked: Asked) -> bool:
        """Whether the request is one that this reply is for."""
        return (
            (self.exchange is None or self.exchange.holds(asked.exchange))
            and (self.messages is None or self.messages.holds(len(asked.messages)))
            and (self.max_tokens is None or self.max_tokens.holds(asked.max_tokens))
            and (self.model is None or re.fullmatch(self.model, asked.model) is not None)
            and self._texts_hold(asked)
            and self._result_holds(asked)
            and (self.offers is None or any(tool.get("name") == self.offers for tool in asked.fields.get("tools", ())))
            and (self.unless is None or not self.unless.holds(asked))
        )

    def _texts_hold(self, asked: Asked) -> bool:
        return (
            (self.last_contains is None or self.last_contains in asked.last_text)
            and (self.last_matches is None or re.search(self.last_matches, asked.last_text) is not None)
            and (self.system_contains is None or self.system_contains in asked.system_text)
            and (self.any_contains is None or any(self.any_contains in text_of(m) for m in asked.messages))
        )

    def _result_holds(self, asked: Asked) -> bool:
        match self.tool_result:
            case None:
                return True
            case bool(wanted):
                return bool(asked.results) is wanted
            case condition:
                return any(condition.holds(tool, result) for tool, result in asked.results)
