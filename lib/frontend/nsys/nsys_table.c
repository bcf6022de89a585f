/* nsys_table: the tables of an export, row by row. Exports differ in which tables and
 * columns they have, and a damaged or hostile one may hold anything: only plain tables
 * are read, and never more rows than the file has room for. */
#include "frontend/nsys/nsys.h"

#include <stdlib.h>
#include <string.h>

#define NSYS_LEAST_ROW 8 /* bytes: a row of a table takes more */
#define NSYS_MEMORY_MAX ((size_t)1 << 30)
#define NSYS_TEXT_MAX (16 << 20)
#define NSYS_ROWS_BETWEEN 65536 /* two looks at the progress */

static sc_status nsys_damaged(struct sc__nsys *n, int code) {
    struct sc__place at = {.file = sc__shown_name(n->ctx, n->file)};
    int kind = code & 0xff;
    if (kind == SQLITE_NOTADB)
        return sc__fail(n->ctx,
                        SC_INPUT,
                        &at,
                        "nsys export --type sqlite REPORT.nsys-rep",
                        "is no SQLite database");
    if (kind == SQLITE_CORRUPT || kind == SQLITE_IOERR || kind == SQLITE_TOOBIG)
        return sc__fail(n->ctx,
                        SC_INPUT,
                        &at,
                        "export it again: nsys export --type sqlite REPORT.nsys-rep",
                        "the database is damaged or cut off");
    return sc__fail(n->ctx, SC_INPUT, &at, NULL, "SQLite: %s", sqlite3_errmsg(n->db));
}

static void nsys_close(void *what) {
    sqlite3 *db = what;
    for (sqlite3_stmt *s; (s = sqlite3_next_stmt(db, NULL));)
        sqlite3_finalize(s);
    sqlite3_close(db);
}

/* Nothing in the file may run: no views, no triggers, no functions in its schema. */
static int nsys_look(sqlite3 *db) {
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, NSYS_TEXT_MAX);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
    return sqlite3_exec(db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
}

static sc_status nsys_open_copy(struct sc__nsys *n) {
    struct sc__str bytes;
    SC__TRY(sc__read_all(n->ctx, n->file, NSYS_MEMORY_MAX, &bytes));
    int code = sqlite3_open_v2(":memory:", &n->db, SQLITE_OPEN_READWRITE, NULL);
    if (n->db)
        sc__arena_at_free(&n->ctx->arena, nsys_close, n->db);
    if (code == SQLITE_OK)
        code = sqlite3_deserialize(n->db,
                                   "main",
                                   (unsigned char *)(uintptr_t)bytes.p,
                                   (sqlite3_int64)bytes.n,
                                   (sqlite3_int64)bytes.n,
                                   SQLITE_DESERIALIZE_READONLY);
    if (code == SQLITE_OK)
        code = nsys_look(n->db);
    return code == SQLITE_OK ? SC_OK : nsys_damaged(n, code);
}

/* What a pragma of one number says; 0 where it says none. */
static uint64_t nsys_ask(struct sc__nsys *n, const char *sql) {
    sqlite3_stmt *s;
    uint64_t value = 0;
    if (sqlite3_prepare_v2(n->db, sql, -1, &s, NULL) != SQLITE_OK)
        return 0;
    if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int64(s, 0) > 0)
        value = (uint64_t)sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}

/* A view could stand for any computation. */
static bool nsys_is_table(struct sc__nsys *n, const char *table) {
    static const char sql[] = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND "
                              "name = ?1 AND rootpage > 0";
    sqlite3_stmt *s;
    bool found = false;
    if (sqlite3_prepare_v2(n->db, sql, -1, &s, NULL) != SQLITE_OK)
        return false;
    sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
    found = sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int(s, 0) > 0;
    sqlite3_finalize(s);
    return found;
}

/* How many rows there are about to be. */
static sc_status nsys_expect_rows(struct sc__nsys *n) {
    static const char *const tables[] = {"StringIds",
                                         "CUPTI_ACTIVITY_KIND_KERNEL",
                                         "CUPTI_ACTIVITY_KIND_RUNTIME",
                                         "CUPTI_ACTIVITY_KIND_MEMCPY",
                                         "NVTX_EVENTS"};
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        if (nsys_is_table(n, tables[i]))
            n->expected_rows += nsys_ask(
                n,
                sc__format(&n->ctx->arena, "SELECT max(rowid) FROM \"%s\"", tables[i]));
    return sc__progress(n->ctx, "reading", 0);
}

sc_status sc__nsys_open(struct sc__nsys *n) {
    int code = sqlite3_open_v2(n->file, &n->db, SQLITE_OPEN_READONLY, NULL);
    if (code == SQLITE_OK)
        code = nsys_look(n->db);
    int kind = code & 0xff;
    if (kind == SQLITE_NOTADB || kind == SQLITE_CANTOPEN) {
        sqlite3_close(n->db);
        SC__TRY(nsys_open_copy(n));
    } else {
        if (n->db)
            sc__arena_at_free(&n->ctx->arena, nsys_close, n->db);
        if (code != SQLITE_OK)
            return nsys_damaged(n, code);
    }
    uint64_t pages = nsys_ask(n, "PRAGMA page_count");
    uint64_t page = nsys_ask(n, "PRAGMA page_size");
    n->most_rows = pages * page / NSYS_LEAST_ROW;
    return nsys_expect_rows(n);
}

bool sc__nsys_has_column(struct sc__nsys *n, const char *table, const char *column) {
    return sqlite3_table_column_metadata(n->db,
                                         "main",
                                         table,
                                         column,
                                         NULL,
                                         NULL,
                                         NULL,
                                         NULL,
                                         NULL) == SQLITE_OK;
}

static sc_status nsys_prepare(struct sc__nsys *n,
                              const char *table,
                              const struct sc__nsys_column *columns,
                              uint32_t count,
                              sqlite3_stmt **out) {
    struct sc__buffer sql;
    struct sc__place at = {.file = sc__shown_name(n->ctx, n->file)};
    sc__buffer_init(&sql, &n->ctx->arena);
    for (uint32_t i = 0; i < count; i++) {
        bool there = sc__nsys_has_column(n, table, columns[i].name);
        if (!there && columns[i].needed)
            return sc__fail(
                n->ctx,
                SC_INPUT,
                &at,
                "is it an export of Nsight Systems (nsys export --type sqlite)?",
                "the table %s has no column %s",
                table,
                columns[i].name);
        sc__printf(&sql,
                   there ? "%s\"%s\"" : "%sNULL",
                   i ? ", " : "SELECT ",
                   columns[i].name);
    }
    sc__printf(&sql, " FROM \"%s\"", table);
    int code = sqlite3_prepare_v2(n->db, sql.text, -1, out, NULL);
    return code == SQLITE_OK ? SC_OK : nsys_damaged(n, code);
}

static sc_status nsys_count_row(struct sc__nsys *n) {
    if (++n->rows > n->most_rows)
        return nsys_damaged(n, SQLITE_CORRUPT);
    if (n->rows % NSYS_ROWS_BETWEEN)
        return SC_OK;
    double share = n->expected_rows ? (double)n->rows / (double)n->expected_rows : 0;
    return sc__progress(n->ctx, "reading", share < 1 ? share : 1);
}

sc_status sc__nsys_read_table(struct sc__nsys *n,
                              const char *table,
                              const struct sc__nsys_column *columns,
                              uint32_t count,
                              sc__nsys_take *take,
                              bool *there) {
    sqlite3_stmt *row = NULL;
    sc_status status = SC_OK;
    int code;
    bool found = nsys_is_table(n, table);
    if (there)
        *there = found;
    if (!found)
        return SC_OK;
    SC__TRY(nsys_prepare(n, table, columns, count, &row));
    while (status == SC_OK && (code = sqlite3_step(row)) != SQLITE_DONE) {
        status = code == SQLITE_ROW ? nsys_count_row(n) : nsys_damaged(n, code);
        if (status == SC_OK)
            status = take(n, row, table);
    }
    sqlite3_finalize(row);
    return status;
}

static sc_status
nsys_wrong(struct sc__nsys *n, sqlite3_stmt *row, const char *table, int column) {
    struct sc__place at = {.file = sc__shown_name(n->ctx, n->file)};
    return sc__fail(n->ctx,
                    SC_INPUT,
                    &at,
                    "the export is damaged, or of another kind",
                    "%s: the column %s holds what is no whole number",
                    table,
                    sqlite3_column_name(row, column));
}

sc_status sc__nsys_number(struct sc__nsys *n,
                          sqlite3_stmt *row,
                          const char *table,
                          int column,
                          int64_t none,
                          int64_t *out) {
    int type = sqlite3_column_type(row, column);
    *out = none;
    if (type == SQLITE_NULL)
        return SC_OK;
    if (type != SQLITE_INTEGER)
        return nsys_wrong(n, row, table, column);
    *out = sqlite3_column_int64(row, column);
    return SC_OK;
}

sc_status sc__nsys_times(struct sc__nsys *n,
                         sqlite3_stmt *row,
                         const char *table,
                         int64_t *start,
                         int64_t *end) {
    struct sc__place at = {.file = sc__shown_name(n->ctx, n->file)};
    for (int i = 0; i < 2; i++)
        if (sqlite3_column_type(row, i) != SQLITE_INTEGER)
            return nsys_wrong(n, row, table, i);
    *start = sqlite3_column_int64(row, 0);
    *end = sqlite3_column_int64(row, 1);
    if (*start >= 0 && sc__kineto_extend(&n->period, *start, *end))
        return SC_OK;
    return sc__fail(n->ctx,
                    SC_INPUT,
                    &at,
                    "times of an export are nanoseconds since it began",
                    "%s: an event from %lld to %lld ns",
                    table,
                    (long long)*start,
                    (long long)*end);
}

const char *sc__nsys_text(struct sc__nsys *n, sqlite3_stmt *row, int column) {
    int type = sqlite3_column_type(row, column);
    if (type == SQLITE_TEXT)
        return (const char *)sqlite3_column_text(row, column);
    if (type != SQLITE_INTEGER)
        return NULL;
    const uint64_t *at =
        sc__map_find(&n->strings, (uint64_t)sqlite3_column_int64(row, column));
    return at ? (const char *)(uintptr_t)*at : NULL;
}
