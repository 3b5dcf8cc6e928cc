"""The autoregressive transformer: the teacher, and a row of its own as a student."""
