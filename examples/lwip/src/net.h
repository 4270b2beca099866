/* net.h: what the driver, the sink and lwIP have to do with each other. */
#ifndef NET_H
#define NET_H

#include "kernel.h"
#include "lwip/pbuf.h"
#include "lwip/netif.h"

extern struct netif le_netif;
extern err_t le_netif_init(struct netif *netif);
extern void sink_init(void);
extern u32 copy_sum(const volatile void *from, void *to, int length);

#endif
