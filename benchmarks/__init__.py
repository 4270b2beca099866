"""What kprof costs, and how it compares; a package, for others put one of this name on the path."""
