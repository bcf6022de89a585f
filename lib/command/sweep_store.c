/* sweep_store: points of a sweep in an SQLite database.
 *
 *     sweep(definition)   what is swept, with the version that computed it
 *     points(id, …)       a row a point; id is its place in the sweep
 *
 * Rows hold nothing but results, so a sweep that was stopped and resumed has the rows
 * of one that was not. Points are added many at a time, in one transaction: after a
 * kill the database has all of them or none. */
#include "command/sweep.h"

#include <sqlite3.h>
#include <string.h>

struct sc__store {
    struct sc_context *ctx;
    const char *path;
    sqlite3 *db;
};

const struct sc__sweep_figure sc__sweep_figures[SC__SWEEP_FIGURES] = {
    [SC__SWEEP_STEP_US] = {"step_us", true, 6},
    [SC__SWEEP_MFU] = {"mfu", false, 6},
    [SC__SWEEP_BUBBLE_SHARE] = {"bubble_share", false, 6},
    [SC__SWEEP_EXPOSED_SHARE] = {"exposed_share", false, 6},
    [SC__SWEEP_TOKENS_PER_S] = {"tokens_per_s", false, 9},
    [SC__SWEEP_MEMORY_BYTES] = {"memory_bytes", false, 9}};

/* Columns of a point: id, outcome and settings, the figures, the message. */
enum { FIRST_FIGURE = 3, MESSAGE = FIRST_FIGURE + SC__SWEEP_FIGURES };

static const char *store_schema(struct sc__arena *arena) {
    struct sc__buffer b;
    sc__buffer_init(&b, arena);
    sc__puts(&b,
             "CREATE TABLE IF NOT EXISTS sweep(definition TEXT NOT NULL);"
             "CREATE TABLE IF NOT EXISTS points(id INTEGER PRIMARY KEY, outcome TEXT NOT "
             "NULL, settings TEXT NOT NULL, ");
    for (int i = 0; i < SC__SWEEP_FIGURES; i++)
        sc__printf(&b, "%s REAL, ", sc__sweep_figures[i].name);
    sc__puts(&b, "message TEXT NOT NULL);");
    return b.text;
}

static const char *store_insert(struct sc__arena *arena) {
    struct sc__buffer b;
    sc__buffer_init(&b, arena);
    sc__puts(&b, "INSERT INTO points VALUES(?");
    for (int i = 1; i <= MESSAGE; i++)
        sc__puts(&b, ",?");
    sc__puts(&b, ")");
    return b.text;
}

static sc_status store_fail(const struct sc__store *s, int code) {
    struct sc__place at = {.file = s->path};
    int kind = code & 0xff;
    if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB)
        return sc__fail(s->ctx,
                        SC_INPUT,
                        &at,
                        "move it away: the sweep then begins anew",
                        "not a database of a sweep, or a damaged one");
    if (kind == SQLITE_FULL)
        return sc__fail(s->ctx,
                        SC_SYSTEM,
                        &at,
                        "the points that are in it stay: make room and run it again",
                        "the disk is full");
    if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
        return sc__fail(s->ctx,
                        SC_SYSTEM,
                        &at,
                        "one sweep at a time may write to it",
                        "another program writes to it");
    if ((code & 0xff) == SQLITE_CONSTRAINT)
        return sc__fail(
            s->ctx,
            SC_SYSTEM,
            &at,
            "one process at a time, several under mpirun or srun --mpi=pmix; the tasks of "
            "a job array need a database each",
            "another process has written points of this sweep meanwhile");
    return sc__fail(s->ctx, SC_SYSTEM, &at, NULL, "%s", sqlite3_errmsg(s->db));
}

static sc_status store_run(const struct sc__store *s, const char *sql) {
    int code = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? SC_OK : store_fail(s, code);
}

static sc_status
store_prepare(const struct sc__store *s, const char *sql, sqlite3_stmt **out) {
    int code = sqlite3_prepare_v2(s->db, sql, -1, out, NULL);
    return code == SQLITE_OK ? SC_OK : store_fail(s, code);
}

static sc_status write_definition(const struct sc__store *s, const char *definition) {
    sqlite3_stmt *insert;
    SC__TRY(store_prepare(s, "INSERT INTO sweep VALUES(?)", &insert));
    sqlite3_bind_text(insert, 1, definition, -1, SQLITE_STATIC);
    int code = sqlite3_step(insert);
    sqlite3_finalize(insert);
    return code == SQLITE_DONE ? SC_OK : store_fail(s, code);
}

/* Text that a sound database has; NULL in a damaged one. */
static const char *store_text(sqlite3_stmt *row, int column) {
    const char *text = (const char *)sqlite3_column_text(row, column);
    return text ? text : "";
}

/* Every page is looked at before anything is believed. */
static sc_status check_sound(const struct sc__store *s) {
    sqlite3_stmt *check;
    SC__TRY(store_prepare(s, "PRAGMA quick_check(1)", &check));
    int code = sqlite3_step(check);
    bool sound = code == SQLITE_ROW && !strcmp(store_text(check, 0), "ok");
    sqlite3_finalize(check);
    return sound ? SC_OK : store_fail(s, code == SQLITE_ROW ? SQLITE_CORRUPT : code);
}

/* The sweep in the database must be this one. */
static sc_status check_definition(const struct sc__store *s, const char *definition) {
    sqlite3_stmt *select;
    struct sc__place at = {.file = s->path};
    SC__TRY(store_prepare(s, "SELECT definition FROM sweep", &select));
    int code = sqlite3_step(select);
    const char *text = NULL;
    if (code == SQLITE_ROW)
        text = sc__strdup(&s->ctx->arena, store_text(select, 0));
    sqlite3_finalize(select);
    if (code == SQLITE_DONE)
        return write_definition(s, definition);
    if (code != SQLITE_ROW)
        return store_fail(s, code);
    if (!strcmp(text, definition))
        return SC_OK;
    return sc__fail(s->ctx,
                    SC_INPUT,
                    &at,
                    "another --db, or the options, files and version it was made with",
                    "it holds another sweep: %.300s",
                    text);
}

sc_status sc__store_open(struct sc_context *ctx,
                         const char *path,
                         const char *definition,
                         struct sc__store **out) {
    struct sc__store *s = SC__NEW(&ctx->arena, struct sc__store);
    s->ctx = ctx;
    s->path = path;
    *out = s;
    int code = sqlite3_open(path, &s->db);
    if (code != SQLITE_OK)
        return store_fail(s, code);
    sqlite3_busy_timeout(s->db, 2000);
    SC__TRY(check_sound(s));
    SC__TRY(store_run(s, "BEGIN IMMEDIATE"));
    SC__TRY(store_run(s, store_schema(&s->ctx->arena)));
    SC__TRY(check_definition(s, definition));
    return store_run(s, "COMMIT");
}

void sc__store_close(struct sc__store *s) {
    sqlite3_close(s->db);
}

sc_status sc__store_done(struct sc__store *s, bool *done, uint32_t count) {
    sqlite3_stmt *select;
    int code;
    SC__TRY(store_prepare(s, "SELECT id FROM points", &select));
    while ((code = sqlite3_step(select)) == SQLITE_ROW) {
        sqlite3_int64 id = sqlite3_column_int64(select, 0);
        if (id >= 0 && id < count)
            done[id] = true;
    }
    sqlite3_finalize(select);
    return code == SQLITE_DONE ? SC_OK : store_fail(s, code);
}

static int insert_row(sqlite3_stmt *insert, uint32_t id, const struct sc__sweep_row *r) {
    bool ok = !strcmp(r->outcome, "ok");
    sqlite3_reset(insert);
    sqlite3_bind_int64(insert, 1, id);
    sqlite3_bind_text(insert, 2, r->outcome, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 3, r->settings, -1, SQLITE_STATIC);
    for (int i = 0; i < SC__SWEEP_FIGURES; i++)
        if (ok)
            sqlite3_bind_double(insert, 1 + FIRST_FIGURE + i, r->figures[i]);
        else
            sqlite3_bind_null(insert, 1 + FIRST_FIGURE + i);
    sqlite3_bind_text(insert, 1 + MESSAGE, r->message, -1, SQLITE_STATIC);
    return sqlite3_step(insert);
}

sc_status sc__store_add(struct sc__store *s,
                        const uint32_t *ids,
                        const struct sc__sweep_row *rows,
                        uint32_t count) {
    sqlite3_stmt *insert;
    int code = SQLITE_DONE;
    SC__TRY(store_prepare(s, store_insert(&s->ctx->arena), &insert));
    sc_status status = store_run(s, "BEGIN IMMEDIATE");
    for (uint32_t i = 0; i < count && status == SC_OK; i++) {
        code = insert_row(insert, ids[i], &rows[i]);
        if (code != SQLITE_DONE)
            status = store_fail(s, code);
    }
    sqlite3_finalize(insert);
    if (status == SC_OK)
        status = store_run(s, "COMMIT");
    if (status != SC_OK)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* what is in it stays */
    return status;
}

sc_status
sc__store_read(struct sc__store *s,
               void (*take)(void *self, uint32_t id, const struct sc__sweep_row *row),
               void *self) {
    sqlite3_stmt *select;
    int code;
    SC__TRY(store_prepare(s, "SELECT * FROM points ORDER BY id", &select));
    while ((code = sqlite3_step(select)) == SQLITE_ROW) {
        struct sc__sweep_row row = {.outcome = store_text(select, 1),
                                    .settings = store_text(select, 2),
                                    .message = store_text(select, MESSAGE)};
        for (int i = 0; i < SC__SWEEP_FIGURES; i++)
            row.figures[i] = sqlite3_column_double(select, FIRST_FIGURE + i);
        take(self, (uint32_t)sqlite3_column_int64(select, 0), &row);
    }
    sqlite3_finalize(select);
    return code == SQLITE_DONE ? SC_OK : store_fail(s, code);
}
