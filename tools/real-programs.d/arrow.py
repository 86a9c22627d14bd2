"""Sums arrays in each of Arrow's pools."""
import numpy
import pyarrow
import pyarrow.compute as compute

for name in ("mimalloc", "jemalloc", "system"):
    try:
        pool = getattr(pyarrow, name + "_memory_pool")()
    except NotImplementedError:
        print(name, "is not built in")
        continue
    pyarrow.set_memory_pool(pool)
    total = 0
    for i in range(20):
        array = pyarrow.array(numpy.arange(100000) + i)
        total += compute.sum(compute.multiply(array, 2)).as_py()
    print(pool.backend_name, total)
