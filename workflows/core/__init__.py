"""Decisions: pure functions over plain values, without server, clock or model."""
