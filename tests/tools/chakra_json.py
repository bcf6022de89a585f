"""A rank's Chakra file as chakra_jsonizer writes it: chakra_json.py FILE.et FILE.json objects|list.

Keys and texts are those of protobuf's JSON: lowerCamelCase, 64-bit numbers in quotes, what is 0 left out (but for
values of attributes, of which one is always there).
"""
import json
import struct
import sys

TYPES = "INVALID METADATA MEM_LOAD MEM_STORE COMP COMM_SEND COMM_RECV COMM_COLL".split()
LISTS = {10: "int64List", 14: "uint64List"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def numbers(value):
    if isinstance(value, int):
        return [str(value)]
    out, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        out.append(str(number))
    return out


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def attribute(data):
    out = {}
    for field, value in fields(data):
        if field == 1:
            out["name"] = value.decode()
        elif field == 3:
            out["doubleVal"] = struct.unpack("<d", value)[0]
        elif field in (7, 11):
            out["int32Val" if field == 7 else "uint32Val"] = signed(value)
        elif field in (9, 13):
            out["int64Val" if field == 9 else "uint64Val"] = str(signed(value))
        elif field == 27:
            out["boolVal"] = bool(value)
        elif field == 29:
            out["stringVal"] = value.decode()
        elif field in LISTS:
            out[LISTS[field]] = {"values": sum((numbers(v) for f, v in fields(value) if f == 1), [])}
    return out


def node(data):
    out = {}
    for field, value in fields(data):
        if field in (1, 7) and value:
            out["id" if field == 1 else "durationMicros"] = str(value)
        elif field == 2:
            out["name"] = value.decode()
        elif field == 3:
            out["type"] = TYPES[value] + "_NODE"
        elif field in (4, 5):
            out.setdefault("ctrlDeps" if field == 4 else "dataDeps", []).extend(numbers(value))
        elif field == 8:
            out["inputs"] = {"values": value.decode() for f, value in fields(value) if f == 1}
        elif field == 10:
            out.setdefault("attr", []).append(attribute(value))
    return out


source, target, form = sys.argv[1:4]
data, at, messages = open(source, "rb").read(), 0, []
while at < len(data):
    size, at = varint(data, at)
    messages.append(node(data[at : at + size]) if messages else {"version": "0.0.4"})
    at += size
with open(target, "w") as f:
    f.write(json.dumps(messages) if form == "list" else "".join(json.dumps(m, indent=2) for m in messages))
