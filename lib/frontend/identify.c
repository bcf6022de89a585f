#include "frontend/identify.h"

#include "frontend/reader.h"

#include <string.h>

#define IDENTIFY_HEAD ((size_t)64 << 10)

/* All words of a row stand in the first bytes; the first row that fits counts. */
static const struct {
    const char *begins; /* the first characters that are no blanks, or NULL */
    const char *words[4];
    struct sc__identity is;
} identities[] = {
    {"{",
     {"\"stepcast/result/"},
     {"a result of stepcast", "stepcast report FILE, stepcast compare FILE OTHER"}},
    {"{",
     {"\"stepcast/failures/"},
     {"a set of failures", "stepcast train --model MODEL --failures FILE"}},
    {"{",
     {"\"stepcast/software/"},
     {"a software profile", "stepcast run --model MODEL --software FILE"}},
    {"{",
     {"\"stepcast/cluster/"},
     {"a cluster", "stepcast run INPUT --cluster FILE", SC__READ_AS_CLUSTER}},
    {"{",
     {"\"peak_tflops\"", "\"dram_tbs\""},
     {"a GPU", "stepcast run --model MODEL --gpu FILE"}},
    {"{",
     {"\"schema\": \"stepcast/"},
     {"an answer of stepcast that no command reads",
      "give a result that 'run --json FILE' has saved"}},
    {"{",
     {"\"model_type\""},
     {"a model of Hugging Face (config.json)",
      "stepcast run --model FILE",
      SC__READ_AS_MODEL}},
    {"{",
     {"\"architectures\""},
     {"a model of Hugging Face (config.json)",
      "stepcast run --model FILE",
      SC__READ_AS_MODEL}},
    {"{",
     {"\"schema\"", "\"nodes\"", "\"op_schema\""},
     {"an execution trace of PyTorch's host (ExecutionTraceObserver)",
      "it has no times of the device: stepcast run KINETO.json --host-trace FILE, with the "
      "Kineto trace of the same run"}},
    {"{",
     {"\"schema\"", "\"nodes\"", "\"fw_parent\""},
     {"an execution trace of PyTorch's host (ExecutionTraceObserver)",
      "it has no times of the device: stepcast run KINETO.json --host-trace FILE, with the "
      "Kineto trace of the same run"}},
    {"{",
     {"\"schema\"", "\"nodes\"", "\"ctrl_deps\""},
     {"an execution trace of PyTorch's host (ExecutionTraceObserver)",
      "it has no times of the device: stepcast run KINETO.json --host-trace FILE, with the "
      "Kineto trace of the same run"}},
    {"{",
     {"\"workload_graph\"", "\"NodeType\""},
     {"a Chakra graph in ASTRA-sim's own JSON",
      "give its .et files, or what chakra_jsonizer makes of them: stepcast run DIR"}},
    {"[",
     {"\"pid\": \"CPU functions\""},
     {"a trace of torch.autograd.profiler",
      "it does not say when kernels ran: give that of torch.profiler, or the table, "
      "prof.key_averages().table()"}},
    {"{",
     {"\"traceEvents\"", "highres-ticks"},
     {"a trace of XLA's profiler (JAX, TensorFlow)",
      "profile with Nsight Systems: nsys export --type sqlite REPORT.nsys-rep"}},
    {NULL,
     {"\"ph\"", "Ascend Hardware"},
     {"a trace of Ascend's NPUs (torch_npu)",
      "give the table of the same profile: prof.key_averages().table()"}},
    {NULL,
     {"\"ph\"", "CommHash"},
     {"a trace of NCCL's profiler plugin",
      "it has no kernels of the step: give the trace of torch.profiler"}},
    {"{",
     {"\"device_traces\"", "\"segments\""},
     {"a snapshot of PyTorch's memory",
      "what a step needs is forecast: stepcast run --model MODEL --cluster C"}},
    {NULL,
     {"CUDA memory summary", "Allocated memory"},
     {"a summary of PyTorch's memory (torch.cuda.memory_summary)",
      "what a step needs is forecast: stepcast run --model MODEL --cluster C"}},
    {NULL,
     {"DeepSpeed Flops Profiler"},
     {"what DeepSpeed's flops profiler prints",
      "give the table of PyTorch's profiler: prof.key_averages().table()"}},
    {NULL,
     {"==PROF==", "Section: "},
     {"kernels by Nsight Compute",
      "it has no step: nsys stats --report cuda_gpu_kern_sum REPORT.nsys-rep has all "
      "kernels"}},
    {NULL,
     {"Profiling result:", "Time(%)", "GPU activities:"},
     {"a summary of nvprof",
      "give what a newer profiler says: nsys stats, or prof.key_averages().table()"}},
    {NULL,
     {"comp_time", "input_loc", "weight_loc"},
     {"a batch of LLMServingSim",
      "give the Chakra traces that its converter makes of it: stepcast run DIR"}},
    {"{",
     {"\"dimensions-count\"", "\"topologies-per-dim\""},
     {"a network of ASTRA-sim 1 (JSON)",
      "stepcast run INPUT --cluster FILE",
      SC__READ_AS_CLUSTER}},
    {"{",
     {"\"preferred-dataset-splits\""},
     {"a system of ASTRA-sim (JSON)", "stepcast run TRACES --astra-system FILE"}},
    {NULL,
     {"scheduling-policy:", "preferred-dataset-splits:"},
     {"a system of ASTRA-sim 1 (text)",
      "write it as ASTRA-sim 2's JSON for stepcast run TRACES --astra-system FILE"}},
    {NULL,
     {"topology:", "npus_count:", "bandwidth:"},
     {"a network of ASTRA-sim 2 (YAML)",
      "stepcast run TRACES --astra-network FILE, or --cluster FILE for any input",
      SC__READ_AS_CLUSTER}},
    {NULL,
     {"Start (ns)", "Duration (ns)", "CorrId"},
     {"a list of kernels by Nsight Systems (nsys stats, cuda_gpu_trace)",
      "give the export that it was made of (nsys export --type sqlite), or "
      "nsys stats --report cuda_gpu_kern_sum"}},
    {NULL,
     {"TotalDurationNs", "AverageNs"},
     {"sums of kernels by rocprof (CSV)",
      "give what PyTorch's profiler says of the run: prof.key_averages().table(), or its "
      "trace"}},
    {"{",
     {"\"results\"", "\"out_of_place\"", "\"alg_bw\""},
     {"results of nccl-tests as JSON",
      "give what it prints: stepcast coll COLLECTIVE --cluster C --against LOG"}},
    {NULL,
     {"numCycle", "algbw", "busbw", "inplace"},
     {"results of rccl-tests as CSV",
      "give what it prints: stepcast coll COLLECTIVE --cluster C --against LOG"}},
    {"<graphs",
     {"<channel"},
     {"rings and trees that NCCL chose (XML, NCCL_GRAPH_DUMP_FILE)",
      "give its description of the node, NCCL_TOPO_DUMP_FILE: stepcast run INPUT --cluster "
      "FILE"}},
    {"<",
     {"<system", "<pci"},
     {"NCCL's description of a node (XML, NCCL_TOPO_DUMP_FILE)",
      "stepcast run INPUT --cluster FILE: a cluster of such nodes",
      SC__READ_AS_CLUSTER}},
    {"<",
     {"<topology", "<object type="},
     {"a machine as hwloc sees it (XML, lstopo)",
      "give what nvidia-smi topo -m prints, or NCCL's description of the node "
      "(NCCL_TOPO_DUMP_FILE): stepcast run INPUT --cluster FILE"}},
    {NULL,
     {"redop", "algbw", "busbw"},
     {"a log of nccl-tests", "stepcast coll COLLECTIVE --cluster C --against FILE"}},
    {NULL,
     {"NCCL INFO ", "nranks "},
     {"what NCCL says of itself (NCCL_DEBUG=INFO)",
      "NCCL_TOPO_DUMP_FILE has it describe the node, for --cluster; nccl-tests measure: "
      "stepcast coll COLLECTIVE --cluster C --against LOG"}},
    {NULL,
     {"elapsed time per iteration (ms):"},
     {"a log of Megatron's training",
      "give the script that launched it: stepcast run FILE"}},
    {NULL,
     {"LINK TYPE TABLE", "XGMI"},
     {"links of a node of AMD's GPUs (amd-smi topology)",
      "name the machine, --cluster amd-mi300x:8, or give RCCL's description of it "
      "(NCCL_TOPO_DUMP_FILE)"}},
    {NULL,
     {"GPU0", "between two GPUs"},
     {"links of a node of AMD's GPUs (rocm-smi --showtopo)",
      "name the machine, --cluster amd-mi300x:8, or give RCCL's description of it "
      "(NCCL_TOPO_DUMP_FILE)"}},
    {NULL,
     {"GPU0", "CPU Affinity"},
     {"links of a node (nvidia-smi topo -m)",
      "stepcast run INPUT --cluster \"FILE gpu=NAME nic=400Gbps\": a cluster of such nodes",
      SC__READ_AS_CLUSTER}},
    {NULL,
     {"Switch", "switchguid="},
     {"an InfiniBand fabric (ibnetdiscover)",
      "stepcast run INPUT --cluster \"FILE gpu=NAME\"",
      SC__READ_AS_CLUSTER}},
    {NULL,
     {"==(", "LinkUp", "[  ]"},
     {"an InfiniBand fabric (iblinkinfo)",
      "give what ibnetdiscover prints of it: stepcast run INPUT --cluster \"FILE "
      "gpu=NAME\""}},
    {NULL,
     {"train_iter", "time_gpu_avg:"},
     {"times of the pieces of a layer (AIOB of AICB)",
      "stepcast run --model MODEL --kernel-times FILE"}},
    {NULL,
     {"Nodes ", "Tiers ", "Radix_Down"},
     {"a fat tree of htsim (.topo)",
      "stepcast run INPUT --cluster FILE",
      SC__READ_AS_CLUSTER}},
    {"{",
     {"pipe-parallel-size\""},
     {"a configuration of GPT-NeoX", "stepcast run FILE --gpus N"}},
    {"{",
     {"pipe_parallel_size\""},
     {"a configuration of GPT-NeoX", "stepcast run FILE --gpus N"}},
    {"{",
     {"\"zero_optimization\""},
     {"a configuration of DeepSpeed", "stepcast run FILE --model MODEL"}},
    {NULL,
     {"ENV_VARS:", "MODEL_ARGS:"},
     {"flags of Megatron in YAML", "stepcast run FILE"}},
    {NULL,
     {"import ", "tensor_model_parallel_size", "def "},
     {"a recipe in Python (NeMo, Megatron-Bridge)", "stepcast run FILE"}},
    {NULL,
     {"import ", "tensor_model_parallel_size="},
     {"a recipe in Python (NeMo, Megatron-Bridge)", "stepcast run FILE"}},
    {NULL,
     {"import ", ".pretrain_recipe("},
     {"a recipe in Python (NeMo, Megatron-Bridge)", "stepcast run FILE"}},
    {NULL,
     {"import ", ".finetune_recipe("},
     {"a recipe in Python (NeMo, Megatron-Bridge)", "stepcast run FILE"}},
    {NULL,
     {"parallel = dict(", "model = dict(", "micro_bsz"},
     {"a configuration of InternEvo", "stepcast run FILE"}},
    {NULL,
     {"import ", "Trainer.Config(", "model_registry("},
     {"configurations of torchtitan in Python",
      "stepcast run FILE, with --set config=NAME where it holds several"}},
    {"#!", {"#SBATCH"}, {"a launch script for SLURM", "stepcast run FILE"}},
    {"#!", {"sh"}, {"a shell script", "stepcast run FILE, if it launches Megatron"}},
};

/* Formats that bytes do not tell. */
static const struct {
    const char *ending;
    struct sc__identity is;
} endings[] = {
    {".py",
     {"a program in Python",
      "python3 -m stepcast.capture -o step.json FILE records a step of it (PyTorch); "
      "recipes of NeMo and Megatron-Bridge are read as they are"}},
    {".nsys-rep",
     {"a report of Nsight Systems",
      "nsys export --type sqlite FILE, and give the .sqlite"}},
    {".qdrep",
     {"a report of Nsight Systems",
      "nsys export --type sqlite FILE, and give the .sqlite"}},
    {".ncu-rep",
     {"a report of Nsight Compute",
      "it has no step: give that of Nsight Systems, nsys export --type sqlite REPORT"}},
    {".xplane.pb",
     {"a profile of XLA (JAX, TensorFlow)",
      "profile with Nsight Systems: nsys export --type sqlite REPORT.nsys-rep"}},
    {".pickle",
     {"a pickle of Python, as of PyTorch's memory",
      "what a step needs is forecast: stepcast run --model MODEL --cluster C"}},
    {".pkl",
     {"a pickle of Python, as of PyTorch's memory",
      "what a step needs is forecast: stepcast run --model MODEL --cluster C"}},
    {".safetensors",
     {"weights of a model", "give its config.json: stepcast run --model config.json"}},
    {".pt",
     {"weights of a model", "give its config.json: stepcast run --model config.json"}},
};

const struct sc__identity *sc__identify_name(const char *path) {
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (sc__str_ends(sc__str(path), endings[i].ending))
            return &endings[i].is;
    return NULL;
}

static bool all_words(const char *const *words, const char *head, size_t n) {
    for (unsigned i = 0; i < 4 && words[i]; i++)
        if (!sc__find_word(head, n, words[i]))
            return false;
    return true;
}

/* "400Gbps ", "50GBps ", "200GiB/s " */
static bool has_rates(const char *head, size_t n) {
    return sc__find_word(head, n, "bps ") || sc__find_word(head, n, "Bps ") ||
           sc__find_word(head, n, "B/s ");
}

/* ns-3's and HPCC's: "41 25 52": nodes, switches, links; the switches; the links. */
static bool is_ns3_topology(const char *head, size_t n) {
    struct sc__str text = {head, n};
    struct sc__str line;
    struct sc__str part;
    unsigned numbers = 0;
    if (!sc__split(&text, '\n', &line))
        return false;
    line = sc__trim(line);
    while (sc__split(&line, ' ', &part)) {
        uint64_t value;
        if (!sc__parse_u64(sc__trim(part), &value))
            return false;
        numbers++;
    }
    return numbers == 3 && has_rates(head, n);
}

/* SimAI's: "128 8 16 10 400 H100": devices, GPUs a server, NVSwitches, switches,
 * links, GPU type; ns3-msccl's has the GPUs of a node behind it. */
static bool is_simai_topology(const char *head, size_t n) {
    struct sc__str text = {head, n};
    struct sc__str line;
    struct sc__str part;
    unsigned fields = 0;
    unsigned numbers = 0;
    if (!sc__split(&text, '\n', &line))
        return false;
    line = sc__trim(line);
    while (sc__split(&line, ' ', &part)) {
        uint64_t value;
        fields++;
        numbers += sc__parse_u64(sc__trim(part), &value);
    }
    return fields - numbers == 1 && (fields == 6 || fields == 7) && has_rates(head, n);
}

const struct sc__identity *sc__identify_bytes(const char *head, size_t n) {
    static const struct {
        size_t at;
        const char *bytes;
        struct sc__identity is;
    } known[] = {
        {257, "ustar", {"an archive (tar)", "unpack it: tar xf FILE"}},
        {0, "PK\3\4", {"an archive (zip)", "unpack it: unzip FILE"}},
        {0, "\x28\xb5\x2f\xfd", {"packed by zstd", "unpack it: zstd -d FILE"}},
        {0,
         "\xfd"
         "7zXZ",
         {"packed by xz", "unpack it: unxz FILE"}},
        {0, "BZh", {"packed by bzip2", "unpack it: bunzip2 FILE"}},
        /* what PowerShell's ">" writes */
        {0, "\xff\xfe", {"text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE >OTHER"}},
        {0, "\xfe\xff", {"text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE >OTHER"}},
        {0,
         "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"tool\":\"stepcast ",
         {"a trace that stepcast has written, for Perfetto",
          "give the result of the same step: stepcast run … --json FILE --timeline"}},
        {0, "\x89PNG", {"a picture (PNG)", "give the file that it was drawn from"}},
        {0, "%PDF-", {"a document (PDF)", "give the file that it was made from"}},
        {0,
         "\x7f"
         "ELF",
         {"a program or library (ELF)", "give a file that it writes"}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t bytes = strlen(known[i].bytes);
        if (n >= known[i].at + bytes && !memcmp(head + known[i].at, known[i].bytes, bytes))
            return &known[i].is;
    }
    return NULL;
}

const struct sc__identity *sc__identify(const char *head, size_t n) {
    static const struct sc__identity simai = {"a topology of SimAI",
                                              "stepcast run INPUT --cluster FILE",
                                              SC__READ_AS_CLUSTER};
    static const struct sc__identity ns3 = {
        "a topology of ns-3 (HPCC, ASTRA-sim)",
        "stepcast run INPUT --cluster FILE, stepcast flows --topology FILE",
        SC__READ_AS_CLUSTER};
    struct sc__str text = sc__trim((struct sc__str){head, n});
    const struct sc__identity *binary = sc__identify_bytes(head, n);
    if (binary)
        return binary;
    for (size_t i = 0; i < sizeof identities / sizeof *identities; i++)
        if ((!identities[i].begins || sc__str_starts(text, identities[i].begins)) &&
            all_words(identities[i].words, head, n))
            return &identities[i].is;
    if (is_simai_topology(head, n))
        return &simai;
    return is_ns3_topology(head, n) ? &ns3 : NULL;
}

const struct sc__identity *
sc__identify_file(struct sc_context *ctx, const char *path, const char **title) {
    struct sc__input in;
    const struct sc__identity *found = NULL;
    *title = NULL;
    if (sc__input_open(ctx, path, &in) != SC_OK) {
        sc__clear_error(ctx);
        return NULL;
    }
    if (sc__input_fill_text(&in, IDENTIFY_HEAD) == SC_OK) {
        const unsigned char *head = in.bytes + in.begin;
        int most = 0;
        bool other = sc__identify_bytes((const char *)head, in.end - in.begin) != NULL;
        for (const struct sc__reader *const *r = sc__readers; *r && !other; r++) {
            int sure = (*r)->detect(head, in.end - in.begin, path, false);
            if (sure > most)
                *title = (*r)->title;
            most = sure > most ? sure : most;
        }
        if (!*title)
            found = sc__identify((const char *)head, in.end - in.begin);
        if (!*title && !found)
            found = sc__identify_name(path);
    }
    sc__clear_error(ctx);
    sc__input_close(&in);
    return found;
}
