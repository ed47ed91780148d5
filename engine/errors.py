"""The one error that the engine's set-up shows to its user."""


class EngineError(Exception):
    """Something stopped the set-up; the message says what, where and what to do about it."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}\n  what to do: {remedy}")
