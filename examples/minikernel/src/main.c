/* main.c: the kernel starts, in RAM. */
#include "kernel.h"

void kernel_main(void)
{
    duart_init();
#ifdef OWN_NET
    net_init();
#elif !defined NO_NET
    mbuf_init();
    le_init();
#endif
    start_tasks();
    clock_init();
    cnputs("minikernel on " BOARD_NAME "\r\n");
    scheduler();
}
