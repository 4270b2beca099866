/* mbuf.c: memory buffers and clusters. MGET and MCLGET are macros with inline triggers in them. */
#include "kernel.h"

#define MBUFS 96
#define CLUSTERS 40

struct mbuf *mbuf_free;
u8 *cluster_free;
static struct mbuf mbufs[MBUFS];
static u32 clusters[CLUSTERS][MCLBYTES / 4];

void mbuf_init(void)
{
    int i;

    for (i = 0; i < MBUFS; i++) {
        mbufs[i].next = mbuf_free;
        mbuf_free = &mbufs[i];
    }
    for (i = 0; i < CLUSTERS; i++)
        cluster_release(clusters[i]);
}

void cluster_release(void *cluster)
{
    int s = spl_raise(SR_IMP);

    COUNT(cluster_release);
    *(u8 **)cluster = cluster_free;
    cluster_free = cluster;
    splx(s);
}

struct mbuf *m_get(void)
{
    struct mbuf *m;

    COUNT(m_get);
    MGET(m);
    return m;
}

/* Free one buffer; the one behind it. */
struct mbuf *m_free(struct mbuf *m)
{
    struct mbuf *next = m->next;
    int s = splimp();

    COUNT(m_free);
    if (m->external)
        m->release(m->external);
    m->next = mbuf_free;
    mbuf_free = m;
    splx(s);
    return next;
}

void m_freem(struct mbuf *m)
{
    COUNT(m_freem);
    while (m)
        m = m_free(m);
}

/* Bring the first `length` bytes of a packet into one ordinary buffer; null if it is too short. */
struct mbuf *m_pullup(struct mbuf *m, int length)
{
    struct mbuf *n;

    COUNT(m_pullup);
    if (m->length < length) {
        m_freem(m);
        return 0;
    }
    if (!m->external)
        return m;
    n = m_get();
    if (!n) {
        m_freem(m);
        return 0;
    }
    copy(m->data, n->data, length);
    n->length = length;
    m->data += length;
    m->length -= length;
    n->next = m;
    return n;
}
