"""The 2019 scheme: LSPE(0) with a threshold policy gradient, as printed and corrected."""
