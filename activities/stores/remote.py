"""The object store in a bucket: s3, gs or az, through obstore."""

from datetime import timedelta

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, NotSupportedError
from obstore.store import ObjectStore as Bucket
from obstore.store import from_url

from activities.stores.digests import DIGEST, STORE_ID, digest_of, missing, new_store_id, readable_id, verified
from workflows.contracts.errors import FailureKind, UserError

PATIENCE = timedelta(seconds=20)
"""How long obstore itself repeats a request; after that the engine's retries count."""


def open_remote(url: str) -> "RemoteStore":
    """The store in that bucket; credentials come from the provider's usual environment variables."""
    try:
        bucket = from_url(url, retry_config={"max_retries": 3, "retry_timeout": PATIENCE})
    except (BaseError, ValueError) as error:
        raise _explain(error, url) from error
    return RemoteStore(bucket, url)


class RemoteStore:
    """Objects under `ab/cdef…` of a bucket."""

    def __init__(self, bucket: Bucket, url: str) -> None:
        self.url = url
        self._bucket = bucket

    async def put(self, data: bytes) -> str:
        """Upload these bytes under their digest; the same bytes again replace a damaged object."""
        digest = digest_of(data)
        try:
            await obstore.put_async(self._bucket, _key(digest), data)
        except BaseError as error:
            raise _explain(error, self.url) from error
        return digest

    async def get(self, digest: str) -> bytes:
        """The bytes of that digest, verified."""
        if DIGEST.fullmatch(digest) is None:
            raise missing(digest, self.url)
        data = await self._read(_key(digest))
        if data is None:
            raise missing(digest, self.url)
        return verified(data, digest, self.url)

    async def store_id(self) -> str:
        """The id in the object STORE_ID, made by whoever came first."""
        kept = await self._read(STORE_ID)
        if kept is None:
            await self._offer_id(new_store_id().encode())
            kept = await self._read(STORE_ID)
        return readable_id(kept or b"", self.url)

    async def _offer_id(self, data: bytes) -> None:
        try:
            await obstore.put_async(self._bucket, STORE_ID, data, mode="create")
        except AlreadyExistsError:
            return
        except NotSupportedError:
            # This bucket cannot create conditionally; the last of two first users wins then.
            await obstore.put_async(self._bucket, STORE_ID, data)
        except BaseError as error:
            raise _explain(error, self.url) from error

    async def _read(self, key: str) -> bytes | None:
        try:
            result = await obstore.get_async(self._bucket, key)
            return bytes(await result.bytes_async())
        except (NotFoundError, FileNotFoundError):
            return None
        except BaseError as error:
            raise _explain(error, self.url) from error


def _key(digest: str) -> str:
    return f"{digest[:2]}/{digest[2:]}"


def _explain(error: Exception, url: str) -> UserError:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return UserError(
        f"the object store {url} does not answer as it should: {lines[0][:200]}; "
        "check its address, the credentials and the network.",
        reason=FailureKind.STORE,
    )
