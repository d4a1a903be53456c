"""Citewell's page in the browser; it uses ``rag`` and knows nothing of ``eval``."""
