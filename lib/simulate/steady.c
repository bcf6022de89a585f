#include "simulate/executor.h"
void sc__steady_prepare(struct sc__executor *x){(void)x;}
void sc__steady_watch(struct sc__executor *x, uint32_t class, uint32_t stream){(void)x;(void)class;(void)stream;}
sc_status sc__steady_look(struct sc__executor *x){(void)x;return SC_OK;}
