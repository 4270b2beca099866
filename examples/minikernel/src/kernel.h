/* kernel.h: what the parts of the kernel share. */
#ifndef KERNEL_H
#define KERNEL_H

#include "board.h"

/* Inline triggers: kprof's generated header defines PROFILE; without it they are nothing. */
#ifdef KPROF
#include "kprof_profile.h"
#else
#define PROFILE(name)
#endif

/* The kernel's own count of the calls of f, to hold the profile against. */
#ifdef COUNT_CALLS
#define COUNT(f) do { static u32 calls_##f; calls_##f++; } while (0)
#else
#define COUNT(f) do { } while (0)
#endif

/* lib.S: not C, no triggers. */
extern int spl_raise(int sr);
extern void spl_set(int sr);
extern void ctxsw(u32 **save, u32 **load);
extern void wait_interrupt(void);
extern void task_start(void);
extern void copy(const volatile void *from, volatile void *to, int length);

#define SR_NET 0x2100
#define SR_IMP 0x2400
#define SR_CLOCK 0x2500
#define SR_HIGH 0x2700
#define splx(s) spl_set(s)

extern int splnet(void);
extern int splimp(void);
extern int splclock(void);
extern int splhigh(void);

/* Tasks. */
#define TASKS 6
#ifndef STACK_LONGS
#define STACK_LONGS 512
#endif
enum state { FREE, RUNNABLE, SLEEPING };
struct task {
    u32 *sp;
    enum state state;
    const void *channel;
    struct task *next;
    const char *name;
    u32 stack[STACK_LONGS];
};
extern struct task tasks[TASKS];
extern struct task *current;
extern void task_create(const char *name, void (*body)(void));
extern void scheduler(void);
extern void sleep(const void *channel);
extern void wakeup(const void *channel);
extern void pause_ticks(int count);

/* Clock and soft interrupts. */
#define HZ 100
#define SOFT_NET 1
#define SOFT_CLOCK 2
extern volatile u32 soft_pending;
extern volatile u32 ticks;
extern void clock_init(void);
extern void setsoftnet(void);
extern void timeout(void (*f)(void *), void *argument, int count);

/* The network: this one, or with OWN_NET another one, which has these (../lwip). */
#ifdef OWN_NET
extern void net_init(void);
extern void reader(void);
#endif
extern void le_init(void);
extern void lanisr(void);
extern void ipintr(void);

#ifndef OWN_NET

/* Memory buffers. */
#define MLEN 112
#define MCLBYTES 1024
struct mbuf {
    struct mbuf *next;   /* the rest of this packet */
    struct mbuf *packet; /* the next packet in a queue */
    volatile u8 *data;
    int length;
    void *external; /* a cluster or a slot on loan, or null */
    void (*release)(void *);
    u8 inside[MLEN];
};
struct queue {
    struct mbuf *head, *tail;
    int length;
};
extern struct mbuf *mbuf_free;
extern u8 *cluster_free;
extern void mbuf_init(void);
extern struct mbuf *m_get(void);
extern struct mbuf *m_free(struct mbuf *m);
extern void m_freem(struct mbuf *m);
extern struct mbuf *m_pullup(struct mbuf *m, int length);
extern void cluster_release(void *cluster);

#define MGET(m) do { \
        int s_; \
        PROFILE(MGET); \
        s_ = splimp(); \
        if (((m) = mbuf_free) != 0) { \
            mbuf_free = (m)->next; \
            (m)->next = (m)->packet = 0; \
            (m)->data = (m)->inside; \
            (m)->external = 0; \
        } \
        splx(s_); \
    } while (0)
#define MCLGET(m) do { \
        int s_; \
        PROFILE(MCLGET); \
        s_ = splimp(); \
        if (cluster_free) { \
            (m)->external = cluster_free; \
            (m)->release = cluster_release; \
            cluster_free = *(u8 **)cluster_free; \
            (m)->data = (m)->external; \
        } \
        splx(s_); \
    } while (0)
#define ENQUEUE(q, m) do { \
        if ((q)->tail) \
            (q)->tail->packet = (m); \
        else \
            (q)->head = (m); \
        (q)->tail = (m); \
        (q)->length++; \
    } while (0)
#define DEQUEUE(q, m) do { \
        if (((m) = (q)->head) != 0) { \
            if (((q)->head = (m)->packet) == 0) \
                (q)->tail = 0; \
            (m)->packet = 0; \
            (q)->length--; \
        } \
    } while (0)

struct socket {
    struct queue buffer;
    int bytes;
    u32 sequence;
    int unacknowledged;
};
extern struct queue ip_queue;
extern struct socket data_socket;
extern void leoutput(struct mbuf *m);
extern int in_cksum(struct mbuf *m, int skip, int length, u32 sum);
extern void ip_output(struct mbuf *m, int length);
extern void tcp_input(struct mbuf *m, int header, int length);
extern void tcp_output(struct socket *so);
extern void sbappend(struct socket *so, struct mbuf *m);
extern int soreceive(struct socket *so, u8 *to, int room);
extern void uiomove(struct mbuf *m, u8 *to, int length);

#endif

/* The console, the pipe, the monitor. */
extern int duart_mask; /* the interrupts that are on */
extern void duart_init(void);
extern void duartint(int status);
extern int monitor_line(int channel, int c);
extern void cnputs(const char *text);
extern void cnputn(u32 value);
extern void printn(char **to, u32 value);
extern void upload(void);
extern void start_tasks(void);

#endif
