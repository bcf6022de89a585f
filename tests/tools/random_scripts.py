#!/usr/bin/env python3
"""Random launch scripts: what the evaluator makes of them is compared with what bash does.

    random_scripts.py FOLDER SEED COUNT

Each ends in a torchrun whose words are expansions of what came before. Everything is
decided: no programs are asked, nothing depends on the machine. Left out, for the
evaluator has them otherwise: lists with holes, options of basename and dirname, and
names of files by patterns."""
import os
import random
import sys

NAMES = "ABCDEF"
LISTS = "LMN"
WORDS = ["8", "16", "24", "0", "-3", "7b", "llama", "a b", "x,y,z", "one:two", "", "--flag", "tp8_pp4", "1e-5", "ab/cd/ef.txt"]


def quoted(rng, text):
    if rng.random() < 0.5 and text and all(c.isalnum() or c in "-_,:./=" for c in text):
        return text
    return rng.choice(['"{}"', "'{}'"]).format(text)


def number(rng, depth=0):
    """An arithmetic expression. Names may hold words, whose value is then that of a variable: 0."""
    if depth > 2 or rng.random() < 0.4:
        return rng.choice([str(rng.randrange(100)), "N1", "N2", "$N1", "${N2}"])
    op = rng.choice(["+", "-", "*", "/", "%", "**", "<", ">=", "==", "!=", "&&", "||", "&", "|", "^", "<<"])
    right = str(rng.randrange(1, 5)) if op in ("/", "%", "**", "<<") else number(rng, depth + 1)
    text = f"{number(rng, depth + 1)} {op} {right}"
    return f"({text})" if rng.random() < 0.5 or op == "**" else text


def expansion(rng):
    n = rng.choice(NAMES)
    a = rng.choice(LISTS)
    d = rng.choice(["8", "x", "a", "", "--no", "b c"])
    w = rng.choice(["8", "x", "a", "", "--no", "*", "?", "[a-z]", "*/", ".*"])
    i = rng.choice(["0", "1", "-1", "2", "1:1", "0:2", "-2:1", ": -2", "9"])
    return rng.choice([
        f"${n}", f"${{{n}}}", f"${{{n}:-{d}}}", f"${{{n}-{d}}}", f"${{{n}:+{d}}}", f"${{{n}+{d}}}", f"${{#{n}}}",
        f"${{{n}#{w}}}", f"${{{n}##{w}}}", f"${{{n}%{w}}}", f"${{{n}%%{w}}}", f"${{{n}/{w or 'a'}/Q}}", f"${{{n}//{w or 'a'}/}}",
        f"${{{n}: {i.lstrip(': ')}}}", f"${{{n}^^}}", f"${{{n},,}}", f"${{{n}^}}",
        f"${{{a}[@]}}", f"${{{a}[*]}}", f"${{#{a}[@]}}", f"${{{a}[0]}}", f"${{{a}[1]}}", f"${{{a}[@]: {i.lstrip(': ')}}}", f"${{{a}[@]/a/b}}",
        f"${{{a}[-1]:-none}}", f"$(({number(rng)}))", f"$(echo ${n})", f"`echo ${n}`", f"${{{n}}}x",
        f"$(seq 1 {rng.randrange(1, 4)})", f"${{{a}[@]#{w}}}", f"$(printf '%s-' ${n})"])


def word(rng):
    text = expansion(rng)
    kind = rng.random()
    if kind < 0.6:
        return f'"{text}"'
    if kind < 0.8:
        return text
    return f'p{text}s' if kind < 0.9 else f'"{text}"{expansion(rng)}'


def condition(rng):
    n = rng.choice(NAMES)
    return rng.choice([
        f'[ -z "${n}" ]', f'[ -n "${n}" ]', f'[ "${n}" = "{rng.choice(WORDS)}" ]', f'[[ ${n} == {rng.choice(["a*", "*8", "llama", "?", "[0-9]*"])} ]]',
        f'[[ ${n} != *b* ]]', f'[[ ${n} =~ {rng.choice(["^[0-9]+$", "a|8", "(l+)a", "^$", "b.c", "^-?[0-9]{1,2}"])} ]]', f'[[ -n ${n} && $N1 -gt {rng.randrange(50)} ]]', f'[ $N1 -le {rng.randrange(99)} ]', f'(( {number(rng)} ))',
        f'[ "$N1" -eq "$N2" ]', f'! [ -z "${n}" ]', f'[[ ${n} < m ]]', "true", "false"])


def statement(rng, depth=0):
    n = rng.choice(NAMES)
    a = rng.choice(LISTS)
    kinds = ["set"] * 5 + ["list", "add", "add-list", "number", "unset", "default", "item", "and", "local"] + (["if", "for", "case", "while"] if depth < 2 else [])
    kind = rng.choice(kinds)
    if kind == "set":
        return f"{n}={rng.choice([quoted(rng, rng.choice(WORDS)), word(rng)])}"
    if kind == "list":
        return f"{a}=({' '.join(rng.choice([quoted(rng, rng.choice(WORDS)), word(rng)]) for _ in range(rng.randrange(4)))})"
    if kind == "add":
        return f"{n}+={word(rng)}"
    if kind == "add-list":
        return f"{a}+=({word(rng)})"
    if kind == "number":
        return rng.choice([f"N1=$(({number(rng)}))", f"(( N2 = {number(rng)} ))", "(( N1++ ))", "N2=$((N1 += 2))", f"let N2={rng.randrange(9)}+1"])
    if kind == "unset":
        return f"unset {rng.choice([n, a])}"
    if kind == "default":
        return f": ${{{n}:={rng.choice(['8', 'x', ''])}}}"
    if kind == "item":
        return f"{a}[0]={word(rng)}"
    if kind == "and":
        return f"{condition(rng)} {rng.choice(['&&', '||'])} {n}={quoted(rng, rng.choice(WORDS))}"
    if kind == "local":
        return f"f() {{ local {n}=${{1:-none}}; {rng.choice(NAMES)}=\"got ${n} $#\"; }}; f {word(rng)}"
    body = "\n".join(statement(rng, depth + 1) for _ in range(rng.randrange(1, 3)))
    if kind == "if":
        return f"if {condition(rng)}; then\n{body}\nelif {condition(rng)}; then\n{statement(rng, depth + 1)}\nelse\n{statement(rng, depth + 1)}\nfi"
    if kind == "for":
        return f"for {n} in {word(rng)} {word(rng)}; do\n{body}\n{rng.choice(['', 'break', condition(rng) + ' && continue'])}\ndone"
    if kind == "case":
        return f"case ${n} in\n  {rng.choice(['8', 'a*', '*b*', '7b|llama', '[0-9]*'])}) {statement(rng, 2)} ;;\n  *) {statement(rng, 2)} ;;\nesac"
    return f"K={rng.randrange(4)}\nwhile [ $K -gt 0 ]; do\nK=$((K-1))\n{body}\ndone"


def script(rng):
    lines = ["#!/bin/bash", "N1=3", "N2=12"] + [statement(rng) for _ in range(rng.randrange(3, 12))]
    return "\n".join(lines) + "\ntorchrun train.py " + " ".join(f"--w{i} {word(rng)}" for i in range(8)) + "\n"


def write_all(script):
    folder, rng, count = sys.argv[1], random.Random(int(sys.argv[2])), int(sys.argv[3])
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        with open(os.path.join(folder, f"{i:05d}.sh"), "w") as out:
            out.write(script(rng))


if __name__ == "__main__":
    write_all(script)
