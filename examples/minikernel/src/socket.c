/* socket.c: where the packets wait for the task that reads them. */
#include "kernel.h"

struct socket data_socket;

/* Drop the empty buffers of a packet. */
struct mbuf *sbcompress(struct mbuf *m)
{
    COUNT(sbcompress);
    while (m && m->length == 0)
        m = m_free(m);
    return m;
}

void sowakeup(struct socket *so)
{
    COUNT(sowakeup);
    wakeup(so);
}

void sbappend(struct socket *so, struct mbuf *m)
{
    struct mbuf *n;

    COUNT(sbappend);
    m = sbcompress(m);
    if (!m)
        return;
    for (n = m; n; n = n->next)
        so->bytes += n->length;
    ENQUEUE(&so->buffer, m);
    sowakeup(so);
}

void sbwait(struct socket *so)
{
    COUNT(sbwait);
    sleep(so);
}

/* Copy data to the task's own memory. */
void uiomove(struct mbuf *m, u8 *to, int length)
{
    COUNT(uiomove);
    copy(m->data, to, length);
}

/* Receive up to `room` bytes, at least one: sleeps until there is something. */
int soreceive(struct socket *so, u8 *to, int room)
{
    int s = splnet(), done = 0;
    struct mbuf *m;

    COUNT(soreceive);
    while (!so->buffer.head)
        sbwait(so);
    while (done < room) {
        int part;

        DEQUEUE(&so->buffer, m);
        if (!m)
            break;
        while (m && done < room) {
            part = m->length < room - done ? m->length : room - done;
            splx(s);
            uiomove(m, to + done, part);
            s = splnet();
            done += part;
            so->bytes -= part;
            m->data += part;
            m->length -= part;
            if (m->length == 0)
                m = m_free(m);
        }
        if (m) { /* no room for the rest: put it back in front */
            m->packet = so->buffer.head;
            so->buffer.head = m;
            if (!so->buffer.tail)
                so->buffer.tail = m;
            so->buffer.length++;
        }
    }
    splx(s);
    return done;
}
