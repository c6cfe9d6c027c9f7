"""The command line: one file per command.

A command's module has two functions: ``configure(parser)`` adds its arguments, ``run(args)`` does
the work and returns the exit code. `main` imports the module of the chosen command and no other.
"""
