"""Look-up environments: an action is a row of a table, or a cell of its grid."""
