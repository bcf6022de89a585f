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
# an error of such a file is said, not that it is one
printf 'topology: [ Torus2D ]\nnpus_count: [ 16 ]\nbandwidth: [ 100 ]\nlatency: [ 500 ]\n' >"$tmp/torus.yml"
expect astra_2_unknown 3 "torus.yml:1:13: error: unknown topology 'Torus2D'" "$STEPCAST" show --cluster "$tmp/torus.yml"
check astra_1_as_astra_2 "$(all_reduce_times "$tmp/one.json" 32 analytic)" "$(all_reduce_times "$tmp/two.yml" 32 analytic)"

# what its own network adds to a message is said, where there is some
sed 's/"link-latency"/"router-latency": [0, 0, 25], "nic-latency": [0, 0, 0], "link-latency"/' "$tmp/one.json" >"$tmp/delays.json"
check astra_1_delays "$("$STEPCAST" show --cluster "$tmp/delays.json" | grep -o '[a-z]*-latency is not modelled')" "router-latency is not modelled"

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
# … and ns3-msccl's, which says it twice, with GPUs behind the switches
printf '13 2 4 1 16 H100 2\n8 9 10 11 12\n%s\n' "$links" >"$tmp/seven.txt"
check seven_fields "$(all_reduce_times "$tmp/seven.txt" 8 flow)" "$(all_reduce_times "$tmp/simai.txt" 8 flow)"
expect seven_fields_known 0 'a topology of SimAI' "$STEPCAST" show "$tmp/seven.txt"
{ echo '13 2 4 1 16 H100 2' && echo '0 1 2 3 4' && echo "$links" | awk '{ $1 += 5; $2 -= 8; print }'; } >"$tmp/behind.txt"
check switches_first "$(all_reduce_times "$tmp/behind.txt" 8 flow)" "$(all_reduce_times "$tmp/simai.txt" 8 flow)"
sed '1s/2$/8/' "$tmp/seven.txt" >"$tmp/eight.txt"
expect seven_fields_differ 3 "eight.txt:1:18: error: line 1 says 2 GPUs a server, and '8' a node" "$STEPCAST" show --cluster "$tmp/eight.txt"
sed '1s/$/ 2/' "$tmp/seven.txt" >"$tmp/eight.txt"
expect eight_fields 3 'line 1 has more than seven fields' "$STEPCAST" show --cluster "$tmp/eight.txt"
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

# switches named on several lines, and ns-3's rates in bytes: the same machine
sed '2s/ /\n/g; s/2400Gbps/300GBps/' "$tmp/ns3.txt" >"$tmp/lines.txt"
check ns3_switches_on_lines "$(all_reduce_times "$tmp/lines.txt" 8 flow)" "$(all_reduce_times "$tmp/ns3.txt" 8 flow)"
sed 2d "$tmp/lines.txt" >"$tmp/fewer.txt"
expect ns3_fewer_switches 3 'fewer.txt:6:1: error: 4 switches are named, line 1 says 5' "$STEPCAST" show --cluster "$tmp/fewer.txt"
# servers without NVLink send over their NICs, whatever their GPU has elsewhere
nics=$(for g in 0 1 2 3 4 5 6 7; do echo "$g 8 100Gbps 0.0005ms 0"; done)
printf '9 8 0 1 8 A100\n8\n%s\n' "$nics" >"$tmp/no_nvlink.txt"
printf '9 1 0 1 8 A100\n8\n%s\n' "$nics" >"$tmp/single.txt"
check simai_no_nvlink "$(all_reduce_times "$tmp/no_nvlink.txt" 8 analytic)" "$(all_reduce_times "$tmp/single.txt" 8 analytic)"
expect simai_no_nvlink_said 0 'no link joins the GPUs of a server' "$STEPCAST" show --cluster "$tmp/no_nvlink.txt"
# an NVSwitch that is its server's way out is a switch: leaves of 4 with one cable up
printf '11 4 2 1 10 A100\n8 9\n10\n%s\n8 10 100Gbps 0.0005ms 0\n9 10 100Gbps 0.0005ms 0\n' \
    "$(echo "$nics" | sed 's/^\([4-7]\) 8/\1 9/')" >"$tmp/way_out.txt"
expect simai_nvswitch_way_out 0 '0 NVSwitches, 3 switches, leaves 4:1' "$STEPCAST" show --cluster "$tmp/way_out.txt"

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
# RCCL's: xGMI to all the others, at the rate of the GPU; without a GPU that is known none is taken
{
    echo '<system version="2"><cpu numaid="0">'
    for g in 0 1 2 3 4 5 6 7; do
        echo "<pci busid=\"0000:${g}c:00.0\" class=\"0x120000\" device=\"0x74a1\"><gpu dev=\"$g\" sm=\"94\" gcn=\"942\" rank=\"$g\">"
        for peer in 0 1 2 3 4 5 6 7; do [ $peer = $g ] || echo "<xgmi target=\"0000:${peer}c:00.0\" count=\"1\" tclass=\"0x120000\"/>"; done
        echo '</gpu></pci>'
    done
    echo '</cpu></system>'
} >"$tmp/amd.xml"
check nccl_of_amd "$(all_reduce_times "$tmp/amd.xml" 8 analytic)" "$(all_reduce_times amd-mi300x:8 8 analytic)"
sed 's/0x74a1/0xffff/' "$tmp/amd.xml" >"$tmp/other.xml"
# GPUs of 18, 9 and 18 links behind NVSwitches count with 9; cards with bridges between two of four, or one
# whose other end is not in the file, send over PCIe
switched() { echo "<pci busid=\"0000:0$1:00.0\" class=\"0x030200\" device=\"0x2330\"><gpu dev=\"$1\" sm=\"90\"><nvlink target=\"0000:c3:00.0\" count=\"$2\" tclass=\"0x068000\"/></gpu></pci>"; }
bridged() { echo "<pci busid=\"0000:0$1:00.0\" class=\"0x030200\" device=\"0x2230\"><gpu dev=\"$1\" sm=\"86\"><nvlink target=\"0000:0$2:00.0\" count=\"4\" tclass=\"0x030200\"/></gpu></pci>"; }
one_node() { echo '<system version="1"><cpu numaid="0">'; cat; echo '</cpu></system>'; }
{ switched 0 18; switched 1 9; switched 2 18; } | one_node >"$tmp/unlike.xml"
expect nccl_unlike_links 0 'GPUs have 9 to 18 NVLinks: the fewest count' "$STEPCAST" show --cluster "$tmp/unlike.xml"
expect nccl_fewest_links 0 '3 × h100-sxm, NVSwitch 225 GB/s a GPU' "$STEPCAST" show --cluster "$tmp/unlike.xml"
{ bridged 0 1; bridged 1 0; bridged 2 3; bridged 3 2; } | one_node >"$tmp/bridges.xml"
expect nccl_bridges 0 '4 × rtx-a6000, PCIe 25 GB/s a GPU' "$STEPCAST" show --cluster "$tmp/bridges.xml"
expect nccl_bridges_noted 0 'NVLink joins some GPUs and not others' "$STEPCAST" show --cluster "$tmp/bridges.xml"
{ bridged 0 1; bridged 1 0; } | one_node >"$tmp/bridge.xml"
expect nccl_bridge_of_two 0 '2 × rtx-a6000, full mesh 56.25 GB/s a GPU' "$STEPCAST" show --cluster "$tmp/bridge.xml"
{ bridged 0 7; bridged 1 6; } | one_node >"$tmp/absent.xml"
expect nccl_links_to_absent_gpus 0 '2 × rtx-a6000, PCIe' "$STEPCAST" show --cluster "$tmp/absent.xml"
# 18 links to each of three are 54 of a GPU, which has 18: NVSwitches join them. A class may be missing
every() { echo "<pci busid=\"0000:0$1:00.0\" class=\"0x030200\" device=\"0x2330\"><gpu dev=\"$1\" sm=\"90\">"; for g in 0 1 2 3; do [ $g = $1 ] || echo "<nvlink target=\"0000:0$g:00.0\" count=\"$2\"$3/>"; done; echo '</gpu></pci>'; }
for g in 0 1 2 3; do every $g 18 ' tclass="0x030200"'; done | one_node >"$tmp/every.xml"
expect nccl_more_links_than_there_are 0 '4 × h100-sxm, NVSwitch 450 GB/s a GPU' "$STEPCAST" show --cluster "$tmp/every.xml"
for g in 0 1 2 3; do every $g 6 ''; done | one_node >"$tmp/every.xml"
{ switched 0 18; switched 1 36; } | one_node >"$tmp/many.xml"
expect nccl_too_many_links 3 'a GPU has 36 NVLinks in it, of sm 90 at most 18' "$STEPCAST" show --cluster "$tmp/many.xml"
expect nccl_links_without_a_class 0 '4 × h100-sxm, full mesh 450 GB/s a GPU' "$STEPCAST" show --cluster "$tmp/every.xml"
expect nccl_of_an_unknown_gpu 3 'the bandwidth between the GPUs of a node is not known' "$STEPCAST" show --cluster "$tmp/other.xml"
printf '======= Weight between two GPUs =======\n       GPU0         GPU1\nGPU0   0            15\nGPU1   15           0\n' >"$tmp/rocm.txt"
expect rocm_smi 3 "links of a node of AMD's GPUs (rocm-smi --showtopo)" "$STEPCAST" show --cluster "$tmp/rocm.txt"
head -5 "$tmp/node.xml" >"$tmp/half.xml"
expect nccl_cut 3 'is missing: is the file cut off' "$STEPCAST" show --cluster "$tmp/half.xml" --gpus 2
printf '<system version="1"><cpu></cpu></system>' >"$tmp/none.xml"
expect nccl_no_gpus 3 'there are no <gpu> in it' "$STEPCAST" show --cluster "$tmp/none.xml"
sed 's/sm="90"/sm="ninety"/' "$tmp/node.xml" >"$tmp/sm.xml"
expect nccl_no_number 3 'sm.xml:5:' "$STEPCAST" show --cluster "$tmp/sm.xml"
sed '0,/0x2330/s//0x20b2/' "$tmp/node.xml" >"$tmp/mixed.xml"
expect nccl_several_kinds 3 'GPUs of several kinds' "$STEPCAST" show --cluster "$tmp/mixed.xml"
# files for NCCL to read: a cloud's have the classes of <pci> alone, others GPUs without sm and NICs without speed
cat >"$tmp/cloud.xml" <<'X'
<!-- what the virtual machine hides -->
<system version="1">
  <cpu numaid="0" arch="x86_64">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0002:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0102:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
    </pci>
    <pci busid="0103:00:00.0" class="0x020000" link_speed="16 GT/s" link_width="4"/>
  </cpu>
</system>
X
check nccl_of_a_cloud "$(all_reduce_times "$tmp/cloud.xml gpu=a100-80 nic=200Gbps class=ib" 8 analytic)" "$(all_reduce_times "gpu=a100-80 node=2 nics=2 nic=200Gbps class=ib" 8 analytic)"
expect nccl_of_a_cloud_said 0 '2 × a GPU whose PCI id is not known (--gpu) and 2 NICs, for NCCL to read' "$STEPCAST" show --cluster "$tmp/cloud.xml gpu=a100-80"
expect nccl_of_a_cloud_no_gpu 3 'give nvlink=450GB/s, or a GPU whose NVLink is known' "$STEPCAST" show --cluster "$tmp/cloud.xml"
sed 's/ sm="90"//; s/<nvlink.*\/><\/gpu>/<\/gpu>/; s/ speed="400000"//' "$tmp/node.xml" >"$tmp/given.xml"
check nccl_to_read "$(all_reduce_times "$tmp/given.xml nic=400Gbps" 8 analytic)" "$(all_reduce_times "gpu=h100-sxm node=2 nics=2 nic=400Gbps" 8 analytic)"
# what joins containers is no NIC, though NCCL says 10 Gb/s of each
sed 's/speed="400000"/speed="1000"/; s/<\/cpu>/<nic><net name="br-3c2" dev="5" speed="10000"\/><net name="veth268" dev="6" speed="10000"\/><\/nic>&/' "$tmp/node.xml" >"$tmp/bridges.xml"
expect nccl_containers 0 '2 networks of containers on the node' "$STEPCAST" show --cluster "$tmp/bridges.xml"
check nccl_nics_beside_containers "$(all_reduce_times "$tmp/bridges.xml" 8 analytic)" "$(all_reduce_times "gpu=h100-sxm node=2 nvlink=450GB/s nics=2 nic=1Gbps" 8 analytic)"
printf '<?xml version="1.0"?>\n<topology version="2.0">\n  <object type="Machine"/>\n</topology>\n' >"$tmp/lstopo.xml"
expect hwloc 3 'a machine as hwloc sees it' "$STEPCAST" show --cluster "$tmp/lstopo.xml"
printf '<system><gpu' >"$tmp/open.xml"
expect nccl_open_tag 3 "a '<' without its '>'" "$STEPCAST" show --cluster "$tmp/open.xml"
printf '<system></pci></system>' >"$tmp/shut.xml"
expect nccl_end_without_beginning 3 'without its <pci>' "$STEPCAST" show --cluster "$tmp/shut.xml"
sed '/03:00.0/s/<\/pci>$//' "$tmp/node.xml" >"$tmp/unshut.xml"
expect nccl_beginning_without_end 3 'without its <' "$STEPCAST" show --cluster "$tmp/unshut.xml"
sed 's/dev="1" sm/dev="0" sm/' "$tmp/node.xml" >"$tmp/twice.xml"
expect nccl_gpu_twice 3 "this GPU's dev is another one's too" "$STEPCAST" show --cluster "$tmp/twice.xml"
printf '{"topologies-per-dim": ["Torus"], "dimensions-count": 1}' >"$tmp/torus.json"
expect astra_1_unknown_dimension 3 'dimension 0 is "Torus"' "$STEPCAST" show --cluster "$tmp/torus.json"
printf '{"topologies-per-dim": ["Ring"], "dimensions-count": 1, "units-count": [4]}' >"$tmp/short.json"
expect astra_1_missing 3 '"links-count": dimension 0 has no number' "$STEPCAST" show --cluster "$tmp/short.json"
printf '{"topologies-per-dim": [], "dimensions-count": 99}' >"$tmp/dims.json"
expect astra_1_too_many 3 'must be from 1 to' "$STEPCAST" show --cluster "$tmp/dims.json"

# nvidia-smi topo -m: against the same node in one line. NIC2 is far from all GPUs
smi_table() { # LINKS GPUS
    awk -v links="$1" -v gpus="$2" 'BEGIN {
        n = gpus + 3
        for (i = 0; i < n; i++) name[i] = i < gpus ? "GPU" i : "NIC" (i - gpus)
        for (i = 0; i < n; i++) printf "\t%s", name[i]
        print "\tCPU Affinity\tNUMA Affinity"
        for (i = 0; i < n; i++) {
            printf "%s", name[i]
            for (j = 0; j < n; j++) printf "\t%s", i == j ? " X " : i < gpus && j < gpus ? links : i + gpus == j || j + gpus == i ? "PXB" : "SYS"
            print i < gpus ? "\t0-47\t0" : ""
        }
        print "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks"
    }'
}
smi_table NV18 8 >"$tmp/hopper.txt"
expect smi_nics 0 '3 NICs, rate not known' "$STEPCAST" show --cluster "$tmp/hopper.txt"
check smi_switch "$(all_reduce_times "$tmp/hopper.txt nics=8 nic=400Gbps" 16 analytic)" "$(all_reduce_times "gpu=h100-sxm node=8 nvlink=450GB/s nics=8 nic=400Gbps" 16 analytic)"
check smi_gpu "$(all_reduce_times "$tmp/hopper.txt gpu=b200" 8 analytic)" "$(all_reduce_times "gpu=b200 node=8 nvlink=900GB/s" 8 analytic)"
# a NIC beside each of two GPUs, and two more beside the second: those of its host
printf '\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\tNIC3\tCPU Affinity
GPU0\tX\tNV18\tPIX\tNODE\tNODE\tNODE\t0
GPU1\tNV18\tX\tNODE\tPIX\tPIX\tPXB\t0
NIC0\tPIX\tNODE\tX\tNODE\tNODE\tNODE
NIC1\tNODE\tPIX\tNODE\tX\tPIX\tPXB
NIC2\tNODE\tPIX\tNODE\tPIX\tX\tPXB
NIC3\tNODE\tPXB\tNODE\tPXB\tPXB\tX\n' >"$tmp/uneven.txt"
expect smi_uneven_nics_said 0 'GPUs have 1 to 3 NICs to themselves: the fewest count' "$STEPCAST" show --cluster "$tmp/uneven.txt"
check smi_uneven_nics "$(all_reduce_times "$tmp/uneven.txt nic=400Gbps class=ib" 4 analytic)" "$(all_reduce_times "gpu=h100-sxm node=2 nics=2 nic=400Gbps class=ib" 4 analytic)"
sed 's/\tPIX\tNODE\tNODE\tNODE\t0$/\tPIX\tNODE\tNODE\tPXB\t0/; s/^NIC3\tNODE/NIC3\tPXB/' "$tmp/uneven.txt" >"$tmp/shared_nic.txt"
expect smi_shared_nic 0 '4 NICs, rate not known' "$STEPCAST" show --cluster "$tmp/shared_nic.txt"
# two GPUs below a switch with two NICs, two below one with a third: none has a NIC to itself, so that all three count
printf '\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tNIC2\tCPU Affinity
GPU0\tX\tNV4\tNV4\tNV4\tPXB\tPXB\tSYS\t0
GPU1\tNV4\tX\tNV4\tNV4\tPXB\tPXB\tSYS\t0
GPU2\tNV4\tNV4\tX\tNV4\tSYS\tSYS\tPXB\t0
GPU3\tNV4\tNV4\tNV4\tX\tSYS\tSYS\tPXB\t0
NIC0\tPXB\tPXB\tSYS\tSYS\tX\tPXB\tSYS
NIC1\tPXB\tPXB\tSYS\tSYS\tPXB\tX\tSYS
NIC2\tSYS\tSYS\tPXB\tPXB\tSYS\tSYS\tX\n' >"$tmp/pairs.txt"
expect smi_nics_of_pairs 0 '3 NICs, rate not known' "$STEPCAST" show --cluster "$tmp/pairs.txt"
smi_table NV4 4 >"$tmp/four.txt" # 12 links of a GPU to three others
check smi_direct "$(all_reduce_times "$tmp/four.txt" 4 analytic)" "$(all_reduce_times "gpu=a100-80 node=4 nvlink=300GB/s inside=full" 4 analytic)"
sed 's/CPU Affinity.*/CPU Affinity NUMA Affinity GPU NUMA ID/; s/^GPU.*/& 0-71 0,3-9 2/' "$tmp/hopper.txt" >"$tmp/grace.txt"
expect smi_grace 0 '8 × gb200, NVSwitch 900 GB/s a GPU' "$STEPCAST" show --cluster "$tmp/grace.txt"
sed 's/0,3-9 2$/0,3-9 N\/A/' "$tmp/grace.txt" >"$tmp/no_grace.txt"
expect smi_no_grace 0 '8 × h100-sxm, NVSwitch 450 GB/s a GPU' "$STEPCAST" show --cluster "$tmp/no_grace.txt"
smi_table SYS 4 >"$tmp/slots.txt"
check smi_pcie "$(all_reduce_times "$tmp/slots.txt gpu=l40s" 4 analytic)" "$(all_reduce_times "gpu=l40s node=4 nvlink=25GB/s inside=pcie" 4 analytic)"
# the cube of eight V100: each has six links, to four others
printf '\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tCPU Affinity
GPU0\tX\tNV1\tNV2\tNV1\tSYS\tSYS\tSYS\tNV2\t0
GPU1\tNV1\tX\tNV1\tNV2\tSYS\tSYS\tNV2\tSYS\t0
GPU2\tNV2\tNV1\tX\tNV2\tSYS\tNV1\tSYS\tSYS\t0
GPU3\tNV1\tNV2\tNV2\tX\tNV1\tSYS\tSYS\tSYS\t0
GPU4\tSYS\tSYS\tSYS\tNV1\tX\tNV2\tNV2\tNV1\t1
GPU5\tSYS\tSYS\tNV1\tSYS\tNV2\tX\tNV1\tNV2\t1
GPU6\tSYS\tNV2\tSYS\tSYS\tNV2\tNV1\tX\tNV1\t1
GPU7\tNV2\tSYS\tSYS\tSYS\tNV1\tNV2\tNV1\tX\t1\n' >"$tmp/cube.txt"
check smi_cube "$(all_reduce_times "$tmp/cube.txt" 8 analytic)" "$(all_reduce_times "gpu=v100 node=8 nvlink=150GB/s inside=mesh" 8 analytic)"
# four of them in one machine, as AWS sells them: 4 or 5 links of a GPU, of which the rings have 4 at 25 GB/s
printf '\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity
GPU0\tX\tNV1\tNV1\tNV2\t0
GPU1\tNV1\tX\tNV2\tNV1\t0
GPU2\tNV1\tNV2\tX\tNV2\t0
GPU3\tNV2\tNV1\tNV2\tX\t0\n' >"$tmp/half_cube.txt"
check smi_unlike_links "$(all_reduce_times "$tmp/half_cube.txt" 4 analytic)" "$(all_reduce_times "gpu=v100 node=4 nvlink=100GB/s inside=full" 4 analytic)"
expect smi_unlike_links_said 0 'GPUs have 4 to 5 NVLinks: the fewest count' "$STEPCAST" show --cluster "$tmp/half_cube.txt"
# four links at most may be four of 20 GB/s of a P100
sed '/^GPU2/s/NV2$/NV1/; /^GPU2/s/NV2\t0/NV1\t0/; /^GPU3/s/NV2\tX/NV1\tX/' "$tmp/half_cube.txt" >"$tmp/p100.txt"
expect smi_four_links 3 'give nvlink=' "$STEPCAST" show --cluster "$tmp/p100.txt"
expect smi_four_links_known 0 '4 × p100, full mesh 80 GB/s a GPU' "$STEPCAST" show --cluster "$tmp/p100.txt gpu=p100 nvlink=80GB/s"
expect smi_four_links_of_v100 0 '4 × v100, full mesh 100 GB/s a GPU' "$STEPCAST" show --cluster "$tmp/p100.txt gpu=v100"
# of GPUs behind NVSwitches one of which lost a link the rate is to be said
smi_table NV18 8 | awk 'BEGIN { FS = OFS = "\t" } /^GPU3/ { gsub("NV18", "NV17") } /^GPU/ && !/^GPU3/ { $5 = "NV17" } 1' >"$tmp/lost.txt"
expect smi_lost_link 3 'give nvlink=450GB/s' "$STEPCAST" show --cluster "$tmp/lost.txt"
expect smi_lost_link_of_h100 0 '8 × h100-sxm, NVSwitch 425 GB/s a GPU' "$STEPCAST" show --cluster "$tmp/lost.txt gpu=h100-sxm"
expect smi_lost_link_known 0 'GPUs have 17 to 18 NVLinks: the fewest count' "$STEPCAST" show --cluster "$tmp/lost.txt nvlink=425GB/s"
expect smi_shown 0 'is        links of a node (nvidia-smi topo -m)' "$STEPCAST" show "$tmp/cube.txt"
expect smi_nodes_without_a_rate 3 'give nics=8 nic=400Gbps' "$STEPCAST" coll all_reduce --cluster "$tmp/hopper.txt" --gpus 16
sed 's/GPU5/GPU0/' "$tmp/cube.txt" >"$tmp/twice.txt"
expect smi_row_twice 3 'twice.txt:7:1: error: this row stands there twice' "$STEPCAST" show --cluster "$tmp/twice.txt"
head -5 "$tmp/cube.txt" >"$tmp/rows.txt"
expect smi_cut 3 'the row of GPU4 is missing' "$STEPCAST" show --cluster "$tmp/rows.txt"
sed '3s/\tNV2.*//' "$tmp/cube.txt" >"$tmp/columns.txt"
expect smi_cut_line 3 'columns.txt:3:1: error: 3 of 8 columns' "$STEPCAST" show --cluster "$tmp/columns.txt"
sed '3s/NV1/NV9/' "$tmp/cube.txt" >"$tmp/skew.txt"
expect smi_two_ways 3 'GPU0 and GPU1 are joined in two ways' "$STEPCAST" show --cluster "$tmp/skew.txt"
sed 's/NV2/NV99/' "$tmp/cube.txt" >"$tmp/many.txt"
expect smi_too_many 3 "'NV99' is no path between GPU0 and GPU2" "$STEPCAST" show --cluster "$tmp/many.txt"
printf 'GPU0 CPU Affinity\n' >"$tmp/bare.txt"
expect smi_no_rows 3 'the row of GPU0 is missing' "$STEPCAST" show "$tmp/bare.txt"

{ cat "$tmp/slots.txt"; echo; cat "$tmp/hopper.txt"; } >"$tmp/machines.txt"
expect smi_two_tables 0 "machines.txt:$(($(wc -l <"$tmp/slots.txt") + 2)): another table begins here; the first is taken" "$STEPCAST" show --cluster "$tmp/machines.txt"
expect smi_no_nvlinks 0 'topo -mp leaves them out' "$STEPCAST" show --cluster "$tmp/slots.txt"
sed 's/SYS/GNS/g' "$tmp/slots.txt" >"$tmp/peers.txt"
expect smi_of_peers 3 "hint: give what 'nvidia-smi topo -m' prints" "$STEPCAST" show --cluster "$tmp/peers.txt"

# ibnetdiscover: 8 hosts of two adapters, a leaf for each rail, two spines above
ib_fabric() { # HOSTS UPLINKS
    awk -v hosts="$1" -v up="$2" 'function head(s) { printf "\nvendid=0x2c9\nswitchguid=0x%s(%s)\nSwitch\t40 \"S-%s\"\t\t# \"MF0;%s\" enhanced port 0 lid 1 lmc 0\n", s, s, s, s }
    BEGIN {
        print "#\n# Topology file: generated on a day\n#"
        for (l = 0; l < 2; l++) {
            head("leaf" l)
            for (h = 1; h <= hosts; h++) printf "[%d]\t\"H-%04d%d\"[1](%d%d) \t\t# \"node%d mlx5_%d\" lid %d 4xHDR\n", h, h, l, h, l, h, l, h
            for (s = 0; s < 2; s++) for (u = 0; u < up; u++) printf "[%d]\t\"S-spine%d\"[%d]\t\t# \"MF0;spine%d\" lid 3 4xHDR\n", hosts + s * up + u + 1, s, l * up + u + 1, s
        }
        for (s = 0; s < 2; s++) {
            head("spine" s)
            for (l = 0; l < 2; l++) for (u = 0; u < up; u++) printf "[%d]\t\"S-leaf%d\"[%d]\t\t# \"MF0;leaf%d\" lid 1 4xHDR\n", l * up + u + 1, l, hosts + s * up + u + 1, l
        }
        for (h = 1; h <= hosts; h++) printf "\nvendid=0x2c9\ncaguid=0x%d\nCa\t1 \"H-%04d0\"\t\t# \"node%d mlx5_0\"\n[1](%d0) \t\"S-leaf0\"[%d]\t\t# lid %d lmc 0 \"MF0;leaf0\" lid 1 4xHDR\n", h, h, h, h, h, h
    }'
}
ib_fabric 8 4 >"$tmp/fabric.txt"
rails="gpu=a100-80 node=2 nics=2 nic=200Gbps fabric=rail class=ib"
check ib_as_rails "$(all_reduce_times "$tmp/fabric.txt" 16 flow)" "$(all_reduce_times "$rails" 16 flow)"
check ib_as_rails_in_closed_form "$(all_reduce_times "$tmp/fabric.txt" 16 analytic)" "$(all_reduce_times "$rails" 16 analytic)"
# in Markdown, below what iblinkinfo says of it
linkinfo='CA: host0 mlx5_0:
      0x0002c9030000c89b      3    1[  ] ==( 4X          50.0 Gbps Active/  LinkUp)==>       2   36[  ] "leaf0" ( )'
{ printf '```\n%s\n```\n* ibnetdiscover = the same\n```sh\n' "$linkinfo"; cat "$tmp/fabric.txt"; printf '```\nThat is all.\n'; } >"$tmp/pasted.md"
check ib_in_markdown "$(all_reduce_times "$tmp/pasted.md" 16 flow)" "$(all_reduce_times "$rails" 16 flow)"
echo "$linkinfo" >"$tmp/linkinfo.txt"
expect ib_linkinfo 3 'give what ibnetdiscover prints of it' "$STEPCAST" show --cluster "$tmp/linkinfo.txt"
check ib_with_another_gpu "$(all_reduce_times "$tmp/fabric.txt gpu=h100-sxm" 16 flow)" "$(all_reduce_times "gpu=h100-sxm node=2 nics=2 nic=200Gbps fabric=rail class=ib" 16 flow)"
ib_fabric 8 2 >"$tmp/thin.txt"
expect ib_oversubscribed 0 '40 links, 8 NVSwitches, 4 switches, leaves 2:1' "$STEPCAST" show "$tmp/thin.txt"
ib_fabric 10 5 >"$tmp/ten.txt" # node10 comes after node9: the last two are left with one adapter each
sed '/"node9 mlx5_1"/d; /"node10 mlx5_0"/d' "$tmp/ten.txt" >"$tmp/other.txt"
expect ib_other_hosts 0 '2 of 10 hosts have another number of ports than 2' "$STEPCAST" show "$tmp/other.txt"
sed '/mlx5_1/s/4xHDR/4xEDR/' "$tmp/fabric.txt" >"$tmp/slow.txt"
expect ib_slower_ports 0 '8 ports slower than others' "$STEPCAST" show "$tmp/slow.txt"
expect ib_word 2 'its links are given one by one' "$STEPCAST" show --cluster "$tmp/fabric.txt nic=100Gbps"
sed 's/ 4xHDR$//' "$tmp/fabric.txt" >"$tmp/speeds.txt"
expect ib_no_speed 3 'speeds.txt:8:1: error: width and speed' "$STEPCAST" show "$tmp/speeds.txt"
sed '/S-spine1" *#/,/^$/d; /S-spine1"\t\t#/,$d' "$tmp/fabric.txt" >"$tmp/half.txt"
expect ib_cut 3 'a switch that is not listed: is the file cut off' "$STEPCAST" show "$tmp/half.txt"
sed '/"S-leaf1"\[9\]/d' "$tmp/fabric.txt" >"$tmp/one_end.txt"
expect ib_one_end 3 'listed by one end only' "$STEPCAST" show "$tmp/one_end.txt"
sed 's/"S-spine1"\t\t/"S-spine0"\t\t/' "$tmp/fabric.txt" >"$tmp/same.txt"
expect ib_switch_twice 3 'this switch stands there twice' "$STEPCAST" show "$tmp/same.txt"
sed '/"node3 mlx5_0" lid/p' "$tmp/fabric.txt" >"$tmp/twice.txt"
expect ib_port_twice 3 'twice.txt:11:1: error: this port of the switch stands there twice' "$STEPCAST" show "$tmp/twice.txt"
sed 's/"H-00030"\[1\]/"H-00020"[1]/' "$tmp/fabric.txt" >"$tmp/two.txt"
expect ib_adapter_twice 3 'two.txt:10:1: error: this port of the adapter is joined to another switch too' "$STEPCAST" show "$tmp/two.txt"
sed 's/^\[3\]/[three]/' "$tmp/fabric.txt" >"$tmp/port.txt"
expect ib_no_port 3 "begins with '[port]'" "$STEPCAST" show "$tmp/port.txt"
printf 'switchguid=0x1(1)\nSwitch 40 "S-1" # "lone"\n' >"$tmp/lone.txt"
expect ib_no_adapter 3 'no switch in it leads to an adapter' "$STEPCAST" show "$tmp/lone.txt"
# a file with changes, as a preset may have them
expect file_with_words 0 'a100-80, NVSwitch 100 GB/s' "$STEPCAST" show --cluster "$tmp/hopper.txt gpu=a100-80 nvlink=100GB/s"
mkdir "$tmp/mixed" && cp "$tmp/fabric.txt" "$tmp/cube.txt" "$tmp/mixed" && mkdir "$tmp/mixed/below"
expect folder_counts 0 '2 files, 1 folder' "$STEPCAST" show "$tmp/mixed"
# three nodes on one leaf: the smaller half sends all it can
expect full-mesh 0 "bisection 1.024 TB/s, 57.1 %" "$STEPCAST" show --cluster amd-mi300x:8
# links from every GPU to every other are no V100's cube: two GPUs have one of seven links (300 GB/s) between them
full="gpu=a100 gpus=8 node=8 inside=full nvlink=2100GB/s nics=8 nic=100Gbps class=roce"
{
    echo '9 8 0 1 36 A100' && echo 8
    for a in 0 1 2 3 4 5 6 7; do
        for b in 0 1 2 3 4 5 6 7; do [ "$a" -ge "$b" ] || echo "$a $b 2400Gbps 0.000025ms 0"; done
        echo "$a 8 100Gbps 0.0005ms 0"
    done
} >"$tmp/every_pair"
expect mesh_of_every_pair 0 "bisection 4.8 TB/s, 57.1 %" "$STEPCAST" show --cluster "$tmp/every_pair"
check two_of_a_full_mesh "$("$STEPCAST" coll alltoall --cluster "$tmp/every_pair" --gpus 2 -b 1G -e 1G | awk '!/^#/ && NF { print ($8 < 300) }')" 1
for gpus in 2 4 8; do check "full_mesh_of_links_$gpus" "$(all_reduce_times "$tmp/every_pair" $gpus analytic)" "$(all_reduce_times "$full" $gpus analytic)"; done
expect odd-nodes 0 "bisection 400 GB/s, 100 %" "$STEPCAST" show --cluster dgx-h100:24

# a GPU with a slower NIC than the others, 12.5 GB/s: half of what its node sends, three quarters of 64 MiB, goes through it; one with none; links that lose packets
unlike() { printf '7 2 2 1 8 H100\n4 5 6\n'; for gpu in 0 1 2 3; do echo "$gpu $((4 + gpu / 2)) 2880Gbps 0.000025ms 0"; done; for gpu in 0 1 2; do echo "$gpu 6 400Gbps 0.0005ms $2"; done; echo "$1"; }
unlike "3 6 100Gbps 0.0005ms 0" 0 >"$tmp/slow"
expect unlike_links 0 "GPU 3 360 GB/s NVLink and 12.5 GB/s NIC, GPU 0 360 and 50" "$STEPCAST" coll all_gather -c "$tmp/slow" --gpus 4 -b 64M -e 64M
check unlike_links_slow "$("$STEPCAST" coll all_gather -c "$tmp/slow" --gpus 4 -b 64M -e 64M --net analytic,flow | awk '!/^#/ {least = 0.75 * 67108864 / 25e3; print ($2 > least), ($3 > least)}')" "1 1"
unlike "2 6 400Gbps 0.0005ms 0" 0 >"$tmp/cut_off"
expect cut_off_gpu 3 "GPU 3 has no link to the network, others have" "$STEPCAST" coll all_gather -c "$tmp/cut_off" --gpus 4
unlike "3 6 400Gbps 0.0005ms 0" 0.001 >"$tmp/losing"
expect losing_links 0 "ERROR_RATE_PER_LINK=0.001 loses as many" "$STEPCAST" coll all_gather -c "$tmp/losing" --gpus 4
