"""Model, Cluster, Workload: what is trained, where, and what is simulated.

They never change once made, so threads may share them, and each gives its
memory back when nobody refers to it any more."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Iterator, List, Mapping, Optional, Tuple, Union

from . import _header as c
from ._fields import empty
from ._library import Handle, Progress, SettingArray, Text, borrowed_context, decode, encode
from ._library import library, made, progress_shown
from ._options import call_with_options
from ._plan import Plan

if TYPE_CHECKING:
    from typing_extensions import Unpack

Config = Union[Mapping[str, Any], bytes, Text]


Setting = Tuple[str, Optional[bytes]]


class Model(Handle):
    """What is trained: a preset, a config.json of Hugging Face, or a folder with one.

    >>> model = stepcast.Model("llama3-8b")
    >>> model.layers, round(model.parameters / 1e9, 2)
    (32, 8.03)
    """

    def __init__(self, name: Text) -> None:
        text = encode(name, "a model's name")
        out = ctypes.c_void_p()
        with borrowed_context() as context:
            pointer = made(context, library.sc_model_load(context, text, ctypes.byref(out)), out)
        self._adopt(pointer, [("model", text)])

    def _adopt(self, pointer: int, options: List[Setting], config: bytes = b"") -> None:
        Handle.__init__(self, pointer, library.sc_model_free)
        self._options = options
        self._config = config

    @classmethod
    def from_config(cls, config: Config, name: str = "config.json") -> Model:
        """From a config of Hugging Face: a dict, the bytes of the file, or its path.
        name is what errors call it.

        >>> config = dict(model_type="llama", hidden_size=1024, num_hidden_layers=4,
        ...     num_attention_heads=16, num_key_value_heads=16, intermediate_size=4096,
        ...     vocab_size=32000)
        >>> stepcast.Model.from_config(config).layers
        4
        """
        if isinstance(config, Mapping):
            config = json.dumps(config).encode()
        if not isinstance(config, (bytes, bytearray, memoryview)):
            return cls(config)
        data = bytes(config)
        out = ctypes.c_void_p()
        with borrowed_context() as context:
            status = library.sc_model_parse(context, encode(name), data, len(data), ctypes.byref(out))
            pointer = made(context, status, out)
        model = cls.__new__(cls)
        model._adopt(pointer, [], data)
        return model

    @classmethod
    def from_shapes(cls, **shapes: Any) -> Model:
        """By Megatron's names, on top of the model that model= names where it is given.

        >>> stepcast.Model.from_shapes(model="llama3-8b", num_layers=8).layers
        8
        """
        settings = SettingArray(shapes)
        out = ctypes.c_void_p()
        with borrowed_context() as context:
            status = library.sc_model_build(context, settings.array, settings.count, ctypes.byref(out))
            pointer = made(context, status, out)
        model = cls.__new__(cls)
        model._adopt(pointer, [(decode(item.name), item.value) for item in settings.array])
        return model

    @classmethod
    def from_script(cls, path: Text) -> Tuple[Model, Plan]:
        """The model and the plan of a Megatron launch script, which is read and not run.
        plans() of such a model keeps what the script says of the plan."""
        text = encode(path, "a path")
        out = ctypes.c_void_p()
        struct = empty(c.sc_plan)
        with borrowed_context() as context:
            status = library.sc_model_load_script(
                context, text, ctypes.byref(out), ctypes.byref(struct)
            )
            pointer = made(context, status, out)
        model = cls.__new__(cls)
        model._adopt(pointer, [("megatron-args", text)])
        return model, Plan._from_struct(struct)

    @property
    def name(self) -> str:
        """What it calls itself."""
        return decode(library.sc_model_name(self._pointer))

    @property
    def layers(self) -> int:
        return int(library.sc_model_layers(self._pointer))

    @property
    def parameters(self) -> int:
        """All of them."""
        return int(library.sc_model_parameters(self._pointer))

    @property
    def active_parameters(self) -> int:
        """Those that one token passes through: fewer than all with experts."""
        return int(library.sc_model_active_parameters(self._pointer))

    def __repr__(self) -> str:
        return f"<Model {self.name}: {self.parameters / 1e9:.4g} B parameters, {self.layers} layers>"

    @contextlib.contextmanager
    def _as_options(self) -> Iterator[List[Setting]]:
        """The options of a command that say this model."""
        if self._options:
            yield self._options
            return
        with content_as_file(self._config, "config.json") as path:
            yield [("model", path)]


class Cluster(Handle):
    """Where it is trained: a preset with or without a number of GPUs, a one-line
    description, or a file.

    >>> stepcast.Cluster("dgx-h100:64 nic=200Gbps").gpus
    64
    """

    def __init__(self, text: Text) -> None:
        data = encode(text, "a cluster")
        out = ctypes.c_void_p()
        with borrowed_context() as context:
            pointer = made(context, library.sc_cluster_load(context, data, ctypes.byref(out)), out)
        self._adopt(pointer, data, b"")

    def _adopt(self, pointer: int, text: bytes, description: bytes) -> None:
        Handle.__init__(self, pointer, library.sc_cluster_free)
        self._text = text
        self._description = description

    @classmethod
    def parse(cls, data: Union[bytes, str], name: str = "cluster") -> Cluster:
        """From the content of a file of any format that Cluster() reads."""
        if isinstance(data, str):
            data = data.encode()
        out = ctypes.c_void_p()
        with borrowed_context() as context:
            status = library.sc_cluster_parse(context, encode(name), data, len(data), ctypes.byref(out))
            pointer = made(context, status, out)
        cluster = cls.__new__(cls)
        cluster._adopt(pointer, b"", data)
        return cluster

    @property
    def name(self) -> str:
        return decode(library.sc_cluster_name(self._pointer))

    @property
    def gpus(self) -> Optional[int]:
        """None: as many as the job has."""
        return int(library.sc_cluster_gpus(self._pointer)) or None

    def __repr__(self) -> str:
        size = f"{self.gpus} GPUs" if self.gpus else "as many GPUs as the job has"
        return f"<Cluster {self.name}: {size}>"

    @contextlib.contextmanager
    def _as_options(self) -> Iterator[List[Setting]]:
        """The option of a command that says this cluster."""
        if self._text:
            yield [("cluster", self._text)]
            return
        with content_as_file(self._description, "cluster") as path:
            yield [("cluster", path)]


class Workload(Handle):
    """What is simulated: a trace, a workload file, or a model cut by a plan.

    >>> plan = stepcast.Plan(tp=4, global_batch=8)
    >>> workload = stepcast.Workload.from_plan("llama3-8b", plan, "dgx-h100:8")
    >>> workload.ranks
    8
    """

    def __init__(self) -> None:
        raise TypeError("use Workload.load(), Workload.parse() or Workload.from_plan()")

    @classmethod
    def _made(cls, pointer: int) -> Workload:
        workload = cls.__new__(cls)
        Handle.__init__(workload, pointer, library.sc_workload_free)
        return workload

    @classmethod
    def load(cls, *paths: Text, cluster: Optional[Union[Cluster, Text]] = None, **settings: Any) -> Workload:
        """Files of any known format, or a folder. settings are options of the format
        (format=, micro_batches=, pp_comm= …); the cluster says how many ranks there are
        and what GPU they have, where the files do not."""
        names = [encode(path, "a path") for path in paths]
        array = (ctypes.c_char_p * len(names))(*names)
        given = SettingArray(settings)
        where = as_cluster(cluster)
        out = ctypes.c_void_p()
        with borrowed_context() as context, progress_shown(context, None):
            status = library.sc_workload_load(
                context, array, len(names), given.array, given.count, pointer_of(where), ctypes.byref(out)
            )
            return cls._made(made(context, status, out))

    @classmethod
    def parse(
        cls,
        data: bytes,
        name: str = "workload",
        cluster: Optional[Union[Cluster, Text]] = None,
        **settings: Any,
    ) -> Workload:
        """The content of one such file; name is what errors call it."""
        given = SettingArray(settings)
        where = as_cluster(cluster)
        out = ctypes.c_void_p()
        with borrowed_context() as context, progress_shown(context, None):
            status = library.sc_workload_parse(
                context,
                encode(name),
                data,
                len(data),
                given.array,
                given.count,
                pointer_of(where),
                ctypes.byref(out),
            )
            return cls._made(made(context, status, out))

    @classmethod
    def from_plan(
        cls,
        model: Union[Model, Text],
        plan: Plan,
        cluster: Optional[Union[Cluster, Text]] = None,
        *,
        progress: Optional[Progress] = None,
        **options: Unpack[c.OptionsKeywords],
    ) -> Workload:
        """A model cut by a plan; options as for evaluate()."""
        what = as_model(model)
        where = as_cluster(cluster)
        return call_with_options(
            "Workload.from_plan",
            options,
            progress,
            lambda context, filled, out: library.sc_workload_lower(
                context, what._pointer, plan._reference(), pointer_of(where), filled, out
            ),
            cls._made,
        )

    @property
    def ranks(self) -> int:
        return int(library.sc_workload_ranks(self._pointer))

    @property
    def format(self) -> str:
        """The format it was read from."""
        return decode(library.sc_workload_format(self._pointer))

    def __repr__(self) -> str:
        return f"<Workload: {self.format}, {self.ranks} ranks>"


def as_model(model: Union[Model, Text]) -> Model:
    return model if isinstance(model, Model) else Model(model)


def as_cluster(cluster: Optional[Union[Cluster, Text]]) -> Optional[Cluster]:
    return cluster if cluster is None or isinstance(cluster, Cluster) else Cluster(cluster)


def pointer_of(handle: Optional[Handle]) -> Optional[int]:
    return None if handle is None else handle._pointer


@contextlib.contextmanager
def content_as_file(content: bytes, name: str) -> Iterator[bytes]:
    """The path of a file with this content, while this lasts."""
    with tempfile.TemporaryDirectory(prefix="stepcast-") as folder:
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content)
        yield os.fsencode(path)
