#!/bin/sh
# Install the system packages that the tests use, where this machine lets us; else say what is missing.
set -u
sh "$(dirname "$0")/install-readers.sh"
packages="tmux zsh fish groff-base man-db gcc-m68k-linux-gnu qemu-user lrzsz uftrace ccache tcc sigrok-cli chromium chromium-driver babeltrace2 graphviz valgrind srecord gdbserver csmith libcsmith-dev autoconf cmake meson ninja-build"
# Without what they recommend: other targets' compilers and boards, a reader of waveforms.
lean="gcc-arm-linux-gnueabi gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu clang gtkwave firefox-esr"
lean="$lean libc6-dev-armel-cross libc6-dev-arm64-cross libc6-dev-riscv64-cross"
lean="$lean gcc-arm-none-eabi gcc-riscv64-unknown-elf qemu-system-arm qemu-system-misc gcc-avr avr-libc simavr"
wanted=""
for package in $packages $lean; do
    dpkg -s "$package" >/dev/null 2>&1 || wanted="$wanted $package"
done
# A little real C to instrument: into the user's cache folder, nothing here.
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v python3 >/dev/null 2>&1; then
    python3 "$(dirname "$0")/fetch-real-code.py"
fi
[ -z "$wanted" ] && exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    apt-get -q update >/dev/null
    # One at a time: a package that this machine cannot have must not keep the others away.
    for package in $wanted; do
        case " $lean " in *" $package "*) less=--no-install-recommends ;; *) less= ;; esac
        DEBIAN_FRONTEND=noninteractive apt-get -q -y $less install "$package" >/dev/null 2>&1 ||
            echo "install-test-tools: no $package here; the tests that need it will be skipped"
    done
else
    echo "install-test-tools: not installed:$wanted (needs apt-get as root); the tests that need them will be skipped"
fi
