"""Contract: frozen, deaf to unknown fields, so old and new workers read each other."""

from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class Contract(BaseModel):
    """A value that crosses a boundary. It only grows: a new field has a default, none is renamed or removed.

    Fields that hold their default are not written: history stays small, and the canonical bytes of old values
    stay the same when a contract grows. `kind`, which tells the members of a union apart, is always written.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_serializer(mode="wrap")
    def _sparse(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:  # Any: any field of any contract
        fields = type(self).model_fields
        written: dict[str, Any] = handler(self)  # Any: as above
        return {
            name: value
            for name, value in written.items()
            if name == "kind" or fields[name].is_required() or getattr(self, name) != fields[name].default
        }
