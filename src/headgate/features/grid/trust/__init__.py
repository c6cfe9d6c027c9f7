"""What a node says or brings, judged: lies of form are refused here, claims about the world are
held against what the manager knows itself."""
