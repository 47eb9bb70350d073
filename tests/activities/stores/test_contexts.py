"""A session's context is read whole, or it is told that it is none."""

import pytest

from activities.stores.contexts import read_context
from activities.stores.objects import MemoryStore
from workflows.contracts.errors import ChainError


async def test_an_object_that_is_no_context_is_an_error_of_the_chain() -> None:
    store = MemoryStore()
    with pytest.raises(ChainError, match="is no session's context"):
        await read_context(store, await store.put(b"[]"))
