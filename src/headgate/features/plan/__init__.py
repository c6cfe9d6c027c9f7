"""``headgate plan``: can all deadlines be met? Forecasts, scouting, and how a plan is shown."""
