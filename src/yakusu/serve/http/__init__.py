"""HTTP: connections, requests and their parameters, with limits."""
