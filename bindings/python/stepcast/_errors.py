"""What goes wrong, as exceptions."""

from __future__ import annotations

from typing import Optional


class StepcastError(Exception):
    """A call that failed. The text is what the program would print.

    >>> try:
    ...     stepcast.Workload.load("no-such-file.txt")
    ... except stepcast.StepcastError as error:
    ...     print(error.status, error.file)
    3 no-such-file.txt
    """

    #: the exit code of the program: 1 the answer is "no", 2 usage, 3 input, 4 system,
    #: 5 cancelled
    status: int
    #: what is wrong, in one sentence
    message: str
    #: what may help, or ""
    hint: str
    #: where: None and 0 where unknown
    file: Optional[str]
    line: int
    column: int

    def __init__(
        self,
        text: str,
        status: int,
        message: str = "",
        hint: str = "",
        file: Optional[str] = None,
        line: int = 0,
        column: int = 0,
    ) -> None:
        super().__init__(text.rstrip())
        self.status = status
        self.message = message
        self.hint = hint
        self.file = file
        self.line = line
        self.column = column


class UsageError(StepcastError, ValueError):
    """The request itself is wrong: a value, or a plan that cannot be."""


class DoesNotFit(StepcastError):
    """The job does not fit into the memory of its GPUs.

    >>> try:
    ...     stepcast.evaluate("llama3-70b", stepcast.Plan(gpus=8, global_batch=8), "dgx-h100:8")
    ... except stepcast.DoesNotFit:
    ...     print("too large")
    too large
    """


class Cancelled(StepcastError):
    """The progress callback ended the call."""
