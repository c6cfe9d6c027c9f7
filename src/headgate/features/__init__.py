"""What a user asks for, one package each: pure decisions, files, view; its command is in `cli`."""
