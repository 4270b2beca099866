/* Memory for triggers to hit at address 0 and up, where the board has its EPROM. */
#include <sys/mman.h>

__attribute__((constructor(101), no_instrument_function)) static void map_low_memory(void)
{
    mmap(0, 0x10000, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
