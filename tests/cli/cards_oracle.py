"""Products measured on cards of users against the forecasts: cards_oracle.py STEPCAST TABLE.csv

Prints for each group of cards whether its mean error is within its bound. A card whose tensor
cores run at half the rate has little but its clock to be slower by; others are held at their
power limit, which a time of a single kernel says nothing of."""
import csv
import json
import subprocess
import sys
import tempfile

# Cards rated at half of what their units do where they add in fp32.
HALF = {"rtx-3060", "rtx-3080", "rtx-3080-ti", "rtx-3090", "rtx-4060-ti", "rtx-4090", "rtx-5060", "rtx-5070",
        "rtx-5080", "rtx-5090", "rtx-2080-ti", "a10g", "l20", "l40"}
# Above what is left: 8.1, 10.6, 9.2, 4.2, 12.6 and 13.2 %; by the ratios of the
# datasheets alone it is 48, 64, 17, 8, 13 and 25 %.
BOUNDS = {"half rate": 9.5, "half rate, tf32": 12, "half rate, fp32": 10.5, "few units": 5, "others": 12.8, "looked at after": 15}


def group(row):
    if row["when"] == "after":
        return "looked at after"
    if row["gpu"] == "h20" and row["dtype"] in ("fp16", "bf16") and int(row["m"]) >= 4096:
        return "few units"
    if row["gpu"] not in HALF:
        return "others"
    return "half rate" + ("" if row["dtype"] in ("fp16", "bf16") else ", " + row["dtype"])


def forecasts(program, gpu, rows):
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        table.write("op,dtype,m,n,k,us\n")
        for row in rows:
            flop = 2 * int(row["m"]) * int(row["n"]) * int(row["k"])
            table.write(f"gemm,{row['dtype']},{row['m']},{row['n']},{row['k']},{flop / float(row['tflops']) / 1e6:.3f}\n")
        table.flush()
        out = subprocess.run([program, "kernels", table.name, "--gpu", gpu, "--json", "-"],
                             stdout=subprocess.PIPE, check=True)
    return [row["error_pct"] for row in json.loads(out.stdout)["rows"]]


def main():
    program, path = sys.argv[1:]
    cards = {}
    with open(path, encoding="utf-8") as text:
        for row in csv.DictReader(line for line in text if not line.startswith("#")):
            cards.setdefault(row["gpu"], []).append(row)
    errors = {}
    for gpu, rows in cards.items():
        for row, error in zip(rows, forecasts(program, gpu, rows), strict=True):
            errors.setdefault(group(row), []).append(error)
    for name, bound in BOUNDS.items():
        mean = sum(abs(e) for e in errors[name]) / len(errors[name])
        print(f"{name}: {len(errors[name])} {'within' if mean <= bound else 'mean %.1f' % mean}", end="; ")


main()
