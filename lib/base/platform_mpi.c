/* platform_mpi: the ranks of a sweep (ranks.h) under mpirun. Open MPI is loaded when there
 * are several ranks and not linked, so that the program runs where there is none. */
#include "base/ranks.h"

#include <stdlib.h>

/* How many processes were started together, as their starter tells each. */
static uint32_t ranks_started(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        uint32_t count;
        if (text && sc__parse_u32(sc__str(text), &count) && count > 1)
            return count;
    }
    return 1;
}

#ifdef SC_OPEN_MPI

#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>

struct sc__ranks_library {
    void *handle;
    MPI_Comm world;
    MPI_Datatype byte;
    __typeof__(&MPI_Init) init;
    __typeof__(&MPI_Finalize) finalize;
    __typeof__(&MPI_Comm_rank) rank;
    __typeof__(&MPI_Comm_size) size;
    __typeof__(&MPI_Send) send;
    __typeof__(&MPI_Recv) receive;
    __typeof__(&MPI_Probe) probe;
    __typeof__(&MPI_Iprobe) probe_now;
    __typeof__(&MPI_Get_count) get_count;
};

static sc_status no_library(struct sc_context *ctx, const char *why) {
    return sc__fail(ctx,
                    SC_SYSTEM,
                    NULL,
                    "Open MPI as stepcast was built with, or one process: -j has threads",
                    "several ranks were started, and Open MPI cannot be used: %s",
                    why ? why : "unknown");
}

/* POSIX lets a pointer to an object be one to a function. */
static void *find_symbol(void *handle, const char *name, bool *missing) {
    void *found = dlsym(handle, name);
    *missing |= !found;
    return found;
}

static sc_status load_library(struct sc_context *ctx, struct sc__ranks_library *l) {
    static const char *const files[] = {"libmpi.so.40", "libmpi.so"};
    bool missing = false;
    for (unsigned i = 0; i < 2 && !l->handle; i++)
        l->handle = dlopen(files[i], RTLD_NOW | RTLD_GLOBAL); /* its parts look for it */
    if (!l->handle)
        return no_library(ctx, dlerror());
    l->world = (MPI_Comm)find_symbol(l->handle, "ompi_mpi_comm_world", &missing);
    l->byte = (MPI_Datatype)find_symbol(l->handle, "ompi_mpi_byte", &missing);
    *(void **)&l->init = find_symbol(l->handle, "MPI_Init", &missing);
    *(void **)&l->finalize = find_symbol(l->handle, "MPI_Finalize", &missing);
    *(void **)&l->rank = find_symbol(l->handle, "MPI_Comm_rank", &missing);
    *(void **)&l->size = find_symbol(l->handle, "MPI_Comm_size", &missing);
    *(void **)&l->send = find_symbol(l->handle, "MPI_Send", &missing);
    *(void **)&l->receive = find_symbol(l->handle, "MPI_Recv", &missing);
    *(void **)&l->probe = find_symbol(l->handle, "MPI_Probe", &missing);
    *(void **)&l->probe_now = find_symbol(l->handle, "MPI_Iprobe", &missing);
    *(void **)&l->get_count = find_symbol(l->handle, "MPI_Get_count", &missing);
    return missing ? no_library(ctx, "it lacks a function") : SC_OK;
}

sc_status sc__ranks_open(struct sc_context *ctx, struct sc__ranks *out) {
    int here = 0;
    int count = 1;
    *out = (struct sc__ranks){.count = 1};
    if (ranks_started() == 1)
        return SC_OK;
    struct sc__ranks_library *l = SC__NEW(&ctx->arena, struct sc__ranks_library);
    SC__TRY(load_library(ctx, l));
    if (l->init(NULL, NULL) != MPI_SUCCESS)
        return no_library(ctx, "it does not start");
    out->library = l;
    l->rank(l->world, &here);
    l->size(l->world, &count);
    out->here = (uint32_t)here;
    out->count = (uint32_t)count;
    if (count > 1)
        return SC_OK;
    sc__ranks_close(out);
    return no_library(ctx, "it knows of one rank; with Slurm: srun --mpi=pmix");
}

void sc__ranks_close(struct sc__ranks *r) {
    if (r->library)
        r->library->finalize();
    r->library = NULL;
}

sc_status sc__ranks_send(struct sc_context *ctx,
                         const struct sc__ranks *r,
                         uint32_t to,
                         const void *bytes,
                         size_t count) {
    const struct sc__ranks_library *l = r->library;
    if (count > INT_MAX ||
        l->send(bytes, (int)count, l->byte, (int)to, 0, l->world) != MPI_SUCCESS)
        return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "rank %u cannot be told", to);
    return SC_OK;
}

sc_status sc__ranks_receive(struct sc_context *ctx,
                            const struct sc__ranks *r,
                            uint32_t *from,
                            struct sc__str *bytes) {
    const struct sc__ranks_library *l = r->library;
    MPI_Status status;
    int count = 0;
    if (l->probe(MPI_ANY_SOURCE, 0, l->world, &status) != MPI_SUCCESS ||
        l->get_count(&status, l->byte, &count) != MPI_SUCCESS)
        return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "no rank answers");
    char *room = sc__alloc(&ctx->arena, (size_t)count + 1);
    if (l->receive(room, count, l->byte, status.MPI_SOURCE, 0, l->world, MPI_STATUS_IGNORE))
        return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "a message was lost");
    *from = (uint32_t)status.MPI_SOURCE;
    *bytes = (struct sc__str){room, (size_t)count};
    return SC_OK;
}

bool sc__ranks_waiting(const struct sc__ranks *r) {
    const struct sc__ranks_library *l = r->library;
    int waiting = 0;
    l->probe_now(MPI_ANY_SOURCE, 0, l->world, &waiting, MPI_STATUS_IGNORE);
    return waiting != 0;
}

#else /* no Open MPI was there when this was built */

sc_status sc__ranks_open(struct sc_context *ctx, struct sc__ranks *out) {
    *out = (struct sc__ranks){.count = 1};
    if (ranks_started() == 1)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    "build it where Open MPI's headers are (libopenmpi-dev), or start one "
                    "process: -j has threads",
                    "%u ranks were started, and stepcast was built without Open MPI",
                    ranks_started());
}

void sc__ranks_close(struct sc__ranks *r) {
    (void)r;
}

sc_status sc__ranks_send(struct sc_context *ctx,
                         const struct sc__ranks *r,
                         uint32_t to,
                         const void *bytes,
                         size_t count) {
    (void)r;
    (void)bytes;
    (void)count;
    return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "there is no rank %u", to);
}

sc_status sc__ranks_receive(struct sc_context *ctx,
                            const struct sc__ranks *r,
                            uint32_t *from,
                            struct sc__str *bytes) {
    (void)r;
    (void)from;
    (void)bytes;
    return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "there is no other rank");
}

bool sc__ranks_waiting(const struct sc__ranks *r) {
    (void)r;
    return false;
}

#endif
