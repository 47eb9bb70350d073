"""Facts of this machine that a judgement needs: the ports of the engine."""

import json

from activities.safety.bash.setting import Setting
from activities.stores.home import Home


def engine_ports(home: Home) -> tuple[int, ...]:
    """The ports of the embedded engine, beside those that engines have by custom."""
    try:
        told = json.loads((home.engine / "engine.json").read_bytes())["ports"].values()
        found = {port for port in told if isinstance(port, int)}
    except (OSError, ValueError, LookupError, AttributeError, TypeError):
        found = set()
    return tuple(sorted(found | set(Setting().ports)))
