SEQ_LEN = 1024
data = dict(seq_len=SEQ_LEN, micro_num=2, micro_bsz=1)
model = dict(checkpoint=0.5, hidden_size=512, num_layers=4, num_attention_heads=8, vocab_size=1000, mlp_ratio=(7 - int(1.5)) / 2 ** 1, no_bias=-True, dtype="torch.bfloat16")
parallel = dict(zero1=dict(size=-1), tensor=dict(size=2, mode="isp"), pipeline={"size": 2}, weight=dict(size=2))
