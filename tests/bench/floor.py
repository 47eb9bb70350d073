"""The floor: a workflow that does nothing but call two no-op activities an exchange, in a worker of its own."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

QUEUE = "bench-floor"


@activity.defn
async def nothing(given: str) -> str:
    """Return what was given."""
    return given


@workflow.defn
class Floor:
    """Two activities an exchange, one after the other, without heartbeat."""

    @workflow.run
    async def run(self, exchanges: int) -> int:
        """So many exchanges."""
        for _ in range(2 * exchanges):
            await workflow.execute_activity(nothing, "x" * 300, start_to_close_timeout=timedelta(minutes=1))
        return exchanges


async def serve(address: str) -> None:
    """Run the floor's worker, with the SDK's own settings, until the input ends."""
    client = await Client.connect(address)
    async with Worker(client, task_queue=QUEUE, workflows=[Floor], activities=[nothing]):
        print("polling", flush=True)
        await asyncio.to_thread(sys.stdin.read)


@asynccontextmanager
async def floor_worker(address: str) -> AsyncIterator[None]:
    """A process with the floor's worker, for as long as the block runs."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bench.floor",
        address,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        await asyncio.wait_for(process.stdout.readline(), 30)
        yield
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 10)
        except TimeoutError:
            process.kill()
            await process.wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
