"""Study of timetables with a certificate: what they earn, beside the index policy and the bound."""
