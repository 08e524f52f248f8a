"""Timetables of constant gaps whose loss against every policy is certified."""
