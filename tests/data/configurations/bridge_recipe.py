from megatron.bridge import AutoBridge
from megatron.bridge.training.config import ConfigContainer

def pretrain_config(
    tensor_model_parallel_size: int = 4,
    pipeline_model_parallel_size: int = 8,
    pipeline_dtype: Optional[torch.dtype] = torch.bfloat16,
    virtual_pipeline_model_parallel_size: Optional[int] = None,
    context_parallel_size: int = 2,
    sequence_parallel: bool = True,
    global_batch_size: int = 512,
    micro_batch_size: int = 1,
    seq_length: int = 8192,
    train_iters: int = 1168251,
) -> ConfigContainer:
    bridge = AutoBridge.from_hf_pretrained("meta-llama/Meta-Llama-3-70B")
    model_cfg = bridge.to_megatron_provider(load_weights=False)
    model_cfg.tensor_model_parallel_size = tensor_model_parallel_size
    model_cfg.pipeline_model_parallel_size = pipeline_model_parallel_size
    model_cfg.context_parallel_size = context_parallel_size
    model_cfg.sequence_parallel = sequence_parallel
    model_cfg.seq_length = seq_length
    cfg = ConfigContainer(
        model=model_cfg,
        train=TrainingConfig(
            train_iters=train_iters,
            global_batch_size=global_batch_size,
            micro_batch_size=micro_batch_size,
            manual_gc=True,
        ),
    )
    return cfg
