#!/usr/bin/env python3
"""A result with every part a page can show, from one that has only some:
memory, links, rates. enrich.py RESULT.json > RESULT.json"""
import json
import sys

r = json.load(open(sys.argv[1]))
G = 1 << 30
stages = len(r["ranks"])
r["class_memory_bytes"] = [{"class": i, "stage": i, "weights": 9 * G, "gradients": 9 * G, "optimizer": 18 * G,
                            "activations": (40 - 4 * i) * G, "context": G} for i in range(stages)]
r["memory_bytes"] = {"weights": 9 * G, "gradients": 9 * G, "optimizer": 18 * G, "activations": 40 * G, "context": G,
                     "total": 77 * G, "capacity": 80 * G}
r["tokens_per_s"], r["tflops_per_gpu"], r["mfu"] = 143210.4, 412.3, 0.417
r["links"] = [{"name": f"segment 0 leaf {i} to spine {i % 4}", "bytes": 1e9 * (30 - i), "capacity_bytes_per_s": 5e10,
               "utilisation": 0.93 - 0.03 * i} for i in range(24)]
r["input"]["notes"].append({"code": "text-with-markup", "text": "</script><b>a name with <markup> & \"quotes\"</b>"})
json.dump(r, sys.stdout)
