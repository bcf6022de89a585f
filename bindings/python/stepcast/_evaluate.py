"""evaluate() and simulate(): one step, forecast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Union

from . import _header as c
from ._library import Progress, Text, library
from ._objects import Cluster, Model, Workload, as_cluster, as_model, pointer_of
from ._options import call_with_options, show_options
from ._plan import Plan, keyword_help
from ._result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack


def evaluate(
    model: Union[Model, Text],
    plan: Plan,
    cluster: Optional[Union[Cluster, Text]] = None,
    *,
    progress: Optional[Progress] = None,
    **options: Unpack[c.OptionsKeywords],
) -> Result:
    """One training step of the model under the plan on the cluster.

    model and cluster may be given by name; without a cluster it is the machine
    of the plan's gpu, or dgx-h100, of the job's size. Raises UsageError for a plan that
    cannot be, and DoesNotFit when it does not fit into memory. What was assumed
    is in the result's notes. progress(what, share) is called now and then; True
    cancels.

    >>> plan = stepcast.Plan(tp=2, zero=1, global_batch=64, seq=4096)
    >>> result = stepcast.evaluate("llama3-8b", plan, "dgx-h100:16")
    >>> result.plan.dp, result.mfu > 0.3
    (8, True)

    Options, all by keyword:
    """
    if not isinstance(plan, Plan):
        raise TypeError(f"a plan is a stepcast.Plan, not {type(plan).__name__}")
    what = as_model(model)
    where = as_cluster(cluster)
    return call_with_options(
        "evaluate",
        options,
        progress,
        lambda context, filled, out: library.sc_evaluate(
            context, what._pointer, plan._reference(), pointer_of(where), filled, out
        ),
        Result,
    )


def simulate(
    workload: Workload,
    cluster: Optional[Union[Cluster, Text]] = None,
    *,
    progress: Optional[Progress] = None,
    **options: Unpack[c.OptionsKeywords],
) -> Result:
    """One step of a workload; without a cluster, on dgx-h100 of the job's size.
    Options and progress as for evaluate().

    >>> plan = stepcast.Plan(tp=4, global_batch=8)
    >>> workload = stepcast.Workload.from_plan("llama3-8b", plan, "dgx-h100:8")
    >>> stepcast.simulate(workload, "dgx-h100:8").ranks
    8
    """
    if not isinstance(workload, Workload):
        raise TypeError(f"a workload is a stepcast.Workload, not {type(workload).__name__}")
    where = as_cluster(cluster)
    return call_with_options(
        "simulate",
        options,
        progress,
        lambda context, filled, out: library.sc_simulate(
            context, workload._pointer, pointer_of(where), filled, out
        ),
        Result,
    )


evaluate.__doc__ = (evaluate.__doc__ or "") + keyword_help(c.OPTIONS_FIELDS)
show_options(evaluate)
show_options(simulate)
