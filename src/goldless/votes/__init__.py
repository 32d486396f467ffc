"""From what users have to what the mathematics needs: encode, collapse, count.

Codes are int8: -1 missing, 0 negative, 1 positive. Names of voters, classes and items stay in
:mod:`goldless.votes.votes`.
"""
