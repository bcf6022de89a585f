#!/bin/sh
# Words of a cluster: cards on PCIe are not on an NVSwitch, and a word that changes nothing says so.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
coll() { cluster=$1 && shift && "$STEPCAST" coll all_reduce -c "$cluster" -b 256M -e 256M "$@"; }
# GB/s of the bus, of 256 MiB
busbw() { coll "$@" 2>/dev/null | awk '$1 == 268435456 { print $8 }'; }
below() { awk -v a="$1" -v b="$2" 'BEGIN { print (a > 0 && a < b) ? "yes" : a " is not below " b }'; }

# 16 lanes of PCIe 5.0 have 63 GB/s, of 4.0 31.5: no ring of cards has more, with or without bridges between pairs
for cards in "gpu=h100-pcie gpus=8" "gpu=h100-nvl gpus=8" "gpu=h100 gpus=8 node=8 inside=pcie" "dgx-h100:8 inside=pcie" h100-pcie:8; do
    check "slots: $cards" "$(below "$(busbw "$cards")" 63)" yes
done
for cards in "gpu=a100-80-pcie gpus=8" "gpu=a40 gpus=8" l40s:8 rtx-4090:8 a40:4; do check "slots: $cards" "$(below "$(busbw "$cards")" 31.5)" yes; done
# cards with eight lanes have half of that
for cards in rtx-4060-ti:2 rtx-5060:2; do
    check "lanes: $cards" "$("$STEPCAST" coll all_gather -c "$cards" -b 1M -e 1M | grep -o 'over PCIe at [0-9.]* GB/s')" \
        "over PCIe at $(test $cards = rtx-5060:2 && echo 25 || echo 12.5) GB/s"
done
expect bridge_is_said 0 "NVLink of h100-pcie is a bridge that joins 2 cards, not the 8 of a node" coll h100-pcie:8
expect slots_are_said 0 "inside=pcie: the GPUs of a node communicate over PCIe at 50 GB/s" coll "dgx-h100:8 inside=pcie"
# … but two cards with a bridge have it: 300 GB/s one way
check a_bridge "$(below 63 "$(busbw "gpu=h100-pcie gpus=2 node=2")") $(below "$(busbw "gpu=h100-pcie gpus=2 node=2")" 300)" "yes yes"
check a_rate_counts "$(below "$(busbw "dgx-h100:8 inside=pcie nvlink=10GB/s")" 10)" yes
expect no_slot_is_so_fast 3 "450 GB/s between GPUs of a node is more than a PCIe slot has" coll "gpu=h100 gpus=8 nvlink=450GB/s inside=pcie"
# a GPU's name is a machine of them, where no preset is; several nodes need to say what joins them
expect one_card 0 "step time" "$STEPCAST" run --model gpt2 --cluster rtx-4090:1
expect cards_of_two_nodes 3 "give nics=8 nic=400Gbps" coll l40s:16
check still_a_preset "$(busbw h100:8)" "$(busbw dgx-h100:8)"

# another GPU in the nodes of a preset keeps the preset's links
step="--model llama3-8b --num-layers 2 --fsdp --seq 2048"
expect links_stay 0 "links stay those of 'dgx-h100', 450 GB/s inside a node, though l40s has no NVLink" "$STEPCAST" run $step --cluster dgx-h100:8 --gpu l40s --json -
expect slower_links 0 "though a100-80 has 300" "$STEPCAST" run $step --cluster dgx-h100:8 --gpu a100-80 --json -
for words in "--cluster dgx-h100:8 --gpu h200" "--cluster l40s:8" "--gpus 1 --gpu l40s" "--cluster a100-pcie:8"; do
    "$STEPCAST" run $step $words --json - >"$tmp/links.json" 2>/dev/null
    check "its own links: $words" "$(grep -c '"mfu"' "$tmp/links.json") $(grep -c 'links stay' "$tmp/links.json")" "1 0"
done

# words of another fabric, of leaves that are not there
flat="gpu=h100 gpus=64 node=8 nvlink=450GB/s nics=8 nic=400Gbps class=ib"
torus="gpu=h100 dims=4x4x4 link=50GB/s hop=1us class=plain"
said() { # cluster, word=value: it is said that the word has no effect, and it has none in any engine
    for net in analytic flow; do
        coll "$1 $2" --net $net >"$tmp/out" 2>&1
        check "$net: ${2%%=*} in ${1%%=*}… ${1##* }" "$(grep -c "^# note: ${2%%=*} has no effect" "$tmp/out") $(awk '$1 == 268435456 { print $6 }' "$tmp/out")" "1 $(coll "$1" --net $net 2>/dev/null | awk '$1 == 268435456 { print $6 }')"
    done
}
for word in spines=2 link=100Gbps pod-leaves=4 cores=2 pod-oversubscription=4 router-nics=4 groups=2 hbm=1TB/s sharp=yes planes=2; do said "$flat" $word; done
for word in planes=4 global-links=2; do said "$flat fabric=rail leaf=2" $word; done
for word in nvlink=100GB/s nics=4 leaf=8 oversubscription=4 switch-latency=5us ports=16; do said "$torus" $word; done
# links of dimensions have no software on them, whatever class is said or left out, in any engine
for word in ib roce; do said "${torus% *}" class=$word; done
coll "${torus% *}" --net flow >"$tmp/out" 2>&1
check "dimensions without a class" "$(grep -c "^ *268435456" "$tmp/out") $(cat "$tmp/out")" "1 $(coll "$torus" --net flow 2>&1 | sed 's/ class=plain//')"
expect "no such class of dimensions" 3 "no 'foo' among the classes" "$STEPCAST" coll all_gather -c "${torus% *} class=foo"
# what is assumed stands below the table of several engines too
check "notes below engines" "$("$STEPCAST" coll all_gather -c "gpu=l40s gpus=16 node=8 nics=1 nic=400Gbps" -b 1M -e 1M --net analytic,flow | grep -c "^# note: \(the cluster does not name its fabric class\|GPU l40s has no NVLink\)")" 2
flies="$flat fabric=dragonfly router-nics=8 group-routers=2 global-links=4 groups=4"
for word in leaf=2 spines=2 oversubscription=4; do said "$flies" $word; done

# rails of one segment have leaves of their own: what is between them counts for messages that change rails in the fabric. Of 256 MiB
# each of 32 ranks sends 24/32 to other nodes, 7/8 of it to other rails: 32 · 7/32 of it over the 4 NICs of a rail, 100 Gb/s up
rails="gpu=h100 gpus=32 node=8 nvlink=450GB/s nics=8 nic=400Gbps class=ib fabric=rail"
exchange() { "$STEPCAST" coll alltoall -b 256M -e 256M -c "$@" 2>&1; }
crossing=$(python3 -S -c 'print(4 * 24 / 32 * 7 / 8 * 2**28 / (0.955 * 12.5e3))')
for net in analytic flow; do
    for words in "spines=1 link=100Gbps" "leaf=4 spines=1 link=100Gbps"; do
        exchange "$rails $words" --no-pxn --net $net --route spray >"$tmp/out"
        check "$net: between rails, $words" "$(grep -c '\(spines\|link\) has no effect' "$tmp/out") $(awk -v wanted="$crossing" '$1 == 268435456 { print ($6 > wanted && $6 < 1.02 * wanted) ? "yes" : $6 " is not " wanted }' "$tmp/out")" "0 yes"
    done
    check "$net: PXN stays on its rail" "$(exchange "$rails spines=1 link=100Gbps" --net $net --route spray | awk '$1 == 268435456 { print ($6 < 5000) ? "yes" : $6 }')" yes
done
expect rails_of_one_segment 0 "oversubscription counts between rails alone" coll "$rails oversubscription=4"

# bits taken for bytes, leaves that make no whole segment, and no latency where there is no software are said
expect bytes_for_bits 0 "a NIC of 400 GB/s is faster than any that was announced" coll "dgx-h100:16 nic=400GBps"
# NICs that the slot of the GPU cannot feed: the question is answered, and what it takes is said; a B300 has another link to them
slot() { "$STEPCAST" coll all_reduce --cluster "$1" 2>&1 | sed -n 's/.*the PCIe slot of a \(.*\) one way.*/\1/p'; }
check slot_of_h100 "$(slot "dgx-h100:16 nic=800Gbps")" "h100-sxm carries 63 GB/s"
check slot_of_two_nics "$(slot "dgx-a100:16 nics=16")" "a100-80 carries 31.5 GB/s"
for machine in dgx-h100:16 dgx-b300:16 gb300-nvl72:144 "dgx-h100:8 nic=800Gbps"; do
    check "a slot that does: $machine" "$("$STEPCAST" coll all_reduce --cluster "$machine" 2>&1 | grep -c 'the PCIe slot\|Avg bus')" 1
done
check the_fastest_nic "$(coll "dgx-h100:16 nic=1600Gbps" | grep -c '^ *268435456') $(coll "dgx-h100:16 nic=1600Gbps" | grep -c 'faster than any')" "1 0"
expect leaves_of_a_segment 0 "a pod of 20 leaves is taken as one of 16" coll "dgx-h100:1024 leaf=16 pod-leaves=20"
check whole_segments "$(coll "dgx-h100:1024 leaf=16 pod-leaves=16" | grep -c '^ *268435456') $(coll "dgx-h100:1024 leaf=16 pod-leaves=16" | grep -c 'is taken as one')" "1 0"
expect no_latency_at_all 0 "no latency is given inside a node (step=) and between nodes (hop=)" coll "gpu=h100 gpus=16 node=8 nics=8 nic=400Gbps class=plain"
check latencies_given "$(coll "gpu=h100 gpus=16 node=8 nics=8 nic=400Gbps class=plain hop=1us step=1us" | grep -c '^ *268435456\|no latency')" 1
# no link carries more than it is specified to
for share in '"wire": 1.01' '"nvlink": 3' '"net_share": [1, 2, 1]' '"p2p_share": 1.5'; do
    echo "{\"gpu\": \"h100\", \"gpus\": 16, \"node\": {\"gpus\": 8, \"nics\": 8, \"nic\": \"400Gbps\"}, \"collectives\": {$share}}" >"$tmp/share.json"
    expect "more than a link: $share" 3 "0 to 1: the share of a link" coll "$tmp/share.json"
done

# a job that names its GPU and no cluster runs on the machine of that GPU: it had the links of a dgx-h100
step_us() { "$STEPCAST" run --model llama3-8b --tp 8 --global-batch 16 --seq 4096 --recompute full --json - "$@" 2>/dev/null | awk -F'[:,]' '/"step_time_us"/ { print $2 + 0; exit }'; }
for gpu in a100:dgx-a100 "A100 SXM4 40GB:dgx-a100-40" b200:dgx-b200 mi300x:amd-mi300x v100:dgx-v100 h100:dgx-h100; do
    check "links of ${gpu%:*}" "$(step_us --gpus 16 --gpu "${gpu%:*}")" "$(step_us --cluster "${gpu#*:}:16")"
done
for card in l40s rtx-4090 h100-pcie h20; do check "links of $card" "$(step_us --gpus 8 --gpu $card)" "$(step_us --cluster $card:8)"; done
check "NICs of cards" "$(step_us --gpus 16 --gpu l40s)" "$(step_us --cluster "l40s:16 nics=8 nic=400Gbps class=ib")"
expect "the machine of a GPU" 0 "no cluster given: dgx-a100 of the job's size, 16 GPUs" "$STEPCAST" run --model gpt2 --gpus 16 --gpu a100
check "a search there" "$("$STEPCAST" plans --model gpt2 --gpus 8 --gpu a100 --global-batch 64 --json - | grep -o '"cluster": "[^"]*"' | sort -u)" '"cluster": "dgx-a100"'
expect "nodes of a GPU" 0 "72 GPUs: tp 1" "$STEPCAST" run --model gpt2 --nodes 1 --gpu gb200 --global-batch 72
# and by whatever name: h100-sxm:16 had "2 nodes but no NICs", h100:16 ran
for name in h100-sxm:h100 a100-80:a100 H100-SXM:h100; do check "$name" "$(busbw "${name%:*}:16")" "$(busbw "${name#*:}:16")"; done
