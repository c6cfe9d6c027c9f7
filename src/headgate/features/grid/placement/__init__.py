"""Which machine does what: sites over machines of unequal speed, tasks to machines nearby.

Pure. A site's **work** is the seconds that a machine of speed 1 would take for it. Partitions are
made before the start (`batches`), a pull as it goes (`pull`); `coordinates` and `can` say who is
near.
"""
