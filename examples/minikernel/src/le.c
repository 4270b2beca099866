/* le.c: the Ethernet driver.
 *
 * As the paper found it: every packet is copied out of the controller's slow memory, in the
 * interrupt handler, into a cluster and an ordinary buffer. With LOAN defined, as the paper then
 * changed it: the slot itself is loaned to the network code and given back when the buffer is freed.
 */
#include "kernel.h"

#define HEADER 14

struct queue ip_queue;
static struct queue send_queue;
static int receive_at, sending;
u32 le_drops;

void le_init(void)
{
    int i;

    for (i = 0; i < LE_RXSLOTS; i++)
        LE_SLOTS[i].status = LE_OWNED;
    LE_CSR = LE_RUN | LE_INTEN;
}

#ifdef LOAN
static void le_release(void *slot)
{
    COUNT(le_release);
    ((volatile struct le_slot *)slot)->status = LE_OWNED;
}

static struct mbuf *le_get(volatile struct le_slot *slot)
{
    struct mbuf *m;

    COUNT(le_get);
    MGET(m);
    if (m) {
        m->data = slot->frame + HEADER;
        m->length = slot->length - HEADER;
        m->external = (void *)slot;
        m->release = le_release;
    } else
        slot->status = LE_OWNED;
    return m;
}
#endif

/* Start the controller on the next packet of the send queue. */
void lestart(void)
{
    struct mbuf *m;
    volatile u8 *to = LE_SLOTS[LE_RXSLOTS].frame;
    int length = 0;

    COUNT(lestart);
    DEQUEUE(&send_queue, m);
    if (!m) {
        sending = 0;
        return;
    }
    sending = 1;
    while (m) {
        copy(m->data, to + length, m->length);
        length += m->length;
        m = m_free(m);
    }
    LE_TX = length < 60 ? 60 : length;
}

/* The Ethernet controller's interrupt. */
void lanisr(void)
{
    int events = LE_CSR & (LE_RXDONE | LE_TXDONE);
    volatile struct le_slot *slot;
    struct mbuf *m;

    COUNT(lanisr);
    LE_CSR = LE_RUN | LE_INTEN | events;
    if (events & LE_TXDONE)
        lestart();
    while (!((slot = &LE_SLOTS[receive_at])->status & LE_OWNED)) {
#ifdef LOAN
        if (slot->length == 0)
            break; /* on loan */
#endif
        PROFILE(le_rxpkt);
#ifdef LOAN
        m = le_get(slot);
        slot->length = 0;
#else
        MGET(m);
        if (m) {
            int length = slot->length - HEADER;

            m->length = length > MCLBYTES ? MCLBYTES : length;
            MCLGET(m);
            if (m->external) {
                copy(slot->frame + HEADER, m->data, m->length);
                length -= m->length;
                if (length > 0 && length <= MLEN) {
                    MGET(m->next);
                    if (m->next) {
                        copy(slot->frame + HEADER + MCLBYTES, m->next->data, length);
                        m->next->length = length;
                    }
                }
            } else {
                m_freem(m);
                m = 0;
            }
        }
        slot->status = LE_OWNED;
#endif
        receive_at = (receive_at + 1) % LE_RXSLOTS;
        if (m) {
            ENQUEUE(&ip_queue, m);
            setsoftnet();
        } else
            le_drops++;
    }
}

/* Level 4. */
void vec1(void)
{
    COUNT(vec1);
    lanisr();
}

/* Put the Ethernet's header before a packet and send it. */
void leoutput(struct mbuf *m)
{
    struct mbuf *n = m_get();
    int s;

    COUNT(leoutput);
    if (!n) {
        m_freem(m);
        return;
    }
    n->data[0] = 2;
    n->data[6] = 2;
    n->data[12] = 8;
    n->data[13] = 0;
    n->length = HEADER;
    n->next = m;
    s = splimp();
    ENQUEUE(&send_queue, n);
    if (!sending)
        lestart();
    splx(s);
}
