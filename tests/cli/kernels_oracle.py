"""Random kernels priced by the reference model, as a table for stepcast, and
the comparison of its answer. kernels_oracle.py make|check REFERENCE FILE"""
import importlib.util
import json
import random
import sys

NAMES = {"add_broadcast": "add_bcast", "transpose": "transpose_copy", "cross_entropy_f": "ce_f", "cross_entropy_b": "ce_b"}
OPS = """layernorm_f layernorm_b rmsnorm_f rmsnorm_b gelu_f gelu_b swiglu_f swiglu_b swiglu_chunk_f swiglu_chunk_b add
add_broadcast copy copy_strided transpose cat cat_strided cast_fp32 dropout_f dropout_b bias_grad cross_entropy_f
cross_entropy_b""".split()


def rows(K):
    pick = random.Random(7)
    for _ in range(1500):
        m, n, k = (8 * pick.randint(1, 2 ** pick.randint(0, 12)) for _ in range(3))
        yield "gemm,bf16,%d,%d,%d,,,,,,,,,,,,%.17g" % (m, n, k, K.gemm(m, n, k))
    for _ in range(300):
        m, n, k = (8 * pick.randint(1, 2 ** pick.randint(0, 12)) for _ in range(3))
        g = dict(K.G, r=K.G["r"] * 2.577, b=K.G["b"] * 1.524, Rp=K.G["Rp"] * 1.874)
        yield "gemm,fp8,%d,%d,%d,,,,,,,,,,,,%.17g" % (m, n, k, K.gemm(m, n, k, g, eb=1, kstep=128))
    for _ in range(400):
        b, h, s, d = pick.randint(1, 8), pick.randint(1, 8), pick.randint(1, 9000), pick.choice([64, 80, 96, 128, 192, 256])
        hk = pick.choice([h, h, 8 * h])
        f, w = K.attention(b, 8 * h, hk, s, d)
        for op, us in (("attention_f", f), ("attention_b", w)):
            yield "%s,bf16,,,,%d,%d,%d,%d,%d,1,,,,,,%.17g" % (op, b, 8 * h, hk, s, d, us)
    for op in OPS:
        for _ in range(20):
            r, c = pick.randint(1, 40000), pick.randint(1, 60000)
            yield "%s,bf16,,,,,,,,,,%d,%d,,,,%.17g" % (op, r, c, K.op(NAMES.get(op, op), r, c))
    for _ in range(20):
        r, v, h = pick.randint(1, 40000), pick.randint(1, 200000), pick.randint(1, 20000)
        yield "embedding_f,bf16,,,,,,,,,,%d,,,%d,,%.17g" % (r, h, K.emb_f(r, h))
        v = max(v, 2 * r)  # where places are fewer, the reference counts each row
        yield "embedding_b,bf16,,,,,,,,,,%d,,%d,%d,,%.17g" % (r, v, h, K.emb_b(r, v, h))
        for t, bf16 in (("bf16", True), ("fp32", False)):
            yield "adamw,%s,,,,,,,,,,,,,,%d,%.17g" % (t, 1000 * r, K.adamw(1000 * r, bf16))


def make(K, path):
    with open(path, "w") as f:
        f.write("op,dtype,m,n,k,batch,heads,kv_heads,sq,head_dim,causal,rows,cols,vocab,hidden,params,us\n")
        f.writelines(line + "\n" for line in rows(K))


def check(path):
    answer = json.load(open(path))["rows"]
    worst = max(answer, key=lambda r: abs(r["error_pct"]))
    print(len(answer), "kernels, worst relative difference %.1e" % abs(worst["error_pct"] / 100), worst)
    sys.exit(not (len(answer) > 2000 and abs(worst["error_pct"] / 100) < 1e-9))


if sys.argv[1] == "make":
    spec = importlib.util.spec_from_file_location("kernel_model", sys.argv[2])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    make(module, sys.argv[3])
else:
    check(sys.argv[2])
