/* commands: the list. A new command is a file beside this one and two lines here. */
#include "command/command.h"

extern const struct sc__command sc__command_coll;
extern const struct sc__command sc__command_compare;
extern const struct sc__command sc__command_completion;
extern const struct sc__command sc__command_convert;
extern const struct sc__command sc__command_fit_gpu;
extern const struct sc__command sc__command_flows;
extern const struct sc__command sc__command_gen;
extern const struct sc__command sc__command_kernels;
extern const struct sc__command sc__command_list;
extern const struct sc__command sc__command_manual;
extern const struct sc__command sc__command_plans;
extern const struct sc__command sc__command_report;
extern const struct sc__command sc__command_run;
extern const struct sc__command sc__command_show;
extern const struct sc__command sc__command_sweep;
extern const struct sc__command sc__command_train;
extern const struct sc__command sc__command_validate;

const struct sc__command *const sc__commands[] = {
    &sc__command_run,
    &sc__command_show,
    &sc__command_list,
    &sc__command_plans,
    &sc__command_sweep,
    &sc__command_train,
    &sc__command_kernels,
    &sc__command_coll,
    &sc__command_flows,
    &sc__command_convert,
    &sc__command_compare,
    &sc__command_report,
    &sc__command_validate,
    &sc__command_gen,
    &sc__command_fit_gpu,
    &sc__command_completion,
    &sc__command_manual,
    NULL,
};
