"""What of the web a session may reach, and how a page is shown."""

from typing import Self

from pydantic import Field, model_validator

from workflows.contracts.contract import Contract


class WebSettings(Contract):
    """A person's choices for WebFetch and WebSearch; frozen when a session starts."""

    allow_private_hosts: tuple[str, ...] = ()
    """Host names or addresses of this machine or the local network that WebFetch may reach, by http too."""
    small_model: str = ""
    """Answers a prompt about a long page instead of the page being shown; empty for showing the page."""
    search_allowed: tuple[str, ...] = ()
    """Domains that a search is limited to."""
    search_blocked: tuple[str, ...] = ()
    """Domains that a search leaves out; only one of both lists may be given."""
    searches: int = Field(default=8, ge=1, le=100)
    """Most searches of one request to the model (spec 05 §2)."""
    session_searches: int = Field(default=200, ge=1)
    """Most searches of the whole session (spec 05 §2)."""

    @model_validator(mode="after")
    def _has_one_list(self) -> Self:
        if self.search_allowed and self.search_blocked:
            raise ValueError("give search_allowed or search_blocked, not both: the provider takes one of them")
        return self
