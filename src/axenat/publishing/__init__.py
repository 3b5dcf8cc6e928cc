"""What runs tell MLflow: read from their files, sent while they train, and sent again until nothing is missing."""
