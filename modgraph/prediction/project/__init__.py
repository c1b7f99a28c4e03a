"""What importing the project's modules does besides binding names: registrations, replacements, in their order."""
