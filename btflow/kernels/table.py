"""Tables of a state, as C declares a struct: on each line a type, names, and after `#` their meaning."""

import numpy as np


def record(table):
    """Return the dtype of a record, aligned as in C; `name:3` has three items."""
    fields = []
    for line in table.splitlines():
        kind, *names = line.partition("#")[0].split() or [""]
        for name, _, items in (name.partition(":") for name in names):
            fields.append((name, kind, int(items)) if items else (name, kind))
    return np.dtype(fields, align=True)
