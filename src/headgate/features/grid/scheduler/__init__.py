"""Which node gets which task, and whose result counts: leases, time-outs, failures. Pure."""
