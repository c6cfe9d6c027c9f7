"""The scheduler's algorithms: who gets how many bytes per second, and when. Pure: arrays in, rates
and schedules out.

Bytes, seconds and bytes per second throughout; time 0 is the start of the run. Published
algorithms stand under their published names; `policies` has them all.
"""
