"""Han, Sorokina, Erofeev and Gladkoff 2021: tuning hLEPOR towards human scores."""
