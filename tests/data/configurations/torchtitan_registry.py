from torchtitan.components.quantization.float8 import Float8LinearConverter
from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig
from torchtitan.models.common.decoder import Decoder
from torchtitan.models.llama3 import model_registry
from torchtitan.trainer import Trainer


def short() -> Trainer.Config:
    """The plan of torchtitan.toml."""
    return Trainer.Config(
        model_spec=model_registry("8B"),
        training=TrainingConfig(local_batch_size=1, seq_len=8192, steps=10),  # a comment
        parallelism=ParallelismConfig(
            data_parallel_shard_degree=-1,
            tensor_parallel_degree=2,
        ),
        activation_checkpoint=ActivationCheckpointConfig(mode="selective"),
        compile=CompileConfig(enable=True, components=["model", "loss"]),
        checkpoint=CheckpointManager.Config(enable=False, interval=500),
    )


def longer() -> Trainer.Config:
    config = short()
    config.training.seq_len = 16384
    config.parallelism = ParallelismConfig(context_parallel_degree=4)
    config.activation_checkpoint.mode = "full"
    config.compile.components = ["loss"]
    return config


def larger() -> Trainer.Config:
    config = longer()
    config.model_spec = model_registry(
        "70B", converters=[Float8LinearConverter.Config(recipe_name="rowwise")]
    )
    config.training.local_batch_size = 2
    return config


def unsaid() -> Trainer.Config:
    return Trainer.Config(model_spec=model_registry("8B"), loss=ChunkedCELoss.Config())


def of_another_file() -> Trainer.Config:
    config = elsewhere()
    return config


def helper(x):
    return x
