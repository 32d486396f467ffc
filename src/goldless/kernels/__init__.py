"""Compiled loops on plain arrays. Functions here may depend on NumPy and Numba only.

A kernel does no checking: each is called through one Python door (in ``maths`` or ``votes``) that has
checked its arguments. Kernels release the GIL; :mod:`goldless.kernels.threads` runs them side by side over
a fixed list of tasks, so that the number of threads never changes a result.
"""
