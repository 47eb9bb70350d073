"""read_context: what never changes inside a session, as an object of the store."""

from pydantic import ValidationError

from activities.stores.objects import ObjectStore
from workflows.contracts.errors import ChainError
from workflows.contracts.settings import SessionContext


async def read_context(store: ObjectStore, digest: str) -> SessionContext:
    """The session's context of that digest. Raises StoreError or ChainError."""
    try:
        return SessionContext.model_validate_json(await store.get(digest))
    except ValidationError as error:
        raise ChainError(f"object {digest} is no session's context: {error.errors()[0]['msg']}") from error
