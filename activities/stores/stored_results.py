"""`result:<digest>`: the whole of a result of which the model was shown a part."""

from activities.stores.digests import DIGEST
from activities.stores.objects import ObjectStore
from workflows.contracts.errors import DamagedObject, MissingObject, ToolError
from workflows.contracts.messages import clean

PREFIX = "result:"


def is_result_name(text: str) -> bool:
    """Whether a path that the model gave names a stored result."""
    return text.startswith(PREFIX)


async def fetch_result(store: ObjectStore, name: str) -> bytes:
    """All bytes of a stored result. Raises ToolError when the name is none, or the store has it not."""
    digest = name.removeprefix(PREFIX).strip()
    if DIGEST.fullmatch(digest) is None:
        raise ToolError(f"{clean(name[:100])} names no result. Copy `result:` and the 64 hex digits from the preview.")
    try:
        return await store.get(digest)
    except MissingObject as error:
        raise ToolError(f"No result {digest} is stored. Copy the name from the preview exactly.") from error
    except DamagedObject as error:
        raise ToolError(f"The stored result {digest} is damaged and cannot be shown. Run the call again.") from error
