/* le.c: the Ethernet driver, in pbufs: the paper's case study in three ways.
 *
 * As the paper found it: every packet is copied out of the controller's slow memory, in the interrupt
 * handler. With LOAN, as the paper then changed it: the controller's slot is loaned to lwIP as a pbuf,
 * and given back when that is freed. With SUM, the third way: the interrupt handler loans the slot to
 * the soft interrupt only, which copies the packet into fast memory and adds up its checksum on the
 * way; lwIP does not check TCP's again.
 */
#include "net.h"
#include "lwip/etharp.h"
#include "lwip/prot/ip4.h"
#include "lwip/prot/ethernet.h"
#include "lwip/prot/ip.h"
#include "lwip/stats.h"

#define SEND_QUEUE 16
#define INPUT_QUEUE 64
#define LEAST 60

struct netif le_netif;
u32 le_drops, le_out_drops;
static struct pbuf *send_queue[SEND_QUEUE];
static int send_in, send_out, sending, receive_at;
static struct pbuf *input_queue[INPUT_QUEUE];
static int input_in, input_out;

/* A slot's frame, with the two bytes before it that align what follows the header. */
#define SLOT_DATA(slot) ((u8 *)(slot)->frame - ETH_PAD_SIZE)

#if defined LOAN || defined SUM

static struct pbuf_custom loans[LE_RXSLOTS];

static void le_release(struct pbuf *p)
{
    COUNT(le_release);
    LE_SLOTS[(struct pbuf_custom *)p - loans].status = LE_OWNED;
}

/* Loan a slot: it is marked by a length of 0. */
static struct pbuf *le_get(int at)
{
    volatile struct le_slot *slot = &LE_SLOTS[at];
    int length = slot->length + ETH_PAD_SIZE;

    COUNT(le_get);
    slot->length = 0;
    loans[at].custom_free_function = le_release;
    return pbuf_alloced_custom(PBUF_RAW, length, PBUF_REF, &loans[at], SLOT_DATA(slot), length);
}

#else

/* Copy a slot into a chain of pbufs. */
static struct pbuf *le_get(int at)
{
    volatile struct le_slot *slot = &LE_SLOTS[at];
    struct pbuf *p = pbuf_alloc(PBUF_RAW, slot->length + ETH_PAD_SIZE, PBUF_POOL), *q;
    u8 *from = SLOT_DATA(slot);

    COUNT(le_get);
    for (q = p; q; q = q->next) {
        copy(from, q->payload, q->len);
        from += q->len;
    }
    slot->status = LE_OWNED;
    return p;
}

#endif

/* Start the controller on the next packet of the send queue. */
void lestart(void)
{
    struct pbuf *p, *q;
    volatile u8 *to = LE_SLOTS[LE_RXSLOTS].frame;
    int length;

    COUNT(lestart);
    if (send_in == send_out) {
        sending = 0;
        return;
    }
    sending = 1;
    p = send_queue[send_out++ % SEND_QUEUE];
    length = p->tot_len - ETH_PAD_SIZE;
    copy((u8 *)p->payload + ETH_PAD_SIZE, to, p->len - ETH_PAD_SIZE);
    to += p->len - ETH_PAD_SIZE;
    for (q = p->next; q; q = q->next) {
        copy(q->payload, to, q->len);
        to += q->len;
    }
    pbuf_free(p);
    LE_TX = length < LEAST ? LEAST : length;
}

/* The Ethernet controller's interrupt. */
void lanisr(void)
{
    int events = LE_CSR & (LE_RXDONE | LE_TXDONE);
    struct pbuf *p;

    COUNT(lanisr);
    LE_CSR = LE_RUN | LE_INTEN | events;
    if (events & LE_TXDONE)
        lestart();
    while (!(LE_SLOTS[receive_at].status & LE_OWNED) && LE_SLOTS[receive_at].length) {
        PROFILE(le_rxpkt);
        LINK_STATS_INC(link.recv);
        p = le_get(receive_at);
        receive_at = (receive_at + 1) % LE_RXSLOTS;
        if (!p)
            le_drops++;
        else if (input_in - input_out == INPUT_QUEUE) {
            pbuf_free(p);
            le_drops++;
        } else {
            input_queue[input_in++ % INPUT_QUEUE] = p;
            setsoftnet();
        }
    }
}

/* Level 4. */
void vec1(void)
{
    COUNT(vec1);
    lanisr();
}

#ifdef SUM

/* Copy a loaned packet into fast memory and check TCP's sum on the way; null if it is wrong.
 *
 * The sum of a right IP header is 0 in ones' complement, so the sum of the whole packet is that of the
 * segment; IP's own check shows whether the header is right. */
static struct pbuf *le_copy_sum(struct pbuf *loan)
{
    struct pbuf *p = pbuf_alloc(PBUF_RAW, loan->tot_len, PBUF_POOL);
    const u8 *from = loan->payload;
    const struct ip_hdr *ip = (const struct ip_hdr *)(from + SIZEOF_ETH_HDR);
    int length = loan->tot_len - SIZEOF_ETH_HDR, tcp;
    u32 sum;

    COUNT(le_copy_sum);
    tcp = ((const struct eth_hdr *)from)->type == PP_HTONS(ETHTYPE_IP) && length >= IP_HLEN
        && IPH_PROTO(ip) == IP_PROTO_TCP && lwip_ntohs(IPH_LEN(ip)) <= length;
    if (tcp)
        length = lwip_ntohs(IPH_LEN(ip)); /* the rest is padding */
    if (p && !p->next) {
        copy(from, p->payload, SIZEOF_ETH_HDR);
        ip = (const struct ip_hdr *)((u8 *)p->payload + SIZEOF_ETH_HDR);
        sum = copy_sum(from + SIZEOF_ETH_HDR, (void *)ip, length);
        sum += (ip->src.addr >> 16) + (ip->src.addr & 0xFFFF);
        sum += (ip->dest.addr >> 16) + (ip->dest.addr & 0xFFFF);
        sum += IP_PROTO_TCP + length - IPH_HL_BYTES(ip);
        sum = (sum & 0xFFFF) + (sum >> 16);
        if (!tcp || sum == 0xFFFF) {
            pbuf_free(loan);
            return p;
        }
        TCP_STATS_INC(tcp.chkerr);
        MIB2_STATS_INC(mib2.tcpinerrs);
    }
    if (p)
        pbuf_free(p);
    pbuf_free(loan);
    return 0;
}

#endif

/* The soft interrupt: give lwIP the packets that have come. */
void ipintr(void)
{
    struct pbuf *p;

    COUNT(ipintr);
    while (input_in != input_out) {
        p = input_queue[input_out++ % INPUT_QUEUE];
#ifdef SUM
        p = le_copy_sum(p);
        if (!p)
            continue;
#endif
        if (le_netif.input(p, &le_netif) != ERR_OK)
            pbuf_free(p);
    }
}

/* Send a packet, or let it wait for the controller. */
static err_t leoutput(struct netif *netif, struct pbuf *p)
{
    int s = splimp();
    err_t done = ERR_OK;

    COUNT(leoutput);
    if (send_in - send_out == SEND_QUEUE) {
        le_out_drops++;
        done = ERR_MEM;
    } else {
        LINK_STATS_INC(link.xmit);
        pbuf_ref(p);
        send_queue[send_in++ % SEND_QUEUE] = p;
        if (!sending)
            lestart();
    }
    splx(s);
    (void)netif;
    return done;
}

err_t le_netif_init(struct netif *netif)
{
    static const u8 address[] = { 2, 0, 'M', 'D', '2', '0' };
    int i;

    netif->name[0] = 'l';
    netif->name[1] = 'e';
    netif->mtu = 1500;
    netif->hwaddr_len = sizeof address;
    copy(address, netif->hwaddr, sizeof address);
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
    netif->output = etharp_output;
    netif->linkoutput = leoutput;
#ifdef SUM
    NETIF_SET_CHECKSUM_CTRL(netif, NETIF_CHECKSUM_ENABLE_ALL & ~NETIF_CHECKSUM_CHECK_TCP);
#endif
    for (i = 0; i < LE_RXSLOTS; i++)
        LE_SLOTS[i].status = LE_OWNED;
    LE_CSR = LE_RUN | LE_INTEN;
    return ERR_OK;
}
