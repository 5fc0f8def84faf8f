"""Judging: metrics with intervals, the sets they are computed on, the baselines, tables and plots."""
