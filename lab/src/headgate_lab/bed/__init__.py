"""A network to measure on: namespaces, a wire with distance, a meter at the interface.

network    builds it and takes it down; says what is missing where it cannot be built
server     the web servers on it
trial      one command run on the client's side while the meter counts
readings   what the meter counted, and when the machine itself stood still
programs   the emulator, the meter and the watch, in C

Needs root, the commands ip, ethtool and chrt, and a C compiler.
"""
