/* sink.c: a TCP sink on port 5001, its task, and what lwIP wants of a system.
 *
 * lwIP's core runs in the soft interrupt, as Berkeley's does; a task that calls it masks that.
 */
#include <string.h>
#include "net.h"
#include "lwip/init.h"
#include "lwip/stats.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"

#define PORT 5001
#define PATTERN 251 /* the peer sends 0 to 250 over and over */
#define TIMER_TICKS 5

extern u32 received_bytes;
u32 wrong_bytes, accepted, closed;
static struct pbuf *pending;
static struct tcp_pcb *connection;
static u32 position;

/* Segments with a wrong checksum, and lwIP's own counts of what the functions of these names do, to
 * hold their calls against. */
const u32_t *const lwip_wrong_sums = &lwip_stats.tcp.chkerr;
const struct {
    const char function[24];
    const u32_t *count;
} lwip_counts[] = {
    { "ethernet_input", &lwip_stats.link.recv },
    { "etharp_input", &lwip_stats.etharp.recv },
    { "etharp_raw", &lwip_stats.etharp.xmit },
    { "ip4_input", &lwip_stats.ip.recv },
    { "ip4_input", &lwip_stats.mib2.ipinreceives },
    { "ip4_output_if_src", &lwip_stats.ip.xmit },
    { "tcp_input", &lwip_stats.tcp.recv },
    { "tcp_input", &lwip_stats.mib2.tcpinsegs },
    { "tcp_output_segment", &lwip_stats.mib2.tcpoutsegs },
    { "leoutput", &lwip_stats.link.xmit },
    { "", 0 }
};

/* Data, or the end of them (no pbuf), from lwIP. */
static err_t sink_receive(void *argument, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
    (void)argument;
    (void)error;
    if (!p) {
        closed++;
        connection = 0;
        return tcp_close(pcb);
    }
    if (pending)
        pbuf_cat(pending, p);
    else
        pending = p;
    wakeup(&pending);
    return ERR_OK;
}

static void sink_error(void *argument, err_t error)
{
    (void)argument;
    (void)error;
    closed++;
    connection = 0;
}

static err_t sink_accept(void *argument, struct tcp_pcb *pcb, err_t error)
{
    if (error != ERR_OK || !pcb)
        return ERR_VAL;
    accepted++;
    if (pending)
        pbuf_free(pending);
    pending = 0;
    position = 0;
    connection = pcb;
    tcp_recv(pcb, sink_receive);
    tcp_err(pcb, sink_error);
    (void)argument;
    return ERR_OK;
}

/* Receive up to `room` bytes, at least one: sleeps until there is something. */
int soreceive(u8 *to, int room)
{
    int s = splnet(), done;

    COUNT(soreceive);
    while (!pending)
        sleep(&pending);
    done = pbuf_copy_partial(pending, to, room, 0);
    if (done == pending->tot_len) {
        pbuf_free(pending);
        pending = 0;
    } else
        pending = pbuf_free_header(pending, done);
    if (connection)
        tcp_recved(connection, done);
    splx(s);
    return done;
}

/* Read the data stream, as the paper's sink did; the first byte of each part is looked at. */
void soo_read(void)
{
    static u8 sink[2048];
    int length;

    COUNT(soo_read);
    length = soreceive(sink, sizeof sink);
    if (sink[0] != position % PATTERN)
        wrong_bytes++;
    position += length;
    received_bytes += length;
}

void reader(void)
{
    for (;;)
        soo_read();
}

static void lwip_timer(void *argument)
{
    COUNT(lwip_timer);
    sys_check_timeouts();
    timeout(lwip_timer, argument, TIMER_TICKS);
}

void net_init(void)
{
    ip4_addr_t address, mask, gateway;
    struct tcp_pcb *pcb;

    lwip_init();
    IP4_ADDR(&address, 10, 0, 0, 1);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&gateway, 10, 0, 0, 2);
    netif_add(&le_netif, &address, &mask, &gateway, 0, le_netif_init, ethernet_input);
    netif_set_default(&le_netif);
    netif_set_up(&le_netif);
    pcb = tcp_new();
    tcp_bind(pcb, IP_ADDR_ANY, PORT);
    tcp_accept(tcp_listen(pcb), sink_accept);
    timeout(lwip_timer, 0, TIMER_TICKS);
}

/* What lwIP wants of a system. */
u32_t sys_now(void)
{
    return ticks * (1000 / HZ);
}

sys_prot_t sys_arch_protect(void)
{
    return spl_raise(SR_IMP);
}

void sys_arch_unprotect(sys_prot_t s)
{
    splx(s);
}

unsigned int lwip_random(void)
{
    static u32 state = 1;

    return state = state * 1664525 + 1013904223;
}

void lwip_panic(const char *what)
{
    cnputs(what);
    for (;;)
        pause_ticks(HZ);
}

/* What lwIP and the compiler want of a C library. */
void *memcpy(void *to, const void *from, size_t length)
{
    copy(from, to, length);
    return to;
}

void *memmove(void *to, const void *from, size_t length)
{
    u8 *t = to;
    const u8 *f = from;

    if (t <= f || t >= f + length)
        return memcpy(to, from, length);
    while (length--)
        t[length] = f[length];
    return to;
}

void *memset(void *to, int value, size_t length)
{
    u8 *t = to;

    while (length--)
        *t++ = value;
    return to;
}

int memcmp(const void *one, const void *other, size_t length)
{
    const u8 *a = one, *b = other;

    for (; length--; a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}

size_t strlen(const char *text)
{
    size_t n = 0;

    while (text[n])
        n++;
    return n;
}
