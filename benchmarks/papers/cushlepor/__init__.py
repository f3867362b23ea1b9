"""Han et al. 2021, cushLEPOR: settings, analysis, comparison with the public package, reproduction."""
