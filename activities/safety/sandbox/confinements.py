"""Confinements: what the runner does for each tier."""

import resource

from activities.processes.confinement import Confinement
from activities.safety.sandbox import bubblewrap, landlock
from activities.safety.sandbox.network import Network
from activities.safety.sandbox.policy import Policy
from activities.safety.sandbox.programs import bubblewrap_program
from activities.safety.sandbox.seccomp import AF_INET, AF_INET6, AF_UNIX, filter_bytes

VERSION = 1
"""Of all that stands here and in the modules it uses; a higher one makes every probe run again."""

LARGEST_FILE = 32 * 1024**3
_LIMITS = ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, LARGEST_FILE))

MOST_PROCESSES = 4096
PROCESS_LIMIT = f"ulimit -u {MOST_PROCESSES} 2>/dev/null; "
"""Said by the shell itself: inside its own user namespace only the command's processes are counted."""


def confined(tier: int, policy: Policy, cwd: str, network: Network | None = None) -> Confinement:
    """How a command of this policy is held; ValueError for tier 4, which holds nothing."""
    unix = (AF_UNIX,) if policy.has_unix_sockets else ()
    if tier == 1:
        return Confinement(
            prefix=bubblewrap.arguments(bubblewrap_program(), policy, cwd, has_network=network is not None),
            namespaces=network.namespaces if network else (),
            lease=network.lease if network else "",
            seccomp=filter_bytes((AF_INET, AF_INET6, *unix)),
            seccomp_fd=bubblewrap.SECCOMP_FD,
            status_fd=bubblewrap.STATUS_FD,
            limits=_LIMITS,
        )
    if tier == 2:
        abi = landlock.version()
        return Confinement(
            seccomp=filter_bytes(unix),
            allowed=landlock.rules(policy, abi),
            handled=landlock.handled(abi),
            limits=_LIMITS,
        )
    if tier == 3:
        return Confinement(seccomp=filter_bytes((AF_INET, AF_INET6, AF_UNIX)), limits=_LIMITS)
    raise ValueError(f"nothing holds a command in tier {tier}")
