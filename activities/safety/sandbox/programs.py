"""Programs: which bubblewrap is used."""

import os
import shutil


def bubblewrap_program() -> str:
    """The system's own bubblewrap before any other: profiles of AppArmor name it; empty when there is none."""
    system = [name for name in ("/usr/bin/bwrap", "/bin/bwrap") if os.access(name, os.X_OK)]
    return system[0] if system else shutil.which("bwrap") or ""
