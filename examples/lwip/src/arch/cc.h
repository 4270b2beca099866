/* arch/cc.h: the compiler and the machine, for lwIP. */
#ifndef ARCH_CC_H
#define ARCH_CC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h> /* ssize_t */

extern void lwip_panic(const char *what);
extern unsigned int lwip_random(void);
extern void copy(const volatile void *from, volatile void *to, int length);

#ifndef BYTE_ORDER
#define BYTE_ORDER BIG_ENDIAN
#endif
#define LWIP_RAND() lwip_random()
#define LWIP_PLATFORM_DIAG(x)
#define LWIP_PLATFORM_ASSERT(x) lwip_panic(x)
#define LWIP_NO_INTTYPES_H 1
#define LWIP_NO_UNISTD_H 1
#define LWIP_NO_CTYPE_H 1
#define X8_F "02x"
#define U16_F "u"
#define S16_F "d"
#define X16_F "x"
#define U32_F "lu"
#define S32_F "ld"
#define X32_F "lx"
#define SZT_F "lu"

/* The kernel's copy, the one that the drivers use too. */
#define MEMCPY(to, from, length) copy(from, to, length)

/* The core runs at the level of the soft interrupt; what interrupt handlers share with it (pbufs) is
 * protected as mbufs are. */
typedef int sys_prot_t;

#endif
