"""One rank's Chakra file of one node: chakra_rank.py FILE TYPE [NAME=NUMBER …]; duration=US is the node's own field."""
import sys


def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def number(field, v):
    return varint(field << 3) + varint(v)


def text(field, b):
    return varint(field << 3 | 2) + varint(len(b)) + b


path, kind, *attributes = sys.argv[1:]
node = number(1, 1) + text(2, b"node") + number(3, int(kind))
for word in attributes:
    name, value = word.split("=")
    if name == "duration":
        node += number(7, int(value))
    else:
        node += text(10, text(1, name.encode()) + number(9, int(value)))
with open(path, "wb") as f:
    for message in (text(1, b"0.0.4"), node) if kind != "0" else (text(1, b"0.0.4"),):
        f.write(varint(len(message)) + message)
