"""Recurrent cells trained by this project as character language models: the table CellMini, and how to train any."""
