/* misnamed: errors of files and names that were given in the wrong place. */
#include "command/job.h"

#include "base/data.h"
#include "base/file.h"
#include "frontend/identify.h"
#include "model/read.h"

#include <string.h>

/* What a file is, kind being what it was given as. A reader's file is an input. */
static sc_status name_file(struct sc_request *req,
                           const char *path,
                           const char *kind,
                           enum sc__read_as read_as,
                           sc_status status) {
    const char *title = NULL;
    struct sc_context own;
    sc__context_init(&own, req->ctx);
    const struct sc__identity *is = sc__identify_file(&own, path, &title);
    sc__context_end(&own);
    struct sc__place at = {.file = path};
    if (title)
        return sc__fail(req->ctx,
                        SC_INPUT,
                        &at,
                        "an input is given without an option: stepcast run FILE",
                        "is not read as a %s, but as an input: %s",
                        kind,
                        title);
    if (!is || is->read_as == read_as)
        return status; /* the error that is there says what is wrong with it */
    return sc__fail(req->ctx,
                    SC_INPUT,
                    &at,
                    is->advice,
                    "is %s, which is not read as a %s",
                    is->what,
                    kind);
}

sc_status
sc__job_name_cluster(struct sc_request *req, const char *cluster, sc_status status) {
    return status == SC_INPUT
               ? name_file(req, cluster, "cluster", SC__READ_AS_CLUSTER, status)
               : status;
}

sc_status sc__job_name_model(struct sc_request *req, sc_status status) {
    const char *model = sc__option(req, "model");
    if (status != SC_INPUT || !model || sc__path_look(model).kind != SC__PATH_FILE)
        return status;
    return name_file(req, model, "model", SC__READ_AS_MODEL, status);
}

/* The option whose value this name is, or NULL. */
static const char *option_of_name(struct sc_context *ctx, const char *name) {
    const char *bare = sc__strndup(&ctx->arena, name, strcspn(name, ": "));
    if (sc__model_preset(&ctx->arena, name))
        return "--model";
    if (sc__data_find_loosely(&ctx->arena, "clusters/", bare))
        return "--cluster";
    return sc__data_find_loosely(&ctx->arena, "gpus/", bare) ? "--gpu" : NULL;
}

sc_status sc__job_name_inputs(struct sc_request *req, sc_status status) {
    struct sc__place at = {0};
    for (uint32_t i = 0; status == SC_INPUT && i < req->input_count; i++) {
        const char *path = req->inputs[i];
        at.file = path;
        /* names are looked for among hundreds: only where there is no such file */
        if (sc__path_is_stream(path) || sc__path_look(path).kind != SC__PATH_NONE)
            continue;
        const char *option = option_of_name(req->ctx, path);
        if (!option)
            continue;
        return sc__fail(req->ctx,
                        SC_INPUT,
                        &at,
                        sc__format(&req->ctx->arena,
                                   "a name goes behind its option: stepcast %s %s %s",
                                   req->command->name,
                                   option,
                                   path),
                        "cannot open: there is no such file");
    }
    return status;
}
