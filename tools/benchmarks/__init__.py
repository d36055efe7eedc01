"""What swarms, sweeps and links cost on the machine at hand: ``btflow bench``.

Each section measures one thing and returns a `Section`: a table, notes, and the goals it speaks to. ``command`` puts
them together; ``validation.benchmarks`` adds the same swarms in other simulators and writes the report.
"""
