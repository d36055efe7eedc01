"""How kernels are compiled, called and kept. All that rests on insides of Numba's is here."""
