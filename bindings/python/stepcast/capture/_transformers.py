"""transformers asks whether a tensor is fake, and then builds masks that it leaves out on a
GPU: attention that is causal there would have a mask here."""

import sys

from torch.nn.modules.module import register_module_forward_pre_hook


class Replaced:
    """While open, transformers takes fake tensors for real ones. It may be imported later, but
    not after the first of its modules runs."""

    def __enter__(self):
        self._utils = None
        self._hook = register_module_forward_pre_hook(self._look)
        return self

    def _look(self, module, inputs):
        del module, inputs
        utils = sys.modules.get("transformers.utils.import_utils")
        if utils is None or not hasattr(utils, "is_fake_tensor"):
            return
        self._hook.remove()
        self._utils, self._before = utils, utils.is_fake_tensor
        utils.is_fake_tensor = lambda x: False

    def __exit__(self, *exception):
        self._hook.remove()
        if self._utils is not None:
            self._utils.is_fake_tensor = self._before
