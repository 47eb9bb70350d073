"""What counts for hosts that a command was refused: settings and rules as they are now, and what was said before."""

from collections.abc import Sequence
from pathlib import Path

from activities.safety.sandbox.named_hosts import still_closed
from activities.safety.sandbox.opened_hosts import path_in, said_no, said_of
from activities.settings.load import load_settings
from activities.settings.places import places_of
from activities.tool import Call
from activities.tool_calls.asked import policy_of
from workflows.contracts.permissions import Decision, Mode, Unattended, Verdict
from workflows.contracts.settings_files import LoadedSettings
from workflows.core.refused_hosts import Standing

_STRICT = ("sandbox.network.strictAllowlist", "sandbox.network.allowManagedDomainsOnly")
_DENIED = "sandbox.network.deniedDomains"


def standing_of(call: Call, hosts: Sequence[str], mode: Mode, unattended: Unattended) -> Standing:
    """All that decides about these hosts. Deny rules and settings are read afresh, as for every call."""
    loaded = load_settings(places_of(call.world), call.own_folder or call.workspace, call.settings.roots)
    denied = (*call.settings.sandbox.network.denied_domains, *loaded.settings.sandbox.network.denied_domains)
    by_settings = Verdict(decision=Decision.DENY, by="settings", rule=_DENIED, text=_DENIED)
    opened = [Verdict.model_validate(line["verdict"]) for line in said_of(file_of(call), call.key) if "verdict" in line]
    no = {host: Verdict(decision=Decision.DENY, by="person", rule=by) for host, by in said_no(file_of(call)).items()}
    known = {
        **{host: verdict for host in opened_by_model(call) for verdict in opened},
        **no,
        **{host: by_settings for host in hosts if not still_closed((host,), (), denied)},
    }
    return Standing(policy_of(call), mode, unattended, known, _strict(loaded))


def opened_by_model(call: Call) -> tuple[str, ...]:
    """Hosts that were opened for this very call without a question, by an attempt that could not report it."""
    lines = [line for line in said_of(file_of(call), call.key) if "verdict" in line]
    return tuple(str(host) for line in lines for host in line["hosts"])


def file_of(call: Call) -> Path:
    """Where the session keeps what was said of hosts."""
    return path_in(call.world.home.journal / call.session / "sandbox")


def _strict(loaded: LoadedSettings) -> Verdict | None:
    found = (value for key in _STRICT for value in loaded.counting(key) if value.value is True)
    value = next(found, None)
    if value is None:
        return None
    text = f"{value.key} of {value.file}"
    return Verdict(
        decision=Decision.DENY, by="settings", rule=value.key, text=text, source=value.source, file=value.file
    )
