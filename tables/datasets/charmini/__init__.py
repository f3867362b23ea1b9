"""Small character models trained by this project: the table CharMini, and how to train any row of it again."""
