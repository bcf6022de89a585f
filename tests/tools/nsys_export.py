"""An export of Nsight Systems (SQLite), with times that are known.

    nsys_export.py FILE [key=value …]

Each of `ranks` processes runs `steps` steps on a device of its own, of
  forward    a product of 300 us and attention of 100 us,
  a gap of 40 us, as the host is late,
  backward   a product of 600 us, launched by the thread of autograd,
  an all-reduce of 200 us on another stream, beside the last 150 us of the product, and
  5 us later the optimizer, 90 us,
so that a step takes 300 + 100 + 40 + 600 + 50 + 5 + 90 = 1185 us, and the next begins 20
us later. A rank given as slow=R computes 10 % longer before the optimizer, and the others
wait for it in the all-reduce. A copy of 10 us runs beside attention.
  payload=binary|json|none   how NCCL's calls tell their bytes and communicator
  grouped=1                  calls in a group: the kernel is launched behind them
  init=1                     the communicator is made in the profile: ranks are NCCL's,
                             from the last process to the first
  step=TEXT                  how steps are called
"""
import sqlite3
import struct
import sys

settings = dict(ranks="2", steps="2", payload="binary", grouped="0", init="0", step="step %d", slow="-1", only="-1")
settings.update(a.split("=", 1) for a in sys.argv[2:])
ranks, steps = int(settings["ranks"]), int(settings["steps"])
slow, only = int(settings["slow"]), int(settings["only"])
US = 1000
COMMUNICATOR = 0xABCDEF0123456789
MESSAGE = 64 << 20

db = sqlite3.connect(sys.argv[1])
db.executescript("""
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER,
    textId INTEGER, domainId INTEGER NOT NULL, jsonText TEXT, binaryData BLOB);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER, flags INTEGER, type INTEGER,
    name TEXT, description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER);
INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES
    (7, 105, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL),
    (7, 105, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8),
    (7, 100, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL),
    (7, 100, 1, NULL, 5, 'No. of ranks', NULL, NULL, 8),
    (7, 100, 2, NULL, 5, 'Rank', NULL, NULL, 12),
    (7, 100, 3, NULL, 5, 'CUDA device', NULL, NULL, 16);
""")
strings = {}


def string(text):
    if text not in strings:
        strings[text] = len(strings) + 1
        db.execute("INSERT INTO StringIds VALUES (?, ?)", (strings[text], text))
    return strings[text]


class Rank:
    def __init__(self, number):
        self.number, self.pid = number, (1 << 48) + ((4000 + number) << 24)
        self.correlation = 0

    def range(self, text, start, end, thread=1, registered=False, json=None, payload=None, domain=0):
        db.execute("INSERT INTO NVTX_EVENTS VALUES (?,?,59,?,?,?,?,?,?)",
                   (start, end, None if registered else text, self.pid + thread,
                    string(text) if registered else None, domain, json, payload))

    def call(self, launch, end, thread):
        self.correlation += 1
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,1,?,?,?,0)",
                   (launch, end, self.pid + thread, self.correlation, string("cudaLaunchKernel_v7000")))

    def kernel(self, name, start, us, launch, stream=7, thread=1):
        self.call(launch, launch + 5 * US, thread)
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,1,?,?,?,?,?,1)",
                   (start, start + us * US, self.number, stream, self.correlation, self.pid, string(name),
                    string(name.split("(")[0])))

    def copy(self, start, us, launch):
        self.call(launch, launch + 5 * US, 1)
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,?,1,13,?,?,4096,1)",
                   (start, start + us * US, self.number, self.correlation, self.pid))

    def nccl(self, text, start, end, schema, payload, fields):
        if settings["payload"] == "binary":
            head = struct.pack("<IIQQQ", 1, 0, schema, len(payload), 32 + len(payload))
            self.range(text, start, end, registered=True, payload=head + payload, domain=7)
        elif settings["payload"] == "json":
            self.range(text, start, end, registered=True, json="{" + ", ".join(
                '"%s": %d' % f for f in fields) + "}", domain=7)

    def all_reduce(self, start, launch, us):
        parts = 4 if settings["grouped"] == "1" else 1
        each = MESSAGE // parts
        for i in range(parts):
            began = launch - (parts - i) * 2 * US
            done = launch + US if parts == 1 else began + US
            self.nccl("ncclAllReduce", began, done, 105, struct.pack("<QQ", COMMUNICATOR, each),
                      [("NCCL communicator ID", COMMUNICATOR - (1 << 64)), ("Message size [bytes]", each)])
        if parts > 1:
            self.range("ncclGroupEnd", launch - 1, launch + 9 * US, registered=True, domain=7)
        self.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", start, us, launch, 28)

    def step(self, index, at, factor, wait):
        """Everything is launched well before it runs, but for backward: 10 us before."""
        f, self_end = factor, at
        self.range(settings["step"] % index if "%" in settings["step"] else settings["step"], at - 60 * US, at + 1100 * US)
        self.kernel("sm90_xmma_gemm_bf16bf16_bf16f32_tn_n_tilesize128x128x64", at, int(300 * f), at - 50 * US)
        self_end += int(300 * f) * US
        self.kernel("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", self_end, int(100 * f), at - 45 * US)
        self.copy(self_end, 10, at - 42 * US)
        self_end += int(100 * f) * US
        self_end += 40 * US
        late = self_end - 10 * US
        self.range("autograd::engine::evaluate_function: AddmmBackward0, op_id = 12", late - US, late + 200 * US, 2)
        self.kernel("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NTN", self_end, int(600 * f), late, thread=2)
        self_end += int(600 * f) * US
        reduce_start = self_end - 150 * US
        self.all_reduce(reduce_start, late + 100 * US, 200 + wait)
        done = reduce_start + (200 + wait) * US
        self.range("Optimizer.step#AdamW.step", late + 250 * US, late + 300 * US)
        self.kernel("void at::native::multi_tensor_apply_kernel<adam>", done + 5 * US, 90, late + 260 * US)
        return done + 95 * US


everyone = [Rank(i) for i in range(ranks)]
at = [100 * US] * ranks
for i in range(steps):
    longest = 1.1 if 0 <= slow < ranks else 1.0
    for r in everyone:
        factor = longest if r.number == slow else 1.0
        wait = round(1000 * (longest - factor))
        if only not in (-1, r.number):
            continue
        if i == 0 and settings["init"] == "1":
            rank = ranks - 1 - r.number
            r.nccl("ncclCommInitRank", 1 * US, 9 * US, 100, struct.pack("<Qiiii", COMMUNICATOR, ranks, rank, r.number, 0),
                   [("NCCL communicator ID", COMMUNICATOR - (1 << 64)), ("No. of ranks", ranks), ("Rank", rank)])
        at[r.number] = r.step(i + 1, at[r.number], factor, wait) + 20 * US
db.commit()
db.close()
