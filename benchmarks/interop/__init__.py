"""Exchange of models with other toolkits."""
