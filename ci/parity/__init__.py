"""Parity: does the speed build say what stock says? Pure comparisons; the suite in tests/suites/parity runs them."""
