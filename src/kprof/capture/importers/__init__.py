"""Captures from logic analysers: one module a file format, one kernel that finds the events.

``channels`` says which analyser channel is which line, the readers (``sigrok``, ``vcd``, ``table``,
``saleae``) turn a file of any size into blocks of changes of those lines, ``extract`` finds the
trigger reads in them, ``run`` joins it all into a capture file.
"""
