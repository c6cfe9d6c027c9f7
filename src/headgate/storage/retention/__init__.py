"""Old versions of pages go, and nothing that stays loses what it needs."""
