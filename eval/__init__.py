"""Citewell's evaluation: questions with labels in, figures a researcher can quote out.

A client of ``rag.Library`` only. ``cases`` reads the questions, ``score`` and ``metrics`` measure
one answer, ``summary`` and ``stats`` say how sure a mean is, ``report`` and ``compare`` show it.
"""
