"""The words all rooms speak: units, sites, budgets, plans, errors. Imports nothing of ours."""
