"""What all environments share: the scalar and vectorized base classes, info, recording and rendering."""
