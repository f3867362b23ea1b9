"""Components of optimizers: kernels, posteriors, trees, graphs, acquisition functions."""
