import nemo_run as run
recipe = llm.llama31_70b.pretrain_recipe(num_nodes=2, num_gpus_per_node=8)
recipe.trainer.strategy.tensor_model_parallel_size=4
recipe.data.global_batch_size=64
recipe.trainer.plugins = bf16_with_fp8_current_scaling_mixed()
