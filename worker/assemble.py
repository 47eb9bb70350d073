"""catalogs -> Worker."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker, WorkflowRunner

from activities.binding import current_beat
from activities.catalog import bindings
from activities.model.call import ModelCalls
from activities.model.client import AnthropicEndpoint
from activities.settings.withdrawn import without_forbidden
from activities.stores.claims import Claims
from activities.stores.home import Home
from activities.stores.journal import Journal
from activities.stores.objects import CachedStore, ObjectStore
from activities.tool_calls.early import start_early
from activities.transcript import Transcript
from activities.world import World
from worker.histories import ServerHistories
from workflows.catalog import WORKFLOWS
from workflows.contracts.ids import SHARED_QUEUE, host_queue

STORE_CACHE = 4 * 1024 * 1024
"""Bytes of objects that a worker keeps: those of the exchanges under way; a whole conversation is kept as its view."""

CACHED_WORKFLOWS = 200

MOST_ON_HOST = 1_000
"""Activities of this host at once: each open background task holds one for as long as it runs."""

_STICKY = timedelta(seconds=1)
_THROTTLE = timedelta(milliseconds=400)
_SHUTDOWN = timedelta(seconds=10)


def make_world(
    home: Home, store: ObjectStore, client: Client, environment: Mapping[str, str], start_runner: Callable[[Path], None]
) -> World:
    """The surroundings of this worker."""
    cached = CachedStore(store, STORE_CACHE)
    return World(
        home=home,
        host=home.host(),
        store=cached,
        transcript=Transcript(cached),
        journal=Journal(home.journal),
        model=AnthropicEndpoint(environment),
        histories=ServerHistories(client),
        beat=current_beat,
        environment=environment,
        start_early=start_early,
        allowed_now=without_forbidden,
        start_runner=start_runner,
    )


def workflow_runner() -> WorkflowRunner:
    """How workflow code is run, also when recorded histories are replayed."""
    # What the sandbox would forbid, the import rules of `workflows` forbid already; it costs each workflow task twice.
    return UnsandboxedWorkflowRunner()


def make_workers(client: Client, world: World, identity: str) -> list[Worker]:
    """One worker for the queue that all share, one for this host's own."""
    claims = Claims(world.home.engine / "claims", identity)
    table = bindings(ModelCalls())
    shared = [row.as_activity(world, identity, claims) for row in table if not row.spec.on_host]
    on_host = [row.as_activity(world, identity, claims) for row in table if row.spec.on_host]
    return [
        Worker(
            client,
            task_queue=SHARED_QUEUE,
            workflows=WORKFLOWS,
            activities=shared,
            identity=identity,
            workflow_runner=workflow_runner(),
            max_cached_workflows=CACHED_WORKFLOWS,
            sticky_queue_schedule_to_start_timeout=_STICKY,
            max_heartbeat_throttle_interval=_THROTTLE,
            default_heartbeat_throttle_interval=_THROTTLE,
            graceful_shutdown_timeout=_SHUTDOWN,
        ),
        Worker(
            client,
            task_queue=host_queue(world.host.id),
            activities=on_host,
            identity=identity,
            max_concurrent_activities=MOST_ON_HOST,
            max_heartbeat_throttle_interval=_THROTTLE,
            default_heartbeat_throttle_interval=_THROTTLE,
            graceful_shutdown_timeout=_SHUTDOWN,
        ),
    ]
