"""The ports of the server on this machine, as the file tells them that its starter wrote.

The session's proxy reads it in a bare Python, so this file imports only the standard library.
"""

import json
from pathlib import Path


def engine_ports(state: Path) -> frozenset[int]:
    """The ports that the file names; none where it is not there, or damaged."""
    try:
        told = json.loads(state.read_bytes())["ports"].values()
    except (OSError, ValueError, LookupError, AttributeError, TypeError):
        return frozenset()
    return frozenset(port for port in told if isinstance(port, int))
