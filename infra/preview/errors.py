"""What ends the program early."""


class InputError(Exception):
    """An argument, file or preview cannot be used; the message says which, and what to do (exit code 3)."""


class CommentError(Exception):
    """The forge did not take the comment; the result is written to the job summary instead."""
