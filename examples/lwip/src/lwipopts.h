/* lwipopts.h: lwIP as the board has it: TCP and ICMP over Ethernet, called from the soft interrupt. */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 1
#define LWIP_ALLOW_MEM_FREE_FROM_OTHER_CONTEXT 1 /* sent packets are freed in the interrupt handler */
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_UDP 0
#define LWIP_RAW 0

#define MEM_ALIGNMENT 4
#define MEM_SIZE 16384
#define ETH_PAD_SIZE 2 /* what follows the Ethernet's header is aligned to 4 */
#define PBUF_POOL_SIZE 40
#define MEMP_NUM_TCP_PCB 8
#define MEMP_NUM_TCP_SEG 32
#define TCP_MSS 1460
#define TCP_WND (8 * 1024) /* 4.4BSD's */
#define TCP_SND_BUF (4 * TCP_MSS)
#define LWIP_SUPPORT_CUSTOM_PBUF 1
#define LWIP_CHECKSUM_CTRL_PER_NETIF 1

/* What the calls are held against. */
#define LWIP_STATS 1
#define LWIP_STATS_LARGE 1
#define MIB2_STATS 1

#endif
