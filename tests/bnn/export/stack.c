/* How many bytes of stack a function of an exported file takes: a thread runs it on painted memory. */
#define _XOPEN_SOURCE 600
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 25, PAINT = 0xA5 };
typedef int function(int, const double *, double *, double *, double *, double *);
struct task { function *function; const double *x; double *mean, *std, *dmean, *dstd; };

static void *run(void *given)
{
    struct task *task = given;
    if (task->function)
        task->function(1, task->x, task->mean, task->std, task->dmean, task->dstd);
    return NULL;
}

/* At one point; of no function, what a thread takes itself. Returns -1 without a thread. */
long stack_of(function *f, const double *x, double *mean, double *std, double *dmean, double *dstd)
{
    struct task task = {f, x, mean, std, dmean, dstd};
    unsigned char *stack;
    long unused = 0;
    pthread_attr_t attributes;
    pthread_t thread;
    if (posix_memalign((void **)&stack, 1 << 16, SIZE))
        return -1;
    memset(stack, PAINT, SIZE);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, SIZE);
    if (pthread_create(&thread, &attributes, run, &task))
        return -1;
    pthread_join(thread, NULL);
    while (unused < SIZE && stack[unused] == PAINT)
        unused++;
    free(stack);
    return SIZE - unused;
}
