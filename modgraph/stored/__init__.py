"""Files of weights and exported programs: what they say of a model, read without running or unpickling anything."""
