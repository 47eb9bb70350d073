"""What of the web a session may reach, and how a page is shown."""

from pydantic import Field

from workflows.contracts.contract import Contract


class WebSettings(Contract):
    """A person's choices for WebFetch and WebSearch; frozen when a session starts."""

    allow_private_hosts: tuple[str, ...] = ()
    """Host names or addresses of this machine or the local network that WebFetch may reach, by http too."""
    small_model: str = ""
    """Answers a prompt about a long page instead of the page being shown; empty for showing the page."""
    search_allowed: tuple[str, ...] = ()
    """Domains that a search is limited to; the provider takes this list or the other."""
    search_blocked: tuple[str, ...] = ()
    """Domains that a search leaves out; where others are allowed, they are taken out of these."""
    searches: int = Field(default=8, ge=1, le=100)
    """Most searches of one request to the model (spec 05 §2)."""
    session_searches: int = Field(default=200, ge=1)
    """Most searches of the whole session (spec 05 §2)."""

    @property
    def search_domains(self) -> tuple[str, ...]:
        """The allowed domains that are not blocked."""
        return tuple(domain for domain in self.search_allowed if domain not in self.search_blocked)
