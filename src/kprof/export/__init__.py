"""Values to the formats of other tools."""
