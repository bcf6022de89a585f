"""What `stepcast list KIND --json` and its table say, against the files of data/.

    list_oracle.py KIND LIST.json TABLE.txt

The files are read as they are; active parameters are a closed form of the shapes.
"""
import json
import pathlib
import re
import sys

kind, listed_path, table_path = sys.argv[1:]
rows = json.load(open(listed_path))[kind]
table = [line.rstrip("\n") for line in open(table_path)][1:]
wrong = []


def same(name, what, got, wanted):
    if got != wanted and not (
        isinstance(got, (int, float)) and isinstance(wanted, (int, float)) and abs(got - wanted) <= 1e-9 * abs(wanted)
    ):
        wrong.append(f"{name}: {what} is {got}, not {wanted}")


def first(config, *keys):
    return next((config[k] for k in keys if config.get(k) is not None), None)


def unused_expert_parameters(c):
    """Of the experts of a model, what a token does not pass through."""
    experts = first(c, "num_local_experts", "num_experts", "n_routed_experts") or 0
    if not experts:
        return 0
    used = first(c, "num_experts_per_tok", "experts_per_token")
    hidden = c.get("moe_latent_size") or c["hidden_size"]
    width = first(c, "moe_intermediate_size", "intermediate_size")
    layers = (c["num_hidden_layers"] - c.get("first_k_dense_replace", 0)) // c.get("interleave_moe_layer_step", 1)
    matrices = 3
    if c["model_type"] == "nemotron_h":  # a letter a layer, and no gates
        layers = c["hybrid_override_pattern"].count("E")
        matrices = 2
    biases = 2 * width + hidden if c["model_type"] == "gpt_oss" else 0
    return layers * (experts - used) * (matrices * hidden * width + biases)


def check_model(row, c):
    same(row["name"], "layers", row["layers"], first(c, "num_hidden_layers", "n_layer", "n_layers"))
    same(row["name"], "context", row["context"], first(c, "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"))
    same(row["name"], "active", row["active_parameters"], row["parameters"] - unused_expert_parameters(c))
    published = c.get("_parameters")
    off = max(c.get("_parameters_rounding", 0), 0.005 * (published or 0))  # as exact as the presets are
    if published and abs(row["parameters"] - published) > off:
        wrong.append(f"{row['name']}: {row['parameters']} parameters, published {published} within {off}")


def check_gpu(row, c):
    sheet = c["datasheet"]
    same(row["name"], "title", row["title"], c["title"])
    same(row["name"], "architecture", row["architecture"], c["architecture"])
    for key, wanted in (("fp16_tflops", sheet["peak_tflops"].get("fp16")),
                        ("bf16_tflops", sheet["peak_tflops"].get("bf16")), ("fp8_tflops", sheet["peak_tflops"].get("fp8")),
                        ("memory_gib", sheet["memory_gib"]), ("memory_tbs", sheet["dram_tbs"])):
        same(row["name"], key, row[key], wanted)


def number_before(text, unit):
    return float(text[: -len(unit)]) if text and text.endswith(unit) else None


def check_cluster(row, c):
    node = c["node"]
    same(row["name"], "source", row["source"], c["source"])
    same(row["name"], "gpu", row["gpu"], c["gpu"])
    same(row["name"], "node_gpus", row["node_gpus"], node["gpus"])
    same(row["name"], "nvlink_gbs", row["nvlink_gbs"], number_before(node.get("nvlink"), "GB/s"))
    same(row["name"], "node_nics", row["node_nics"], node.get("nics"))
    same(row["name"], "nic_gbps", row["nic_gbps"], number_before(node.get("nic"), "Gbps"))
    same(row["name"], "fabric", row["fabric"], c["fabric"].get("kind", "dims"))
    same(row["name"], "class", row["fabric_class"], c["fabric"]["class"])


def check_network(row, data):
    same(row["name"], "payload", row["payload"], int(data["settings"]["PACKET_PAYLOAD_SIZE"]))
    same(row["name"], "controls", row["controls"], ", ".join(data["controls"]))
    same(row["name"], "source", row["source"], data["source"])


def check_software(row, c):
    for key in ("title", "stack", "from", "to", "source"):
        same(row["name"], key, row[key], c[key])


def cells(kind, row):
    """Words of the row's line in the table."""
    if kind == "software":
        return [row["name"], row["from"], row["to"], row["title"]]
    if kind == "networks":
        return [row["name"], str(row["payload"]), row["controls"], row["source"]]
    if kind == "models":
        shown = [f"{n / 1e9:.1f} B" if n >= 1e9 else f"{n / 1e6:.1f} M" for n in (row["parameters"], row["active_parameters"])]
        return [row["name"], str(row["layers"]), *shown, str(row["context"] or "-")]
    if kind == "gpus":
        numbers = [f"{row[k]:.4g}" if row[k] else "-" for k in ("fp16_tflops" if row["bf16_tflops"] is None else "bf16_tflops", "fp8_tflops")]
        return [row["name"], row["architecture"], *numbers, f"{row['memory_gib']:.4g} GiB", f"{row['memory_tbs']:.4g} TB/s", row["title"]]
    inside = f"{row['inside']} {row['nvlink_gbs']:.4g} GB/s" if row["inside"] else "-"
    nics = f"{row['node_nics']} x {row['nic_gbps']:.4g} Gb/s" if row["node_nics"] else "-"
    return [row["name"], row["gpu"], str(row["node_gpus"]), inside, nics, row["fabric"], row["fabric_class"], row["source"]]


files = {p.stem: json.load(open(p)) for p in pathlib.Path("data", kind).glob("*.json")}
same(kind, "names", sorted(r["name"] for r in rows), sorted(files))
same(kind, "lines", len(table), len(rows))
for row, line in zip(rows, table):
    {"models": check_model, "gpus": check_gpu, "clusters": check_cluster, "software": check_software, "networks": check_network}[kind](row, files[row["name"]])
    same(row["name"], "line", re.sub(" +", " ", line), re.sub(" +", " ", " ".join(cells(kind, row))))
print("\n".join(wrong) if wrong else f"{len(rows)} rows as in data/{kind}")
sys.exit(bool(wrong))
