/* board.h of the rosco_m68k Classic r2: its DUART on the odd bytes, ROM at 0xE00000, no network.
 * What is not here is as in ../../src/board.h. */
#define BOARD_NAME "rosco_m68k"
#define DREG(r) (((volatile u8 *)0xF00001)[2 * (r)])
#define D_VECTOR 0x45
#define EPROM_BASE 0xE00000UL
#define BUS_SHIFT 1
