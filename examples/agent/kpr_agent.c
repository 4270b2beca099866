/* kpr_agent.c: the board's end of KPR1. docs/protocol.md is the specification.
 *
 * A request is 16 bytes: type, seq, A (4), B (4), C (2), CRC-32 (4), little-endian, byte-stuffed
 * between two 7E. Every request is answered from the event RAM alone, so a request may be lost,
 * repeated or cut at any point: the host asks again. All that is kept is the CRC of the frame that
 * is being sent.
 */
#include "kpr_agent.h"

#define FLAG 0x7E
#define ESCAPE 0x7D
#define XON 0x11
#define XOFF 0x13
#define REQUEST 16    /* bytes of a request with its CRC */
#define MAX_RECORDS 256UL
#define STUFFED 34    /* bytes from one 7E to the next that may be a request: 32, the flag, one more */
#define MAX_JUNK 48   /* bytes of no request after which a changed rate is given up */
#define STACK 16      /* open entry tags that the delta coding remembers */
#define CAN_BAUD 0x04UL
#define CAN_DELTA 0x08UL
#define CAN_CHECK 0x10UL
#define CAN_STOP 0x20UL

static unsigned long crc;

static void add_crc(int byte)
{
    static const unsigned long table[16] = {
        0x00000000UL, 0x1DB71064UL, 0x3B6E20C8UL, 0x26D930ACUL, 0x76DC4190UL, 0x6B6B51F4UL,
        0x4DB26158UL, 0x5005713CUL, 0xEDB88320UL, 0xF00F9344UL, 0xD6D6A3E8UL, 0xCB61B38CUL,
        0x9B64C2B0UL, 0x86D3D2D4UL, 0xA00AE278UL, 0xBDBDF21CUL
    };

    crc ^= (unsigned long)byte;
    crc = (crc >> 4) ^ table[(int)(crc & 15)];
    crc = (crc >> 4) ^ table[(int)(crc & 15)];
}

static void stuffed(int byte)
{
    if (byte == FLAG || byte == ESCAPE || byte == XON || byte == XOFF) {
        kpr_putc(ESCAPE);
        byte ^= 0x20;
    }
    kpr_putc(byte);
}

static void put8(int byte)
{
    byte &= 0xFF;
    add_crc(byte);
    stuffed(byte);
}

static void put32(unsigned long value)
{
    int i;

    for (i = 0; i < 4; i++, value >>= 8)
        put8((int)(value & 0xFF));
}

static void begin(int type, int seq)
{
    crc = 0xFFFFFFFFUL;
    kpr_putc(FLAG);
    put8(type);
    put8(seq);
}

static void finish(void)
{
    unsigned long sum = crc ^ 0xFFFFFFFFUL;
    int i;

    for (i = 0; i < 4; i++, sum >>= 8)
        stuffed((int)(sum & 0xFF));
    kpr_putc(FLAG);
}

static void answer(int type, int seq, unsigned long value)
{
    begin(type, seq);
    put32(value);
    finish();
}

static unsigned long get32(const unsigned char *from)
{
    return from[0] | (unsigned long)from[1] << 8 | (unsigned long)from[2] << 16
        | (unsigned long)from[3] << 24;
}

static void put_varint(unsigned long value)
{
    for (; value > 127; value >>= 7)
        put8((int)(value & 127) | 128);
    put8((int)value);
}

static void put_raw(unsigned long first, unsigned long count)
{
    int byte;

    for (; count; count--, first++)
        for (byte = 0; byte < 5; byte++)
            put8(kpr_ram(first, byte));
}

/* Each frame stands alone: the time and the tag before its first record count as 0. */
static void put_delta(unsigned long first, unsigned long count)
{
    unsigned stack[STACK];
    unsigned long time, last_time = 0, dt;
    unsigned tag, last_tag = 0, change;
    int depth = 0, expected;

    for (; count; count--, first++, last_time = time, last_tag = tag) {
        time = (unsigned long)kpr_ram(first, 0) << 16 | (unsigned long)kpr_ram(first, 1) << 8
            | kpr_ram(first, 2);
        tag = (unsigned)kpr_ram(first, 3) << 8 | kpr_ram(first, 4);
        dt = (time - last_time) & 0xFFFFFFUL;
        expected = depth && tag == ((stack[depth - 1] + 1) & 0xFFFFU);
        put8((int)(dt < 127 ? dt : 127) | (expected ? 128 : 0));
        if (dt >= 127)
            put_varint(dt - 127);
        if (!expected) {
            change = (tag - last_tag) & 0xFFFFU;
            put_varint(change < 0x8000U ? 2UL * change : 2UL * (0xFFFFU - change) + 1);
        }
        if (tag & 1) {
            if (depth)
                depth--;
        } else {
            if (depth == STACK)
                depth = 0;
            stack[depth++] = tag;
        }
    }
}

static void serve_info(const struct kpr_info *info, int seq)
{
    static const char head[] = { 'K', 'P', 'R', '1', 1, 5, 24, 16 };
    unsigned long flags = (info->flags & (KPR_FULL | KPR_RUNNING)) | CAN_DELTA | CAN_CHECK;
    unsigned long run;
    int i, most;

    if (info->baud)
        flags |= CAN_BAUD;
    if (info->poll)
        flags |= CAN_STOP;
    begin('i', seq);
    for (i = 0; i < (int)sizeof head; i++)
        put8(head[i]);
    put32(info->clock_hz);
    put32(info->capacity);
    put32(info->valid);
    put32(flags);
    put32(MAX_RECORDS);
    run = info->run ? info->run() & 0xFFFFFFFFUL : 0;
    most = run ? 27 : 32;
    for (i = 0; i < most && info->name && info->name[i]; i++)
        put8(info->name[i]);
    if (run) {
        put8(0);
        put32(run);
    }
    finish();
}

static void serve_records(const struct kpr_info *info, int seq, unsigned long first,
                          unsigned long count, unsigned how)
{
    unsigned long per = how & 0xFFFU, n;
    int delta = how >> 12 == 1;

    if (per < 1)
        per = 1;
    if (per > MAX_RECORDS)
        per = MAX_RECORDS;
    for (; count; count -= n, first += n) {
        if (info->poll && info->poll())
            break;
        n = count < per ? count : per;
        begin('d', seq);
        put32(first);
        put8((int)(n & 0xFF));
        put8((int)(n >> 8));
        put8(delta);
        if (delta)
            put_delta(first, n);
        else
            put_raw(first, n);
        finish();
    }
    answer('e', seq, first);
}

static void serve_check(int seq, unsigned long first, unsigned long count)
{
    unsigned long sum;
    int byte;

    crc = 0xFFFFFFFFUL;
    for (; count; count--, first++)
        for (byte = 0; byte < 5; byte++)
            add_crc(kpr_ram(first, byte));
    sum = crc ^ 0xFFFFFFFFUL;
    begin('k', seq);
    put32(first);
    put32(sum);
    finish();
}

/* Answer one request; 0 when the host has said goodbye. */
static int serve(const struct kpr_info *info, const unsigned char *request)
{
    int type = request[0], seq = request[1];
    unsigned long first = get32(request + 2), count = get32(request + 6), rate = first;
    unsigned how = request[10] | (unsigned)request[11] << 8;

    if (first > info->capacity)
        first = info->capacity;
    if (count > info->capacity - first)
        count = info->capacity - first;
    switch (type) {
    case 'I':
        serve_info(info, seq);
        break;
    case 'R':
        serve_records(info, seq, first, count, how);
        break;
    case 'K':
        serve_check(seq, first, count);
        break;
    case 'B':
        rate = info->baud && rate ? info->baud(rate, 0) : 0;
        answer('b', seq, rate);
        if (rate)
            info->baud(rate, 1);
        break;
    case 'Q':
        answer('q', seq, 0UL);
        if (info->baud)
            info->baud(0UL, 1);
        return 0;
    default:
        answer('?', seq, (unsigned long)type);
        break;
    }
    return 1;
}

static int sound(const unsigned char *request)
{
    int i;

    crc = 0xFFFFFFFFUL;
    for (i = 0; i < REQUEST; i++)
        add_crc(request[i]);
    return crc == 0xDEBB20E3UL;
}

void kpr_agent(const struct kpr_info *info)
{
    unsigned char request[REQUEST];
    int length = 0, escape = 0, since = 0, junk = 0, c;

    while ((c = kpr_getc()) >= 0) {
        /* A damaged request and the good one behind it must not count as one piece of junk: what
         * may still become a request counts when it has turned out to be none. */
        if (since < STUFFED)
            since++;
        else if (junk <= MAX_JUNK)
            junk++;
        if (c == FLAG) {
            if (length == REQUEST && !escape && sound(request)) {
                junk = 0;
                if (!serve(info, request))
                    return;
            } else if (junk <= MAX_JUNK) {
                junk += since;
            }
            length = escape = since = 0;
        } else if (c == ESCAPE) {
            if (escape)
                length = REQUEST + 1; /* 7D 7D: no frame has it */
            escape = 0x20;
        } else if (c != XON && c != XOFF) {
            if (length < REQUEST)
                request[length] = (unsigned char)(c ^ escape);
            if (length <= REQUEST)
                length++;
            escape = 0;
        }
        if (info->baud && junk > MAX_JUNK) {
            info->baud(0UL, 1);
            junk = since = 0;
        }
    }
}
