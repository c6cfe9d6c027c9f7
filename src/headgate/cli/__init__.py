"""The command line. One file per command; the only room that reads files, clocks and arguments.

A command's module has two functions: ``configure(parser)`` adds its arguments, ``run(args)`` does
the work and returns the exit code. `main` imports the module of the chosen command and no other.
"""
