#!/bin/sh
# Exports of Nsight Systems: times known from how they were made (tests/tools/nsys_export.py).
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
ok() { if [ "$2" = "$3" ]; then echo "ok nsys: $1"; else echo "not ok nsys: $1: $2, not $3"; fi; }
export_of() { rm -f "$t/$1"; file=$t/$1; shift; python3 tests/tools/nsys_export.py "$file" "$@"; }
expect() { # NAME WORDS COMMAND…: exit 3 with these words
    name=$1 words=$2
    shift 2
    "$@" >"$t/out" 2>"$t/err"
    code=$?
    if [ $code = 3 ] && grep -q -e "$words" "$t/err"; then echo "ok nsys: $name"; else
        echo "not ok nsys: $name: exit $code"
        sed 's/^/# /' "$t/err"
    fi
}
steps() { # rank, step, span, compute, exposed, idle, idle for the host, by kind
    "$STEPCAST" show "$@" --json - | python3 -S -c 'import json, sys
for m in json.load(sys.stdin)["details"]["measured"]:
    k = m["kernels_us"]
    print(m["rank"], m["step"].replace(" ", ""), *(round(m[x + "_us"]) for x in
        ("span", "compute", "exposed_communication", "idle", "idle_host")),
        *(round(k.get(x, 0)) for x in ("gemm", "attention", "optimizer", "copy", "communication")))'
}
sends() { "$STEPCAST" show "$@" --json - | python3 -S -c 'import json, sys; print(json.load(sys.stdin)["sends"])'; }

# 300 + 100 + 40 + 600 + 50 + 5 + 90, and 20 to the next step
export_of two.sqlite
ok "two ranks, two steps" "$(steps "$t/two.sqlite" | tr '\n' ';')" "0 step1 1205 1090 50 65 60 900 100 90 10 200;0 step2 1185 1090 50 45 40 900 100 90 10 200;1 step1 1205 1090 50 65 60 900 100 90 10 200;1 step2 1185 1090 50 45 40 900 100 90 10 200;"
reduced="{'ALLREDUCE': {'ops': 1, 'bytes': 67108864}}"
ok "bytes and communicator of the payload" "$(sends "$t/two.sqlite")" "$reduced"
export_of json.sqlite payload=json
ok "a payload as JSON" "$(sends "$t/json.sqlite")" "$reduced"
export_of grouped.sqlite grouped=1
ok "calls in a group are one kernel" "$(sends "$t/grouped.sqlite")" "$reduced"
export_of none.sqlite payload=none
ok "without payload" "$(sends "$t/none.sqlite")" "{'ALLREDUCE': {'ops': 1, 'bytes': 0}}"
"$STEPCAST" run "$t/none.sqlite" >"$t/out"
ok "its kernels keep their times, by stream" "$(grep -c 'NCCL stream 28 .*200.0 us .*50.00 us' "$t/out") $(grep -c 'are simulated again' "$t/out")" "1 0"
ok "the second step" "$("$STEPCAST" run "$t/none.sqlite" --step 2 --json - | grep -o '"step_time_us": [0-9]*' | head -1)" '"step_time_us": 1185'
"$STEPCAST" compare "$t/two.sqlite" "sim:$t/two.sqlite" --comm measured --tolerance 0.1% >"$t/out"; ok "played again it takes as long" $? 0
grep -q 'world  *200.0 us' "$t/out"; ok "on the wire" $? 0

# one rank computes 10 % longer: what explains it is its compute, all of it
export_of slow.sqlite slow=1
"$STEPCAST" compare "$t/two.sqlite" "$t/slow.sqlite" --json "$t/slow.json" >/dev/null
ok "why it is slower" "$(python3 -S -c 'import json, sys
d = json.load(open(sys.argv[1]))
print([(c["key"], round(c["b_us"] - c["a_us"], 3)) for c in d["causes"]], d["step"]["b_us"] - d["step"]["a_us"], d["a"]["measured"])' "$t/slow.json")" "[('gemm', 90), ('attention', 10)] 100 True"
# against a forecast of the model: kinds of work, though no names agree
"$STEPCAST" run --model llama3-8b --gpus 2 --seq 1024 --ignore-memory --json "$t/forecast.json" >/dev/null
ok "against a forecast" "$("$STEPCAST" compare "$t/two.sqlite" "$t/forecast.json" --json - | python3 -S -c 'import json, sys
d = json.load(sys.stdin)
print(abs(sum(c["b_us"] - c["a_us"] for c in d["causes"]) - d["step"]["b_us"] + d["step"]["a_us"]) < 1e-3, "gemm" in [c["key"] for c in d["causes"]])')" "True True"

# an export a rank; ranks as NCCL numbered them
export_of r0.sqlite only=0 init=1
export_of r1.sqlite only=1 init=1
ok "an export a rank" "$(sends "$t/r0.sqlite" "$t/r1.sqlite")" "$reduced"
ok "NCCL's ranks" "$("$STEPCAST" show "$t/r0.sqlite" "$t/r1.sqlite" --json - | grep -o '"rank": [01]' | uniq | tr '\n' ' ')" '"rank": 0 "rank": 1 '
mkdir "$t/folder" && cp "$t/r0.sqlite" "$t/r1.sqlite" "$t/folder"
ok "a folder" "$(sends "$t/folder")" "$reduced"
ok "one rank of two keeps its times" "$("$STEPCAST" run "$t/r0.sqlite" | grep -c 'NCCL group of 2  *1 .*200.0 us')" 1
export_of named.sqlite step='outer loop %d'
ok "ranges of another name" "$(steps "$t/named.sqlite" --step-range 'outer loop' | wc -l)" 4
ok "no steps is one step" "$(steps "$t/named.sqlite" | cut -d' ' -f2,3 | tr '\n' ';')" "wholetrace 2390;wholetrace 2390;"
gzip -c "$t/two.sqlite" >"$t/two.gz"; ok "packed" "$(sends "$t/two.gz")" "$reduced"
ok "from a pipe" "$(cat "$t/two.sqlite" | sends -)" "$reduced"

# hostile
sql() { rm -f "$t/x.sqlite"; cp "$t/two.sqlite" "$t/x.sqlite"; python3 -S -c 'import sqlite3, sys
d = sqlite3.connect(sys.argv[1]); d.executescript(sys.argv[2]); d.commit()' "$t/x.sqlite" "$1"; }
head -c 9000 "$t/two.sqlite" >"$t/cut.sqlite"; expect "cut off" "damaged or cut off" "$STEPCAST" show "$t/cut.sqlite"
{ head -c 100 "$t/two.sqlite"; head -c 20000 /dev/zero; } >"$t/zeros.sqlite"; expect "a head and zeros" "damaged\|no SQLite\|no kernels" "$STEPCAST" show "$t/zeros.sqlite"
head -c 16 "$t/two.sqlite" >"$t/short.sqlite"; expect "sixteen bytes" "no SQLite\|damaged\|no kernels" "$STEPCAST" show "$t/short.sqlite"
sql "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY"; expect "no kernels" "no kernels in this export" "$STEPCAST" show "$t/x.sqlite"
sql "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN streamId TO stream"; expect "no column" "has no column streamId" "$STEPCAST" show "$t/x.sqlite"
sql "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'now' WHERE rowid = 3"; expect "a text for a time" "start holds what is no whole number" "$STEPCAST" show "$t/x.sqlite"
sql "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 1 WHERE rowid = 3"; expect "an end before its start" "an event from" "$STEPCAST" show "$t/x.sqlite"
sql "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 1300000000000000000 WHERE rowid = 3"; expect "a kernel of forty years" "an event from" "$STEPCAST" show "$t/x.sqlite"
sql "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 1300000000000000000, end = 1300000000000000100 WHERE rowid = 3"; expect "forty years between two" "an event from" "$STEPCAST" show "$t/x.sqlite"
sql "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 9223372036854775807"; expect "the end of time" "an event from" "$STEPCAST" show "$t/x.sqlite"
sql "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO old; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i AS end, 0 AS deviceId, 0 AS streamId FROM n"
expect "an endless view" "no kernels in this export" timeout 10 "$STEPCAST" show "$t/x.sqlite"
sql "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL"; expect "every kernel twice" "stands twice" "$STEPCAST" show "$t/x.sqlite"
"$STEPCAST" run "$t/two.sqlite" --host-trace x.json >/dev/null 2>&1; ok "a host trace is no option here" $? 2
"$STEPCAST" run tests/fuzz/corpus/kineto/small.json --step-range x >/dev/null 2>&1; ok "--step-range is none of Kineto" $? 2
expect "a step that is not there" "there is no step 9" "$STEPCAST" run "$t/two.sqlite" --step 9
python3 -S -c 'import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute("CREATE TABLE a(b)"); d.commit()' "$t/other.sqlite"
expect "another database" "no kernels in this export" "$STEPCAST" run "$t/other.sqlite"
sql "DELETE FROM StringIds; DELETE FROM NVTX_EVENTS; DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME"
ok "names, ranges and launches missing" "$(steps "$t/x.sqlite" | cut -d' ' -f2,4 | tr '\n' ';')" "wholetrace 2280;wholetrace 2280;"
# of another library than NCCL: each all-reduce takes 200 us, 150 of them beside a product
sql "UPDATE StringIds SET value = 'void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>' WHERE value LIKE 'nccl%'; DELETE FROM NVTX_EVENTS WHERE text LIKE 'nccl%'"
ok "all-reduces of vLLM" "$(steps "$t/x.sqlite" | cut -d' ' -f5,12 | sort -u)" "50 200"
