"""Values that all rooms share: units, sites, budgets, plans, errors. Imports nothing of ours."""
