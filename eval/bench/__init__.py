"""Measure searching and answering on public benchmarks in BEIR's layout."""
