/* board.h of the Blit: a 6850 to the host, the vertical blank as the clock; no network, no agent. */
#ifndef BOARD_H
#define BOARD_H

#ifndef __ASSEMBLER__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned long u32;
#endif

#define BOARD_NAME "Blit"
#define ACIA_STATUS (*(volatile u8 *)0x60009) /* write: control */
#define ACIA_DATA (*(volatile u8 *)0x6000B)
#define ACIA_RX 0x01
#define ACIA_TX 0x02
#define ACIA_RESET 0x03
#define ACIA_ON 0x91   /* clock / 16, 8 bits, 2 stop bits, receiver interrupts */
#define ACIA_TXON 0xB1 /* the transmitter, too */
#define VBLANK_ACK (*(volatile u8 *)0x60038)

#endif
