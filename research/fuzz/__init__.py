"""What breaks it: damaged files, odd calls, forged models, killed processes, bombs, lost clusters, hostile names.

Each fuzzer makes trials from a seed. A trial ends in an answer that holds what we promise, or in a refusal of one
line; anything else is a failure, and its number makes it again: ``python -m research.fuzz files --only 1234``.
"""
