/* poll() for User-mode Linux, in which a host sleeps while it is idle.

   Its kernel 7.2 polls a signalfd that has its timer's signal. A packet's signal (SIGIO) is not in it: one that comes
   once the kernel has seen that it has nothing to do, and before it sleeps, is only noted, and the host sleeps on, until
   its next timer: 10 ms at most. Replies that come at once, just when the host goes to sleep, have that often. So the
   files whose signals these are (an epoll) are polled beside it. Preloaded by uml_host.py.

   Without headers: the compiler alone is enough. */

struct file {
    int number;
    short events, seen;
};

long syscall(long number, ...);

enum { POLL = 7, SIGNALFD = 289, EPOLL_CREATE = 291, READABLE = 1, MASK_BYTES = 8 };
/* A file that is ready and that nobody reads must not keep the host awake. */
enum { MOST = 8 };

static int timer = -1, devices = -1, awake;

int epoll_create(int size)
{
    int made = syscall(EPOLL_CREATE, 0);

    (void)size;
    if (devices < 0)
        devices = made;
    return made;
}

int signalfd(int file, const void *mask, int flags)
{
    timer = syscall(SIGNALFD, file, mask, MASK_BYTES, flags);
    return timer;
}

int poll(struct file *files, unsigned long count, int milliseconds)
{
    struct file both[2];
    long ready;

    if (count != 1 || files->number != timer || milliseconds >= 0 || devices < 0 || awake >= MOST) {
        awake = 0;
        return syscall(POLL, files, count, milliseconds);
    }
    both[0] = *files;
    both[1].number = devices;
    both[1].events = READABLE;
    ready = syscall(POLL, both, 2, milliseconds);
    files->seen = both[0].seen;
    awake = ready > 0 && both[1].seen ? awake + 1 : 0;
    return ready;
}
