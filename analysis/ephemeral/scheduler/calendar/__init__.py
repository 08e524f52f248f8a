"""When each source falls due, and which of those that are due an epoch's budget pays for."""
