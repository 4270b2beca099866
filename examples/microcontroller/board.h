/* board.h: what main.c needs of a board, besides kpr_getc and kpr_putc. */
extern const char board_name[];
void board_start(void); /* clock and serial line */
