"""From what users have to votes, and labels back to files."""
