"""python -m tests.fakes.model_process FOLDER URL [stuck]: another worker of the host, making the stage's first request.

The store of one that is stuck never ends a put.
"""

import asyncio
import sys
from pathlib import Path

from tests.fakes.model_stage import open_stage


async def main() -> None:
    """Ask, and print the reply."""
    stage = await open_stage(Path(sys.argv[1]), None, sys.argv[2])
    if "stuck" in sys.argv[3:]:
        stage, store = stage.gated()
        store.gate.clear()
    print((await stage.ask()).model_dump_json(), flush=True)


asyncio.run(main())
