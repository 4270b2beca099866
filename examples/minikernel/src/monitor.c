/* monitor.c: two commands, on the console and on the upload line: u starts the upload, ? says so. */
#include "kernel.h"
#include "kpr_agent.h"

static int line_channel, line_first, line_length;
static int command;
static int agent_channel, bank;

/* One received character; 1 if it ended a line. Interrupt level. */
int monitor_line(int channel, int c)
{
    COUNT(monitor_line);
    if (c != '\r' && c != '\n') {
        if (line_length++ == 0)
            line_first = c;
        return 0;
    }
    if (line_length > 0) {
        command = line_first;
        line_channel = channel;
        wakeup(&command);
    }
    line_length = 0;
    return 1;
}

/* The agent's ports. They poll, with all interrupts masked. */
int kpr_getc(void)
{
    while (!(DUART[agent_channel + D_SR] & SR_RX))
        ;
    return DUART[agent_channel + D_HR];
}

void kpr_putc(int c)
{
    while (!(DUART[agent_channel + D_SR] & SR_TX))
        ;
    DUART[agent_channel + D_HR] = c;
}

static void select_bank(int b)
{
    if (b != bank) {
        (void)PROFILER_BANK(b);
        bank = b;
    }
}

unsigned char kpr_ram(unsigned long record, int byte)
{
    select_bank(byte);
    return PROFILER_BYTE(record);
}

static int rx_waiting(void)
{
    return DUART[agent_channel + D_SR] & SR_RX;
}

static void say(const char *text)
{
    while (*text)
        kpr_putc(*text++);
}

/* Serve the event RAM on the upload line, until the host is done with it. */
void upload(void)
{
    static struct kpr_info info = { "MD20", 1000000, 16384, 0, 0, 0, rx_waiting };
    int s = spl_raise(SR_HIGH), high;

    agent_channel = CH_B;
    bank = -1;
    select_bank(7);
    if (PROFILER_BYTE(0) == 'K') {
        select_bank(5);
        high = PROFILER_BYTE(0);
        select_bank(6);
        info.flags = high & 0x80 ? KPR_FULL : 0;
        info.valid = high & 0x80 ? 16384 : (u32)(high & 0x3F) << 8 | PROFILER_BYTE(0);
        DUART[D_START] = OP_AGENT;
        if (line_channel == CH_B)
            say("agent\r\n");
        kpr_agent(&info);
        DUART[D_STOP] = OP_AGENT;
        splx(s);
        cnputs("uploaded\r\n");
    } else {
        splx(s);
        cnputs("no Profiler in READ\r\n");
    }
}

void monitor(void)
{
    for (;;) {
        sleep(&command);
        if (command == 'u')
            upload();
        else
            cnputs("u: upload the event RAM\r\n");
    }
}
