"""What a call costs on the board: kprof's triggers beside -pg and -finstrument-functions.

The same function is compiled in each way with the cross compiler, called 1,000 times on the
simulated MD20 and timed by the emulator's clock; bytes are those of the function. What -pg calls is
a counting `mcount` as BSD kernels have it (arcs in a hash table; it records no times), what
-finstrument-functions calls is once nothing at all and once a routine that stores time and
function in a buffer; `--target soft` is kprof's own event RAM in software.

    python -m benchmarks.board_cost
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kprof.board.elf import load_kernel
from kprof.board.md20 import HZ, MD20
from kprof.board.minikernel import cross_compiler, examples_folder
from kprof.instrument.batch import Options, instrument_files
from kprof.instrument.targets import find_target

CALLS = 1000
START, END = 0x700, 0x701
WORK = "int work(int a, int b)\n{\n    int sum = a + b * 3;\n\n    return sum ^ a;\n}\n"
HARNESS = f"""
extern int work(int, int);
volatile int result;
__attribute__((no_instrument_function)) void harness(void)
{{
    int i;

    for (i = 0; i < 10; i++)
        result = work(i, i);
    __asm__ volatile ("tst.b {START}.w");
    for (i = 0; i < {CALLS}; i++)
        result = work(i, 5);
    __asm__ volatile ("tst.b {END}.w");
}}
"""
BOOT = """
        .globl  boot
boot:   move.w  #0x2700,%sr
        jsr     harness
halt:   bra     halt
"""
MCOUNT_ENTRY = """
        .globl  _mcount
_mcount:
        movem.l %d0-%d1/%a0-%a1,-(%sp)
        move.l  16(%sp),-(%sp)
        move.l  24(%sp),-(%sp)
        jsr     count_arc
        addq.l  #8,%sp
        movem.l (%sp)+,%d0-%d1/%a0-%a1
        rts
"""
MCOUNT = """
struct arc { unsigned long callee, calls; unsigned short next; };
static unsigned short first[4096];
static struct arc arcs[512];
static int busy;

void count_arc(unsigned long caller, unsigned long callee)
{
    unsigned short *head = &first[(caller - 0x100000) >> 2 & 4095], *from = head;
    unsigned short at;

    if (busy)
        return;
    busy = 1;
    for (at = *from; at; at = *from) {
        if (arcs[at].callee == callee) {
            arcs[at].calls++;
            *from = arcs[at].next;
            arcs[at].next = *head;
            *head = at;
            busy = 0;
            return;
        }
        from = &arcs[at].next;
    }
    if ((at = ++arcs[0].next) < 512) {
        arcs[at].callee = callee;
        arcs[at].calls = 1;
        arcs[at].next = *head;
        *head = at;
    }
    busy = 0;
}
"""
EMPTY_HOOKS = """
void __cyg_profile_func_enter(void *f, void *caller) { (void)f; (void)caller; }
void __cyg_profile_func_exit(void *f, void *caller) { (void)f; (void)caller; }
"""
STORING_HOOKS = """
#define COUNTER (*(volatile unsigned short *)0x400006)
static struct { unsigned long time, function; } buffer[16384];
static unsigned long used;

static void store(unsigned long function)
{
    unsigned sr;

    __asm__ volatile ("move.w %%sr,%0\\n\\tori.w #0x700,%%sr" : "=d"(sr) : : "memory");
    if (used < 16384) {
        buffer[used].time = COUNTER;
        buffer[used++].function = function;
    }
    __asm__ volatile ("move.w %0,%%sr" : : "d"(sr) : "memory");
}

void __cyg_profile_func_enter(void *f, void *caller) { (void)caller; store((unsigned long)f); }
void __cyg_profile_func_exit(void *f, void *caller) { (void)caller; store((unsigned long)f | 1); }
"""
FLAGS = (
    *("-O2", "-m68020", "-ffreestanding", "-fno-pic", "-fno-tree-ter"),
    "-fno-asynchronous-unwind-tables",
)


@dataclass(frozen=True)
class Way:
    """One way of profiling: what `work` is compiled from and with, and what it calls."""

    name: str
    flags: tuple[str, ...] = ()
    target: str = ""
    support: tuple[tuple[str, str], ...] = ()


def ways() -> list[Way]:
    """All that are compared; the first is the function alone."""
    agent = examples_folder() / "agent"
    time = "-DKPROF_TIME()=(*(volatile unsigned short *)0x400006)"
    hooks = ("-finstrument-functions",)
    return [
        Way("alone"),
        Way("kprof, m68k triggers", target="m68k"),
        Way("kprof --target soft", (f"-I{agent}", time), "soft", (("ram.c", ram_source(agent)),)),
        Way("-pg, counting arcs", ("-pg",), "", (("m.S", MCOUNT_ENTRY), ("m.c", MCOUNT))),
        Way("-finstrument-functions, empty", hooks, "", (("h.c", EMPTY_HOOKS),)),
        Way("-finstrument-functions, storing", hooks, "", (("h.c", STORING_HOOKS),)),
    ]


def ram_source(agent: Path) -> str:
    """A unit that includes the software event RAM."""
    return f'#include "{agent / "kprof_ram.c"}"\n'


def build(folder: Path, compiler: str, way: Way) -> Path:
    """Compile `work` in this way, everything else without it, and link for the board's RAM."""
    source = folder / "work.c"
    source.write_text(WORK)
    if way.target:
        options = Options(find_target(way.target), folder / "work.names")
        text = instrument_files([source], options).done[0].after
        source.write_text(text, encoding="latin-1")
    paths = [folder / "boot.S", folder / "harness.c", *(folder / name for name, _ in way.support)]
    texts = [BOOT, HARNESS, *(text for _, text in way.support)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    plain = [flag for flag in way.flags if flag.startswith(("-I", "-D"))]
    special = [flag for flag in way.flags if flag not in plain]
    objects = []
    for path in (*paths, source):
        objects.append(str(path.with_suffix(f".{path.name}.o")))
        more = special if path is source else plain
        run([compiler, *FLAGS, *more, "-c", str(path), "-o", objects[-1]])
    out = folder / "bench.elf"
    link = [
        "-nostdlib",
        "-static",
        "-Wl,--build-id=none",
        "-Wl,-Ttext=0x100400",
        "-Wl,-e,boot",
        "-Wl,-n",
    ]
    run([compiler, *link, "-Wl,--no-warn-rwx-segments", *objects, "-lgcc", "-o", str(out)])
    return out


def run(command: list[str]) -> None:
    """Run a compiler; it must succeed."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(result.stderr)


def measure(image: Path) -> tuple[float, int]:
    """(clocks of one call and its turn of the loop, bytes of `work`)."""
    kernel = load_kernel(image)
    with MD20(kernel, traffic=iter(())) as board:
        board.record(1 << 20)
        while not any(tag == END for _, tag in board.log[-1:]):
            board.run(board.now + HZ // 10_000)
        times = {tag: now for now, tag in board.log if tag in (START, END)}
    return (times[END] - times[START]) / CALLS, kernel.symbols["work"].size


def main() -> None:
    """Print the table."""
    compiler = cross_compiler()
    if compiler is None:
        sys.exit("board_cost: no m68k-linux-gnu-gcc here")
    print(f"{'a call of the same function':34} {'bytes':>6} {'clocks':>7} {'us at 20 MHz':>13}")
    base: tuple[float, int] | None = None
    trigger = 0.0
    for way in ways():
        with tempfile.TemporaryDirectory() as folder:
            clocks, size = measure(build(Path(folder), compiler, way))
        base = base or (clocks, size)
        more = clocks - base[0]
        if way.target == "m68k":
            trigger = more
        ratio = f"  {more / trigger:5.1f} x the triggers" if trigger and more != trigger else ""
        sign = "" if way.name == "alone" else "+"
        shown = (clocks, size) if way.name == "alone" else (more, size - base[1])
        print(
            f"{way.name:34} {sign + str(shown[1]):>6} {sign + format(shown[0], '.0f'):>7} "
            f"{shown[0] / (HZ / 1e6):13.2f}{ratio}"
        )


if __name__ == "__main__":
    main()
