#!/bin/sh
# Topologies of other programs as clusters: each against the same machine in a form that
# has been read before, and what is damaged.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect
all_reduce_times() { "$STEPCAST" coll all_reduce --cluster "$1" --gpus "$2" -b 1M -e 64M -f 8 --net "$3" 2>/dev/null | awk '!/^#/ && NF { print $1, $6 }'; }

# ASTRA-sim 1 counts links: a ring's go both ways round, those of a mesh to all others
cat >"$tmp/one.json" <<'J'
{"dimensions-count": 3, "topologies-per-dim": ["Ring", "FullyConnected", "Switch"], "units-count": [4, 4, 2],
 "links-count": [2, 3, 4], "link-latency": [500, 600, 700], "link-bandwidth": [50, 25, 12.5]}
J
cat >"$tmp/two.yml" <<'Y'
topology: [ Ring, FullyConnected, Switch ]
npus_count: [ 4, 4, 2 ]
bandwidth: [ 50.0, 25.0, 50.0 ]
latency: [ 500.0, 600.0, 700.0 ]
Y
check astra_1_as_astra_2 "$(all_reduce_times "$tmp/one.json" 32 analytic)" "$(all_reduce_times "$tmp/two.yml" 32 analytic)"

# ns-3: the same links in SimAI's form, which says what a server is
links='0 8 2400Gbps 0.00015ms 0
1 8 2400Gbps 0.00015ms 0
2 9 2400Gbps 0.00015ms 0
3 9 2400Gbps 0.00015ms 0
4 10 2400Gbps 0.00015ms 0
5 10 2400Gbps 0.00015ms 0
6 11 2400Gbps 0.00015ms 0
7 11 2400Gbps 0.00015ms 0'
for g in 0 1 2 3 4 5 6 7; do links="$links
$g 12 200Gbps 0.0005ms 0"; done
printf '13 5 16\n8 9 10 11 12\n%s\n' "$links" >"$tmp/ns3.txt"
printf '13 2 4 1 16 H100\n8 9 10 11 12\n%s\n' "$links" >"$tmp/simai.txt"
expect ns3_servers 0 '2 GPUs a server' "$STEPCAST" show --cluster "$tmp/ns3.txt"
expect ns3_nvlink 0 'NVSwitch 300 GB/s a GPU' "$STEPCAST" show --cluster "$tmp/ns3.txt"
sed '3,$s/ [^ ]*$//' "$tmp/ns3.txt" >"$tmp/four.txt"
expect ns3_four_fields 3 'four.txt:3:' "$STEPCAST" show --cluster "$tmp/four.txt"
head -10 "$tmp/ns3.txt" >"$tmp/cut.txt"
expect ns3_cut 3 '8 links; line 1 says 16' "$STEPCAST" show --cluster "$tmp/cut.txt"
sed 's/^3 9/3 8/' "$tmp/ns3.txt" >"$tmp/unequal.txt"
expect ns3_unequal_servers 3 'do not join equal numbers' "$STEPCAST" show --cluster "$tmp/unequal.txt"
printf '3 5 1\n1 2\n0 1 1Gbps 1us 0\n' >"$tmp/many.txt"
expect ns3_more_switches_than_nodes 3 'leave no GPUs' "$STEPCAST" show --cluster "$tmp/many.txt"
printf '200000000 1 0\n5\n' >"$tmp/empty.txt"
expect ns3_nodes_without_links 3 '0 links cannot join 200000000 nodes' "$STEPCAST" show --cluster "$tmp/empty.txt"
# ids of hosts behind those of switches: the same machine
printf '13 5 16\n0 1 2 3 4\n%s\n' "$links" | awk 'NR > 2 { $1 += 5; $2 -= 8 } { print }' >"$tmp/turned.txt"
check ns3_hosts_anywhere "$(all_reduce_times "$tmp/turned.txt" 8 flow)" "$(all_reduce_times "$tmp/ns3.txt" 8 flow)"

# htsim: 16 hosts, leaves of 4 with 2 cables up, 2 pods of 2 leaves, 2 spines a pod with 2 cables up, 4 cores: 16 + 8 + 8 cables
cat >"$tmp/tree.topo" <<'T'
# a comment
Nodes 16
Tiers 3
Podsize 8
Tier 0
Downlink_speed_Gbps 200
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 400
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 2
Downlink_speed_Gbps 400
Radix_Down 2
Downlink_Latency_ns 1000
T
expect htsim_cables 0 '32 links, 0 NVSwitches, 12 switches, leaves 1:1' "$STEPCAST" show --cluster "$tmp/tree.topo"
sed 's/Radix_Down 2/Radix_Down 3/' "$tmp/tree.topo" >"$tmp/bad.topo"
expect htsim_cables_that_do_not_meet 3 'do not meet' "$STEPCAST" show --cluster "$tmp/bad.topo"
sed 's/Podsize 8/Podsize 7/' "$tmp/tree.topo" >"$tmp/pod.topo"
expect htsim_pods 3 'do not divide into pods' "$STEPCAST" show --cluster "$tmp/pod.topo"
sed 's/Tier 2/Tier 7/' "$tmp/tree.topo" >"$tmp/tier.topo"
expect htsim_tier 3 "tier.topo:15:1: error: a tier that 'Tiers' does not count" "$STEPCAST" show --cluster "$tmp/tier.topo"
sed 's/Nodes 16/Nodes 99999999/' "$tmp/tree.topo" >"$tmp/large.topo"
expect htsim_too_large 3 'not a whole number from 1' "$STEPCAST" show --cluster "$tmp/large.topo"

# NCCL: two GPUs beside a NIC each, and a NIC of the processor's, which is not theirs
cat >"$tmp/node.xml" <<'X'
<system version="1">
  <cpu numaid="0">
    <pci busid="0000:01:00.0" device="0x101d"><nic><net name="storage" dev="0" speed="400000"/></nic></pci>
    <pci busid="0000:02:00.0" device="0xc010">
      <pci busid="0000:03:00.0" device="0x2330"><gpu dev="0" sm="90"><nvlink target="0000:c3:00.0" count="9" tclass="0x068000"/><nvlink target="0000:c4:00.0" count="9" tclass="0x068000"/></gpu></pci>
      <pci busid="0000:04:00.0" device="0x101d"><nic><net name="mlx5_0" dev="1" speed="400000"/></nic></pci>
    </pci>
    <pci busid="0000:05:00.0" device="0xc010">
      <pci busid="0000:06:00.0" device="0x2330"><gpu dev="1" sm="90"><nvlink target="0000:c3:00.0" count="9" tclass="0x068000"/><nvlink target="0000:c4:00.0" count="9" tclass="0x068000"/></gpu></pci>
      <pci busid="0000:07:00.0" device="0x101d"><nic><net name="mlx5_1" dev="2" speed="400000"/></nic></pci>
    </pci>
  </cpu>
</system>
X
check nccl_as_a_line "$(all_reduce_times "$tmp/node.xml" 8 analytic)" "$(all_reduce_times "gpu=h100-sxm node=2 nvlink=450GB/s nics=2 nic=400Gbps" 8 analytic)"
head -5 "$tmp/node.xml" >"$tmp/half.xml"
expect nccl_cut 3 'is missing: is the file cut off' "$STEPCAST" show --cluster "$tmp/half.xml" --gpus 2
printf '<system version="1"><cpu></cpu></system>' >"$tmp/none.xml"
expect nccl_no_gpus 3 'there are no <gpu> in it' "$STEPCAST" show --cluster "$tmp/none.xml"
sed 's/sm="90"/sm="ninety"/' "$tmp/node.xml" >"$tmp/sm.xml"
expect nccl_no_number 3 'sm.xml:5:' "$STEPCAST" show --cluster "$tmp/sm.xml"
sed '0,/0x2330/s//0x20b2/' "$tmp/node.xml" >"$tmp/mixed.xml"
expect nccl_several_kinds 3 'GPUs of several kinds' "$STEPCAST" show --cluster "$tmp/mixed.xml"
printf '<system><gpu' >"$tmp/open.xml"
expect nccl_open_tag 3 "a '<' without its '>'" "$STEPCAST" show --cluster "$tmp/open.xml"
printf '<system></pci></system>' >"$tmp/shut.xml"
expect nccl_end_without_beginning 3 'without its <pci>' "$STEPCAST" show --cluster "$tmp/shut.xml"
printf '{"topologies-per-dim": ["Torus"], "dimensions-count": 1}' >"$tmp/torus.json"
expect astra_1_unknown_dimension 3 'dimension 0 is "Torus"' "$STEPCAST" show --cluster "$tmp/torus.json"
printf '{"topologies-per-dim": ["Ring"], "dimensions-count": 1, "units-count": [4]}' >"$tmp/short.json"
expect astra_1_missing 3 '"links-count": dimension 0 has no number' "$STEPCAST" show --cluster "$tmp/short.json"
printf '{"topologies-per-dim": [], "dimensions-count": 99}' >"$tmp/dims.json"
expect astra_1_too_many 3 'must be from 1 to' "$STEPCAST" show --cluster "$tmp/dims.json"
