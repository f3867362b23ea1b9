"""One action is one row of a table, or one cell of its grid."""
