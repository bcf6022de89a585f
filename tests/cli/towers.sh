#!/bin/sh
# Towers for pictures and sound: what they add to a step, and what is refused.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
if ! command -v python3 >/dev/null; then
    echo "skip towers [needs command:python3]"
    exit 0
fi
python3 -S - "$tmp" <<'P'
import json, sys
for line in open("tests/data/models/towers.jsonl"):
    whole = json.loads(line)
    open(f"{sys.argv[1]}/{whole['_name']}.json", "w").write(line)
    if whole["_name"] != "llava-1.5-7b":
        continue
    bad = {"text": "many", "zero": 0, "negative": -3, "huge": 1 << 40, "list": [14, 16], "none": []}
    for name, value in bad.items():
        whole["vision_config"]["patch_size"] = value
        json.dump(whole, open(f"{sys.argv[1]}/patch-{name}.json", "w"))
    whole["vision_config"]["patch_size"] = 14
    whole["vision_config"]["num_attention_heads"] = 2000
    json.dump(whole, open(f"{sys.argv[1]}/heads.json", "w"))
    whole["vision_config"] = {"model_type": "an_unheard_of_tower"}
    json.dump(whole, open(f"{sys.argv[1]}/unheard.json", "w"))
P
run="$STEPCAST run --cluster dgx-h100:8 --net analytic --seq 4096 --global-batch 16 --zero 1 --pp 2 --ignore-memory --model"
value() { "$@" --json - 2>/dev/null | python3 -S -c "import json,sys; d=json.load(sys.stdin); print(d$path)"; }
step() { path='["step_time_us"]' value "$@"; }
# holds NAME EXPRESSION
holds() { if python3 -S -c "import sys; sys.exit(not ($2))"; then echo "ok $1"; else echo "not ok $1: $2"; fi; }

llava="$tmp/llava-1.5-7b.json"
qwen="$tmp/qwen2.5-vl-7b.json"
sound="$tmp/qwen2-audio-7b.json"

# what is refused, and how a sequence that is too short says so
for bad in 0 -1 x 1.5 99999999999; do
    expect "images $bad" 2 "images" $run $llava --images "$bad"
done
for bad in -1 nan inf 1e9 x; do
    expect "seconds $bad" 2 "audio-seconds" $run $sound --audio-seconds "$bad"
done
expect no_tower 2 "the model has no tower for pictures" $run llama3-8b --images 1
expect no_sound 2 "the model has no tower for sound" $run $llava --audio-seconds 1
expect too_many 2 "pictures and sound are 4608 tokens, but a sequence has 4096" $run $llava --images 8
expect any_size 2 "give --image-size" $run $qwen --images 1
expect hint 1 "stepcast plans --cluster dgx-h100:1 --seq 16384 --global-batch 64 --model $qwen --images 4 --image-size 1008 --freeze-towers" \
    $STEPCAST run --cluster dgx-h100:1 --seq 16384 --global-batch 64 --micro-batch 64 --model $qwen --images 4 --image-size 1008 --freeze-towers
expect one_size 2 "takes pictures of 336 pixels a side, not of 448" $run $llava --images 1 --image-size 448
expect uncut 2 "1008 would do" $run $qwen --images 1 --image-size 1000
expect tiny 2 "28 would do" $run $qwen --images 1 --image-size 1
expect vast 2 "tokens" $run $qwen --images 1 --image-size 4294967280
for bad in text zero negative huge list none; do
    expect "patch $bad" 3 "cannot be simulated" $run "$tmp/patch-$bad.json" --images 1
    expect "patch $bad, no pictures" 0 "llava" $run "$tmp/patch-$bad.json"
done
expect heads 3 "sizes do not go together" $run "$tmp/heads.json" --images 1
expect unheard 3 "an_unheard_of_tower" $run "$tmp/unheard.json" --images 1
expect unheard_unused 0 "llava" $run "$tmp/unheard.json"
expect rows 2 "towers for pictures and sound" $STEPCAST gen --to workload-text --model $llava --gpus 8 --images 1 --ignore-memory
expect size_unused 0 "image-size has no effect" $run $qwen --image-size 448
expect frozen_unused 0 "freeze-towers has no effect" $run $qwen --freeze-towers

# what is said
expect said 0 "a sequence has 2 pictures: 1152 of its 4096 tokens; the tower (clip_vision_model" $run $llava --images 2
expect said_frozen 0 "frozen but for what connects it" $run $llava --images 2 --freeze-towers
expect said_adapters 0 "all frozen" $run $llava --images 2 --lora 16
expect said_tp 0 "tp does not divide it" $run $sound --audio-seconds 30 --tp 8 --pp 1
expect said_band 0 "none of them has a tower" $run $llava --images 2
expect shown 0 "clip_vision_model, 24 layers of width 1024, 324487168 parameters; 576 tokens a picture" $STEPCAST show --model $llava
expect shown_sound 0 "750 tokens of 30 seconds" $STEPCAST show --model $sound

# pictures cost time, twice as many about twice as much, frozen a third
big="$run $qwen --pp 1 --image-size 896"
none=$(step $run $qwen --pp 1)
two=$(step $big --images 2)
four=$(step $big --images 4)
frozen=$(step $big --images 4 --freeze-towers)
holds pictures_cost "$two > $none"
holds twice_the_pictures "1.8 < ($four - $none) / ($two - $none) < 2.1"
holds a_third_frozen "0.25 < ($frozen - $none) / ($four - $none) < 0.42"
path='["model"]["parameters"]'
holds counted "$(value $run $llava --images 1) - $(value $run $llava) == 324487168"
# every schedule runs, and the answer is the same for any number of threads
for more in "--schedule zb-h1" "--zero 3" "--recompute full" "--vpp 2" "--cp 2" "--tp 2" "--fp8" "--lora 8" "--schedule dualpipev --pp 4"; do
    holds "with $more" "$(step $run $llava --images 2 $more) > $(step $run $llava $more)"
done
holds sound_costs "$(step $run $sound --audio-seconds 30) > $(step $run $sound)"
