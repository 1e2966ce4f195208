"""Models of other toolkits: what is written for them, and what is read from them."""
