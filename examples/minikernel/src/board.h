/* board.h: the MD20's memory map, as the kernel sees it. docs/board.md describes the board. */
#ifndef BOARD_H
#define BOARD_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned long u32;

/* The DUART: byte registers. (../boards has boards with a name of their own.) */
#ifndef BOARD_NAME
#define BOARD_NAME "MD20"
#define DREG(r) (((volatile u8 *)0x400000)[r])
#endif
#define D_MR 0
#define D_SR 1 /* read: status; write: clock select */
#define D_CR 2
#define D_HR 3 /* read: received byte; write: byte to send */
#define D_ACR 4
#define D_ISR 5 /* write: interrupt mask */
#define D_CTU 6
#define D_CTL 7
#define D_START 14 /* write: set output bits */
#define D_STOP 15  /* write: reset output bits */
#define CH_A 0
#define CH_B 8
#define SR_RX 0x01
#define SR_TX 0x04
#define ISR_TXA 0x01
#define ISR_RXA 0x02
#define ISR_COUNTER 0x08
#define ISR_RXB 0x20
#define OP_AGENT 0x80 /* this output drives the "upload" LED */

/* The Ethernet controller: word registers and slots in its buffer memory. */
#define LE_CSR (*(volatile u16 *)0x470000)
#define LE_TX (*(volatile u16 *)0x470004)
#define LE_RUN 0x0001
#define LE_INTEN 0x0002
#define LE_RXDONE 0x0100
#define LE_TXDONE 0x0200
#define LE_OWNED 0x8000
#define LE_RXSLOTS 31
struct le_slot {
    u16 status;
    u16 length;
    u8 gap[14];
    u8 frame[2048 - 18]; /* what follows the 14-byte header is aligned to 4 */
};
#define LE_SLOTS ((volatile struct le_slot *)0x480000)

/* The Profiler's banks, while its switch is at READ. On an EPROM port of 16 or 32 bits it does not see
 * the lowest address lines (kprof instrument --shift). */
#ifndef BUS_SHIFT
#define BUS_SHIFT 0
#endif
#ifndef EPROM_BASE
#define EPROM_BASE 0UL
#endif
#define PROFILER_BANK(b) (*(volatile u8 *)(EPROM_BASE + ((0xC000UL + (b)) << BUS_SHIFT)))
#define PROFILER_BYTE(i) (*(volatile u8 *)(EPROM_BASE + ((0x8000UL + (i)) << BUS_SHIFT)))

#endif
