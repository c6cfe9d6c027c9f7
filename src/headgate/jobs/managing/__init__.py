"""A manager of many machines: tasks on the board, nodes at the door, one run of what they bring."""
