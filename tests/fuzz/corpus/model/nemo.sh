python megatron_gpt_pretraining.py trainer.devices=8 model.num_layers=2 ++model.hidden_size=64
