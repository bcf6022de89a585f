"""Checked by mypy, not run: what a user writes, with the types that come out."""
from typing import Dict, Optional

import stepcast


def use() -> None:
    model = stepcast.Model.from_config({"hidden_size": 8})
    plan = stepcast.Plan(tp=8, schedule="zb-2p", recompute_modules=["mlp"], overlap_grad=False)
    result = stepcast.evaluate(model, plan, "dgx-h100:8", net="flow", slow=["rank:0=2"])
    step: float = result.step_us
    mfu: Optional[float] = result.mfu
    exposed: Dict[str, stepcast.Communication] = result.communication()
    total: int = result.memory(0).total
    best: float = stepcast.plans(model, gpus=8, global_batch=8)[0].step_us
    tp: Optional[int] = plan.replace(tp=4).tp
    print(step, mfu, exposed, total, best, tp)


def wrong() -> None:
    stepcast.Plan(tp="8")  # type: ignore[arg-type]
    stepcast.Plan(schedule="zb-3p")  # type: ignore[arg-type]
    stepcast.Plan(sequence_paralel=True)  # type: ignore[call-arg]
    stepcast.evaluate("gpt2", stepcast.Plan(), timelin=True)  # type: ignore[call-arg]
