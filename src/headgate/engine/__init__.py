"""What every run needs: one session around manager and fleet, processes, parts, resumption."""
