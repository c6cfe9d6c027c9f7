"""Which machine does what: sites over machines of unequal speed, tasks to machines nearby.

Pure, one published algorithm per file. A site's **work** is the seconds that a machine of speed 1
would take for it; `cost_model` says where works and speeds come from. A partition is made before
the start (`lpt`, `multifit`, `local_search`, `best_batch`, `pechnikov`, `circular`), a pull as it
goes (`pull`).
"""
