#!/bin/sh
# What `nsys stats` prints of kernels, as text and as CSV.
: "${STEPCAST:?}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/tools/expect

# nsys stats: kernels and copies once each, whatever stands beside them; a CSV of the same
stats=tests/fuzz/corpus/nsys_stats
stats_us() { "$STEPCAST" run "$@" --json - 2>/dev/null | sed -n 's/.*"step_time_us": \([0-9.]*\).*/\1/p' | head -1; }
check stats_sum "$(stats_us $stats/reports.txt)" 10500
check stats_classes "$("$STEPCAST" show $stats/reports.txt | awk '/where the time goes/ { on = 1 } /longest parts/ { on = 0 } on && /%/ { print $1, $2 }' | paste -sd,)" "gemm 6.000,attention 2.500,communication 1.500,copy 500.0"
expect stats_one_step 0 'sums over a whole profile' "$STEPCAST" run $stats/reports.txt
sed -n '/Kernel Summary/,/RING_LL/p' $stats/reports.txt | sed '/^ *$/d; /\*\*/d; /----/d; s/,//g; s/   */,/g; s/^,//; s/^ //' >"$tmp/kernels.csv"
check stats_csv "$(stats_us "$tmp/kernels.csv")" 10000
# rows of 85 %: what was cut is kept
check stats_cut "$(stats_us $stats/kernels.csv)" 10000
expect stats_cut_said 0 'its rows are 85.0 % of the time' "$STEPCAST" show $stats/kernels.csv
{ cat $stats/reports.txt; echo; sed -n '/Kernel Summary/,$p' $stats/reports.txt; } >"$tmp/twice.txt"
check stats_first_table "$(stats_us "$tmp/twice.txt")" 10500
expect stats_tables_said 0 'several tables of kernels; the first is taken' "$STEPCAST" run "$tmp/twice.txt"
sed '/gemm/s/20 .*/20/' $stats/reports.txt >"$tmp/cut.txt"
expect stats_row_cut 3 'cut.txt:13:6: error: the row is cut' "$STEPCAST" show "$tmp/cut.txt"
sed 's/6,000,000 /6,000,000ns/' $stats/reports.txt >"$tmp/unit.txt"
expect stats_no_time 3 "not a time: '6,000,000ns" "$STEPCAST" show "$tmp/unit.txt"
sed '/Kernel Summary/,$d' $stats/reports.txt | sed 's/$/ Instances/' >"$tmp/host.txt"
expect stats_no_kernels 3 'cuda_gpu_kern_sum REPORT.nsys-rep prints them' "$STEPCAST" show "$tmp/host.txt"
# the mean beside a total: points and commas that part thousands otherwise, a total of another unit
sed 's/6,000,000 /6.000.000 /' $stats/reports.txt >"$tmp/points.txt"
expect stats_points_between_thousands 3 "not a time: '6.000.000'" "$STEPCAST" show "$tmp/points.txt"
sed 's/6,000,000 /6000.000  /' $stats/reports.txt >"$tmp/slip.txt"
expect stats_total_of_another_unit 3 "slip.txt:13:18: error: the total is not that of the calls: '6000.000'" "$STEPCAST" show "$tmp/slip.txt"
sed 's/300,000.0/300000,0/' $stats/reports.txt >"$tmp/decimals.txt"
expect stats_decimal_comma 3 "not a mean time: '300000,0'" "$STEPCAST" show "$tmp/decimals.txt"
sed 's/Avg (ns)/Average /; s/300,000.0/300000  /' $stats/reports.txt >"$tmp/older.txt"
check stats_average "$(stats_us "$tmp/older.txt")" 10500
sed 's/Avg (us)/Avg (ms)/' $stats/kernels.csv >"$tmp/units.csv"
check stats_mean_of_another_unit "$(stats_us "$tmp/units.csv")" 10000
sed '4s/softmax.*/"softmax_war/' $stats/kernels.csv >"$tmp/open.csv"
expect stats_open_quote 3 "open.csv:4:1: error: the row is cut" "$STEPCAST" show "$tmp/open.csv"

# 2020: the unit stands in the title, copies have a Name, host calls are Calls; KiB are no times
cat >"$tmp/2020.txt" <<'T'
CUDA API Statistics (nanoseconds)

Time(%)  Total Time  Calls      Average   Minimum    Maximum  Name
-------  ----------  -----  -----------  --------  ---------  ----------------
  100.0   294859478      2  147429739.0    675112  294184366  cudaMalloc
Generating CUDA Kernel Statistics...
CUDA Kernel Statistics (nanoseconds)

Time(%)  Total Time   Instances  Average   Minimum    Maximum  Name
-------  ----------  ----------  -------   -------  ---------  --------------------
   75.0       30000           3  10000.0      9000      11000  turing_fp16_s1688gemm_fp16_128x256
   25.0       10000           2   5000.0      4000       6000  softmax

CUDA Memory Operation Statistics (nanoseconds)

Time(%)  Total Time  Operations     Average   Minimum   Maximum  Name
-------  ----------  ----------  ----------  --------  --------  ------------------
  100.0       60000           2     30000.0     20000     40000  [CUDA memcpy HtoD]

CUDA Memory Operation Statistics (KiB)

   Total  Operations   Average     Minimum   Maximum  Name
--------  ----------  --------  ----------  --------  ------------------
538906.0           2  269453.0  250000.000  288906.0  [CUDA memcpy HtoD]
T
check stats_unit_in_the_title "$(stats_us "$tmp/2020.txt")" 100
check stats_copies_of_2020 "$("$STEPCAST" show "$tmp/2020.txt" | awk '$1 == "copies" { print $2, $3 }')" "60.00 us"
sed 's/nanoseconds/microseconds/' "$tmp/2020.txt" >"$tmp/2020us.txt"
check stats_other_unit_in_the_title "$(stats_us "$tmp/2020us.txt")" 100000
sed '/Kernel Statistics (/d' "$tmp/2020.txt" >"$tmp/untitled.txt"
expect stats_without_a_unit 3 'there is no table of kernels in it' "$STEPCAST" run "$tmp/untitled.txt" --format nsys-stats
