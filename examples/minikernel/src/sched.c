/* sched.c: tasks that run until they sleep, in two ways.
 *
 * As in the paper: sw_sys leaves a task for the system context ($ in the name file), which picks the
 * next one, and sw_task leaves that for a task (*). scheduler never returns and has value 0 in the
 * name file: with no trigger of its own, what the system context spends outside of other functions
 * is the idle time.
 *
 * With SWTCH defined, as in BSD: swtch is called on the stack of the task that leaves and returns on
 * that of the task that comes (!); it waits for a task inside.
 */
#include "kernel.h"

struct task tasks[TASKS];
struct task *current;
static struct task *run_head, *run_tail;

void task_create(const char *name, void (*body)(void))
{
    struct task *t = tasks;
    u32 *sp;
    int i;

    while (t->state != FREE)
        t++;
    sp = t->stack + STACK_LONGS;
    *--sp = (u32)task_start;
    for (i = 0; i < 11; i++) /* a6 to a2, d7 to d2 */
        *--sp = i == 4 ? (u32)body : 0;
    t->sp = sp;
    t->name = name;
    t->state = SLEEPING;
    t->channel = t;
    wakeup(t);
}

/* Put a task at the end of the run queue. */
void setrun(struct task *t)
{
    COUNT(setrun);
    t->state = RUNNABLE;
    t->next = 0;
    if (run_tail)
        run_tail->next = t;
    else
        run_head = t;
    run_tail = t;
}

/* The next task to run, taken from the queue; null if all sleep. */
struct task *remrq(void)
{
    struct task *t = run_head;

    COUNT(remrq);
    if ((run_head = t->next) == 0)
        run_tail = 0;
    return t;
}

#ifdef SWTCH

static struct task boot;

void swtch(void)
{
    struct task *old = current;

    COUNT(swtch);
    while (!run_head) {
        wait_interrupt();
        spl_raise(SR_HIGH);
    }
    current = remrq();
    if (current != old)
        ctxsw(&old->sp, &current->sp);
}

#else

static u32 *system_sp;

void sw_sys(void)
{
    COUNT(sw_sys);
    ctxsw(&current->sp, &system_sp);
}

void sw_task(struct task *t)
{
    COUNT(sw_task);
    current = t;
    ctxsw(&system_sp, &t->sp);
}

#endif

void sleep(const void *channel)
{
    int s = splhigh();

    COUNT(sleep);
    current->state = SLEEPING;
    current->channel = channel;
#ifdef SWTCH
    swtch();
#else
    sw_sys();
#endif
    splx(s);
}

void wakeup(const void *channel)
{
    int s = splhigh();
    struct task *t;

    COUNT(wakeup);
    for (t = tasks; t < tasks + TASKS; t++)
        if (t->state == SLEEPING && t->channel == channel)
            setrun(t);
    splx(s);
}

void scheduler(void)
{
#ifdef SWTCH
    spl_raise(SR_HIGH);
    current = &boot;
    swtch(); /* for good: nothing makes boot runnable */
#else
    for (;;) {
        spl_raise(SR_HIGH);
        if (run_head)
            sw_task(remrq());
        else
            wait_interrupt();
    }
#endif
}
