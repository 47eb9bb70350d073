"""Secrets stay out of failures and logs."""

import logging
from pathlib import Path

import pytest
from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError

from activities.stores.home import Home
from worker.hidden import MaskedFailures, MaskedLines, _maskers, hidden

TOKEN = "ghp_abcdefghijABCDEFGHIJ0123456789abcdef"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "plainkey")
    _maskers.cache_clear()
    return Home(tmp_path)


def _raised() -> BaseException:
    try:
        try:
            raise OSError(f"connect to https://me:{TOKEN}@host failed")
        except OSError as error:
            raise ApplicationError(f"plainkey was refused ({TOKEN})", type="server") from error
    except ApplicationError as error:
        return error


def test_a_failure_in_history_holds_no_secret_nor_do_its_causes_and_their_traces() -> None:
    failure = Failure()
    MaskedFailures().to_failure(_raised(), pydantic_data_converter.payload_converter, failure)
    written = failure.SerializeToString()
    assert TOKEN.encode() not in written
    assert b"plainkey" not in written
    assert failure.message.startswith("[secret:env:")
    assert failure.cause.stack_trace
    assert failure.application_failure_info.type == "server"


def test_a_line_of_a_log_holds_no_secret_nor_does_its_traceback() -> None:
    try:
        raise ValueError(TOKEN)
    except ValueError as error:
        record = logging.LogRecord(
            "x", logging.ERROR, "f", 1, "failed with %s", ("plainkey",), (type(error), error, None)
        )
    told = MaskedLines("%(message)s").format(record)
    assert told.startswith("failed with [secret:env:")
    assert TOKEN not in told


def test_what_a_person_answers_is_kept_without_its_secrets(home: Home) -> None:
    assert TOKEN not in hidden(home, "s", f"no, use {TOKEN}")
    assert hidden(home, "s", "no, use the other") == "no, use the other"
