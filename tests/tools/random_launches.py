#!/usr/bin/env python3
"""Random launch scripts in the manners of published ones: what the evaluator makes of them
is compared with what bash does (random_scripts.py has random statements instead).

    random_launches.py FOLDER SEED COUNT

A script is a choice of sizes (if, case, a function, an associative array, arguments that a
loop takes apart), of ways to collect flags (strings, lists, +=, here-documents, printf -v,
C's for), and of ways to launch (as words, by eval, through a string with a pipe)."""
from random_scripts import write_all

SIZES = {"7B": (32, 4096, 11008, 32), "13B": (40, 5120, 13824, 40), "70B": (80, 8192, 28672, 64)}


def choose_size(rng):
    pick = rng.choice(list(SIZES))
    test = rng.choice(['[ "$MODEL_SIZE" = "{}" ]', "[ $MODEL_SIZE = {} ]", '[[ $MODEL_SIZE == {} ]]', '[[ "${{MODEL_SIZE}}" == "{}"* ]]', 'test "$MODEL_SIZE" == {}'])
    sets = {name: f"NUM_LAYERS={s[0]}; HIDDEN_SIZE={s[1]}\n    FFN_HIDDEN_SIZE={s[2]}\n    NUM_HEADS={s[3]}" for name, s in SIZES.items()}
    first = rng.choice([f"MODEL_SIZE={pick}", f"MODEL_SIZE=${{MODEL_SIZE:-{pick}}}", f'MODEL_SIZE="${{1:-{pick}}}"', f": ${{MODEL_SIZE:={pick}}}"])
    kind = rng.randrange(5)
    if kind == 0:
        branches = [f"{'if' if i == 0 else 'elif'} {test.format(name)}; then\n    {text}" for i, (name, text) in enumerate(sets.items())]
        return first + "\n" + "\n".join(branches) + '\nelse\n    echo "unknown size"\n    exit 1\nfi'
    if kind == 1:
        arms = [f"    {rng.choice(['', '('])}{rng.choice([name, chr(34) + name + chr(34), name + '|' + name.lower(), name[0] + '*'])})\n    {text}\n    ;;" for name, text in sets.items()]
        return f'{first}\ncase {rng.choice(["$MODEL_SIZE", chr(34) + "${MODEL_SIZE}" + chr(34)])} in\n' + "\n".join(arms) + "\n    *) exit 1 ;;\nesac"
    if kind == 2:
        return (f"{first}\nfunction set_size() {{\n    local layers=$1 hidden=$2\n    NUM_LAYERS=$layers\n    HIDDEN_SIZE=${{hidden}}\n    FFN_HIDDEN_SIZE=$3; NUM_HEADS=${{4}}\n}}\n"
                + "\n".join(f"{test.format(name)} && set_size {' '.join(map(str, s))}" for name, s in SIZES.items()))
    if kind == 3:
        return (f"{first}\ndeclare -A LAYERS=(" + " ".join(f"[{n}]={s[0]}" for n, s in SIZES.items()) + ")\nNUM_LAYERS=${LAYERS[$MODEL_SIZE]}\n"
                "HIDDEN_SIZE=$(( NUM_LAYERS == 32 ? 4096 : NUM_LAYERS == 40 ? 5120 : 8192 ))\nNUM_HEADS=$((HIDDEN_SIZE / 128))\nFFN_HIDDEN_SIZE=$(( (HIDDEN_SIZE * 8 / 3 + 255) / 256 * 256 ))")
    return (f'{first}\nset -- --size "$MODEL_SIZE" --verbose\nwhile [[ $# -gt 0 ]]; do\n  case "$1" in\n    --size) WANTED="$2"; shift 2 ;;\n    --size=*) WANTED="${{1#*=}}"; shift ;;\n    -v|--verbose) VERBOSE=1; shift ;;\n    *) echo "what is $1"; exit 1 ;;\n  esac\ndone\n'
            "NUM_LAYERS=32\nHIDDEN_SIZE=4096\nFFN_HIDDEN_SIZE=11008\nNUM_HEADS=32\nif [ \"$WANTED\" != \"7B\" ] && [ -n \"$WANTED\" ]; then\n  NUM_LAYERS=$((NUM_LAYERS + ${#WANTED} * 8))\nfi")


def parallel(rng):
    tp, pp, nodes = rng.choice([1, 2, 4, 8]), rng.choice([1, 2, 4]), rng.choice([1, 2, 16])
    lines = [f"TP={rng.choice([str(tp), '${TP:-' + str(tp) + '}', chr(34) + '${TP_SIZE:-' + str(tp) + '}' + chr(34)])}",
             f"PP=$(( {pp} ))", f"NNODES=${{NNODES:-{nodes}}}", "GPUS_PER_NODE=8",
             rng.choice(["WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))", "let WORLD_SIZE=GPUS_PER_NODE*NNODES", "WORLD_SIZE=`expr $GPUS_PER_NODE \\* $NNODES`", "((WORLD_SIZE = GPUS_PER_NODE * NNODES))"]),
             rng.choice(["DP=$((WORLD_SIZE / TP / PP))", "DP=$(( ${WORLD_SIZE} / (${TP} * ${PP}) ))"]),
             rng.choice(["MBS=1\nGA=$((16 + RANDOM_NOT_SET))", "MBS=2; GA=8", "MBS=${MBS:=1} GA=4"]),
             rng.choice(["GBS=$((MBS * GA * DP))", "GBS=$(echo \"$MBS $GA $DP\" | awk '{print $1*$2*$3}')", "GBS=$[MBS*GA*DP]"]) if rng.random() < 0.9 else "GBS=64"]
    if "awk" in lines[-1] or "$[" in lines[-1]:
        lines[-1] = "GBS=$((MBS * GA * DP))"
    return "\n".join(lines)


def optional(rng):
    """Flags that hang on variables."""
    pieces = [
        'SP=${SP:-true}\nsp_options=""\nif [ $SP = true ] && [ "$TP" -gt 1 ]; then\n    sp_options="--sequence-parallel"\nelif [ $SP = false ]; then\n    sp_options=" "\nfi\nEXTRA="$EXTRA $sp_options"',
        'PR=' + rng.choice(["bf16", "fp16", "fp8"]) + '\ncase $PR in fp16) EXTRA+=" --fp16" ;; bf16) EXTRA+=" --bf16" ;; fp8) EXTRA+=" --bf16 --fp8-format hybrid" ;; esac',
        'AC=' + rng.choice(["full", "sel", "none", "3"]) + '\nif [[ "$AC" =~ ^[0-9]+$ ]]; then\n  EXTRA="${EXTRA} --recompute-granularity full --recompute-num-layers $AC"\nelif [[ $AC == full ]]; then\n  EXTRA="${EXTRA} --recompute-activations-all"\nfi',
        'arr=()\nfor ((i=0; i<' + str(rng.randrange(1, 6)) + '; i++)); do\n  if (( i < 1 )); then\n    arr+=(0)\n  else\n    arr+=(1)\n  fi\ndone\nprintf -v FREQ "[%s]" "$(IFS=\', \'; echo "${arr[*]}")"\nEXTRA="$EXTRA --moe-layer-freq $FREQ"',
        'NAME="gpt-${MODEL_SIZE}-tp${TP}-pp${PP}_${GBS}"\nSHORT=${NAME%%-tp*}\nREST=${NAME#*-}\nEXTRA="$EXTRA --save /ckpt/${SHORT##*/}/${REST//-/_}"',
        'cat <<EOT > /dev/null\n{ "stage": $TP, "text": "if [ x ]; then" }\nEOT\nEXTRA="$EXTRA --zero-stage $((TP > 1))"',
        'cat > /dev/null << \'EOF\'\n$NOT_EVALUATED `date` "\nEOF\nEXTRA+=" --after-document"',
        'if [ -z ${MP_VP} ]; then\n  vp=""\nelse\n  vp="--num-layers-per-virtual-pipeline-stage ${MP_VP}"\nfi\nEXTRA="$EXTRA $vp --vp-done"',
        'for opt in ' + " ".join(rng.sample(["overlap-grad-reduce", "overlap-param-gather", "swiglu", "use-flash-attn"], 3)) + '; do\n  [[ $opt == overlap* && $DP -eq 1 ]] && continue\n  EXTRA+=" --$opt"\ndone',
        'LR=1e-4\nEXTRA="$EXTRA --lr ${LR:-3e-4} --min-lr ${LR/e-4/e-5}"',
        'KEYS=(lr-decay-style weight-decay)\nVALUES=(cosine 0.1)\nfor i in "${!KEYS[@]}"; do EXTRA="$EXTRA --${KEYS[$i]} ${VALUES[$i]}"; done',
        'ref=HIDDEN_SIZE\nEXTRA="$EXTRA --hidden-again ${!ref} --half $(( ${!ref} / 2 ))"',
        'declare -a LIST=("--a b" --c)\nEXTRA="$EXTRA ${LIST[@]:1} ${#LIST[@]} ${LIST[0]#--}"',
        'add() { EXTRA="$EXTRA $*"; return 0; }\nadd --from-function "$#" && add --again || add --never',
        '[ "${DEBUG:-0}" -eq 1 ] && EXTRA="$EXTRA --debug" || EXTRA="$EXTRA --no-debug"',
        'until [ ${COUNT:-0} -ge 2 ]; do COUNT=$((COUNT+1)); EXTRA="$EXTRA --n $COUNT"; done',
        'if [[ ! -v NOT_SET && -v TP ]]; then EXTRA="$EXTRA --v-ok"; fi',
        '[[ $MODEL_SIZE =~ ([0-9]+)B ]] && EXTRA="$EXTRA --billions ${BASH_REMATCH[1]} ${#BASH_REMATCH[@]}"',
        'if [[ "x$TP.$PP" =~ ^x(1|2)"."[0-9]$ ]]; then EXTRA="$EXTRA --small"; fi',
        'read -r FIRST SECOND <<< "one two three"\nEXTRA="$EXTRA --read $FIRST ${SECOND// /_}"',
        'LINES=$(cat <<EOT\n$TP\nb\nEOT\n)\nEXTRA="$EXTRA --lines ${#LINES}"',
        'STR="a=1;b=2"\nfor kv in ${STR//;/ }; do EXTRA="$EXTRA --${kv%%=*} ${kv##*=}"; done',
        'set -- x "y z"\nEXTRA="$EXTRA --args $# ${2} ${@:2}"',
        'EXTRA="$EXTRA --seq $(seq -s, 1 3)" || true',
        'if [ ! -n "$NOT_SET" ]; then EXTRA="$EXTRA --unset-ok"; fi',
        '{ BLOCK=1; EXTRA="$EXTRA --block $BLOCK"; }\n( EXTRA="$EXTRA --lost" )',
        'IFS=, read -r FIRST SECOND <<< "one,two"\nEXTRA="$EXTRA --ifs $FIRST $SECOND"',
        'PARTS="one,two"\nFIRST=${PARTS%,*}; SECOND=${PARTS#*,}\nEXTRA="$EXTRA --first $FIRST --second $SECOND"',
        'EXTRA="$EXTRA \\\n    --continued \\\n    --line-${TP}"',
        "QUOTED='$TP \"x\"'\nEXTRA=\"$EXTRA --quoted ${#QUOTED}\"",
        'export FROM_EXPORT="e$TP" OTHER=o\nEXTRA="$EXTRA --export ${FROM_EXPORT}${OTHER}"',
    ]
    return "EXTRA=\"\"\n" + "\n".join(rng.sample(pieces, rng.randrange(3, 9)))


def launch(rng):
    model = '--num-layers $NUM_LAYERS --hidden-size ${HIDDEN_SIZE} --ffn-hidden-size "$FFN_HIDDEN_SIZE" --num-attention-heads $NUM_HEADS'
    plan = "--tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP} --micro-batch-size $MBS --global-batch-size $GBS"
    world = "--nproc_per_node $GPUS_PER_NODE --nnodes ${NNODES}"
    kind = rng.randrange(5)
    if kind == 0:
        return f'DISTRIBUTED_ARGS="{world}"\nMODEL_ARGS="\n    {model}\n"\ntorchrun $DISTRIBUTED_ARGS pretrain_gpt.py \\\n    $MODEL_ARGS \\\n    {plan} \\\n    $EXTRA'.replace('"$FFN_HIDDEN_SIZE"', "$FFN_HIDDEN_SIZE")
    if kind == 1:
        return f"DISTRIBUTED_ARGS=({world})\nMODEL_ARGS=(\n    {model} # sizes\n    --seq-length 4096\n)\nMODEL_ARGS+=({plan})\ntorchrun ${{DISTRIBUTED_ARGS[@]}} pretrain_gpt.py \"${{MODEL_ARGS[@]}}\" ${{EXTRA}}"
    if kind == 2:
        return f'options=" {model} "'.replace('"$FFN_HIDDEN_SIZE"', "$FFN_HIDDEN_SIZE") + f'\nrun_cmd="torchrun {world} pretrain_gpt.py ${{options}} {plan} ${{EXTRA}}"\necho ${{run_cmd}}\neval ${{run_cmd}}\nset +x'
    if kind == 3:
        return f'run() {{\n    torchrun {world} pretrain_gpt.py "$@" $EXTRA\n}}\nrun {model} {plan}'
    return f'CMD="python -m torch.distributed.launch {world} pretrain_gpt.py"\nCMD="$CMD {plan} --num-layers $NUM_LAYERS"\nif [ -n "$CMD" ]; then\n    $CMD $EXTRA 2>&1 | tee /dev/null\nfi'


def script(rng):
    return "\n".join(["#!/bin/bash", rng.choice(["", "set -e", "# a comment with 'quotes", "export CUDA_DEVICE_MAX_CONNECTIONS=1"]), choose_size(rng), parallel(rng), optional(rng), launch(rng), ""])


write_all(script)
