#!/bin/sh
# train: from the step to the run. Figures against a count of our own, hostile values.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
train() { "$STEPCAST" train "$@"; }
figure() { python3 -S -c 'import json, sys; print(eval(sys.argv[2], {"d": json.load(open(sys.argv[1])), "abs": abs, "sum": sum}))' "$@"; }
model="--model llama2-7b --cluster dgx-h100:64 --tp 2 --global-batch 128 --seq 4096 --zero 1 --recompute full"

train $model --train-tokens 2T --price 2.5 --carbon 400 --storage 50GB/s --failures rsc-1 --json "$tmp/t.json" >"$tmp/text"
check train_runs $? 0
check state_is_14_bytes "$(figure "$tmp/t.json" 'abs(d["checkpoint"]["state_bytes"] / (14 * 6738415616) - 1) < 1e-9')" True
# of a plan: 2 + 4 + 2 (1 + 4/256) bytes with 8-bit Adam; fp32 shards and two moments; adapters of rank 16 on q and v alone
# (A and B of 4096 x 16 each, 32 layers)
each() { train --model llama2-7b --cluster dgx-h100:64 --global-batch 128 --seq 4096 --recompute full --train-tokens 1B --json "$tmp/s.json" "$@" >/dev/null 2>"$tmp/err" && figure "$tmp/s.json" 'round(d["checkpoint"]["state_bytes"] / 6738415616, 4)'; }
check state_of_8_bits "$(each --zero 1 --optimizer adam-8bit)" 8.0312
check state_of_fsdp "$(each --use-torch-fsdp2)" 12.0
check state_of_adapters "$(each --lora 16 && figure "$tmp/s.json" 'round(d["checkpoint"]["state_bytes"] / (14 * 2 * 2 * 4096 * 16 * 32), 6)')" "0.0174
1.0"
# each weight once, however it is cut: adapters of q and v hold one side on every rank of tp, those of 8 experts with ep (16 x (4096 + 14336), three matrices)
check state_of_cut_adapters "$(each --lora 16 --tp 8 && figure "$tmp/s.json" 'd["checkpoint"]["state_bytes"] / (14 * 2 * 2 * 4096 * 16 * 32)')" "0.0174
1.0"
check state_of_staged_adapters "$(each --lora 16 --tp 2 --pp 4 && figure "$tmp/s.json" 'd["checkpoint"]["state_bytes"] / (14 * 2 * 2 * 4096 * 16 * 32)')" "0.0174
1.0"
check state_of_adapted_experts "$(each --model mixtral-8x7b --lora 16 --lora-targets gate_proj,up_proj,down_proj --tp 4 --ep 8 --etp 2 >/dev/null && figure "$tmp/s.json" 'd["checkpoint"]["state_bytes"] / (14 * 3 * 16 * (4096 + 14336) * 8 * 32)')" 1.0
# a GPU's part of the state to its host: 14 B x 6.738 B parameters over 64 GPUs at 25 GB/s
check blocking_of_the_host "$(each --zero 1 --checkpoint-kind memory --host-rate 25GB/s && figure "$tmp/s.json" 'abs(d["checkpoint"]["blocking_s"] / (14 * 6738415616 / 64 / 25e9) - 1) < 1e-9')" "14.0
True"
check blocking_is_state_over_storage "$(figure "$tmp/t.json" 'abs(d["checkpoint"]["blocking_s"] * 50e9 / d["checkpoint"]["state_bytes"] - 1) < 1e-9')" True
check shares_add_up "$(figure "$tmp/t.json" 'abs(sum(d["time_share"].values()) - 1) < 1e-9')" True
check gpu_hours "$(figure "$tmp/t.json" 'abs(d["gpu_hours"] / (64 * 24 * d["days"]["p50"]) - 1) < 1e-9')" True
check cost "$(figure "$tmp/t.json" 'abs(d["cost_usd"] / (2.5 * d["gpu_hours"]) - 1) < 1e-9')" True
check co2 "$(figure "$tmp/t.json" 'abs(d["co2_kg"] / (0.4 * d["energy_kwh"]) - 1) < 1e-9')" True
# 8 machines, 6.5 failures per 1,000 machine-days
check mean_time_between "$(figure "$tmp/t.json" 'abs(d["failures"]["mean_time_between_s"] * 8 * 6.5e-3 / 86400 - 1) < 1e-9')" True
check closed_form_near "$(figure "$tmp/t.json" 'abs(d["ettr"] / d["ettr_closed_form"] - 1) < 0.002')" True
check percentiles_in_order "$(figure "$tmp/t.json" 'd["days"]["without_loss"] < d["days"]["p10"] <= d["days"]["p50"] <= d["days"]["p90"]')" True
# the same run from a saved step, and from standard input
"$STEPCAST" run $model --json "$tmp/r.json" >/dev/null
tokens=$(figure "$tmp/r.json" '2e12 / d["tokens_per_s"] / 86400')
check work_is_tokens_over_rate "$(figure "$tmp/t.json" "abs(d['days']['without_loss'] / $tokens - 1) < 1e-9")" True
train "$tmp/r.json" --train-tokens 2T --state 94337818624 --storage 50GB/s --failures rsc-1 --json "$tmp/s.json" >/dev/null
check saved_step_same_days "$(figure "$tmp/s.json" 'd["days"]["p50"]')" "$(figure "$tmp/t.json" 'd["days"]["p50"]')"
train - --train-tokens 2T --state 94337818624 --storage 50GB/s --failures rsc-1 --json - <"$tmp/r.json" >"$tmp/i.json"
check standard_input "$(figure "$tmp/i.json" 'd["days"]["p50"]')" "$(figure "$tmp/t.json" 'd["days"]["p50"]')"
train $model --train-tokens 2T --price 2.5 --carbon 400 --storage 50GB/s --failures rsc-1 --json - >"$tmp/again.json"
check same_bytes "$(cmp "$tmp/t.json" "$tmp/again.json" && echo same)" same

# --tokens is the same, but with profiler tables, whose step it describes
train $model --tokens 2T --price 2.5 --carbon 400 --storage 50GB/s --failures rsc-1 --json - >"$tmp/tokens.json"
check tokens_is_train_tokens "$(figure "$tmp/tokens.json" 'd["days"]["p50"]')" "$(figure "$tmp/t.json" 'd["days"]["p50"]')"
expect tokens_twice 2 "are one" train $model --tokens 2T --train-tokens 2T
expect tokens_of_a_profile 0 "ETTR" train tests/data/seed_001.txt --tokens 4096 --train-steps 1000 --state 1TB

# any input of run: a file, a folder, a stream of a workload
expect workload 0 "ETTR" train tests/data/seed_003.txt --cluster dgx-h100:1024 --train-steps 1000 --state 1TB
expect workload_without_tokens 2 "--train-steps instead" train tests/data/seed_003.txt --cluster dgx-h100:1024 --train-tokens 1T --state 1TB
train - --cluster dgx-h100:1024 --train-steps 1000 --state 1TB <tests/data/seed_003.txt >"$tmp/stream" 2>&1
check workload_stream "$(grep -v '^$' "$tmp/stream")" "$(train tests/data/seed_003.txt --cluster dgx-h100:1024 --train-steps 1000 --state 1TB | grep -v '^$')"
traces=${STEPCAST_SHARED:-../shared}/traces/real/pp2_tp1_exp2_expn8_dp8_nl8_hs4096_sl1024
if [ -d "$traces" ]; then expect folder 0 "ETTR" train "$traces" --cluster hgx-h800:16 --train-steps 1000 --state 1TB
else echo "skip folder [needs shared]"; fi

# slow GPUs and lost replicas are steps of their own
cat >"$tmp/slow.json" <<'J'
{"schema": "stepcast/failures/1", "name": "slow", "source": "test", "node_gpus": 8, "requeue_s": [[1, 0]], "hot_s": [[1, 0]],
 "classes": [{"name": "slow GPU", "scope": "gpu", "symptom": "slow", "slowdown": 2, "per_1000_days": 50,
              "detect_s": 7200, "locate_s": 0, "repair_s": 0}]}
J
train $model --train-tokens 2T --failures "$tmp/slow.json" --seeds 200 --blocking 0 --restore 0 --json "$tmp/l.json" >/dev/null
"$STEPCAST" run $model --slow rank:0=2 --json "$tmp/rs.json" >/dev/null
pace=$(figure "$tmp/r.json" 'd["step_time_us"]')/$(figure "$tmp/rs.json" 'd["step_time_us"]')
# 3.2 a day, each for 2 h, those that come meanwhile are found with it
check slow_step_is_simulated "$(figure "$tmp/l.json" "abs(d['ettr'] - (1 - (1 - $pace) * 7200 / (7200 + 27000))) < 0.002")" True
expect slow_without_model 0 "was not simulated" train "$tmp/r.json" --train-steps 100000 --failures "$tmp/slow.json" --state 1GB
# a port with a tenth of its rate: the ratio of two steps of the flow engine, weighted alike
sed 's/"slow GPU", "scope": "gpu"/"slow port", "scope": "gpu"/; s/"slowdown": 2/"degrade": ["port0.up=0.1", "port0.down=0.1"]/' "$tmp/slow.json" >"$tmp/port.json"
train $model --train-tokens 2T --failures "$tmp/port.json" --seeds 200 --blocking 0 --restore 0 --json "$tmp/l.json" >/dev/null
for degrade in "" "--degrade port0.up=0.1 --degrade port0.down=0.1"; do
    "$STEPCAST" run $model --net flow $degrade --json "$tmp/rf.json" >/dev/null
    figure "$tmp/rf.json" 'd["step_time_us"]'
done >"$tmp/steps"
pace=$(paste -sd/ "$tmp/steps")
check degraded_step_is_slower "$(python3 -S -c "print($pace < 0.95)")" True
check degraded_step_is_simulated "$(figure "$tmp/l.json" "abs(d['ettr'] - (1 - (1 - $pace) * 7200 / (7200 + 27000))) < 0.002")" True
expect degraded_without_model 0 "degraded links (slow port) was not simulated" train "$tmp/r.json" --train-steps 100000 --failures "$tmp/port.json" --state 1GB
sed 's/port0.down/port0.dawn/' "$tmp/port.json" >"$tmp/dawn.json"
expect degraded_no_link 3 "the fabric has no link 'port0.dawn'" train $model --train-tokens 1T --failures "$tmp/dawn.json"
sed 's/up=0.1/up=1.5/' "$tmp/port.json" >"$tmp/wide.json"
expect degraded_factor 3 "wide.json:2:83: error: classes[0].degrade[0]: 'port0.up=1.5'" train $model --train-tokens 1T --failures "$tmp/wide.json"
expect degraded_plans 2 "depends on the plan" "$STEPCAST" plans --model llama2-7b --cluster dgx-h100:16 --objective goodput --failures "$tmp/port.json"
expect replica 0 "slow GPUs, lost replicas" train $model --train-tokens 2T --recovery drop-replica
expect shrink 0 "slow GPUs, lost replicas" train $model --train-tokens 2T --recovery shrink
check replica_simulated "$(grep -c ETTR "$tmp/out" | sed 's/[1-9].*/some/') $(grep -c 'by proportion' "$tmp/out")" "some 0"
# A machine of 8 takes the 4 replicas of tp 2 that it holds part of, and with shard groups of 16 all that share a copy of
# the weights. 8 machines fail 1.6 times a day, each for an hour: with a quarter of the job less 1.6/24 of the time.
check replicas_of_a_machine "$(train $model --train-tokens 2T --recovery drop-replica | sed -n 's/.*machine takes \(.*\) replicas;.*/\1/p')" "4 of 32"
expect replicas_sharded 0 "ZeRO 1 shards over all replicas" train $model --train-tokens 2T --recovery drop-replica
expect one_machine_has_all 2 "a failed machine takes all 8 replicas" train --model llama2-7b --cluster dgx-h100:8 --global-batch 128 --seq 4096 --zero 1 --recompute full --train-tokens 2T --recovery drop-replica
cat >"$tmp/hour.json" <<'J'
{"schema": "stepcast/failures/1", "name": "hour", "source": "test", "node_gpus": 8, "requeue_s": [[1, 3600]], "hot_s": [[1, 0]],
 "classes": [{"name": "node", "scope": "node", "symptom": "crash", "per_1000_days": 200, "detect_s": 0, "locate_s": 0, "repair_s": 0}]}
J
groups="--model llama2-7b --global-batch 192 --seq 4096 --zero 3 --shard-group 16 --recompute full"
train $groups --cluster dgx-h100:64 --train-tokens 2T --failures "$tmp/hour.json" --recovery drop-replica --seeds 200 --json "$tmp/l.json" >/dev/null
"$STEPCAST" run $groups --cluster dgx-h100:64 --json "$tmp/whole.json" >/dev/null
"$STEPCAST" run $groups --cluster dgx-h100:48 --global-batch 144 --json "$tmp/less.json" >/dev/null
pace=0.75*$(figure "$tmp/whole.json" 'd["step_time_us"]')/$(figure "$tmp/less.json" 'd["step_time_us"]')
check lost_shard_group "$(figure "$tmp/l.json" "abs(d['ettr'] - (1 - (1 - $pace) * 1.6 / 24)) < 0.001")" True
expect replica_without_model 0 "throughput by proportion" train "$tmp/r.json" --train-steps 100000 --recovery drop-replica --state 1GB
# 7 % of 100 machines are 7, though 0.07 times 100 is more in binary; of 101 they are 8
sed 's/"gpus": [0-9][0-9]*/"gpus": 800/' "$tmp/r.json" >"$tmp/r800.json"
expect spares_whole 0 "7 spare machines among them" train "$tmp/r800.json" --train-steps 1000 --state 1GB --recovery spares=7%
sed 's/"gpus": [0-9][0-9]*/"gpus": 808/' "$tmp/r.json" >"$tmp/r808.json"
expect spares_rounded_up 0 "8 spare machines among them" train "$tmp/r808.json" --train-steps 1000 --state 1GB --recovery spares=7%
expect spares 0 "1 spare machines among them" train $model --train-tokens 2T --recovery spares=2%

# hostile
while IFS='|' read -r text options; do expect "refused $options" 2 "$text" train $model $options; done <<'P'
give one of --train-tokens and --train-steps|
give one of --train-tokens and --train-steps|--train-tokens 1T --train-steps 5
--train-tokens: '-1T'|--train-tokens=-1T
--train-tokens: 'T'|--train-tokens T
--train-tokens: '1TT'|--train-tokens 1TT
years without any failure|--train-tokens 1e30
there is no failure set 'lama3'|--train-tokens 1T --failures lama3
--checkpoint: '30'|--train-tokens 1T --checkpoint 30
--checkpoint: '30min:'|--train-tokens 1T --checkpoint 30min:
--checkpoint: 'auto:often'|--train-tokens 1T --checkpoint auto:often
is said twice|--train-tokens 1T --checkpoint 30min:13s --blocking 13s
is said twice|--train-tokens 1T --checkpoint-kind async --blocking 13s --host-rate 25GB/s
to the host|--train-tokens 1T --host-rate 25GB/s
--host-rate: '0'|--train-tokens 1T --checkpoint-kind memory --host-rate 0
above 0, or auto|--train-tokens 1T --checkpoint 0
--storage: '0'|--train-tokens 1T --storage 0
--storage: 'fast'|--train-tokens 1T --storage fast
--recovery: 'spares='|--train-tokens 1T --recovery spares=
--recovery: 'spares=-1'|--train-tokens 1T --recovery spares=-1
--recovery: 'spares=200%'|--train-tokens 1T --recovery spares=200%
--recovery: 'pray'|--train-tokens 1T --recovery pray
--price: '-1'|--train-tokens 1T --price=-1
--price: '0' is no price|--train-tokens 1T --price 0
--seeds|--train-tokens 1T --seeds 0
--seeds|--train-tokens 1T --seeds 100000
needs --blocking|--train-tokens 1T --checkpoint-kind async
--checkpoint-kind|--train-tokens 1T --checkpoint-kind hope
longer than from one to the next|--train-tokens 1T --checkpoint-kind async --blocking 10ms --checkpoint 1s --storage 1GB/s
P
# nothing is saved inside of a step
expect after_a_step 0 "a checkpoint is taken after a step" train $model --train-tokens 1B --checkpoint 1ms --json "$tmp/after.json"
check interval_of_a_step "$(figure "$tmp/after.json" 'abs(1e6 * d["checkpoint"]["interval_s"] / d["step_time_us"] - 1) < 1e-9')" True
expect unused_storage 0 "--storage has no effect" train $model --train-tokens 1T --blocking 1s --restore 1s --storage 1GB/s
expect no_state 2 "how large a checkpoint is" train "$tmp/r.json" --train-steps 10
sed 's/"slow", "slowdown": 2/"sad"/' "$tmp/slow.json" >"$tmp/sad.json"
expect bad_set 3 "sad.json:2:62: error:" train $model --train-tokens 1T --failures "$tmp/sad.json"
sed 's/50,/-50,/' "$tmp/slow.json" >"$tmp/negative.json"
expect negative_rate 3 "negative.json:2:" train $model --train-tokens 1T --failures "$tmp/negative.json"
expect missing_set 3 "none.json" train $model --train-tokens 1T --failures "$tmp/none.json"
sed 's/"step_time_us": [0-9.]*/"step_time_us": 0/' "$tmp/r.json" >"$tmp/zero.json"
expect zero_step 3 "is not above 0" train "$tmp/zero.json" --train-steps 10 --state 1GB
sed 's/50, *$/1e9,/' "$tmp/slow.json" | sed 's/"slow", "slowdown": 2/"crash"/; s/"requeue_s": \[\[1, 0\]\]/"requeue_s": [[1, 600]]/' >"$tmp/storm.json"
expect no_progress 1 "does not get on" train $model --train-steps 10 --failures "$tmp/storm.json"
expect half_a_step 2 "a whole number of steps" train $model --train-steps 0.5
expect blocked_for_days 1 "less than 1 % of its time counts" train $model --train-tokens 100B --seeds 2 --blocking 100h
# what-if: half the failures or twice the storage cannot make it longer; spares=0 can only gain from one more
train $model --train-tokens 2T --failures rsc-1 --seeds 200 --recovery spares=0 --what-if --json "$tmp/w.json" >/dev/null
check whatif_gains "$(figure "$tmp/w.json" '[w["key"] for w in d["what_if"] if not w["days_saved"] > 0 and w["key"] != "detection"]')" "[]"
# a set that notices at once gains nothing from faster detection
check whatif_detection "$(figure "$tmp/w.json" '[abs(w["days_saved"]) < 1e-9 for w in d["what_if"] if w["key"] == "detection"]')" "[True]"

# Rows of what-if are runs of their own: with another set of failures, or asynchronous checkpoints that take as long to be
# written. A set that notices at once has the run as it is in its row "detection".
cat >"$tmp/crash.json" <<'J'
{"schema": "stepcast/failures/1", "name": "crash", "source": "test", "node_gpus": 8, "requeue_s": [[1, 1200]], "hot_s": [[1, 1200]],
 "classes": [{"name": "node", "scope": "node", "symptom": "crash", "per_1000_days": 200, "detect_s": 0, "locate_s": 0, "repair_s": 0}]}
J
sed 's/1200/600/g' "$tmp/crash.json" >"$tmp/crash_restart.json"
sed 's/: 200,/: 100,/' "$tmp/crash.json" >"$tmp/crash_failures.json"
cp "$tmp/crash.json" "$tmp/crash_async.json"
whatif() { # file, row, what else
    set_of=$1 row=$2
    shift 2
    train $model --train-tokens 200B --failures "$tmp/$set_of.json" --storage 5GB/s --seeds 20 --what-if --json "$tmp/w.json" "$@" >/dev/null &&
        figure "$tmp/w.json" "[w['ettr'] for w in d['what_if'] if w['key'] == '$row']"
}
check whatif_restart "$(whatif crash restart --checkpoint 30min)" "$(whatif crash_restart detection --checkpoint 30min)"
check whatif_failures "$(whatif crash failures --checkpoint 30min)" "$(whatif crash_failures detection --checkpoint 30min)"
check whatif_async "$(whatif crash async --checkpoint 30min)" "$(whatif crash_async detection --checkpoint 30min:0.5s --checkpoint-kind async)"
# checkpoints in memory have no storage to be written to behind the job
check whatif_async_of_memory "$(whatif crash async --checkpoint-kind memory --blocking 1.5s --restore 1s)" "[]"

# words that mean the same
days() { train $model --train-tokens 2T --json "$tmp/d.json" "$@" >/dev/null && figure "$tmp/d.json" 'd["days"]["p50"]'; }
check checkpoint_auto "$(days --checkpoint 30min:auto)" "$(days --checkpoint 30min)"
check checkpoint_blocking "$(days --checkpoint auto:13s)" "$(days --blocking 13s)"
expect price_quoted 0 "no --price is given: 3 USD for an hour of a h100" train $model --train-tokens 2T
check hours "$(days --checkpoint 2h)" "$(days --checkpoint 120min)"
check byterobust "$(days --failures byterobust)" "$(days --failures byterobust-dense)"
check in_memory "$(days --recovery in-memory)" "$(days --recovery hot --checkpoint-kind memory --blocking 1800ms)"
expect in_memory_kind 2 "reads checkpoints that lie in memory" "$STEPCAST" train $model --train-tokens 2T --recovery in-memory --checkpoint-kind sync
expect less_than_a_step 0 "1 tokens are less than the 524288 of one step" train $model --train-tokens 1
expect state_without_unit 0 "--state 94 is 94 bytes, and the plan keeps" train $model --train-tokens 2T --state 94
"$STEPCAST" train $model --train-tokens 2T --state 14GB >"$tmp/state" 2>&1
check state_of_weights "$? $(grep -c "is its unit right" "$tmp/state")" "0 0"
expect price_beyond_numbers 2 "--price: '1e308' is no price" train $model --train-tokens 2T --price 1e308
expect price_of_a_run 2 "--price: '1e308' is no price" "$STEPCAST" run $model --train-tokens 2T --price 1e308
expect price_of_plans 2 "--price: '1e308' is no price" "$STEPCAST" plans --model llama2-7b --gpus 8 --global-batch 16 --seq 1024 --price 1e308

# a small run is told in the units of a small run: it took "0.01116 days" on "1 GPUs" and cost "8.038e-07 million USD"
small="--model llama3-8b --cluster h100:1 --lora 16 --software hf-transformers --seq 2048 --train-tokens 10M"
"$STEPCAST" train $small --price 3 --carbon 400 >"$tmp/small" 2>&1
"$STEPCAST" train $small --price 3 --carbon 400 --json - >"$tmp/small.json" 2>/dev/null
check "minutes of a small run" "$(awk '/^run / { print $3, $9, $10, ($2 > 1 && $2 < 60) }' "$tmp/small")" "minutes 1 GPU; 1"
check "its money" "$(awk '/^cost / { print $2, $3 }' "$tmp/small")" "$(awk -F'[:,]' '/"cost_usd"/ { printf "%.2f USD", $2 }' "$tmp/small.json")"
check "its energy and CO2" "$(awk '/^(energy|CO2) / { print $3 }' "$tmp/small" | xargs)" "kWh kg"
check "its tokens" "$(grep -c '^  *10 million tokens, ' "$tmp/small")" 1
check "its checkpoints" "$(grep -c 'optimizer.s state: [0-9.]* MB$' "$tmp/small") $(awk '/^checkpoint / { print $9, $12 }' "$tmp/small")" "1 us, us"
check "run says so too" "$("$STEPCAST" run $small | sed -n 's/^  training .*tokens: [0-9.]* \([a-z]*\), .*/\1/p')" minutes

# a saved result costs what the run does, and says so: it had neither money nor a note
paid="--model llama3-8b --cluster dgx-h100:8 --zero 1 --recompute full"
"$STEPCAST" run $paid --json "$tmp/paid.json" >/dev/null
"$STEPCAST" run $paid --gpu h200 --json "$tmp/other.json" >/dev/null
state="--train-tokens 1T --state 112.4GB"
money() { "$STEPCAST" train "$@" $state | sed -n 's/^cost *\(.*\)/\1/p'; }
check "money of a saved result" "$(money "$tmp/paid.json")" "$(money $paid)"
check "money of its own GPU" "$(money "$tmp/other.json")" "$(money $paid --gpu h200)"
expect "its price is a note" 0 "no --price is given: 4 USD for an hour of a h200" "$STEPCAST" train "$tmp/other.json" $state
"$STEPCAST" run --model llama3-8b --cluster mi300x:8 --zero 1 --recompute full --json "$tmp/unknown.json" >/dev/null
expect "a price that nobody quotes" 0 "data/prices.json has no price of a mi300x" "$STEPCAST" train "$tmp/unknown.json" $state
