"""The durable steps of a turn: each asks `core` what to do and one activity to do it."""
