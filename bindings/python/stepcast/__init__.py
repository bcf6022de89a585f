"""Forecast one training step of a large model on a GPU cluster.

    import stepcast

    plan = stepcast.Plan(tp=8, pp=4, global_batch=1024)
    result = stepcast.evaluate("llama3-70b", plan, "dgx-h100:1024")
    print(result.step_s, result.mfu, result.breakdown())

Model, Cluster, Plan and Workload go in, a Result comes out. Times are
microseconds, sizes bytes, shares 0 to 1. What goes wrong is raised as
StepcastError with the place in the input and a hint.

The commands of the program are here as well: run(), show(), coll(), kernels(),
compare() and validate() answer their JSON documents, command() any text.

Calls from several threads are independent and run at once.
"""

from ._command import Output, coll, command, compare, kernels, run, show, validate
from ._errors import Cancelled, DoesNotFit, StepcastError, UsageError
from ._evaluate import evaluate, simulate
from ._library import version
from ._objects import Cluster, Model, Workload
from ._plan import Plan
from ._result import Breakdown, Communication, Critical, Memory, Note, Result, WhatIf
from ._search import PlanResult, Plans, plans

__version__ = version()

__all__ = [
    "Breakdown",
    "Cancelled",
    "Cluster",
    "Communication",
    "Critical",
    "DoesNotFit",
    "Memory",
    "Model",
    "Note",
    "Output",
    "Plan",
    "PlanResult",
    "Plans",
    "Result",
    "StepcastError",
    "UsageError",
    "WhatIf",
    "Workload",
    "coll",
    "command",
    "compare",
    "evaluate",
    "kernels",
    "plans",
    "run",
    "show",
    "simulate",
    "validate",
    "version",
]
