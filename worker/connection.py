"""How to reach the server: an address becomes a connected client that speaks our payload format."""

import asyncio
from dataclasses import replace

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode

from worker.hidden import MaskedFailures
from worker.target import Target, resolve_address
from workflows.contracts.errors import EngineUnreachable, KeyRefused, UsageError, UserError

__all__ = ["CONVERTER", "Target", "connect", "resolve_address"]

CONNECT_LIMIT_S = 10.0
# Contracts leave out what holds its default by themselves; the SDK's own `exclude_unset` would drop `kind` with it,
# and a union could not be read back.
CONVERTER = pydantic_data_converter
# A failed connection still has a thread of the SDK on its way out; a Python that ends before it aborts (exit code 134).
_SETTLE_S = 0.05


async def connect(target: Target, identity: str | None = None) -> Client:
    """A client of that server, connected; one UserError line when it cannot be reached or refuses."""
    try:
        async with asyncio.timeout(CONNECT_LIMIT_S):
            client = await Client.connect(
                target.address,
                namespace=target.namespace,
                api_key=target.api_key,
                tls=target.tls,
                rpc_metadata=dict(target.metadata),
                identity=identity,
                data_converter=replace(CONVERTER, failure_converter_class=MaskedFailures),
            )
            if not target.is_embedded:
                await _check_namespace(client, target)
            return client
    except TimeoutError as error:
        raise _unreachable(target, f"no answer within {CONNECT_LIMIT_S:.0f} s") from error
    except ValueError as error:
        raise UsageError(f"{target.address!r}, from {target.source}, is no address: give host:port.") from error
    except RuntimeError as error:
        await asyncio.sleep(_SETTLE_S)
        raise _explain(target, str(error)) from error


async def _check_namespace(client: Client, target: Target) -> None:
    """Tell a wrong namespace or key now, not at the first workflow."""
    try:
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=target.namespace))
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise UsageError(
                f"The server at {target.address} has no namespace {target.namespace!r}: set TEMPORAL_NAMESPACE."
            ) from error
        if error.status is RPCStatusCode.UNAUTHENTICATED:
            raise _refused(target) from error
        # A key may be allowed to run workflows and not to describe the namespace.
        if error.status is not RPCStatusCode.PERMISSION_DENIED:
            raise _unreachable(target, error.message) from error


def _explain(target: Target, text: str) -> UserError:
    """The SDK tells every failure to connect as one text; the line for the person from it."""
    if "code: Unauthenticated" in text or "code: PermissionDenied" in text:
        return _refused(target)
    for sign, reason in _REASONS:
        if sign in text:
            return _unreachable(target, reason)
    return _unreachable(target, text.removeprefix("Failed client connect: ").splitlines()[0][:200])


def _refused(target: Target) -> UserError:
    return KeyRefused(
        f"The Temporal server at {target.address} refused the key: check TEMPORAL_API_KEY or the profile."
    )


def _unreachable(target: Target, reason: str) -> UserError:
    remedy = "start it with `perdure up`" if target.is_embedded else f"check {target.source}"
    return EngineUnreachable(f"The Temporal server at {target.address} cannot be reached ({reason}): {remedy}.")


_REASONS = (
    ("Connection refused", "connection refused"),
    ("dns error", "its name is not known"),
    ("InvalidContentType", "it does not speak TLS"),
    ("InvalidCertificate", "its TLS certificate is not trusted"),
)
