"""Blind comparisons of search systems: two answers to one query side by side, judged by models and by people."""
