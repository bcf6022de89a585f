"""DistributedDataParallel without its reducer, which reads data: buckets are filled as gradients
arrive, sent when they are full, and copied back at the end of backward, as it does."""

import contextlib

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn import Module

FIRST_BUCKET = 1 << 20  # bytes: the first is small, so that something is sent early
ENGINE = torch.autograd.Variable._execution_engine


def buckets_of(parameters, cap):
    """Lists of parameters in the order of their gradients: one is closed by the parameter
    that fills it. Types have buckets of their own."""
    open_ones, closed = {}, []
    for parameter in parameters:
        bucket = open_ones.setdefault(parameter.dtype, [])
        bucket.append(parameter)
        limit = FIRST_BUCKET if not closed else cap
        if sum(p.numel() * p.element_size() for p in bucket) >= limit:
            closed.append(open_ones.pop(parameter.dtype))
    return closed + list(open_ones.values())


class Bucket:
    def __init__(self, parameters):
        self.parameters = parameters
        first = parameters[0]
        size = sum(p.numel() for p in parameters)
        self.flat = torch.empty(size, dtype=first.dtype, device=first.device)
        self.views = []
        place = 0
        for parameter in parameters:
            self.views.append(self.flat[place : place + parameter.numel()].view(parameter.shape))
            place += parameter.numel()
        self.reset()

    def reset(self):
        self.missing = len(self.parameters)
        self.work = None


class Gradients:
    """What is sent of a module's gradients, and when."""

    def __init__(self, parameters, group, cap, as_views):
        self.group = group
        self.cap = cap
        self.as_views = as_views
        self.enabled = True
        self.arrived = []
        self.begun = False
        self.rebuilt = False
        self.plan(list(reversed(parameters)))
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(self.arrive)

    def plan(self, parameters):
        self.buckets = [Bucket(some) for some in buckets_of(parameters, self.cap)]
        self.place = {
            id(parameter): (bucket, view)
            for bucket in self.buckets
            for parameter, view in zip(bucket.parameters, bucket.views)
        }

    def arrive(self, parameter):
        if not self.enabled:
            return
        if not self.begun:
            self.begun = True
            ENGINE.queue_callback(self.finish)
        self.arrived.append(parameter)
        bucket, view = self.place[id(parameter)]
        share = 1 / dist.get_world_size(self.group)
        if parameter.grad is view:
            view.mul_(share)
        else:
            torch.mul(parameter.grad, share, out=view)
        bucket.missing -= 1
        if not bucket.missing:
            self.send(bucket)

    def send(self, bucket):
        bucket.work = dist.all_reduce(bucket.flat, group=self.group, async_op=True)

    def finish(self):
        for bucket in self.buckets:
            if bucket.work is None:  # some were not used
                self.send(bucket)
        for bucket in self.buckets:
            bucket.work.wait()
            for parameter, view in zip(bucket.parameters, bucket.views):
                if parameter.grad is None or parameter.grad is view:
                    continue
                if self.as_views:
                    parameter.grad = view
                else:
                    parameter.grad.copy_(view)
            bucket.reset()
        if not self.rebuilt:  # from now on in the order in which they came
            self.rebuilt = True
            known = {id(parameter) for parameter in self.arrived}
            rest = [p for b in self.buckets for p in b.parameters if id(p) not in known]
            self.plan(self.arrived + rest)
        self.arrived = []
        self.begun = False


def _init(
    self,
    module,
    device_ids=None,
    output_device=None,
    dim=0,
    broadcast_buffers=True,
    process_group=None,
    bucket_cap_mb=None,
    *_,
    gradient_as_bucket_view=False,
    **__,
):
    Module.__init__(self)
    self.module = module
    self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
    self.process_group = process_group or dist.group.WORLD
    self.broadcast_buffers = broadcast_buffers
    self.require_backward_grad_sync = True
    parameters = [p for p in module.parameters() if p.requires_grad]
    cap = int((bucket_cap_mb or 25) * (1 << 20))
    self.stepcast_gradients = Gradients(
        parameters, self.process_group, cap, gradient_as_bucket_view
    )


def _send_buffers(self):
    """Statistics of the first rank go to all, one message a type."""
    by_type = {}
    for buffer in self.module.buffers():
        by_type.setdefault(buffer.dtype, []).append(buffer)
    for buffers in by_type.values():
        flat = torch.cat([buffer.flatten() for buffer in buffers])
        dist.broadcast(flat, dist.get_global_rank(self.process_group, 0), group=self.process_group)
        parts = flat.split([buffer.numel() for buffer in buffers])
        for buffer, part in zip(buffers, parts):
            buffer.copy_(part.view(buffer.shape))


def _forward(self, *inputs, **kwargs):
    self.stepcast_gradients.enabled = self.require_backward_grad_sync
    if self.broadcast_buffers and self.require_backward_grad_sync:
        with torch.no_grad():
            _send_buffers(self)
    return self.module(*inputs, **kwargs)


@contextlib.contextmanager
def _no_sync(self):
    before = self.require_backward_grad_sync
    self.require_backward_grad_sync = False
    try:
        yield
    finally:
        self.require_backward_grad_sync = before


def _nothing(self, *_, **__):
    return None


def _refuse(*_, **__):
    from ._session import CaptureError

    raise CaptureError(
        "FullyShardedDataParallel cannot be captured: it resizes storages\n"
        "  hint: torch.distributed.fsdp.fully_shard (FSDP2) moves the same and can be"
    )


class Replaced:
    """While open, the class works without its reducer; the older FSDP is refused."""

    METHODS = {
        "__init__": _init,
        "forward": _forward,
        "no_sync": _no_sync,
        "register_comm_hook": _nothing,
        "_set_static_graph": _nothing,
        "__setstate__": Module.__setstate__,
        "train": Module.train,
    }

    def __enter__(self):
        self._class = torch.nn.parallel.DistributedDataParallel
        self._before = {}
        for name, method in self.METHODS.items():
            self._before[name] = self._class.__dict__.get(name)
            setattr(self._class, name, method)
        self._older = FullyShardedDataParallel.__init__
        FullyShardedDataParallel.__init__ = _refuse
        return self

    def __exit__(self, *exception):
        FullyShardedDataParallel.__init__ = self._older
        for name, method in self._before.items():
            if method is None:
                delattr(self._class, name)
            else:
                setattr(self._class, name, method)
