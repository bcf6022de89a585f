/* gpu_fields: the keys of a GPU's file and where their numbers live. */
#include "hardware/gpu_read.h"

#include <stddef.h>

#define AT(member) offsetof(struct sc__gpu, member)
#define DTYPE(member) offsetof(struct sc__gemm_dtype, member)
#define HOST(member) offsetof(struct sc__host_constants, member)

/* Bounds: a thousand and more times what there is (docs/formats.md). */
const struct sc__gpu_field sc__gpu_sheet_fields[] = {
    {"memory_gib", AT(memory), 1e6},
    {"dram_tbs", AT(dram), 1e5},
    {"l2_mb", AT(l2), 1e6},
    {"sms", AT(sms), 1e6},
    {"boost_mhz", AT(boost_mhz), 1e6},
    {"nvlink_gbs", AT(nvlink), 1e7},
    {"nvlink_gpus", AT(nvlink_gpus), 1e6},
    {"tdp_w", AT(tdp), 1e7},
    {"usd_per_hour", AT(usd_per_hour), 1e5},
    {0}};
const struct sc__gpu_field sc__gpu_gemm_fields[] = {
    {"r", AT(gemm.r)},
    {"b", AT(gemm.b)},
    {"te", AT(gemm.te)},
    {"t0", AT(gemm.t0)},
    {"ts", AT(gemm.ts)},
    {"rp", AT(gemm.rp)},
    {"most", AT(gemm.most)},
    {"peak", AT(gemm.peak), SC__GPU_MOST_TFLOPS},
    {"bw", AT(gemm.bw)},
    {"q", AT(gemm.q)},
    {"w", AT(gemm.w)},
    {"write", AT(gemm.write)},
    {"wave", AT(gemm.wave)},
    {"resident", AT(gemm.resident)},
    {"split", AT(gemm.split)},
    {"split_k", AT(gemm.split_k)},
    {"split_odd", AT(gemm.split_odd)},
    {"odd", AT(gemm.odd)},
    {"cache", AT(gemm.cache)},
    {"cache_b", AT(gemm.cache_b)},
    {"cache_bw", AT(gemm.cache_bw)},
    {"edge", AT(gemm.edge)},
    {"cache_out", AT(gemm.cache_out)},
    {"write_long", AT(gemm.write_long)},
    {"ramp", AT(gemm.ramp)},
    {"hot", AT(gemm.hot)},
    {"hot_us", AT(gemm.hot_us)},
    {"limit", AT(gemm.limit)},
    {"limit_us", AT(gemm.limit_us)},
    {"replay", AT(gemm.replay)},
    {"tick", AT(gemm.tick)},
    {"tick_start", AT(gemm.tick_start)},
    {0}};
const struct sc__gpu_field sc__gpu_dtype_fields[] = {{"r", DTYPE(r)},
                                                     {"b", DTYPE(b)},
                                                     {"rp", DTYPE(rp)},
                                                     {"te", DTYPE(te)},
                                                     {"t0", DTYPE(t0)},
                                                     {"bw", DTYPE(bw)},
                                                     {"dgrad", DTYPE(dgrad)},
                                                     {"wgrad", DTYPE(wgrad)},
                                                     {"tile", DTYPE(tile)},
                                                     {"rows", DTYPE(rows)},
                                                     {"energy", DTYPE(energy)},
                                                     {"sustained", DTYPE(sustained), 1},
                                                     {"felt", DTYPE(felt)},
                                                     {"limited", DTYPE(limited)},
                                                     {0}};
const struct sc__gpu_field sc__gpu_grouped_fields[] = {
    {"step", AT(grouped.step)},
    {"memory", AT(grouped.memory)},
    {"tile", AT(grouped.tile)},
    {"t0", AT(grouped.t0)},
    {"one_by_one", AT(grouped.one_by_one)},
    {"together", AT(grouped.together)},
    {"one_by_one_wgrad", AT(grouped.one_by_one_wgrad)},
    {"together_wgrad", AT(grouped.together_wgrad)},
    {0}};
const struct sc__gpu_field sc__gpu_moe_fields[] = {{"fixed", AT(moe.fixed)},
                                                   {"expert", AT(moe.expert)},
                                                   {"permute", AT(moe.permute)},
                                                   {"sort", AT(moe.sort)},
                                                   {"b", AT(moe.b)},
                                                   {"r", AT(moe.r)},
                                                   {"te", AT(moe.te)},
                                                   {"wave", AT(moe.wave)},
                                                   {"bw", AT(moe.bw)},
                                                   {"rp", AT(moe.rp)},
                                                   {"q", AT(moe.q)},
                                                   {"cache", AT(moe.cache)},
                                                   {"saved", AT(moe.saved)},
                                                   {"pad", AT(moe.pad)},
                                                   {"step", AT(moe.step)},
                                                   {"rows_8", AT(moe.rows[0])},
                                                   {"rows_16", AT(moe.rows[1])},
                                                   {"rows_32", AT(moe.rows[2])},
                                                   {"rows_64", AT(moe.rows[3])},
                                                   {"rows_128", AT(moe.rows[4])},
                                                   {"columns_64", AT(moe.columns[0])},
                                                   {"columns_128", AT(moe.columns[1])},
                                                   {"columns_256", AT(moe.columns[2])},
                                                   {0}};
const struct sc__gpu_field sc__gpu_batched_fields[] = {{"step", AT(batched.step)},
                                                       {"memory", AT(batched.memory)},
                                                       {"t0", AT(batched.t0)},
                                                       {0}};
const struct sc__gpu_field sc__gpu_unaligned_fields[] = {
    {"even", AT(unaligned.even)},
    {"odd", AT(unaligned.odd)},
    {"odd_n", AT(unaligned.odd_n)},
    {"odd_dgrad", AT(unaligned.odd_dgrad)},
    {"odd_wgrad", AT(unaligned.odd_wgrad)},
    {"te", AT(unaligned.te)},
    {"tf32", AT(unaligned.tf32)},
    {"tf32_wgrad", AT(unaligned.tf32_wgrad)},
    {0}};
const struct sc__gpu_field sc__gpu_power_fields[] = {
    {"idle_w", AT(power.idle)},
    {"per_tflops", AT(power.per_tflops)},
    {"per_tbs", AT(power.per_tbs)},
    {"limit_w", AT(power.limit)},
    {"slope", AT(power.slope)},
    {"beta_gemm", AT(power.beta[SC__KERNEL_GEMM])},
    {"beta_attention", AT(power.beta[SC__KERNEL_ATTENTION])},
    {"beta_memory", AT(power.beta[SC__KERNEL_MEMORY])},
    {"onset_us", AT(power.onset_us)},
    {0}};
const struct sc__gpu_field sc__gpu_host_fields[] = {
    {"forward", HOST(forward)},
    {"backward_grad", HOST(backward_grad)},
    {"backward_loss", HOST(backward_loss)},
    {"outside_forward", HOST(outside_forward)},
    {"outside_backward", HOST(outside_backward)},
    {"optimizer_layer", HOST(optimizer_layer)},
    {"optimizer_fixed", HOST(optimizer_fixed)},
    {0}};
const struct sc__gpu_field sc__gpu_other_fields[] = {
    {"bias", AT(bias)},
    {"accumulate_element", AT(accumulate.element)},
    {"accumulate_over_k", AT(accumulate.over_k)},
    {"elementwise_bw", AT(elementwise_bw)},
    {"elementwise_t0", AT(elementwise_t0)},
    {"gap", AT(gap)},
    {"launches_gemm", AT(launches[SC__KERNEL_GEMM])},
    {"launches_attention", AT(launches[SC__KERNEL_ATTENTION])},
    {"launches_memory", AT(launches[SC__KERNEL_MEMORY])},
    {0}};

const char *const sc__gpu_software_names[] = {"current", "flash2", "flash1", NULL};
const char *const sc__gpu_exchange_names[] = {
    "dispatch", "combine", "dispatch_ll", "combine_ll", NULL};
const char *const sc__gpu_batched_names[] = {"batched_fp32",
                                             "batched_tf32",
                                             "batched_tf32_unaligned",
                                             "batched_unaligned",
                                             "batched_odd",
                                             "product_fp32",
                                             "product_tf32",
                                             "product_tf32_dgrad",
                                             "product_tf32_wgrad",
                                             NULL};
const char *const sc__gpu_serving_names[] = {"trtllm", "vllm", "sglang", NULL};
const char *const sc__gpu_sequence_names[] = {
    "conv", "conv_update", "delta", "delta_update", NULL};
const char *const sc__gpu_phase_names[] = {
    "context", "generation", "mla_context", "mla_generation", NULL};
const char *const sc__gpu_serving_types[] = {"bf16", "fp8_cache", "fp8", NULL};
const char *const sc__gpu_host_names[] = {"gpt", "llama", NULL};
