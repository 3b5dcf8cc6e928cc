"""Before a long run: one question after the other about configuration, machine, data and stores, answered in words."""
