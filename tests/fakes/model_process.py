"""python -m tests.fakes.model_process FOLDER URL: another worker of the host that makes the stage's first request."""

import asyncio
import sys
from pathlib import Path

from tests.fakes.model_stage import open_stage


async def main() -> None:
    """Ask, and print the reply."""
    stage = await open_stage(Path(sys.argv[1]), None, sys.argv[2])
    print((await stage.ask()).model_dump_json(), flush=True)


asyncio.run(main())
