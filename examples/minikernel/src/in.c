/* in.c: IP and the part of TCP that a data sink needs. */
#include "kernel.h"

#define IP_HEADER 20
#define TCP_HEADER 20
#define TCP 6
#define GET16(p) ((p)[0] << 8 | (p)[1])
#define GET32(p) ((u32)GET16(p) << 16 | GET16((p) + 2))

u32 ip_bad, tcp_bad;

/* The Internet checksum of `length` bytes of a chain, from byte `skip` on; 0 of good data. */
int in_cksum(struct mbuf *m, int skip, int length, u32 sum)
{
    int odd = 0;

    COUNT(in_cksum);
    for (; m && length > 0; m = m->next) {
        volatile u8 *p = m->data + skip;
        int n = m->length - skip;

        skip = 0;
        if (n > length)
            n = length;
        length -= n;
        if (n > 0 && odd) {
            sum += *p++;
            n--;
            odd = 0;
        }
        for (; n >= 8; n -= 8, p += 8) {
            volatile u16 *w = (volatile u16 *)p;

            sum += w[0];
            sum += w[1];
            sum += w[2];
            sum += w[3];
        }
        for (; n >= 2; n -= 2, p += 2)
            sum += *(volatile u16 *)p;
        if (n > 0) {
            sum += *p << 8;
            odd = 1;
        }
    }
    while (sum >> 16)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return ~sum & 0xFFFF;
}

/* Take the packets off the queue that the Ethernet's interrupt fills. */
void ipintr(void)
{
    struct mbuf *m;
    int s, length;

    COUNT(ipintr);
    for (;;) {
        s = splimp();
        DEQUEUE(&ip_queue, m);
        splx(s);
        if (!m)
            return;
        m = m_pullup(m, IP_HEADER + TCP_HEADER);
        if (!m)
            continue;
        if (m->data[0] != 0x45 || m->data[9] != TCP || in_cksum(m, 0, IP_HEADER, 0)) {
            ip_bad++;
            m_freem(m);
            continue;
        }
        length = GET16(m->data + 2) - IP_HEADER;
        tcp_input(m, IP_HEADER, length);
    }
}

void ip_output(struct mbuf *m, int length)
{
    int sum;

    COUNT(ip_output);
    m->data[0] = 0x45;
    m->data[2] = length >> 8;
    m->data[3] = length;
    m->data[8] = 64;
    m->data[9] = TCP;
    m->data[10] = m->data[11] = 0;
    sum = in_cksum(m, 0, IP_HEADER, 0);
    m->data[10] = sum >> 8;
    m->data[11] = sum;
    leoutput(m);
}

void tcp_input(struct mbuf *m, int header, int length)
{
    struct socket *so = &data_socket;
    volatile u8 *p = m->data;
    u32 pseudo = TCP + length;
    int i, left;
    struct mbuf *n;

    COUNT(tcp_input);
    for (i = 12; i < 20; i += 2)
        pseudo += GET16(p + i);
    if (in_cksum(m, header, length, pseudo)) {
        tcp_bad++;
        m_freem(m);
        return;
    }
    so->sequence = GET32(p + header + 4) + length - TCP_HEADER;
    m->data += header + TCP_HEADER;
    m->length -= header + TCP_HEADER;
    left = length - TCP_HEADER;
    for (n = m; n; n = n->next) { /* the Ethernet pads short frames */
        if (n->length > left)
            n->length = left;
        left -= n->length;
    }
    sbappend(so, m);
    if (++so->unacknowledged == 2)
        tcp_output(so);
}

/* Acknowledge what has come. */
void tcp_output(struct socket *so)
{
    struct mbuf *m = m_get();
    int i;

    COUNT(tcp_output);
    so->unacknowledged = 0;
    if (!m)
        return;
    m->length = IP_HEADER + TCP_HEADER;
    for (i = 0; i < m->length; i++)
        m->data[i] = 0;
    for (i = 0; i < 4; i++)
        m->data[28 + i] = so->sequence >> (24 - 8 * i);
    m->data[32] = 5 << 4;
    m->data[33] = 0x10;
    i = in_cksum(m, IP_HEADER, TCP_HEADER, TCP + TCP_HEADER);
    m->data[36] = i >> 8;
    m->data[37] = i;
    ip_output(m, m->length);
}
