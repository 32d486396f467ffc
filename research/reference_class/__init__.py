"""What was claimed of real panels without labels, and what was true: behind ``diagnosis/reference_class.json``."""
