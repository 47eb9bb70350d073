"""The command line as a program, with a home and a folder of its own."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes.waiting import eventually
from worker.engine import Home

PROGRAM = [sys.executable, "-c", "import sys; from cli.app import main; sys.exit(main())"]
SCRUBBED = ("ANTHROPIC_", "TEMPORAL_", "PERDURE_", "CLAUDE_CODE_")


def environment(home: Path | None, **more: str) -> dict[str, str]:
    """The environment of this process without what leads to a model or a server, for that home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SCRUBBED)}
    return {
        **kept,
        **({"PERDURE_HOME": str(home)} if home else {}),
        "PYTHONPATH": str(Path.cwd()),
        "COLUMNS": "100",
        **more,
    }


@dataclass
class Cli:
    """The command line with one home and one folder to work in."""

    home: Home
    folder: Path
    more: dict[str, str] = field(default_factory=dict)

    def start(self, *words: str, **options: Any) -> "subprocess.Popen[str]":
        """Start it, with pipes."""
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [*PROGRAM, *words], cwd=self.folder, env=environment(self.home.root, **self.more), text=True,
            **{**given, **options},
        )  # fmt: skip

    def __call__(self, *words: str, stdin: str | None = None) -> "subprocess.CompletedProcess[str]":
        """Run it to its end, bounded."""
        return subprocess.run(
            [*PROGRAM, *words], cwd=self.folder, env=environment(self.home.root, **self.more), text=True, check=False,
            capture_output=True, timeout=100, input=stdin if stdin is not None else "",
        )  # fmt: skip

    def json(self, *words: str) -> Any:
        """Its JSON output."""
        ended = self(*words)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def scenario(self, **content: Any) -> str:
        """A `--model` that plays these replies."""
        handle, path = tempfile.mkstemp(suffix=".json", dir=self.folder)
        with os.fdopen(handle, "w") as file:
            json.dump(content, file)
        return f"rehearsal:{path}"

    def detached(self, model: str, *words: str) -> str:
        """Start a session that nobody watches; its id."""
        ended = self("run", "--model", model, "--detach", *words)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def await_state(self, session: str, *states: str) -> None:
        """Wait, bounded, until lists show the session in one of these states."""
        eventually(lambda: self.json("show", session, "--json")["state"] in states, 30, f"{session} in {states}")

    def await_question(self, session: str) -> str:
        """Wait, bounded, for the session's open question; its number."""
        found = eventually(lambda: self.json("show", session, "--json")["snapshot"].get("approvals"), 30, "a question")
        return str(found[0]["id"])


def bash(command: str) -> dict[str, Any]:
    """A tool call of the scripted model."""
    return {"content": [{"tool": "Bash", "input": {"command": command}}]}
