"""Rules of HTTP and robots.txt that a fetch obeys: hosts, addresses, headers, the clock."""
