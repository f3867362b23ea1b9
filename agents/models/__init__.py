"""What optimisers are made of: kernels, posteriors, trees, graphs, acquisition functions."""
