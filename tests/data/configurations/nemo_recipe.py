from typing import Callable, Optional
import lightning.pytorch as pl
import nemo_run as run
import torch
from nemo.collections import llm
from nemo.collections.llm.recipes.llama3_8b import model

NAME = "llama3_8b"

@run.cli.factory(name=NAME)
def model() -> run.Config[pl.LightningModule]:
    return run.Config(LlamaModel, config=run.Config(Llama3Config8B))

def trainer(
    tensor_parallelism: int = 1,
    pipeline_parallelism: int = 1,
    pipeline_parallelism_type: Optional[torch.dtype] = None,
    virtual_pipeline_parallelism: Optional[int] = None,
    context_parallelism: int = 2,
    sequence_parallelism: bool = False,
    num_nodes: int = 1,
    num_gpus_per_node: int = 8,
    max_steps: int = 1168251,
    callbacks=None,
) -> run.Config[nl.Trainer]:
    strategy = run.Config(
        nl.MegatronStrategy,
        tensor_model_parallel_size=tensor_parallelism,
        pipeline_model_parallel_size=pipeline_parallelism,
        context_parallel_size=context_parallelism,
        sequence_parallel=sequence_parallelism,
        ddp=run.Config(DistributedDataParallelConfig, overlap_grad_reduce=True),
    )
    return run.Config(nl.Trainer, devices=num_gpus_per_node, num_nodes=num_nodes, strategy=strategy)

@run.cli.factory(target=pretrain, name=NAME)
def pretrain_recipe(dir=None, name="default", num_nodes: int = 1, num_gpus_per_node: int = 8):
    return run.Partial(
        pretrain,
        model=model(),
        trainer=trainer(num_nodes=num_nodes, num_gpus_per_node=num_gpus_per_node),
        data=run.Config(MockDataModule, seq_length=8192, global_batch_size=512, micro_batch_size=1),
    )
