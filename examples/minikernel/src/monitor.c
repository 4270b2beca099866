/* monitor.c: commands, on the console and on the upload line: u uploads, s prints S-records. */
#include "kernel.h"
#include "kpr_agent.h"

static struct {
    int first, length;
} lines[2]; /* of the console and of the upload line, each as far as it was typed */
static int command, command_channel;
static int agent_channel, bank;

/* One received character; 1 if it ended a line. Interrupt level. */
int monitor_line(int channel, int c)
{
    int line = channel == CH_B;

    COUNT(monitor_line);
    if (c != '\r' && c != '\n') {
        if (lines[line].length++ == 0)
            lines[line].first = c;
        return 0;
    }
    if (lines[line].length > 0) {
        command = lines[line].first;
        command_channel = channel;
        wakeup(&command);
    }
    lines[line].length = 0;
    return 1;
}

/* The agent's ports. They poll, with all interrupts masked. */
int kpr_getc(void)
{
    while (!(DREG(agent_channel + D_SR) & SR_RX))
        ;
    return DREG(agent_channel + D_HR);
}

void kpr_putc(int c)
{
    while (!(DREG(agent_channel + D_SR) & SR_TX))
        ;
    DREG(agent_channel + D_HR) = c;
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
    return DREG(agent_channel + D_SR) & SR_RX;
}

static void say(const char *text)
{
    while (*text)
        kpr_putc(*text++);
}

/* The Profiler's own count; -1 if its switch is not at READ. */
static long stored_events(int *full)
{
    int high;

    bank = -1;
    select_bank(7);
    if (PROFILER_BYTE(0) != 'K')
        return -1;
    select_bank(5);
    high = PROFILER_BYTE(0);
    select_bank(6);
    *full = high & 0x80;
    return *full ? 16384 : (long)(high & 0x3F) << 8 | PROFILER_BYTE(0);
}

/* The agent, until the host is done with it. */
static void serve(long events, int full)
{
    static struct kpr_info info = { BOARD_NAME, 1000000, 16384, 0, 0, 0, rx_waiting, 0 };

    info.flags = full ? KPR_FULL : 0;
    info.valid = events;
    if (command_channel == CH_B)
        say("agent\r\n");
    kpr_agent(&info);
}

static void put_hex(int byte)
{
    kpr_putc("0123456789ABCDEF"[byte >> 4 & 15]);
    kpr_putc("0123456789ABCDEF"[byte & 15]);
}

/* The stored events as S-records, five bytes each from address 0: for hosts without the agent. */
static void dump(long events)
{
    long at, end = events * 5;

    for (at = 0; at < end; at += 30) {
        int length = end - at < 30 ? end - at : 30;
        int i, sum = length + 4 + (at >> 16) + (at >> 8 & 0xFF) + (at & 0xFF);

        say("S2");
        put_hex(length + 4);
        put_hex(at >> 16);
        put_hex(at >> 8);
        put_hex(at);
        for (i = 0; i < length; i++) {
            int byte = kpr_ram((at + i) / 5, (at + i) % 5);

            put_hex(byte);
            sum += byte;
        }
        put_hex(~sum);
        say("\r\n");
    }
    say("S804000000FB\r\n");
}

/* u or s: give the event RAM away on the upload line, with all interrupts masked. */
void upload(void)
{
    int s = spl_raise(SR_HIGH), full = 0;
    long events = stored_events(&full);

    agent_channel = CH_B;
    if (events >= 0) {
        DREG(D_START) = OP_AGENT;
        if (command == 'u')
            serve(events, full);
        else
            dump(events);
        DREG(D_STOP) = OP_AGENT;
    }
    splx(s);
    cnputs(events >= 0 ? "uploaded\r\n" : "no Profiler in READ\r\n");
}

void monitor(void)
{
    for (;;) {
        sleep(&command);
        if (command == 'u' || command == 's')
            upload();
        else
            cnputs("u: upload the event RAM, s: print it as S-records\r\n");
    }
}
