/* ptrace() for User-mode Linux on a processor with AMX.

   Its kernel 6.1 hands the tracer's registers over in 2696 bytes: up to AVX-512 and the protection keys. Where the
   processor has more, Linux takes them whole or not at all (EFAULT), and no host boots. What is behind those bytes
   belongs to AMX, which no program on a host can use, so it is handed over as not in use. Preloaded by uml_host.py.

   Without headers: the compiler alone is enough. */

struct piece {
    void *base;
    unsigned long length;
};

long syscall(long number, ...);
int *__errno_location(void);

enum { PTRACE = 101, PEEK_FIRST = 1, PEEK_LAST = 3, GET_SET = 0x4204, SET_SET = 0x4205, XSTATE = 0x202, ROOM = 65536 };

static unsigned char whole[ROOM] __attribute__((aligned(64)));
static unsigned long size;

static long set_xstate(long process, const struct piece *given)
{
    struct piece every = {whole, ROOM};
    unsigned long at;

    if (!size) {
        if (syscall(PTRACE, GET_SET, process, XSTATE, &every) < 0)
            return -1;
        size = every.length;
        for (at = 0; at < size; at++)
            whole[at] = 0;
    }
    if (given->length >= size)
        return syscall(PTRACE, SET_SET, process, XSTATE, given);
    __builtin_memcpy(whole, given->base, given->length);
    every.length = size;
    return syscall(PTRACE, SET_SET, process, XSTATE, &every);
}

long ptrace(unsigned long request, long process, void *address, void *data)
{
    long done, word = 0;

    if (request == SET_SET && (unsigned long)address == XSTATE)
        return set_xstate(process, data);
    if (request < PEEK_FIRST || request > PEEK_LAST)
        return syscall(PTRACE, request, process, address, data);
    /* These return what they read, as the C library has it. */
    done = syscall(PTRACE, request, process, address, &word);
    if (done < 0)
        return done;
    *__errno_location() = 0;
    return word;
}
