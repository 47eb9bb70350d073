"""Secrets stay out of what a person types, of failures that history keeps, and of logs."""

import logging
import os
from functools import cache

from temporalio.api.failure.v1 import Failure
from temporalio.converter import DefaultFailureConverter, PayloadConverter

from activities.stores.home import Home
from activities.stores.maskers import Maskers
from workflows.contracts.errors import UserError


def hidden(home: Home, session: str, text: str) -> str:
    """What a person typed with a mark in place of each secret: it is kept in the session's history."""
    return Maskers(home, os.environ).of(session).text(text) if text else text


@cache
def _maskers() -> Maskers:
    return Maskers(Home.from_environment(), os.environ)


def _masked(text: str) -> str:
    try:
        return _maskers().of("").text(text)
    except (OSError, UserError) as error:
        # Without its key nothing can be marked, and what cannot be looked at is not shown.
        return f"[left out, since secrets in it cannot be looked for: {error}]"


class MaskedFailures(DefaultFailureConverter):
    """Failures as history keeps them: messages and stack traces, also of their causes, hold no secret."""

    def to_failure(self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure) -> None:
        """See base class."""
        super().to_failure(exception, payload_converter, failure)
        told: Failure | None = failure
        while told is not None:
            told.message, told.stack_trace = _masked(told.message), _masked(told.stack_trace)
            told = told.cause if told.HasField("cause") else None


class MaskedLines(logging.Formatter):
    """Lines of a log without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """See base class."""
        return _masked(super().format(record))


def log_masked() -> None:
    """Log to standard error, secrets masked."""
    lines = logging.StreamHandler()
    lines.setFormatter(MaskedLines("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[lines])
