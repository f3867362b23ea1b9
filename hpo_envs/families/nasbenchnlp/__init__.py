"""NASBenchNLP: recurrent cells trained as language models, as multi-fidelity environments (Klyuchnikov et al. 2020)."""
