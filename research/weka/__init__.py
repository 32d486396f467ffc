"""Ensembles of Weka's classifiers on the paper's UCI tables: trained by Weka itself, recorded, read without Java.

``python -m research.weka --jar weka.jar magic 500`` trains and records, :func:`recorded` of ``ensembles`` reads.
"""
