"""What the decoder sees, how it is scored and how its predictions are read: one file per objective."""
