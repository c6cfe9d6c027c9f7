"""Who gets how many bytes per second, and when. Pure: arrays in, rates and schedules out.

Bytes, seconds and bytes per second throughout; time 0 is the start of the run. One published
algorithm per file, under its published name.
"""
